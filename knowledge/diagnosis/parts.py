"""Packages of one environment that do not belong together: pairs, pins, NumPy's ABI, two variants of one library."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge.answers import Answers
from knowledge.catalog import Together
from knowledge.diagnosis.situation import Environment, found
from knowledge.facts import Finding, Remedy
from knowledge.predicates import Situation, holds
from knowledge.versions import specifier, version, within

# Both of these in one environment work together: the second is a plug-in of the first.
QNN_PLUGIN = "2.0"


def together(env: Environment) -> Iterator[Finding]:
    """Each table row that an installed package breaks. One finding per package: the first bound that is broken."""
    told: set[str] = set()
    numpy: list[tuple[Together, str]] = []
    for facts in env.machine.catalog.packages.values():
        for row in facts.together:
            have = env.versions.get(row.package)
            if have is None or row.package in told or (row.versions and within(have, row.versions) is not True):
                continue
            for other, bounds in row.beside.items():
                beside = env.versions.get(other)
                if beside is None or within(beside, bounds) is not False:
                    continue
                if other == "triton" and not _cuda_torch(env):
                    continue
                told.add(row.package)
                if row.code == "package.numpy_abi":
                    numpy.append((row, beside))
                else:
                    yield _pair(env, row, other, bounds)
                break
            else:
                yield from _toolkit(env, row)
    if numpy:
        yield _numpy(env, numpy)
    yield from _npu(env, told)
    yield from _marks(env)
    yield from _wheel_names(env)
    yield from _uses(env, told)


def _cuda_torch(env: Environment) -> bool:
    torch = env.built("torch")
    return torch is not None and torch.device == "cuda"


def _exact(bounds: str) -> str | None:
    """The one version that BOUNDS ask for, else None."""
    match = re.fullmatch(r"==([0-9][\w.]*?)(?:\.\*)?", bounds)
    return match.group(1) if match and not bounds.endswith(".*") else None


def _pair(env: Environment, row: Together, other: str, bounds: str) -> Finding:
    have, beside = env.versions[row.package], env.versions[other]
    en = f"{row.package} {have} belongs with {other} {bounds}; here is {other} {beside}."
    zh = f"{row.package} {have} 应与 {other} {bounds} 搭配；此环境中是 {other} {beside}。"
    if row.because is not None:
        en, zh = f"{en} {row.because.en}", f"{zh}{row.because.zh}"
    exact = _exact(bounds)
    cures: list[Remedy] = []
    partner = _partner(env, row.package, other)
    if partner is not None:
        cures.append(_as_torch(env, row.package, partner))
    if exact is not None:
        cures.append(env.cure("pin_version", package=other, version=exact))
    else:
        cures.append(env.cure("reinstall", package=f"{row.package} {other}"))
    cures.extend(env.cures(row.remedies))
    return found(row.code, "error" if row.code == "package.pair_mismatch" and row.package != "torch" else "warning", row.package, en, zh,
                 env.proof(row.package, other), tuple(cures), row.source)  # fmt: skip


def _partner(env: Environment, package: str, other: str) -> str | None:
    """The version of PACKAGE that belongs with the installed torch, from the builds of the catalogue."""
    if other != "torch" or package not in ("torchvision", "torchaudio"):
        return None
    public = env.versions["torch"].partition("+")[0]
    for build in env.machine.catalog.frameworks["pytorch"].builds if "pytorch" in env.machine.catalog.frameworks else ():
        pins = {item.name: item.version for item in build.packages}
        if pins.get("torch") == public and package in pins:
            return pins[package]
    minors = public.split(".")
    for facts in env.machine.catalog.packages.values():
        for row in facts.together:
            if row.package == package and within(public, row.beside.get("torch", "<0")) and row.versions.endswith(".*"):
                # Patch numbers of the three run in step (2.5.1 with 0.20.1).
                return f"{row.versions[2:-2]}.{minors[2] if len(minors) > 2 else '0'}"
    return None


def _as_torch(env: Environment, package: str, wanted: str) -> Remedy:
    torch = env.built("torch")
    tag = torch.tag if torch is not None and torch.marked else None
    if tag and tag.startswith(("cu", "rocm", "cpu", "xpu")) and tag != "cuda":
        return env.cure("use_index", package=package, version=wanted, index=tag)
    return env.cure("pin_version", package=package, version=wanted)


def _numpy(env: Environment, rows: list[tuple[Together, str]]) -> Finding:
    """NumPy is the one cause, however many packages it breaks."""
    names = ", ".join(f"{row.package} {env.versions[row.package]}" for row, _ in rows)
    row, have = rows[0]
    why_en = row.because.en if row.because else "They were compiled against NumPy 1."
    why_zh = row.because.zh if row.because else "它们针对 NumPy 1 编译。"
    bounds = row.beside["numpy"]
    cures = (env.cure("pin_version", package="numpy", version="1.26.4"), env.cure("reinstall", package=" ".join(r.package for r, _ in rows)))
    return found("package.numpy_abi", "error", "numpy", f"NumPy {have} beside {names}, which need numpy{bounds}. {why_en}",
                 f"NumPy {have} 与 {names} 不兼容，后者需要 numpy{bounds}。{why_zh}",
                 env.proof("numpy", *(r.package for r, _ in rows)), cures, row.source)  # fmt: skip


def _toolkit(env: Environment, row: Together) -> Iterator[Finding]:
    software = env.machine.profile.software
    for name, bounds in row.toolkits.items():
        have = getattr(software, name, None)
        if not isinstance(have, str):
            continue
        number = re.match(r"\d+(?:\.\d+)*", have)
        if number is None or within(number.group(), bounds) is not False:
            continue
        yield found("toolkit.mismatch", "warning", row.package, f"{row.package} {env.versions[row.package]} needs {name.upper()} {bounds}; here is {have}."
                    + (f" {row.because.en}" if row.because else ""), f"{row.package} {env.versions[row.package]} 需要 {name.upper()} {bounds}；当前是 {have}。"
                    + (row.because.zh if row.because else ""), env.proof(row.package) + env.machine.fact(f"software.{name}", have),
                    (env.cure("container_image"), env.cure("install_system_package", name=f"{name.upper()} {bounds}")), row.source)  # fmt: skip


def _npu(env: Environment, told: set[str]) -> Iterator[Finding]:
    """Plug-ins of torch carry its version in their first three numbers."""
    torch = env.versions.get("torch")
    for package in ("torch-npu", "torch-musa", "torch-mlu", "torch-xla"):
        have = env.versions.get(package)
        if torch is None or have is None or package == "torch-musa":
            continue
        a, b = version(have), version(torch.partition("+")[0])
        depth = 2 if package == "torch-xla" else 3
        if a is None or b is None or a.release[:depth] == b.release[:depth] or "vllm-ascend" in told:
            continue
        wanted = ".".join(str(number) for number in a.release[:depth])
        yield found("package.pair_mismatch", "error", package, f"{package} {have} is built for torch {wanted}; here is torch {torch}. Another package has replaced torch.",
                    f"{package} {have} 针对 torch {wanted} 编译；此环境中是 torch {torch}。torch 被其他软件包替换过。", env.proof(package, "torch"),
                    (env.cure("pin_version", package="torch", version=wanted if depth == 3 else f"{wanted}.0"), env.cure("reinstall", package=f"torch {package}")))  # fmt: skip


def _marks(env: Environment) -> Iterator[Finding]:
    """torch, torchvision and torchaudio from different indexes: +cu128 beside +cpu."""
    torch = env.built("torch")
    if torch is None or not torch.marked or torch.tag in (None, "nv"):
        return
    for package in ("torchvision", "torchaudio"):
        part = env.built(package)
        if part is not None and part.marked and part.tag not in (torch.tag, "nv"):
            yield found("package.pair_mismatch", "error", package, f"{package} {part.version} and torch {torch.version} are of different builds ({part.tag} and {torch.tag}).",
                        f"{package} {part.version} 与 torch {torch.version} 属于不同的构建（{part.tag} 与 {torch.tag}）。", env.proof("torch", package),
                        (_as_torch(env, package, part.version.partition("+")[0]),))  # fmt: skip


def _wheel_names(env: Environment) -> Iterator[Finding]:
    """Marks such as +cu12torch2.7cxx11abiFALSE say which torch a kernel package was compiled for."""
    torch = env.versions.get("torch")
    if torch is None:
        return
    built = env.built("torch")
    for package, have in env.versions.items():
        match = re.search(r"\+.*?(?:torch|pt)(\d)\.?(\d+)", have)
        if match is None or package == "torch":
            continue
        wanted = f"{match.group(1)}.{match.group(2)}"
        if within(torch, f"=={wanted}.*") is False:
            yield found("package.pair_mismatch", "error", package, f"{package} {have} was compiled for torch {wanted}; here is torch {torch}.",
                        f"{package} {have} 针对 torch {wanted} 编译；此环境中是 torch {torch}。", env.proof(package, "torch"),
                        (env.cure("reinstall", package=package), env.cure("build_from_source", package=package)))  # fmt: skip
            continue
        cuda = re.search(r"\+(?:pt\d+)?cu(\d{2})", have)
        if cuda and built is not None and built.toolkit and built.device == "cuda" and built.toolkit.split(".")[0] != cuda.group(1):
            yield found("package.pair_mismatch", "warning", package, f"{package} {have} was compiled with CUDA {cuda.group(1)}, torch {torch} with CUDA {built.toolkit}.",
                        f"{package} {have} 使用 CUDA {cuda.group(1)} 编译，而 torch {torch} 使用 CUDA {built.toolkit}。", env.proof(package, "torch"),
                        (env.cure("reinstall", package=package),))  # fmt: skip


def _uses(env: Environment, told: set[str]) -> Iterator[Finding]:
    """What the builds of the catalogue say they stand on: vllm 0.33.0 on torch 2.14.0."""
    catalog = env.machine.catalog
    for framework in catalog.frameworks.values():
        package = framework.packages[0].lower().replace("_", "-") if framework.packages else ""
        have = env.versions.get(package)
        if have is None or package in told:
            continue
        public = have.partition("+")[0]
        builds = [b for b in framework.builds if b.uses and any(p.name.lower() == package and p.version == public for p in b.packages)]
        for other_id in {name for build in builds for name in build.uses}:
            other = catalog.frameworks.get(other_id)
            if other is None or not other.packages or any(other_id not in build.uses for build in builds):
                continue
            name = other.packages[0].lower()
            beside = env.versions.get(name)
            if beside is None or any(within(beside, build.uses[other_id]) is not False for build in builds):
                continue
            bounds = builds[0].uses[other_id]
            exact = _exact(bounds)
            cure = env.cure("pin_version", package=name, version=exact) if exact else env.cure("reinstall", package=f"{package} {name}")
            told.add(package)
            yield found("package.conflict", "warning", package, f"{package} {have} needs {name} {bounds}; here is {name} {beside}.",
                        f"{package} {have} 需要 {name} {bounds}；此环境中是 {name} {beside}。", env.proof(package, name), (cure,), builds[0].source)  # fmt: skip
            break


def variants(env: Environment) -> Iterator[Finding]:
    """Two packages that write into the same folder: the last one installed wins, and each update may turn it over."""
    for facts in env.machine.catalog.packages.values():
        for row in facts.variants:
            here = [name for name in row.packages if name in env.versions]
            if len(here) < 2:
                continue
            usable = [card.vendor for card in env.machine.cards if card.state in ("usable", "unknown")]
            keep = next((row.keep[vendor] for vendor in usable if row.keep.get(vendor) in here), None)
            keep = keep or ("opencv-contrib-python" if "opencv-contrib-python" in here else here[0])
            loud = len({env.versions[name] for name in here}) > 1 or row.module != "cv2"
            others = [name for name in here if name != keep]
            names = ", ".join(f"{name} {env.versions[name]}" for name in here)
            cures = (env.cure("uninstall", package=" ".join(here)), env.cure("reinstall", package=keep, version=env.versions[keep].partition("+")[0]))
            yield found("package.duplicate_variant", "warning" if loud else "info", row.module,
                        f"{names} are variants of one library and overwrite each other's files; keep {keep}. Another package most likely brought {', '.join(others)}. Uninstall all of them, then install {keep} again.",
                        f"{names} 是同一个库的不同变体，会互相覆盖文件；保留 {keep}。{'、'.join(others)} 很可能由其他软件包带来。请先全部卸载，再重新安装 {keep}。",
                        env.proof(*here), cures, row.source)  # fmt: skip


def broken(env: Environment) -> Iterator[Finding]:
    """Releases that are known to fail."""
    situation = Situation(env.machine.profile, Answers())
    for facts in env.machine.catalog.packages.values():
        for row in facts.broken:
            have = env.versions.get(row.package)
            if have is not None and within(have, row.versions) and holds(row.when, situation):
                yield found("package.known_broken", row.severity, row.package, f"{row.package} {have}: {row.because.en}", f"{row.package} {have}：{row.because.zh}",
                            env.proof(row.package), env.cures(row.remedies), row.source)  # fmt: skip


def is_bound(text: str) -> bool:
    return specifier(text) is not None
