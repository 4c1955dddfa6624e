"""Whether one build runs on one machine: each requirement of its wheel as a verdict with evidence and remedies."""

from __future__ import annotations

from typing import NamedTuple

from knowledge.catalog import Build, Catalog, Framework, Requirement
from knowledge.catalog import Remedy as RemedyData
from knowledge.device_checks import on_device
from knowledge.explain import remedy
from knowledge.facts import Evidence, MachineProfile
from knowledge.fits import FITS, changes_of, fit_of, kept, verdict_of
from knowledge.judged import Situation, evidence
from knowledge.predicates import judge
from knowledge.routes import VENDORS, Route, integrated, platform_of, routes
from knowledge.text import Text
from knowledge.verdicts import Assumption, Fit, Verdict
from knowledge.versions import at_least, within

__all__ = [
    "FITS", "HARDWARE", "VENDORS", "Checked", "Route", "changes_of", "check", "fit_of", "integrated", "platform_of", "routes",
]  # fmt: skip
VC_RUNTIME = "Microsoft Visual C++ Redistributable 2015-2022 (x64)"
HARDWARE = frozenset({"accel.arch_not_built", "accel.arch_too_old", "accel.vendor_unsupported", "accel.none"})


class Checked(NamedTuple):
    """One build against one machine: verdicts (assumed unknowns left out) and what was assumed."""

    build: Build
    verdicts: tuple[Verdict, ...]
    assumptions: tuple[Assumption, ...]
    fit: Fit
    changes: int


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
        _approved(build, situation),
    ):
        if found is not None:
            verdicts.append(found)
    if route.cards and build.device not in ("any", "cpu"):
        verdicts.extend(on_device(catalog, framework, build, route, situation))
        if all(card.state == "unknown" for card in route.cards):
            assumptions.append(
                Assumption(
                    fact=f"accelerators.{route.places[0]}.state",
                    assumed="usable",
                    because=Text("Whether the device works was not read.", "没有读到该设备能否工作。"),
                )
            )
    for requirement in (*framework.requires, *build.requires):
        _required(catalog, framework, requirement, situation, verdicts, assumptions)
    _disk(build, situation, verdicts)
    verdicts = _once(verdicts)
    result = Checked(build, tuple(verdicts), tuple(assumptions), fit_of(verdicts), changes_of(verdicts))
    situation.memo[key] = result
    return result


def _approved(build: Build, situation: Situation) -> Verdict | None:
    """A version that the team's policy does not allow; another build is taken where one is allowed."""
    for package in build.packages if situation.approved else ():
        bound = situation.approved.get(package.name) or situation.approved.get(package.name.lower().replace("_", "-"))
        if bound is not None and within(package.version, bound) is False:
            return verdict_of(
                "policy.version", "unmet", package.name,
                f"{package.name} {package.version} is not among the versions that your team allows ({bound}).",
                f"{package.name} {package.version} 不在团队允许的版本（{bound}）之内。",
                (Evidence(fact=f"{package.name} {bound}", source="policy"),), (remedy("use_instead"),),
            )  # fmt: skip
    return None


def _once(verdicts: list[Verdict]) -> list[Verdict]:
    """One unmet verdict for each code: a framework's own requirement knows more than the general rule."""
    last = {v.code: v for v in verdicts if v.outcome == "unmet"}
    return [v for v in verdicts if v.outcome != "unmet" or last[v.code] is v]


def _platform(build: Build, situation: Situation) -> Verdict | None:
    if "any" in build.platforms:
        return None
    key = ("platform", build.platforms)
    found = kept(situation, key)
    if found is None:
        found = situation.memo[key] = _judge_platform(build.platforms, situation)
    return found


def _judge_platform(platforms: tuple[str, ...], situation: Situation) -> Verdict:
    machine = situation.machine
    system = machine.system
    proof = evidence(machine, "system.os", system.os) + evidence(machine, "system.arch", system.arch)
    wanted = ", ".join(platforms)
    if system.os is None and system.arch is not None and not any(p.endswith(f"-{system.arch}") for p in platforms):
        return verdict_of("arch.unsupported", "unmet", "processor", f"The processor is {system.arch}; built for {wanted}.",
                        f"处理器架构是 {system.arch}；提供的构建：{wanted}。", proof, (remedy("use_instead"),))  # fmt: skip
    if system.os is None:
        return verdict_of("os.unsupported", "unknown", "system", "The operating system is not known.", "操作系统未知。", proof)
    here = [p for p in platforms if p.startswith(f"{system.os}-")]
    if not here:
        cures = []
        arch = system.arch or "x86_64"
        if system.os == "windows" and f"linux-{arch}" in platforms:
            cures.append(remedy("use_wsl2"))
        if any(p.startswith("linux-") for p in platforms):
            cures.append(remedy("use_linux"))
        return verdict_of("os.unsupported", "unmet", "system", f"There is no build for {system.os} on {arch}; built for {wanted}.",
                        f"没有适用于 {system.os} {arch} 的构建；提供的构建：{wanted}。", proof, (*cures, remedy("use_instead")))  # fmt: skip
    if system.arch is None:
        return verdict_of("arch.unsupported", "unknown", "processor", "The processor architecture is not known.",
                        "处理器架构未知。", proof)  # fmt: skip
    if f"{system.os}-{system.arch}" not in platforms:
        cures = [remedy("use_instead")]
        if system.os == "windows" and f"linux-{system.arch}" in platforms:
            cures.insert(0, remedy("use_wsl2"))
        return verdict_of("arch.unsupported", "unmet", "processor",
                        f"There is no build for {system.os} on {system.arch}; built for {wanted}.",
                        f"没有适用于 {system.os} {system.arch} 的构建；提供的构建：{wanted}。", proof, tuple(cures))  # fmt: skip
    return verdict_of("os.unsupported", "met", "system", f"There is a build for {system.os} on {system.arch}.",
                    f"有适用于 {system.os} {system.arch} 的构建。", proof)  # fmt: skip


def _libc(build: Build, situation: Situation) -> Verdict | None:
    if situation.machine.system.os not in ("linux", None) or (build.glibc_min is None and not build.packages):
        return None
    if build.glibc_min is None or (situation.machine.system.os is None and situation.machine.system.libc is None):
        return None
    key = ("libc", build.glibc_min, build.musl)
    found = kept(situation, key)
    if found is None:
        found = situation.memo[key] = _judge_libc(build.glibc_min, build.musl, situation)
    return found


def _judge_libc(minimum: str, musl: bool, situation: Situation) -> Verdict:
    system = situation.machine.system
    proof = evidence(situation.machine, "system.libc", f"{system.libc or 'not known'} {system.libc_version or ''}".strip())
    if system.libc == "musl":
        if musl:
            return verdict_of("libc.musl", "met", "system", "There is a build for musl.", "有适用于 musl 的构建。", proof)
        return verdict_of(
            "libc.musl", "unmet", "system",
            f"This system uses musl (Alpine and the like); the wheels are built for glibc {minimum} and pip finds none here.",
            f"此系统使用 musl（如 Alpine）；轮子针对 glibc {minimum} 编译，pip 在这里找不到可用的包。",
            proof, (remedy("container_image", {"image": "python:3.12-slim"}), remedy("use_linux")),
        )  # fmt: skip
    if system.libc is None or system.libc_version is None:
        return verdict_of("libc.too_old", "unknown", "system", "The version of the C library (glibc) is not known.",
                        "C 库（glibc）版本未知。", proof)  # fmt: skip
    good = at_least(system.libc_version, minimum)
    return verdict_of(
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
        return verdict_of("os.too_old", "unknown" if good is None else "met" if good else "unmet", "system",
                        f"macOS is {system.release or 'of unknown version'}; needed is {build.macos_min} or newer.",
                        f"macOS 版本{'是 ' + system.release if system.release else '未知'}；需要 {build.macos_min} 或更高版本。",
                        proof, (remedy("update_os", {"version": f"macOS {build.macos_min}"}),))  # fmt: skip
    if system.os == "windows" and build.windows_build_min is not None:
        have = system.build.split(".")[-1] if system.build else None
        good = at_least(have, build.windows_build_min.split(".")[-1])
        if good is None and system.release is not None and at_least(system.release, "10") and build.windows_build_min in ("10240", "17763", "18362"):
            good = True if system.release == "11" else None
        proof = evidence(situation.machine, "system.build", system.build)
        return verdict_of("os.too_old", "unknown" if good is None else "met" if good else "unmet", "system",
                        f"The Windows build is {system.build or 'not known'}; needed is {build.windows_build_min} or newer.",
                        f"Windows 内部版本{'是 ' + system.build if system.build else '未知'}；需要 {build.windows_build_min} 或更高。",
                        proof, (remedy("update_os", {"version": f"Windows {build.windows_build_min}"}),))  # fmt: skip
    return None


def _python(framework: Framework, build: Build, situation: Situation) -> Verdict | None:
    if not build.pythons:
        return None
    key = ("python", build.pythons, situation.python_minor, situation.python is None)
    found = kept(situation, key)
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
        return verdict_of("network.offline", "unmet", "network", "This computer has no network.", "这台电脑没有联网。",
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
            return verdict_of("network.index_unreachable", "unmet", "network", f"{host} cannot be reached from here.",
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
    return verdict_of(
        "os.runtime_missing", "unmet", "system",
        "The Microsoft Visual C++ runtime is not installed; without it the libraries do not load.",
        "未安装 Microsoft Visual C++ 运行库；缺少它时无法加载所需的库。",
        evidence(machine, "software.vc_redist", False),
        (remedy("install_system_package", {"name": VC_RUNTIME, "os": "windows"}),),
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
    verdict = kept(situation, key)
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
            verdict_of("disk.exceeds", "unmet", "disk", f"About {gib} GiB are needed, {free / 2**30:.1f} GiB are free.",
                     f"约需 {gib} GiB，可用 {free / 2**30:.1f} GiB。", evidence(situation.machine, "disk.free_bytes", free),
                     (remedy("free_disk", {"gib": gib}),))
        )  # fmt: skip
