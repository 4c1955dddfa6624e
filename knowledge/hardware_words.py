"""Words on accelerators, processor, memory, toolkits, packages and network: one function each, and what it may be given."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from knowledge.facts import Accelerator, Evidence
from knowledge.instruction_sets import with_implied
from knowledge.judged import (
    GIB,
    Judged,
    Situation,
    bounded,
    evidence,
    outcome_of,
    said,
    unknown,
)
from knowledge.verdicts import Outcome
from knowledge.versions import capability, within

VENDOR_OF_DEVICE = {
    "cuda": "nvidia", "rocm": "amd", "xpu": "intel", "metal": "apple", "cann": "huawei", "musa": "moore-threads",
    "qnn": "qualcomm", "rknn": "rockchip", "xdna": "amd", "tpu": "google", "gaudi": "habana", "coreml": "apple",
}  # fmt: skip
SHOWN = 8  # devices named in a sentence; a machine file may list thousands
KIND_OF_DEVICE = {"qnn": "npu", "rknn": "npu", "xdna": "npu", "cann": "npu", "tpu": "npu", "gaudi": "npu"}


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
        return unknown("Which accelerators there are", "有哪些加速器")
    best: Outcome = "unmet"
    names = ", ".join(card.name or card.vendor for card in cards[:SHOWN]) or "no accelerator"
    proof: tuple[Evidence, ...] = ()
    total = 0
    for place, card in enumerate(cards):
        found = matches(args, card)
        if found is True:
            total += card.count
        if found is not False and len(proof) < SHOWN:
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
        return unknown("Which accelerators there are", "有哪些加速器")
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
    return bounded(have, {"min": need, "max": (args.get("max") or {}).get(side)}, f"The {args['vendor']} driver",
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
    have = with_implied(machine.cpu.flags)
    missing = [word for word in args["all"] if word not in have]
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
        return unknown("The maker of the processor", "处理器厂商", proof)
    return said(outcome_of(have in args["any"]), f"The processor is made by {have}.", f"处理器厂商是 {have}。", proof)


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
        return unknown(f"Whether {name} is installed", f"是否安装了 {name} ", proof)
    if have is False:
        return said("unmet", f"{name} is not installed.", f"未安装 {name}。", proof)
    spec = args.get("spec")
    if spec is None:
        return said("met", f"{name} is installed.", f"已安装 {name}。", proof)
    if not isinstance(have, str):
        return said("unknown", f"{name} is installed in a version that is not known; needed is {spec}.",
                    f"已安装 {name}，但版本未知；需要 {spec}。", proof)  # fmt: skip
    good = within(have, spec)
    return said(outcome_of(good), f"{name} is {have}; needed is {spec}.", f"{name} 版本是 {have}；需要 {spec}。", proof)


class Gib(msgspec.Struct, forbid_unknown_fields=True):
    min_gib: float


def memory(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.memory
    sizes = [size for size in (have.total_bytes, have.limit_bytes) if size is not None]
    proof = evidence(situation.machine, "memory.total_bytes", have.total_bytes)
    if not sizes:
        return unknown("The amount of memory", "内存大小", proof)
    gib = min(sizes) / GIB
    return said(outcome_of(gib >= args["min_gib"] * 0.93), f"Memory is {gib:.1f} GiB; needed are {args['min_gib']:g} GiB.",
                f"内存 {gib:.1f} GiB；需要 {args['min_gib']:g} GiB。", proof)  # fmt: skip


def disk(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.disk.free_bytes
    proof = evidence(situation.machine, "disk.free_bytes", have)
    if have is None:
        return unknown("The free space on the disk", "磁盘可用空间", proof)
    return said(outcome_of(have / GIB >= args["min_gib"]), f"{have / GIB:.0f} GiB are free; needed are {args['min_gib']:g}.",
                f"磁盘可用 {have / GIB:.0f} GiB；需要 {args['min_gib']:g} GiB。", proof)  # fmt: skip


class InstalledArgs(msgspec.Struct, forbid_unknown_fields=True):
    package: str
    spec: str | None = None


def installed(args: dict[str, Any], situation: Situation) -> Judged:
    pythons = situation.machine.pythons
    if pythons is None:
        return unknown("What is installed", "已安装的软件包")
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
            return unknown(f"Whether {host} can be reached", f"能否访问 {host} ")
        return said(outcome_of(found == args.get("is", True)), f"{host} can{'' if found else 'not'} be reached.",
                    f"{'可以' if found else '无法'}访问 {host}。",
                    evidence(situation.machine, f"network.reachable.{host}", found))  # fmt: skip
    offline = have.offline
    if situation.answers.needs.offline is not None:
        offline = situation.answers.needs.offline
    if offline is None:
        return unknown("Whether there is a network", "是否联网")
    return said(outcome_of(offline == args.get("offline", True)), f"Offline: {offline}.", f"离线：{'是' if offline else '否'}。")
