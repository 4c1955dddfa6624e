"""The closed vocabulary of conditions: one function per word, from the facts of a machine and the answers of a user.

Each function gets its checked arguments and the Situation and returns Judged: met, unmet, unknown (the fact was not
read or not answered) or not_applicable, with the sentence and the evidence. `ARGUMENTS` says what a word may be given.
"""


from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import msgspec

from knowledge.answers import Answers
from knowledge.catalog import Condition
from knowledge.documents import count
from knowledge.facts import Accelerator, Evidence, MachineProfile, Python
from knowledge.text import Text
from knowledge.verdicts import Outcome
from knowledge.versions import at_least, capability, within

GIB = 2**30
VENDOR_OF_DEVICE = {
    "cuda": "nvidia", "rocm": "amd", "xpu": "intel", "metal": "apple", "cann": "huawei", "musa": "moore-threads",
    "qnn": "qualcomm", "rknn": "rockchip", "xdna": "amd", "tpu": "google", "gaudi": "habana", "coreml": "apple",
}  # fmt: skip
KIND_OF_DEVICE = {"qnn": "npu", "rknn": "npu", "xdna": "npu", "cann": "npu", "tpu": "npu", "gaudi": "npu"}


class Judged(NamedTuple):
    outcome: Outcome
    because: Text
    evidence: tuple[Evidence, ...] = ()


class Situation:
    """One machine with one set of answers; what was judged once is kept for this decision only."""

    __slots__ = ("answers", "machine", "memo", "python", "python_minor")

    def __init__(self, machine: MachineProfile, answers: Answers) -> None:
        self.machine = machine
        self.answers = answers
        self.python: Python | None = None  # the interpreter that the plan at hand would use
        self.python_minor: str | None = None  # or the minor that it would ask for
        self.memo: dict[Any, Any] = {}


def evidence(machine: MachineProfile, key: str, value: object) -> tuple[Evidence, ...]:
    """The fact KEY with its VALUE and where it was read."""
    if key in machine.overrides:
        source = "stated by the user"
    else:
        source = machine.sources.get(key) or ("machine file" if machine.recorded else "not recorded")
    shown = "not known" if value is None else str(value)
    return (Evidence(fact=f"{key} = {shown}", source=source),)


def judge(condition: Condition, situation: Situation) -> Judged:
    """CONDITION in SITUATION."""
    key = (id(condition), situation.python_minor, situation.python is None)
    found: Judged | None = situation.memo.get(key)
    if found is None:
        found = WORDS[condition.word](condition.args, situation)
        situation.memo[key] = found
    return found


def holds(conditions: Iterable[Condition], situation: Situation) -> bool:
    """True where each condition is met; an unknown one does not hold."""
    return all(judge(condition, situation).outcome == "met" for condition in conditions)


def said(outcome: Outcome, en: str, zh: str, proof: tuple[Evidence, ...] = ()) -> Judged:
    return Judged(outcome, Text(en, zh), proof)


def _unknown(what_en: str, what_zh: str, proof: tuple[Evidence, ...] = ()) -> Judged:
    return said("unknown", f"{what_en} is not known.", f"{what_zh}未知。", proof)


def _outcome(known: bool | None) -> Outcome:
    return "unknown" if known is None else "met" if known else "unmet"


# Words about the machine


class AnyOf(msgspec.Struct, forbid_unknown_fields=True):
    any: list[str]


class Bounds(msgspec.Struct, forbid_unknown_fields=True):
    min: str | None = None
    max: str | None = None


class Minimum(msgspec.Struct, forbid_unknown_fields=True):
    min: str


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


def os(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.os
    proof = evidence(situation.machine, "system.os", have)
    if have is None:
        return _unknown("The operating system", "操作系统", proof)
    wanted = ", ".join(args["any"])
    good = have in args["any"]
    return said("met" if good else "unmet", f"The system is {have}; it runs on {wanted}.",
                f"系统是 {have}；支持的系统：{wanted}。", proof)  # fmt: skip


def platform(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    proof = evidence(situation.machine, "system.os", system.os) + evidence(situation.machine, "system.arch", system.arch)
    wanted = ", ".join(args["any"])
    if system.os is None or system.arch is None:
        possible = any(
            word.split("-")[0] in (system.os, word.split("-")[0] if system.os is None else "")
            and word.split("-")[1] in (system.arch, word.split("-")[1] if system.arch is None else "")
            for word in args["any"]
        )
        if possible:
            return _unknown("The operating system or processor", "操作系统或处理器架构", proof)
    have = f"{system.os}-{system.arch}"
    good = have in args["any"]
    return said("met" if good else "unmet", f"This machine is {have}; built for {wanted}.",
                f"本机是 {have}；提供的构建：{wanted}。", proof)  # fmt: skip


def distribution(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.distribution
    proof = evidence(situation.machine, "system.distribution", have)
    if have is None:
        return _unknown("The distribution", "发行版", proof)
    wanted = ", ".join(args["any"])
    return said("met" if have in args["any"] else "unmet", f"The distribution is {have}; expected {wanted}.",
                f"发行版是 {have}；需要 {wanted}。", proof)  # fmt: skip


def _bounded(have: str | None, args: dict[str, Any], name_en: str, name_zh: str, proof: tuple[Evidence, ...]) -> Judged:
    low, high = args.get("min"), args.get("max")
    good: bool | None = True
    if have is None:
        good = None
    else:
        if low is not None:
            good = at_least(have, low)
        if good and high is not None:
            good = at_least(high, have)
    if good is None:
        return _unknown(name_en, name_zh, proof)
    bounds = " ".join(f"{mark} {value}" for mark, value in (("≥", low), ("≤", high)) if value is not None)
    return said(_outcome(good), f"{name_en} is {have}; needed is {bounds}.", f"{name_zh}是 {have}；需要 {bounds}。", proof)


def os_release(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.release
    return _bounded(have, args, "The system's release", "系统版本", evidence(situation.machine, "system.release", have))


def windows_build(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "windows":
        return said("not_applicable", "Only of concern on Windows.", "仅与 Windows 有关。")
    have = system.build.split(".")[-1] if system.build else None
    return _bounded(have, {"min": args["min"].split(".")[-1]}, "The Windows build", "Windows 内部版本号",
                    evidence(situation.machine, "system.build", system.build))  # fmt: skip


def macos(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "macos":
        return said("not_applicable", "Only of concern on macOS.", "仅与 macOS 有关。")
    return _bounded(system.release, args, "macOS", "macOS 版本", evidence(situation.machine, "system.release", system.release))


def glibc(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "linux":
        return said("not_applicable", "Only of concern on Linux.", "仅与 Linux 有关。")
    proof = evidence(situation.machine, "system.libc_version", system.libc_version)
    if system.libc is not None and system.libc != "glibc":
        return said("unmet", f"The C library is {system.libc}, not glibc.", f"C 库是 {system.libc}，不是 glibc。", proof)
    return _bounded(system.libc_version if system.libc else None, args, "glibc", "glibc 版本", proof)


def musl(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.libc
    proof = evidence(situation.machine, "system.libc", have)
    if have is None:
        return _unknown("The C library", "C 库", proof)
    return said("met" if have == "musl" else "unmet", f"The C library is {have}.", f"C 库是 {have}。", proof)


class Wsl(msgspec.Struct, forbid_unknown_fields=True):
    is_: bool | int = msgspec.field(name="is", default=True)


def wsl(args: dict[str, Any], situation: Situation) -> Judged:
    have, wanted = situation.machine.system.wsl, args.get("is", True)
    good = (have is not None) == wanted if isinstance(wanted, bool) else have == wanted
    return said("met" if good else "unmet", f"WSL: {have or 'no'}.", f"WSL：{have or '否'}。",
                evidence(situation.machine, "system.wsl", have))  # fmt: skip


class Is(msgspec.Struct, forbid_unknown_fields=True):
    is_: bool = msgspec.field(name="is", default=True)


def container(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.container
    good = (have is not None) == args.get("is", True)
    return said("met" if good else "unmet", f"Container: {have or 'no'}.", f"容器：{have or '否'}。",
                evidence(situation.machine, "system.container", have))  # fmt: skip


def arch(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.arch
    proof = evidence(situation.machine, "system.arch", have)
    if have is None:
        return _unknown("The processor architecture", "处理器架构", proof)
    wanted = ", ".join(args["any"])
    return said("met" if have in args["any"] else "unmet", f"The processor is {have}; needed is {wanted}.",
                f"处理器架构是 {have}；需要 {wanted}。", proof)  # fmt: skip


def jetson(args: dict[str, Any], situation: Situation) -> Judged:
    """A Jetson board that needs NVIDIA's own wheels: JetPack 6 and older (Orin, Xavier). JetPack 7 (Thor) takes server wheels."""
    system = situation.machine.system
    if system.arch is not None and system.arch != "aarch64":
        good: bool | None = False
    elif any((capability(card.target) or (0, 0)) >= (9, 0) for card in situation.machine.accelerators or ()):
        good = False
    elif system.kernel is None and system.board is None:
        names = " ".join(card.name or "" for card in situation.machine.accelerators or ()).lower()
        good = True if "orin" in names or "xavier" in names or "jetson" in names else None
    else:
        words = f"{system.kernel or ''} {system.board or ''}".lower()
        good = "tegra" in words or "jetson" in words
    proof = evidence(situation.machine, "system.kernel", system.kernel)
    if good is None:
        return _unknown("Whether this is a Jetson board", "本机是否为 Jetson 开发板", proof)
    return said(_outcome(good == args.get("is", True)), f"This is {'' if good else 'not '}a Jetson with JetPack 6 or older.",
                f"本机{'是' if good else '不是'}装有 JetPack 6 或更早版本的 Jetson。", proof)  # fmt: skip


class PythonSpec(msgspec.Struct, forbid_unknown_fields=True):
    spec: str


def python(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.version if situation.python else situation.python_minor
    if have is None:
        return _unknown("The Python version", "Python 版本")
    good = within(have, args["spec"])
    return said(_outcome(good), f"Python {have}; needed is {args['spec']}.", f"Python {have}；需要 {args['spec']}。",
                (Evidence(fact=f"Python {have}", source=_where(situation)),))  # fmt: skip


def _where(situation: Situation) -> str:
    return (situation.python.path if situation.python else None) or "planned environment"


class Bits(msgspec.Struct, forbid_unknown_fields=True):
    is_: int = msgspec.field(name="is", default=64)


def python_bits(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.bits if situation.python else None
    if have is None:
        return _unknown("Whether Python is 64-bit", "Python 是否为 64 位")
    return said(_outcome(have == args.get("is", 64)), f"Python is {have}-bit.", f"Python 是 {have} 位。",
                (Evidence(fact=f"{have}-bit", source=_where(situation)),))  # fmt: skip


def free_threaded(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.free_threaded if situation.python else None
    if have is None:
        return _unknown("Whether Python is free-threaded", "Python 是否为自由线程版")
    return said(_outcome(have == args.get("is", False)), f"Python is {'' if have else 'not '}free-threaded.",
                f"Python {'是' if have else '不是'}自由线程版。")  # fmt: skip


class AcceleratorArgs(msgspec.Struct, forbid_unknown_fields=True):
    vendor: str | None = None
    kind: Literal["gpu", "npu"] | None = None
    device: str | None = None
    target_min: str | None = None
    target_max: str | None = None
    targets: list[str] | None = None
    memory_min_gib: float | None = None
    count_min: int | None = None
    usable: bool | None = None


def accelerator(args: dict[str, Any], situation: Situation) -> Judged:
    cards = situation.machine.accelerators
    if cards is None:
        return _unknown("Which accelerators there are", "有哪些加速器")
    best: Outcome = "unmet"
    names = ", ".join(card.name or card.vendor for card in cards) or "no accelerator"
    proof: tuple[Evidence, ...] = ()
    total = 0
    for place, card in enumerate(cards):
        found = matches(args, card)
        if found is True:
            total += card.count
        if found is not False:
            proof += evidence(situation.machine, f"accelerators.{place}.name", card.name)
        if found is None and best == "unmet":
            best = "unknown"
    if total >= (args.get("count_min") or 1):
        best = "met"
    elif total:
        best = "unmet"
    return said(best, f"This machine has {names}.", f"本机有：{names}。", proof)


def matches(args: dict[str, Any], card: Accelerator) -> bool | None:
    """Whether CARD satisfies the arguments of the word `accelerator`; None where a fact is missing."""
    wanted = args.get("vendor") or VENDOR_OF_DEVICE.get(args.get("device") or "")
    if wanted is not None and card.vendor != wanted:
        return False
    kind = args.get("kind") or KIND_OF_DEVICE.get(args.get("device") or "")
    if kind is not None and card.kind != kind and not (kind == "npu" and card.vendor == "huawei"):
        return False
    result: bool | None = True
    if args.get("usable") is True and card.state != "usable":
        if card.state != "unknown":
            return False
        result = None
    low, high, names = args.get("target_min"), args.get("target_max"), args.get("targets")
    if low is not None or high is not None or names is not None:
        if card.target is None:
            result = None
        elif names is not None and card.target not in names:
            return False
        else:
            have = capability(card.target)
            if low is not None or high is not None:
                if have is None:
                    result = None
                elif (low and have < (capability(low) or (0, 0))) or (high and have > (capability(high) or (99, 9))):
                    return False
    if args.get("memory_min_gib") is not None:
        size = memory_bytes(card)
        if size is None:
            result = None
        elif size < args["memory_min_gib"] * GIB * 0.93:  # a 24 GB card reports a little less than 24 GiB
            return False
    return result


def memory_bytes(card: Accelerator) -> int | None:
    """Memory that a program may use on CARD: what it may take of a shared pool, else its own."""
    if card.usable_bytes is not None:
        return card.usable_bytes
    if card.memory_kind in ("shared", "unified") and card.shared_bytes is not None:
        return card.shared_bytes + (card.memory_bytes or 0)
    return card.memory_bytes


def no_accelerator(args: dict[str, Any], situation: Situation) -> Judged:
    cards = situation.machine.accelerators
    if cards is None:
        return _unknown("Which accelerators there are", "有哪些加速器")
    gpus = [card for card in cards if card.state not in ("disabled",)]
    return said("unmet" if gpus else "met", f"Accelerators here: {len(gpus)}.", f"本机加速器数量：{len(gpus)}。")


class DriverArgs(msgspec.Struct, forbid_unknown_fields=True):
    vendor: str
    min: dict[str, str]
    max: dict[str, str] | None = None


def driver(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    side = "windows" if system.os == "windows" or system.wsl else system.os or "linux"
    cards = [card for card in situation.machine.accelerators or () if card.vendor == args["vendor"]]
    if situation.machine.accelerators is not None and not cards:
        return said("not_applicable", f"No {args['vendor']} device here.", f"本机没有 {args['vendor']} 设备。")
    need = args["min"].get(side)
    have = next((card.driver_version for card in cards if card.driver_version), None)
    proof = evidence(situation.machine, "accelerators.driver_version", have)
    if need is None:
        return said("not_applicable", "No driver bound on this system.", "此系统上没有驱动版本要求。", proof)
    return _bounded(have, {"min": need, "max": (args.get("max") or {}).get(side)}, f"The {args['vendor']} driver",
                    f"{args['vendor']} 驱动版本", proof)  # fmt: skip


class Flags(msgspec.Struct, forbid_unknown_fields=True):
    all: list[str]


def cpu_flags(args: dict[str, Any], situation: Situation) -> Judged:
    machine = situation.machine
    if machine.system.arch is not None and machine.system.arch not in ("x86_64", "x86"):
        return said("not_applicable", "Only of concern on x86 processors.", "仅与 x86 处理器有关。")
    wanted = ", ".join(word.upper() for word in args["all"])
    if machine.cpu.flags is None:
        return said("unknown", f"Whether the processor has {wanted} is not known.", f"处理器是否支持 {wanted} 未知。")
    missing = [word for word in args["all"] if word not in machine.cpu.flags]
    proof = evidence(machine, "cpu.flags", ("without " + ", ".join(missing)) if missing else wanted.lower())
    if missing:
        lacks = ", ".join(word.upper() for word in missing)
        return said("unmet", f"The processor has no {lacks}; the program needs {wanted}.",
                    f"处理器不支持 {lacks}；程序需要 {wanted}。", proof)  # fmt: skip
    return said("met", f"The processor has {wanted}.", f"处理器支持 {wanted}。", proof)


def cpu_vendor(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.cpu.vendor
    proof = evidence(situation.machine, "cpu.vendor", have)
    if have is None:
        return _unknown("The maker of the processor", "处理器厂商", proof)
    return said(_outcome(have in args["any"]), f"The processor is made by {have}.", f"处理器厂商是 {have}。", proof)


class ToolkitArgs(msgspec.Struct, forbid_unknown_fields=True):
    name: Literal[
        "cuda_toolkit", "rocm", "cann", "level_zero", "oneapi", "vc_redist", "msvc", "gcc", "nvcc", "cmake", "docker",
        "container_toolkit", "kubectl", "slurm", "uv", "pip", "conda",
    ]
    spec: str | None = None


def toolkit(args: dict[str, Any], situation: Situation) -> Judged:
    name = args["name"]
    have = getattr(situation.machine.software, name)
    proof = evidence(situation.machine, f"software.{name}", have)
    if have is None:
        return _unknown(f"Whether {name} is installed", f"是否安装了 {name} ", proof)
    if have is False:
        return said("unmet", f"{name} is not installed.", f"未安装 {name}。", proof)
    spec = args.get("spec")
    if spec is None:
        return said("met", f"{name} is installed.", f"已安装 {name}。", proof)
    good = within(have, spec) if isinstance(have, str) else None
    return said(_outcome(good), f"{name} is {have}; needed is {spec}.", f"{name} 版本是 {have}；需要 {spec}。", proof)


class Gib(msgspec.Struct, forbid_unknown_fields=True):
    min_gib: float


def memory(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.memory
    sizes = [size for size in (have.total_bytes, have.limit_bytes) if size is not None]
    proof = evidence(situation.machine, "memory.total_bytes", have.total_bytes)
    if not sizes:
        return _unknown("The amount of memory", "内存大小", proof)
    gib = min(sizes) / GIB
    return said(_outcome(gib >= args["min_gib"] * 0.93), f"Memory is {gib:.1f} GiB; needed are {args['min_gib']:g} GiB.",
                f"内存 {gib:.1f} GiB；需要 {args['min_gib']:g} GiB。", proof)  # fmt: skip


def disk(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.disk.free_bytes
    proof = evidence(situation.machine, "disk.free_bytes", have)
    if have is None:
        return _unknown("The free space on the disk", "磁盘可用空间", proof)
    return said(_outcome(have / GIB >= args["min_gib"]), f"{have / GIB:.0f} GiB are free; needed are {args['min_gib']:g}.",
                f"磁盘可用 {have / GIB:.0f} GiB；需要 {args['min_gib']:g} GiB。", proof)  # fmt: skip


class InstalledArgs(msgspec.Struct, forbid_unknown_fields=True):
    package: str
    spec: str | None = None


def installed(args: dict[str, Any], situation: Situation) -> Judged:
    pythons = situation.machine.pythons
    if pythons is None:
        return _unknown("What is installed", "已安装的软件包")
    wanted = args["package"].lower().replace("_", "-")
    for interpreter in pythons:
        for package in interpreter.packages or ():
            if package.name.lower().replace("_", "-") != wanted:
                continue
            good = True if args.get("spec") is None else within(package.version or "", args["spec"])
            if good:
                fact = Evidence(fact=f"{package.name} {package.version}", source=interpreter.path or "environment")
                return said("met", f"{package.name} {package.version} is installed.",
                            f"已安装 {package.name} {package.version}。", (fact,))  # fmt: skip
    return said("unmet", f"{args['package']} is not installed.", f"未安装 {args['package']}。")


class NetworkArgs(msgspec.Struct, forbid_unknown_fields=True):
    offline: bool | None = None
    reachable: str | None = None
    is_: bool = msgspec.field(name="is", default=True)


def network(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.network
    host = args.get("reachable")
    if host is not None:
        found = have.reachable.get(host)
        if found is None:
            return _unknown(f"Whether {host} can be reached", f"能否访问 {host} ")
        return said(_outcome(found == args.get("is", True)), f"{host} can{'' if found else 'not'} be reached.",
                    f"{'可以' if found else '无法'}访问 {host}。",
                    evidence(situation.machine, f"network.reachable.{host}", found))  # fmt: skip
    offline = have.offline
    if situation.answers.needs.offline is not None:
        offline = situation.answers.needs.offline
    if offline is None:
        return _unknown("Whether there is a network", "是否联网")
    return said(_outcome(offline == args.get("offline", True)), f"Offline: {offline}.", f"离线：{'是' if offline else '否'}。")


# Words about the answers


class AnswerArgs(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    any: list[str | int | float | bool] | None = None
    min: float | None = None
    max: float | None = None
    set_: bool | None = msgspec.field(name="set", default=None)


def value_of(answers: Answers, key: str) -> Any:
    """The answer at the dotted KEY, None where it was not given. Raises AttributeError for a key that is none."""
    value: Any = answers
    for word in key.split("."):
        if value is None:
            return None
        value = getattr(value, word)
    return value


def answer(args: dict[str, Any], situation: Situation) -> Judged:
    key = args["key"]
    have = value_of(situation.answers, key)
    if args.get("set") is not None:
        good: bool | None = (have is not None and have != ()) == args["set"]
    elif have is None:
        return _unknown(f"The answer to {key}", f"问题 {key} 的回答")
    elif args.get("any") is not None:
        good = any(item in args["any"] for item in have) if isinstance(have, tuple) else have in args["any"]
    else:
        number = float(count(have) or 0) if key in ("model.params", "model.active_params") else float(have)
        good = not (args.get("min") is not None and number < args["min"])
        good = good and not (args.get("max") is not None and number > args["max"])
    return said(_outcome(good), f"You answered {key}: {have}.", f"你的回答 {key}：{have}。",
                (Evidence(fact=f"{key} = {have}", source="answers"),))  # fmt: skip


def existing(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.team.existing
    if have is None:
        return _unknown("What the team already uses", "团队现有技术栈")
    good = any(word in args["any"] for word in have)
    return said(_outcome(good), f"The team uses {', '.join(have) or 'nothing yet'}.", f"团队现有：{'、'.join(have) or '无'}。",
                (Evidence(fact=f"team.existing = {', '.join(have)}", source="answers"),))  # fmt: skip


class Range(msgspec.Struct, forbid_unknown_fields=True):
    min: str | int | float | None = None
    max: str | int | float | None = None


def model_params(args: dict[str, Any], situation: Situation) -> Judged:
    have = count(situation.answers.model.params)
    if have is None:
        return _unknown("The size of the model", "模型规模")
    low, high = count(args.get("min")), count(args.get("max"))
    good = not (low is not None and have < low) and not (high is not None and have > high)
    return said(_outcome(good), f"The model has {have / 1e9:g} billion parameters.", f"模型参数量 {have / 1e9:g} B。",
                (Evidence(fact=f"model.params = {have}", source="answers"),))  # fmt: skip


class IntRange(msgspec.Struct, forbid_unknown_fields=True):
    min: int | None = None
    max: int | None = None


def device_count(situation: Situation) -> int | None:
    """Devices of the cluster in the answers, else usable GPUs (or NPUs) of this machine."""
    cluster = situation.answers.cluster
    if cluster is not None and (cluster.nodes is not None or cluster.gpus_per_node is not None):
        return (cluster.nodes or 1) * (cluster.gpus_per_node or 1)
    cards = situation.machine.accelerators
    if cards is None:
        return None
    counts: dict[str, int] = {}
    for card in cards:
        if card.state in ("usable", "unknown") and not (card.vendor == "intel" and card.memory_kind == "shared"):
            counts[card.vendor] = counts.get(card.vendor, 0) + card.count
    return max(counts.values(), default=0)


def devices(args: dict[str, Any], situation: Situation) -> Judged:
    have = device_count(situation)
    if have is None:
        return _unknown("How many devices there are", "设备数量")
    good = not (args.get("min") is not None and have < args["min"])
    good = good and not (args.get("max") is not None and have > args["max"])
    return said(_outcome(good), f"There are {have} devices to compute on.", f"可用于计算的设备有 {have} 个。")


def target(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.target.kind
    return said(_outcome(have in args["any"]), f"The target is {have}.", f"目标平台是 {have}。",
                (Evidence(fact=f"target.kind = {have}", source="answers"),))  # fmt: skip


def task(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.task
    if have is None:
        return _unknown("The task", "任务类型")
    return said(_outcome(have in args["any"]), f"The task is {have}.", f"任务类型是 {have}。",
                (Evidence(fact=f"task = {have}", source="answers"),))  # fmt: skip


# Combinators


class Several(msgspec.Struct, forbid_unknown_fields=True):
    of: list[Condition]


class One(msgspec.Struct, forbid_unknown_fields=True):
    of: Condition


def _inner(args: dict[str, Any], situation: Situation) -> list[Judged]:
    return [WORDS[inner["word"]](inner.get("args", {}), situation) for inner in args["of"]]


def _first(parts: list[Judged], outcome: Outcome) -> Judged:
    return next(part for part in parts if part.outcome == outcome)


def all_of(args: dict[str, Any], situation: Situation) -> Judged:
    parts = _inner(args, situation)
    outcomes = {part.outcome for part in parts}
    for outcome in ("unmet", "unknown", "met"):
        if outcome in outcomes:
            return _first(parts, outcome)
    return said("not_applicable", "Not of concern here.", "与本机无关。")


def any_of(args: dict[str, Any], situation: Situation) -> Judged:
    parts = _inner(args, situation)
    outcomes = {part.outcome for part in parts}
    for outcome in ("met", "unknown", "unmet"):
        if outcome in outcomes:
            return _first(parts, outcome)
    return said("not_applicable", "Not of concern here.", "与本机无关。")


def not_(args: dict[str, Any], situation: Situation) -> Judged:
    inner = args["of"]
    part = WORDS[inner["word"]](inner.get("args", {}), situation)
    turned: dict[Outcome, Outcome] = {"met": "unmet", "unmet": "met"}
    return Judged(turned.get(part.outcome, part.outcome), part.because, part.evidence)


WORDS: dict[str, Callable[[dict[str, Any], Situation], Judged]] = {
    "os": os, "platform": platform, "distribution": distribution, "os_release": os_release,
    "windows_build": windows_build, "macos": macos, "glibc": glibc, "musl": musl, "wsl": wsl, "container": container,
    "arch": arch, "jetson": jetson, "python": python, "python_bits": python_bits, "free_threaded": free_threaded,
    "accelerator": accelerator, "no_accelerator": no_accelerator, "driver": driver, "cpu_flags": cpu_flags,
    "cpu_vendor": cpu_vendor, "toolkit": toolkit, "memory": memory, "disk": disk, "installed": installed,
    "network": network, "answer": answer, "existing": existing, "model_params": model_params, "devices": devices,
    "target": target, "task": task, "all_of": all_of, "any_of": any_of, "not": not_,
}  # fmt: skip

ARGUMENTS: dict[str, type[msgspec.Struct]] = {
    "os": AnyOf, "platform": AnyOf, "distribution": AnyOf, "os_release": Bounds, "windows_build": Minimum,
    "macos": Minimum, "glibc": Minimum, "musl": Nothing, "wsl": Wsl, "container": Is, "arch": AnyOf, "jetson": Is,
    "python": PythonSpec, "python_bits": Bits, "free_threaded": Is, "accelerator": AcceleratorArgs,
    "no_accelerator": Nothing, "driver": DriverArgs, "cpu_flags": Flags, "cpu_vendor": AnyOf, "toolkit": ToolkitArgs,
    "memory": Gib, "disk": Gib, "installed": InstalledArgs, "network": NetworkArgs, "answer": AnswerArgs,
    "existing": AnyOf, "model_params": Range, "devices": IntRange, "target": AnyOf, "task": AnyOf,
    "all_of": Several, "any_of": Several, "not": One,
}  # fmt: skip
