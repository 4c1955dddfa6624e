# ruff: noqa: E501 - a wide character counts twice
"""Whether one build runs on one machine: each requirement of its wheel as a verdict with evidence and remedies."""

from __future__ import annotations

from typing import NamedTuple

from knowledge.catalog import Build, Catalog, Framework, Requirement
from knowledge.catalog import Remedy as RemedyData
from knowledge.explain import remedy
from knowledge.facts import Accelerator, Evidence, MachineProfile, Remedy, Source
from knowledge.predicates import Situation, evidence, judge
from knowledge.text import Text
from knowledge.verdicts import Assumption, Fit, Outcome, Verdict
from knowledge.versions import at_least, capability, covers, version, within

# A remedy of these codes alone does not make a machine fit: it names another program, another machine or another day.
NOT_A_CHANGE = frozenset({"use_instead", "wait", "more_memory", "build_from_source", "use_linux"})
FITS: tuple[Fit, ...] = ("ready", "after_changes", "undetermined", "unsuitable")
VENDORS = {
    "nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "huawei": "Huawei Ascend",
    "qualcomm": "Qualcomm", "moore-threads": "Moore Threads",
}  # fmt: skip
# Which kind of build can use a device of a vendor, the best first.
SERVES = {
    ("nvidia", "gpu"): ("cuda", "vulkan", "directml", "webgpu"),
    ("amd", "gpu"): ("rocm", "vulkan", "directml", "webgpu"),
    ("amd", "npu"): ("xdna",),
    ("intel", "gpu"): ("xpu", "openvino", "vulkan", "directml", "webgpu"),
    ("intel", "npu"): ("openvino",),
    ("apple", "gpu"): ("metal", "coreml", "webgpu"),
    ("apple", "npu"): ("coreml",),
    ("huawei", "npu"): ("cann",),
    ("huawei", "gpu"): ("cann",),
    ("qualcomm", "npu"): ("qnn",),
    ("qualcomm", "gpu"): ("vulkan", "directml", "webgpu"),
    ("rockchip", "npu"): ("rknn",),
    ("moore-threads", "gpu"): ("musa",),
    ("google", "npu"): ("tpu",),
    ("habana", "npu"): ("gaudi",),
}
MODULES = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}
VC_RUNTIME = "Microsoft Visual C++ Redistributable 2015-2022 (x64)"
ENDED = frozenset({"project.archived", "project.superseded", "project.renamed"})
HARDWARE = frozenset({"accel.arch_not_built", "accel.arch_too_old", "accel.vendor_unsupported", "accel.none"})


class Checked(NamedTuple):
    """One build against one machine: verdicts (assumed unknowns left out) and what was assumed."""

    build: Build
    verdicts: tuple[Verdict, ...]
    assumptions: tuple[Assumption, ...]
    fit: Fit
    changes: int


def fit_of(verdicts: tuple[Verdict, ...] | list[Verdict]) -> Fit:
    """ready: all met; after_changes: each unmet one can be changed here; undetermined: a blocking fact is unknown."""
    worst: Fit = "ready"
    for verdict in verdicts:
        if verdict.outcome == "unmet":
            # An ended project still runs; moving to its successor is the change.
            ended = verdict.code in ENDED and verdict.remedies
            if not ended and not any(r.code not in NOT_A_CHANGE or "device" in r.params for r in verdict.remedies):
                return "unsuitable"
            if worst == "ready":
                worst = "after_changes"
        elif verdict.outcome == "unknown":
            worst = "undetermined"
    return worst


# A change that takes an afternoon weighs more than one that takes a command.
WEIGHTS = {"os.unsupported": 8, "arch.unsupported": 8, "libc.musl": 4, "libc.too_old": 4, "os.too_old": 4, "driver.too_old": 2}


def changes_of(verdicts: tuple[Verdict, ...] | list[Verdict]) -> int:
    """What has to be changed, weighed: another operating system is more than a driver, a driver more than a package."""
    return sum(WEIGHTS.get(verdict.code, 1) for verdict in verdicts if verdict.outcome == "unmet")


def platform_of(situation: Situation) -> str | None:
    system = situation.machine.system
    return f"{system.os}-{system.arch}" if system.os and system.arch else None


def integrated(card: Accelerator) -> bool:
    """A GPU or NPU inside the processor; Apple's and NVIDIA's unified chips are the machine's main accelerator."""
    if card.vendor in ("apple", "nvidia") or card.memory_kind == "dedicated":
        return False
    return card.integrated is True or card.memory_kind in ("shared", "unified")


class Route(NamedTuple):
    """One kind of device that a plan may be made for; no cards: the processor."""

    device: str
    cards: tuple[Accelerator, ...]
    places: tuple[int, ...] = ()  # of the cards in the profile, for evidence


def routes(situation: Situation) -> tuple[Route, ...]:
    """The devices of this machine with the kinds of builds that can use them, best first, the processor last."""
    found: tuple[Route, ...] | None = situation.memo.get("routes")
    if found is not None:
        return found
    groups: dict[tuple[str, str, bool], list[int]] = {}
    cards = situation.machine.accelerators or ()
    for place, card in enumerate(cards):
        if (card.vendor, card.kind) in SERVES:
            groups.setdefault((card.vendor, card.kind, integrated(card)), []).append(place)

    def rank(item: tuple[tuple[str, str, bool], list[int]]) -> tuple[bool, bool, int, int]:
        (_, kind, inside), places = item
        size = sum((cards[p].memory_bytes or 0) * cards[p].count for p in places)
        # An Ascend card is an NPU by name and the main accelerator in fact.
        return inside, kind == "npu" and cards[places[0]].vendor != "huawei", -size, places[0]

    result: list[Route] = []
    for (vendor, kind, _), places in sorted(groups.items(), key=rank):
        group = tuple(cards[p] for p in places)
        result.extend(Route(device, group, tuple(places)) for device in SERVES[vendor, kind])
    found = (*result, Route("cpu", ()))
    situation.memo["routes"] = found
    return found


def check(catalog: Catalog, framework: Framework, build: Build, route: Route, situation: Situation) -> Checked:
    """BUILD of FRAMEWORK on the devices of ROUTE."""
    key = ("build", framework.id, build.id, route.device, route.places, situation.python_minor, situation.python is None)
    known: Checked | None = situation.memo.get(key)
    if known is not None:
        return known
    verdicts: list[Verdict] = []
    assumptions: list[Assumption] = []
    for found in (
        _platform(build, situation),
        _libc(build, situation),
        _release(build, situation),
        _python(framework, build, situation),
        _index(catalog, build, situation),
        _runtime(build, situation),
    ):
        if found is not None:
            verdicts.append(found)
    if route.cards and build.device not in ("any", "cpu"):
        verdicts.extend(_device(catalog, framework, build, route, situation))
    for requirement in (*framework.requires, *build.requires):
        _required(catalog, framework, requirement, situation, verdicts, assumptions)
    _disk(build, situation, verdicts)
    verdicts = _once(verdicts)
    result = Checked(build, tuple(verdicts), tuple(assumptions), fit_of(verdicts), changes_of(verdicts))
    situation.memo[key] = result
    return result


def _once(verdicts: list[Verdict]) -> list[Verdict]:
    """One unmet verdict for each code: a framework's own requirement knows more than the general rule."""
    last = {v.code: v for v in verdicts if v.outcome == "unmet"}
    return [v for v in verdicts if v.outcome != "unmet" or last[v.code] is v]


def _memo(situation: Situation, key: tuple[object, ...]) -> Verdict | None:
    found: Verdict | None = situation.memo.get(key)
    return found


def _verdict(
    code: str,
    outcome: Outcome,
    subject: str,
    en: str,
    zh: str,
    proof: tuple[Evidence, ...] = (),
    remedies: tuple[Remedy, ...] = (),
    source: Source | None = None,
) -> Verdict:
    return Verdict(
        code=code, outcome=outcome, subject=subject, because=Text(en, zh), evidence=proof,
        remedies=remedies if outcome == "unmet" else (), source=source,
    )  # fmt: skip


def _platform(build: Build, situation: Situation) -> Verdict | None:
    if "any" in build.platforms:
        return None
    key = ("platform", build.platforms)
    found = _memo(situation, key)
    if found is None:
        found = situation.memo[key] = _judge_platform(build.platforms, situation)
    return found


def _judge_platform(platforms: tuple[str, ...], situation: Situation) -> Verdict:
    machine = situation.machine
    system = machine.system
    proof = evidence(machine, "system.os", system.os) + evidence(machine, "system.arch", system.arch)
    wanted = ", ".join(platforms)
    if system.os is None and system.arch is not None and not any(p.endswith(f"-{system.arch}") for p in platforms):
        return _verdict("arch.unsupported", "unmet", "processor", f"The processor is {system.arch}; built for {wanted}.",
                        f"处理器架构是 {system.arch}；提供的构建：{wanted}。", proof, (remedy("use_instead"),))  # fmt: skip
    if system.os is None:
        return _verdict("os.unsupported", "unknown", "system", "The operating system is not known.", "操作系统未知。", proof)
    here = [p for p in platforms if p.startswith(f"{system.os}-")]
    if not here:
        cures = []
        arch = system.arch or "x86_64"
        if system.os == "windows" and f"linux-{arch}" in platforms:
            cures.append(remedy("use_wsl2"))
        if any(p.startswith("linux-") for p in platforms):
            cures.append(remedy("use_linux"))
        return _verdict("os.unsupported", "unmet", "system", f"There is no build for {system.os} on {arch}; built for {wanted}.",
                        f"没有适用于 {system.os} {arch} 的构建；提供的构建：{wanted}。", proof, (*cures, remedy("use_instead")))  # fmt: skip
    if system.arch is None:
        return _verdict("arch.unsupported", "unknown", "processor", "The processor architecture is not known.",
                        "处理器架构未知。", proof)  # fmt: skip
    if f"{system.os}-{system.arch}" not in platforms:
        cures = [remedy("use_instead")]
        if system.os == "windows" and f"linux-{system.arch}" in platforms:
            cures.insert(0, remedy("use_wsl2"))
        return _verdict("arch.unsupported", "unmet", "processor",
                        f"There is no build for {system.os} on {system.arch}; built for {wanted}.",
                        f"没有适用于 {system.os} {system.arch} 的构建；提供的构建：{wanted}。", proof, tuple(cures))  # fmt: skip
    return _verdict("os.unsupported", "met", "system", f"There is a build for {system.os} on {system.arch}.",
                    f"有适用于 {system.os} {system.arch} 的构建。", proof)  # fmt: skip


def _libc(build: Build, situation: Situation) -> Verdict | None:
    if situation.machine.system.os not in ("linux", None) or (build.glibc_min is None and not build.packages):
        return None
    if build.glibc_min is None or (situation.machine.system.os is None and situation.machine.system.libc is None):
        return None
    key = ("libc", build.glibc_min, build.musl)
    found = _memo(situation, key)
    if found is None:
        found = situation.memo[key] = _judge_libc(build.glibc_min, build.musl, situation)
    return found


def _judge_libc(minimum: str, musl: bool, situation: Situation) -> Verdict:
    system = situation.machine.system
    proof = evidence(situation.machine, "system.libc", f"{system.libc or 'not known'} {system.libc_version or ''}".strip())
    if system.libc == "musl":
        if musl:
            return _verdict("libc.musl", "met", "system", "There is a build for musl.", "有适用于 musl 的构建。", proof)
        return _verdict(
            "libc.musl", "unmet", "system",
            f"This system uses musl (Alpine and the like); the wheels are built for glibc {minimum} and pip finds none here.",
            f"此系统使用 musl（如 Alpine）；轮子针对 glibc {minimum} 编译，pip 在这里找不到可用的包。",
            proof, (remedy("container_image", {"image": "python:3.12-slim"}), remedy("use_linux")),
        )  # fmt: skip
    if system.libc is None or system.libc_version is None:
        return _verdict("libc.too_old", "unknown", "system", "The version of the C library (glibc) is not known.",
                        "C 库（glibc）版本未知。", proof)  # fmt: skip
    good = at_least(system.libc_version, minimum)
    return _verdict(
        "libc.too_old", "unknown" if good is None else "met" if good else "unmet", "system",
        f"glibc is {system.libc_version}; the wheels need {minimum} or newer.",
        f"glibc 版本是 {system.libc_version}；轮子需要 {minimum} 或更高版本。", proof,
        (remedy("container_image", {"image": "ubuntu:24.04"}), remedy("update_os")),
    )  # fmt: skip


def _release(build: Build, situation: Situation) -> Verdict | None:
    system = situation.machine.system
    if system.os == "macos" and build.macos_min is not None:
        good = at_least(system.release, build.macos_min)
        proof = evidence(situation.machine, "system.release", system.release)
        return _verdict("os.too_old", "unknown" if good is None else "met" if good else "unmet", "system",
                        f"macOS is {system.release or 'of unknown version'}; needed is {build.macos_min} or newer.",
                        f"macOS 版本{'是 ' + system.release if system.release else '未知'}；需要 {build.macos_min} 或更高版本。",
                        proof, (remedy("update_os", {"version": f"macOS {build.macos_min}"}),))  # fmt: skip
    if system.os == "windows" and build.windows_build_min is not None:
        have = system.build.split(".")[-1] if system.build else None
        good = at_least(have, build.windows_build_min.split(".")[-1])
        if good is None and system.release is not None and at_least(system.release, "10") and build.windows_build_min in ("10240", "17763", "18362"):
            good = True if system.release == "11" else None
        proof = evidence(situation.machine, "system.build", system.build)
        return _verdict("os.too_old", "unknown" if good is None else "met" if good else "unmet", "system",
                        f"The Windows build is {system.build or 'not known'}; needed is {build.windows_build_min} or newer.",
                        f"Windows 内部版本{'是 ' + system.build if system.build else '未知'}；需要 {build.windows_build_min} 或更高。",
                        proof, (remedy("update_os", {"version": f"Windows {build.windows_build_min}"}),))  # fmt: skip
    return None


def _python(framework: Framework, build: Build, situation: Situation) -> Verdict | None:
    if not build.pythons:
        return None
    key = ("python", build.pythons, situation.python_minor, situation.python is None)
    found = _memo(situation, key)
    if found is None:
        from knowledge import pythons

        found = situation.memo[key] = pythons.judge(build.pythons, situation)
    return found


def _index(catalog: Catalog, build: Build, situation: Situation) -> Verdict | None:
    """An index that is known to be out of reach from here, or no network at all."""
    machine = situation.machine
    names = {package.index or build.index for package in build.packages}
    if not names:
        return None
    if machine.network.offline is True:
        return _verdict("network.offline", "unmet", "network", "This computer has no network.", "这台电脑没有联网。",
                        evidence(machine, "network.offline", True), (remedy("carry_wheels"),))  # fmt: skip
    if not machine.network.reachable:
        return None
    for name in sorted(names):
        index = catalog.indexes.get(name)
        if index is None:
            continue
        host = index.url.split("/")[2] if index.url is not None else _default_host(machine)
        if machine.network.reachable.get(host) is False:
            mirrors = [item for item in catalog.indexes.values() if item.mirrors == name and item.url is not None]
            cures = [remedy("use_mirror", {"index": name, "host": m.url.split("/")[2]}) for m in mirrors if m.url]
            return _verdict("network.index_unreachable", "unmet", "network", f"{host} cannot be reached from here.",
                            f"此处无法访问 {host}。", evidence(machine, f"network.reachable.{host}", False),
                            (*(cures or [remedy("use_mirror", {"index": name})]), remedy("carry_wheels")))  # fmt: skip
    return None


def _default_host(machine: MachineProfile) -> str:
    """Host of this user's default index: the one that is set, else PyPI's, told by its first word."""
    if machine.network.index_url is not None:
        return machine.network.index_url.split("/")[2] if machine.network.index_url.count("/") > 1 else ""
    return next((host for host in machine.network.reachable if host.split(".")[0] == "pypi"), "")


def _runtime(build: Build, situation: Situation) -> Verdict | None:
    """Compiled wheels on Windows load Microsoft's C++ runtime."""
    machine = situation.machine
    if machine.system.os != "windows" or build.device == "any" or not build.packages or machine.software.vc_redist is not False:
        return None
    return _verdict(
        "os.runtime_missing", "unmet", "system",
        "The Microsoft Visual C++ runtime is not installed; without it the libraries do not load.",
        "未安装 Microsoft Visual C++ 运行库；缺少它时无法加载所需的库。",
        evidence(machine, "software.vc_redist", False),
        (remedy("install_system_package", {"name": VC_RUNTIME, "os": "windows"}),),
    )  # fmt: skip


def _device(catalog: Catalog, framework: Framework, build: Build, route: Route, situation: Situation) -> list[Verdict]:
    found: list[Verdict] = []
    state = _state(route, situation)
    if state is not None:
        found.append(state)
    target = _target(framework, build, route, situation)
    if target is not None:
        found.append(target)
    driver = _driver(catalog, build, route, situation)
    if driver is not None:
        found.append(driver)
    return found


def _state(route: Route, situation: Situation) -> Verdict | None:
    key = ("state", route.places)
    if key in situation.memo:
        return _memo(situation, key)
    if situation.machine.system.wsl == 1:
        name = route.cards[0].name or route.cards[0].vendor
        found: Verdict | None = _verdict(
            "accel.hidden", "unmet", name, "WSL 1 gives programs no access to the GPU; WSL 2 does.",
            "WSL 1 中的程序无法访问 GPU，WSL 2 可以。", evidence(situation.machine, "system.wsl", 1), (remedy("use_wsl2"),),
        )  # fmt: skip
        situation.memo[key] = found
        return found
    worst = next((c for c in route.cards if c.state not in ("usable", "unknown")), None)
    if any(card.state == "usable" for card in route.cards):
        worst = None
    found = None if worst is None else _judge_state(worst, route, situation)
    situation.memo[key] = found
    return found


def _judge_state(card: Accelerator, route: Route, situation: Situation) -> Verdict:
    system = situation.machine.system
    vendor = VENDORS.get(card.vendor, card.vendor)
    name = card.name or f"{vendor} {card.kind.upper()}"
    proof = evidence(situation.machine, f"accelerators.{route.places[0]}.state", card.state)
    driver = remedy("install_driver", {"vendor": vendor, "device": name, "distribution": system.distribution or ""})
    if card.state == "driver_mismatch":
        if system.wsl:
            cures = (remedy("uninstall", {"package": "nvidia-driver (in WSL)"}), remedy("update_driver", {"vendor": vendor, "os": "windows"}))
            return _verdict("driver.library_mismatch", "unmet", name,
                            "A Linux driver was installed inside WSL beside the one that Windows provides.",
                            "在 WSL 里又装了一份 Linux 驱动，与 Windows 提供的驱动冲突。", proof, cures)  # fmt: skip
        return _verdict("driver.library_mismatch", "unmet", name,
                        f"The {vendor} kernel module and the driver library are of different versions.",
                        f"{vendor} 内核模块与驱动库版本不一致。", proof,
                        (remedy("reboot"), remedy("load_module", {"module": MODULES.get(card.vendor, "")})))  # fmt: skip
    if card.state == "module_missing":
        return _verdict("driver.module_missing", "unmet", name, f"The kernel module of the {vendor} driver is not loaded.",
                        f"{vendor} 驱动的内核模块没有加载。", proof,
                        (remedy("load_module", {"module": MODULES.get(card.vendor, "")}), remedy("reboot"), driver))  # fmt: skip
    if card.state == "permission_denied":
        return _verdict("accel.permission", "unmet", name, f"You may not open {name}.", f"当前用户无权打开 {name}。", proof,
                        (remedy("join_group", {"group": "video" if card.vendor == "nvidia" else "render"}),))  # fmt: skip
    if card.state == "hidden":
        cure = remedy("container_gpu_flag") if system.container else remedy("enable_setting", {"setting": "CUDA_VISIBLE_DEVICES"})
        return _verdict("accel.hidden", "unmet", name, f"{name} is there but hidden from programs here.",
                        f"{name} 存在，但对此处的程序不可见。", proof, (cure,))  # fmt: skip
    if card.state == "disabled":
        return _verdict("accel.disabled", "unmet", name, f"{name} is switched off.", f"{name} 已被停用。", proof,
                        (remedy("enable_setting", {"setting": name}),))  # fmt: skip
    if card.state == "unlicensed":
        return _verdict("accel.disabled", "unmet", name, "The virtual GPU has no licence and runs throttled or not at all.",
                        "虚拟 GPU 没有许可证，会降速或无法工作。", proof, (remedy("enable_setting", {"setting": "vGPU licence"}),))  # fmt: skip
    return _verdict("driver.missing", "unmet", name, f"There is no working {vendor} driver for {name}.",
                    f"{name} 没有可用的 {vendor} 驱动。", proof,
                    ((remedy("container_image"), driver) if system.container else (driver,)))  # fmt: skip


def _target(framework: Framework, build: Build, route: Route, situation: Situation) -> Verdict | None:
    platform = platform_of(situation) or ""
    if situation.machine.system.wsl is None and platform not in build.platforms and platform.startswith("windows"):
        platform = platform.replace("windows", "linux")  # judged for where it would run, in WSL2
    targets = build.targets_by_platform.get(platform, build.targets)
    if targets is None and build.target_min is None and build.target_max is None:
        return None
    key = ("target", targets, build.ptx, build.target_min, build.target_max, route.device, route.places)
    found = _memo(situation, key)
    if found is None:
        found = situation.memo[key] = _judge_target(build, targets, route, situation)
    return found


def _runs(card: Accelerator, build: Build, targets: tuple[str, ...] | None) -> tuple[bool | None, str]:
    """Whether the code in BUILD runs on CARD, and the code of the verdict."""
    if card.target is None:
        return None, "accel.arch_not_built"
    have = capability(card.target)
    low, high = capability(build.target_min), capability(build.target_max)
    if have is not None and low is not None and have < low:
        return False, "accel.arch_too_old"
    if have is not None and high is not None and have > high:
        return False, "accel.arch_not_built"
    if targets is None:
        return True, "accel.arch_not_built"
    if covers(targets, build.ptx, card.target):
        return True, "accel.arch_not_built"
    oldest = min((c for t in targets if (c := capability(t)) is not None), default=None)
    too_old = have is not None and oldest is not None and have < oldest
    return False, "accel.arch_too_old" if too_old else "accel.arch_not_built"


def _judge_target(build: Build, targets: tuple[str, ...] | None, route: Route, situation: Situation) -> Verdict:
    outcomes = [(card, *_runs(card, build, targets)) for card in route.cards]
    code = next((c for _, good, c in outcomes if good is False), "accel.arch_not_built")
    proof: tuple[Evidence, ...] = ()
    for place, (card, _, _) in zip(route.places, outcomes, strict=True):
        proof += evidence(situation.machine, f"accelerators.{place}.target", card.target)
    names = ", ".join(f"{card.name or card.vendor} ({card.target or '?'})" for card, _, _ in outcomes)
    built = ", ".join(targets) if targets else f"{build.target_min or '0'} ≤ … ≤ {build.target_max}"
    if not targets and build.target_max is None:
        built = f"≥ {build.target_min}"
    bad = [card for card, good, _ in outcomes if good is False]
    fine = [place for place, (_, good, _) in enumerate(outcomes) if good]
    if bad and fine:
        value = ",".join(str(place) for place in fine)
        worst = ", ".join(card.name or card.vendor for card in bad)
        name = "HIP_VISIBLE_DEVICES" if route.device == "rocm" else "CUDA_VISIBLE_DEVICES"
        return _verdict("accel.mixed", "unmet", names, f"This build has no code for {worst} (built for {built}); no one build may serve all cards here.",
                        f"此构建没有适用于 {worst} 的代码（适用：{built}），一个构建未必能服务本机所有显卡。", proof,
                        (remedy("hide_device", {"device": worst, "name": name, "value": value}), remedy("build_from_source")))  # fmt: skip
    if bad:
        return _verdict(code, "unmet", names, f"This build has no code for {names}; it is built for {built}.",
                        f"此构建没有适用于 {names} 的代码；适用：{built}。", proof,
                        (remedy("use_instead"), remedy("build_from_source")))  # fmt: skip
    if any(good is None for _, good, _ in outcomes):
        return _verdict(code, "unknown", names, f"The architecture of {names} is not known, so whether the build ({built}) runs on it is not either.",
                        f"{names} 的架构未知，无法判断此构建（适用：{built}）能否运行。", proof)  # fmt: skip
    return _verdict(code, "met", names, f"Built for {built}, which runs on {names}.", f"适用 {built}，可在 {names} 上运行。", proof)


def driver_floor(catalog: Catalog, build: Build, side: str) -> tuple[str | None, Source | None]:
    """The oldest driver that serves BUILD on SIDE (linux or windows), and where that stands."""
    if build.driver_min:
        return build.driver_min.get(side), build.source
    backend = catalog.backends.get(build.device)
    if backend is None or build.toolkit is None:
        return None, None
    for toolkit in backend.toolkits:
        if within(build.toolkit, toolkit.versions):
            return toolkit.driver_min.get(side), toolkit.source
    return None, None


def _driver(catalog: Catalog, build: Build, route: Route, situation: Situation) -> Verdict | None:
    key = ("driver", build.toolkit, tuple(sorted(build.driver_min.items())), build.device, route.places)
    if key in situation.memo:
        return _memo(situation, key)
    found = _judge_driver(catalog, build, route, situation)
    situation.memo[key] = found
    return found


def _judge_driver(catalog: Catalog, build: Build, route: Route, situation: Situation) -> Verdict | None:
    """The driver's version decides; the CUDA that it can serve only where its version was not read.

    Within one CUDA major a newer toolkit runs on the major's oldest driver (minor-version compatibility).
    Source: NVIDIA CUDA compatibility guide.
    """
    system = situation.machine.system
    # WSL2 shows the driver of Windows, by its Windows number.
    side = "windows" if system.os == "windows" or system.wsl else "linux"
    floor, source = driver_floor(catalog, build, side)
    if floor is None:
        return None
    card = next((c for c in route.cards if c.driver_version), route.cards[0])
    vendor = VENDORS.get(card.vendor, card.vendor)
    place = route.places[route.cards.index(card)]
    proof = evidence(situation.machine, f"accelerators.{place}.driver_version", card.driver_version)
    good = at_least(card.driver_version, floor)
    if good is None and card.driver_api_max is not None and build.toolkit is not None:
        have, need = version(card.driver_api_max), version(build.toolkit)
        good = None if have is None or need is None else have.major >= need.major
        proof = evidence(situation.machine, f"accelerators.{place}.driver_api_max", card.driver_api_max)
    if good is None and any(c.state in ("no_driver", "module_missing", "hidden", "disabled") for c in route.cards):
        return None  # the driver that is to be installed will be new enough; the state has its own verdict
    outcome: Outcome = "unknown" if good is None else "met" if good else "unmet"
    return _verdict(
        "driver.too_old", outcome, f"{vendor} driver",
        f"The {vendor} driver is {card.driver_version or 'of unknown version'}; {build.toolkit or 'this build'} needs {floor} or newer.",
        f"{vendor} 驱动版本{'是 ' + card.driver_version if card.driver_version else '未知'}；{build.toolkit or '此构建'} 需要 {floor} 或更高版本。",
        proof, (remedy("update_driver", {"vendor": vendor, "minimum": floor, "os": side}),), source,
    )  # fmt: skip


def params_of(catalog: Catalog, data: RemedyData) -> dict[str, str]:
    """Parameters of a remedy in the data, with the name of the framework it points at."""
    params = dict(data.params)
    other = catalog.frameworks.get(params.get("framework", ""))
    if other is not None and "name" not in params:
        params["name"] = other.name
    return params


def _required(
    catalog: Catalog,
    framework: Framework,
    requirement: Requirement,
    situation: Situation,
    verdicts: list[Verdict],
    assumptions: list[Assumption],
) -> None:
    found = judge(requirement.when, situation)
    outcome = found.outcome
    if outcome == "not_applicable":
        return
    if outcome == "unknown" and requirement.unknown == "assumed":
        assumptions.append(Assumption(fact=requirement.when.word, assumed="met", because=requirement.because or found.because))
        return
    key = ("required", id(requirement), outcome, situation.python_minor, situation.python is None)
    verdict = _memo(situation, key)
    if verdict is None:
        text = found.because
        if outcome == "unmet" and requirement.because is not None:
            text = Text(f"{requirement.because.en} {found.because.en}", f"{requirement.because.zh}{found.because.zh}")
        cures = tuple(remedy(item.code, params_of(catalog, item)) for item in requirement.remedies) if outcome == "unmet" else ()
        verdict = situation.memo[key] = Verdict(
            code=requirement.code, outcome=outcome, subject=framework.id, because=text, evidence=found.evidence,
            remedies=cures, source=requirement.source,
        )  # fmt: skip
    verdicts.append(verdict)


def _disk(build: Build, situation: Situation, verdicts: list[Verdict]) -> None:
    """An install takes about two and a half times its download; only a sure lack is a verdict."""
    free = situation.machine.disk.free_bytes
    if free is None:
        return
    needed = sum(package.download_mb or 0 for package in build.packages) * 1e6 * 2.5
    if needed > free:
        gib = f"{needed / 2**30:.0f}"
        verdicts.append(
            _verdict("disk.exceeds", "unmet", "disk", f"About {gib} GiB are needed, {free / 2**30:.1f} GiB are free.",
                     f"约需 {gib} GiB，可用 {free / 2**30:.1f} GiB。", evidence(situation.machine, "disk.free_bytes", free),
                     (remedy("free_disk", {"gib": gib}),))
        )  # fmt: skip
