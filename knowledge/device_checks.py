"""Whether one build runs on the cards of a route: their state, their architecture and their driver."""

from __future__ import annotations

from knowledge.catalog import Build, Catalog, Framework
from knowledge.explain import remedy
from knowledge.facts import Accelerator, Evidence, Source
from knowledge.fits import kept, verdict_of
from knowledge.hardware_words import SHOWN
from knowledge.judged import Situation, evidence
from knowledge.routes import VENDORS, Route, platform_of
from knowledge.system_words import jetson
from knowledge.verdicts import Outcome, Verdict
from knowledge.versions import at_least, capability, covers, version, within

# The CUDA that a driver says it can serve, and the first driver branch that said so. Source: NVIDIA CUDA release notes.
BRANCHES = (
    ("11.0", "450"), ("11.2", "460"), ("11.4", "470"), ("11.6", "510"), ("11.8", "520"), ("12.0", "525"), ("12.1", "530"),
    ("12.2", "535"), ("12.3", "545"), ("12.4", "550"), ("12.5", "555"), ("12.6", "560"), ("12.7", "565"), ("12.8", "570"),
    ("12.9", "575"), ("13.0", "580"), ("13.1", "590"), ("13.2", "595"),
)  # fmt: skip
# The first driver branch that knows Blackwell (capability 10.0 and newer). Source: CUDA 12.8 release notes.
BLACKWELL_DRIVER = "570"
BLACKWELL = Source(url="https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/", date="2025")
MODULES = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}


def on_device(catalog: Catalog, framework: Framework, build: Build, route: Route, situation: Situation) -> list[Verdict]:
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
        return kept(situation, key)
    if situation.machine.system.wsl == 1:
        name = route.cards[0].name or route.cards[0].vendor
        found: Verdict | None = verdict_of(
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
            return verdict_of("driver.library_mismatch", "unmet", name,
                            "A Linux driver was installed inside WSL beside the one that Windows provides.",
                            "在 WSL 里又装了一份 Linux 驱动，与 Windows 提供的驱动冲突。", proof, cures)  # fmt: skip
        return verdict_of("driver.library_mismatch", "unmet", name,
                        f"The {vendor} kernel module and the driver library are of different versions.",
                        f"{vendor} 内核模块与驱动库版本不一致。", proof,
                        (remedy("reboot"), remedy("load_module", {"module": MODULES.get(card.vendor, "")})))  # fmt: skip
    if card.state == "module_missing":
        return verdict_of("driver.module_missing", "unmet", name, f"The kernel module of the {vendor} driver is not loaded.",
                        f"{vendor} 驱动的内核模块没有加载。", proof,
                        (remedy("load_module", {"module": MODULES.get(card.vendor, "")}), remedy("reboot"), driver))  # fmt: skip
    if card.state == "permission_denied":
        return verdict_of("accel.permission", "unmet", name, f"You may not open {name}.", f"当前用户无权打开 {name}。", proof,
                        (remedy("join_group", {"group": "video" if card.vendor == "nvidia" else "render"}),))  # fmt: skip
    if card.state == "hidden":
        cure = remedy("container_gpu_flag") if system.container else remedy("enable_setting", {"setting": "CUDA_VISIBLE_DEVICES"})
        return verdict_of("accel.hidden", "unmet", name, f"{name} is there but hidden from programs here.",
                        f"{name} 存在，但对此处的程序不可见。", proof, (cure,))  # fmt: skip
    if card.state == "disabled":
        return verdict_of("accel.disabled", "unmet", name, f"{name} is switched off.", f"{name} 已被停用。", proof,
                        (remedy("enable_setting", {"setting": name}),))  # fmt: skip
    if card.state == "unlicensed":
        return verdict_of("accel.disabled", "unmet", name, "The virtual GPU has no licence and runs throttled or not at all.",
                        "虚拟 GPU 没有许可证，会降速或无法工作。", proof, (remedy("enable_setting", {"setting": "vGPU licence"}),))  # fmt: skip
    if system.wsl:
        return verdict_of("driver.missing", "unmet", name, f"The {vendor} driver of Windows does not reach WSL; none may be installed inside it.",
                        f"Windows 的 {vendor} 驱动没有通到 WSL；不要在 WSL 里安装驱动。", proof,
                        (remedy("update_driver", {"vendor": vendor, "os": "windows"}),))  # fmt: skip
    return verdict_of("driver.missing", "unmet", name, f"There is no working {vendor} driver for {name}.",
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
    found = kept(situation, key)
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
    for place, (card, _, _) in list(zip(route.places, outcomes, strict=True))[:SHOWN]:
        proof += evidence(situation.machine, f"accelerators.{place}.target", card.target)
    names = ", ".join(f"{card.name or card.vendor} ({card.target or '?'})" for card, _, _ in outcomes[:SHOWN])
    built = ", ".join(targets) if targets else f"{build.target_min or '0'} ≤ … ≤ {build.target_max}"
    if not targets and build.target_max is None:
        built = f"≥ {build.target_min}"
    bad = [card for card, good, _ in outcomes if good is False]
    fine = [place for place, (_, good, _) in enumerate(outcomes) if good]
    if bad and fine:
        value = ",".join(str(place) for place in fine)
        worst = ", ".join(card.name or card.vendor for card in bad[:SHOWN])
        name = "HIP_VISIBLE_DEVICES" if route.device == "rocm" else "CUDA_VISIBLE_DEVICES"
        return verdict_of("accel.mixed", "unmet", names, f"This build (for {built}) has no code for {worst}; hide that card from it.",
                        f"此构建（适用：{built}）没有适用于 {worst} 的代码；请让它看不到那块卡。", proof,
                        (remedy("hide_device", {"device": worst, "name": name, "value": value}), remedy("build_from_source")))  # fmt: skip
    if bad:
        return verdict_of(code, "unmet", names, f"This build has no code for {names}; it is built for {built}.",
                        f"此构建没有适用于 {names} 的代码；适用：{built}。", proof,
                        (remedy("use_instead"), remedy("build_from_source")))  # fmt: skip
    if any(good is None for _, good, _ in outcomes):
        return verdict_of(code, "unknown", names, f"The architecture of {names} is not known; this build is for {built}.",
                        f"{names} 的架构未知；此构建适用：{built}。", proof)  # fmt: skip
    return verdict_of(code, "met", names, f"Built for {built}, which runs on {names}.", f"适用 {built}，可在 {names} 上运行。", proof)


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
        return kept(situation, key)
    found = _judge_driver(catalog, build, route, situation)
    situation.memo[key] = found
    return found


def _branch_reaches(api: str, floor: str) -> bool | None:
    """Whether the driver branch that serves CUDA API is FLOOR or newer; None where FLOOR lies within the branch."""
    have = version(api)
    if have is None:
        return None
    below = [branch for name, branch in BRANCHES if have >= (version(name) or have)]
    above = [branch for name, branch in BRANCHES if have < (version(name) or have)]
    if below and at_least(below[-1], floor):
        return True
    return False if above and at_least(floor, above[0]) else None


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
    needing = build.toolkit or "this build", build.toolkit or "此构建"
    if any(c.vendor == "nvidia" and (capability(c.target) or (0, 0)) >= (10, 0) for c in route.cards) and not at_least(floor, BLACKWELL_DRIVER):
        floor, source, needing = BLACKWELL_DRIVER, BLACKWELL, ("a Blackwell card", "Blackwell 显卡")
    place = route.places[route.cards.index(card)]
    proof = evidence(situation.machine, f"accelerators.{place}.driver_version", card.driver_version)
    good = at_least(card.driver_version, floor)
    if good is None and card.driver_api_max is not None and build.toolkit is not None and source is not BLACKWELL:
        have, need = version(card.driver_api_max), version(build.toolkit)
        good = None if have is None or need is None else have.major >= need.major
        proof = evidence(situation.machine, f"accelerators.{place}.driver_api_max", card.driver_api_max)
    if good is None and card.driver_api_max is not None and (build.toolkit is None or source is BLACKWELL):
        good = _branch_reaches(card.driver_api_max, floor)
        proof = evidence(situation.machine, f"accelerators.{place}.driver_api_max", card.driver_api_max)
    if good is None and any(c.state not in ("usable", "unknown") for c in route.cards):
        return None  # the driver shows its version once the state is repaired, and the state has its own verdict
    outcome: Outcome = "unknown" if good is None else "met" if good else "unmet"
    cure = remedy("update_driver", {"vendor": vendor, "minimum": floor, "os": side})
    if jetson({"is": True}, situation).outcome == "met":  # the driver of a board is part of its system
        cure = remedy("update_os", {"version": "JetPack 7"} if capability(card.target) == (8, 7) else {})
    return verdict_of(
        "driver.too_old", outcome, f"{vendor} driver",
        f"The {vendor} driver is {card.driver_version or 'of unknown version'}; {needing[0]} needs {floor} or newer.",
        f"{vendor} 驱动版本{'是 ' + card.driver_version if card.driver_version else '未知'}；{needing[1]} 需要 {floor} 或更高版本。",
        proof, (cure,), source,
    )  # fmt: skip
