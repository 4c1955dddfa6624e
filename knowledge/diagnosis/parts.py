"""Packages of one environment that do not belong together: pairs, pins, NumPy's ABI, two variants of one library."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from knowledge.answers import Answers
from knowledge.builds_of import MARKED
from knowledge.catalog import Together
from knowledge.diagnosis.situation import Environment, found
from knowledge.facts import Finding, Remedy, Severity, Source
from knowledge.predicates import Situation, holds
from knowledge.text import Text
from knowledge.versions import version, within


class Mismatch(NamedTuple):
    """One bound that an installed package breaks."""

    row: Together
    other: str
    bounds: str


def together(env: Environment) -> Iterator[Finding]:
    """Table rows that installed packages break; several that break on one package are one finding on that one."""
    ended = {row.package for facts in env.machine.catalog.packages.values() for row in facts.retired}
    broken: dict[str, Mismatch] = {}
    numpy: list[tuple[Together, str]] = []
    for facts in env.machine.catalog.packages.values():
        for row in facts.together:
            have = env.versions.get(row.package)
            if have is None or row.package in broken:
                continue
            if row.package in ended and not any(bounds.startswith("==") for bounds in row.beside.values()):
                continue  # that it ended is the cause; a compiled pair still has one of its own
            if row.versions and within(have, row.versions) is not True:
                continue
            other = next(
                (name for name in row.beside if _breaks(env, name, row.beside[name]) and not _own_set(env, row.package, name)), None
            )
            if other is None:
                yield from _toolkit(env, row)
            elif row.code == "package.numpy_abi":
                numpy.append((row, env.versions[other]))
            else:
                broken[row.package] = Mismatch(row, other, row.beside[other])
    if numpy:
        yield _numpy(env, numpy)
    told = set(broken)
    groups: dict[str, list[Mismatch]] = {}
    for item in (*broken.values(), *_in_step(env, told)):
        groups.setdefault(item.other, []).append(item)
    for item in _jaxlib(env, told):
        groups.setdefault(item.other, []).append(item)
    for other, items in groups.items():
        told.update(item.row.package for item in items)
        yield _pair(env, items[0]) if len(items) == 1 else _several(env, other, items)
    if "torch" not in groups:
        yield from _marks(env)
        yield from _uses(env, told)
    yield from _wheel_names(env, told)
    if "torch" not in told and not any(item.row.package == "torch" for item in broken.values()):
        yield from _cuda_libraries(env)
    yield from _keras(env)


def _breaks(env: Environment, name: str, bounds: str) -> bool:
    have = env.versions.get(name)
    if have is None or within(have, bounds) is not False:
        return False
    return name not in ("triton", "triton-windows") or _cuda_torch(env)


def _own_set(env: Environment, package: str, other: str) -> bool:
    """Whether both come from one image or nightly index, whose numbers are not those of releases."""
    if "torch" not in (package, other):
        return False
    torch = env.built("torch")
    partner = version(env.versions[other if package == "torch" else package].partition("+")[0])
    if torch is None or partner is None:
        return False
    return torch.tag == "nv" and ("triton" in (package, other) or partner.is_prerelease)


# Packages that carry the version of another in so many numbers: (package, other, numbers, where to read).
IN_STEP = (
    ("torch-npu", "torch", 3, "https://gitcode.com/Ascend/pytorch"),
    ("torch-xla", "torch", 2, "https://github.com/pytorch/xla"),
    ("jax-cuda12-plugin", "jaxlib", 3, "https://github.com/jax-ml/jax/blob/main/docs/installation.md"),
    ("jax-cuda13-plugin", "jaxlib", 3, "https://github.com/jax-ml/jax/blob/main/docs/installation.md"),
    ("jax-cuda12-pjrt", "jaxlib", 3, "https://github.com/jax-ml/jax/blob/main/docs/installation.md"),
    ("jax-cuda13-pjrt", "jaxlib", 3, "https://github.com/jax-ml/jax/blob/main/docs/installation.md"),
    ("tensorflow-text", "tensorflow", 2, "https://github.com/tensorflow/text"),
    ("tf-keras", "tensorflow", 2, "https://github.com/keras-team/tf-keras"),
    ("openvino-genai", "openvino", 3, "https://github.com/openvinotoolkit/openvino.genai"),
    ("openvino-tokenizers", "openvino", 3, "https://github.com/openvinotoolkit/openvino_tokenizers"),
    ("mlx-metal", "mlx", 3, "https://github.com/ml-explore/mlx"),
    ("tensorrt-cu12", "tensorrt", 3, "https://docs.nvidia.com/deeplearning/tensorrt/"),
    ("tensorrt-cu13", "tensorrt", 3, "https://docs.nvidia.com/deeplearning/tensorrt/"),
)


def _in_step(env: Environment, told: set[str]) -> Iterator[Mismatch]:
    """Packages that must carry the version of the one they plug into."""
    for package, other, numbers, url in IN_STEP:
        have, beside = env.versions.get(package), env.versions.get(other)
        if have is None or beside is None or package in told:
            continue
        if package == "torch-npu" and "vllm-ascend" in told:
            continue  # the same torch, told already
        mine, theirs = version(have.partition("+")[0]), version(beside.partition("+")[0])
        if mine is None or theirs is None or mine.release[:numbers] == theirs.release[:numbers]:
            continue
        wanted = ".".join(str(number) for number in mine.release[:numbers])
        bounds = f"=={wanted}" if numbers == 3 else f"=={wanted}.*"
        row = Together(package=package, beside={other: bounds}, source=Source(url=url, date="2026"))
        yield Mismatch(row, other, bounds)


def _jaxlib(env: Environment, told: set[str]) -> Iterator[Mismatch]:
    """jax refuses a jaxlib that is newer than itself, and one that is much older."""
    mine, theirs = version(env.versions.get("jax", "")), version(env.versions.get("jaxlib", "").partition("+")[0])
    if mine is None or theirs is None or {"jax", "jax-metal"} & told or "jax-metal" in env.versions:
        return
    have, beside = (*mine.release, 0, 0)[:3], (*theirs.release, 0, 0)[:3]
    if have[:2] == beside[:2]:
        older = have[2] - beside[2] > 6
    else:
        older = have[:2] == (0, 5) or (have[0] == beside[0] and have[1] - beside[1] >= 2)
    newer = beside > have
    if newer or older:
        wanted = ".".join(str(number) for number in have)
        row = Together(package="jax", beside={"jaxlib": f"=={wanted}"}, source=Source(url="https://github.com/jax-ml/jax/blob/main/jax/_src/lib/__init__.py", date="2026"))
        yield Mismatch(row, "jaxlib", f"=={wanted}")


# Libraries whose number is that of the CUDA they belong to; torch finds the functions of its own release in them, or of a newer one.
CUDA_LIBRARIES = ("nvidia-nvjitlink-cu12", "nvidia-cublas-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvrtc-cu12")


def _cuda_libraries(env: Environment) -> Iterator[Finding]:
    """CUDA libraries older than those that torch was linked with (undefined symbol __nvJitLinkComplete_12_4 …)."""
    torch = env.built("torch")
    need = version(torch.toolkit) if torch is not None and torch.device == "cuda" and torch.toolkit else None
    if need is None or need.major != 12:
        return
    old = [name for name in CUDA_LIBRARIES if (have := version(env.versions.get(name, ""))) is not None and have.release[:2] < need.release[:2]]
    if old:
        names = ", ".join(f"{name} {env.versions[name]}" for name in old)
        yield found("package.pair_mismatch", "warning", old[0], f"torch {env.versions['torch']} was linked with the libraries of CUDA {need}; here are {names}. The import fails with an undefined symbol.",
                    f"torch {env.versions['torch']} 链接的是 CUDA {need} 的库；此环境中是 {names}，导入时会报 undefined symbol。", env.proof("torch", *old),
                    (env.cure("reinstall", package="torch"), env.cure("pin_version", package=old[0], bounds=f"=={need}.*")))  # fmt: skip


def _keras(env: Environment) -> Iterator[Finding]:
    """Transformers 4 beside Keras 3: its TensorFlow half, which it loads whenever TensorFlow is there, wants tf-keras."""
    have = env.versions.get("transformers")
    if have is None or "tensorflow" not in env.versions or "tf-keras" in env.versions or within(have, ">=4.30,<5") is not True:
        return
    if within(env.versions.get("keras", "0"), ">=3") is not True:
        return
    yield found("package.conflict", "warning", "transformers", f"transformers {have} does not work with Keras {env.versions['keras']} and asks for tf-keras, which is not installed; Trainer and pipelines stop at import because TensorFlow is there.",
                f"transformers {have} 不支持 Keras {env.versions['keras']}，需要 tf-keras，而此环境未安装；只要装有 TensorFlow，导入 Trainer 和 pipeline 就会失败。", env.proof("transformers", "keras", "tensorflow"),
                (env.cure("install_package", package="tf-keras"), env.cure("set_env", name="USE_TF", value="0")),
                Source(url="https://github.com/huggingface/transformers/issues/34761", date="2026"))  # fmt: skip


def _cuda_torch(env: Environment) -> bool:
    torch = env.built("torch")
    return torch is not None and torch.device == "cuda"


def _exact(bounds: str) -> str | None:
    """The one version that BOUNDS ask for, else None."""
    match = re.fullmatch(r"==([0-9][\w.]*?)(?:\.\*)?", bounds)
    return match.group(1) if match and not bounds.endswith(".*") else None


def _sentence(env: Environment, item: Mismatch) -> Text:
    have, beside = env.versions[item.row.package], env.versions[item.other]
    why = item.row.because
    return Text(
        f"{item.row.package} {have} belongs with {item.other} {item.bounds}; here is {item.other} {beside}."
        + (f" {why.en}" if why else ""),
        f"{item.row.package} {have} 应与 {item.other} {item.bounds} 搭配；此环境中是 {item.other} {beside}。" + (why.zh if why else ""),
    )


def _severity(item: Mismatch) -> Severity:
    """A compiled pair fails at import; a bound that only metadata states often still runs."""
    return "error" if item.row.code == "package.pair_mismatch" and item.row.package != "torch" else "warning"


def _cures(env: Environment, item: Mismatch) -> list[Remedy]:
    exact, package = _exact(item.bounds), item.row.package
    cures: list[Remedy] = []
    partner = _partner(env, package, item.other)
    if partner is not None:
        cures.append(_as_torch(env, package, partner))
    elif exact is not None:
        cures.append(_as_torch(env, item.other, exact) if item.other == "torch" else env.cure("pin_version", package=item.other, version=exact))
    else:
        cures.append(env.cure("pin_version", package=item.other, bounds=item.bounds))
    cures.extend(env.cures(item.row.remedies))
    return cures


def _pair(env: Environment, item: Mismatch) -> Finding:
    text = _sentence(env, item)
    return found(item.row.code, _severity(item), item.row.package, text.en, text.zh, env.proof(item.row.package, item.other),
                 tuple(_cures(env, item)), item.row.source)  # fmt: skip


def _several(env: Environment, other: str, items: list[Mismatch]) -> Finding:
    """One package that several others do not belong with: most likely a later install replaced it."""
    loudest = min(items, key=lambda item: ("error", "warning", "info").index(_severity(item)))
    names = ", ".join(f"{item.row.package} {env.versions[item.row.package]} ({item.bounds})" for item in items)
    wanted = {exact for item in items if (exact := _exact(item.bounds)) is not None}
    cures: list[Remedy] = []
    if len(wanted) == 1 and all(_fits(next(iter(wanted)), item.bounds) for item in items):
        version_ = next(iter(wanted))
        cures.append(_as_torch(env, "torch", version_) if other == "torch" else env.cure("pin_version", package=other, version=version_))
    else:
        cures.extend(cure for item in items for cure in _cures(env, item))
    return found(
        loudest.row.code, _severity(loudest), other,
        f"{other} {env.versions[other]} does not belong with {names}. Most likely a later install replaced {other}.",
        f"{other} {env.versions[other]} 与 {names} 不匹配。很可能是之后的安装替换了 {other}。",
        env.proof(other, *(item.row.package for item in items)), tuple(cures), loudest.row.source,
    )  # fmt: skip


def _fits(wanted: str, bounds: str) -> bool:
    return within(wanted, bounds) is True


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
    """PACKAGE in version WANTED from the index that the installed torch is from."""
    torch = env.built("torch")
    tag = torch.tag if torch is not None and torch.marked else None
    if tag is not None and re.fullmatch(r"cu\d{3}|rocm[\d.]+|xpu|cpu", tag):
        return env.cure("use_index", package=package, version=f"{wanted}+{tag}", index=tag)
    return env.cure("pin_version", package=package, version=wanted)


def _numpy(env: Environment, rows: list[tuple[Together, str]]) -> Finding:
    """NumPy is the one cause, however many packages it breaks."""
    names = ", ".join(f"{row.package} {env.versions[row.package]}" for row, _ in rows)
    row, have = rows[0]
    why_en = row.because.en if row.because else "They were compiled against NumPy 1."
    why_zh = row.because.zh if row.because else "它们针对 NumPy 1 编译。"
    bounds = row.beside["numpy"]
    # A newer release of the others is the other way; torch's parts would come from another index, so they are left out.
    rest = [r.package for r, _ in rows if r.package not in MARKED]
    cures = (env.cure("pin_version", package="numpy", version="1.26.4"), *((env.cure("reinstall", package=" ".join(rest)),) if rest else ()))
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


def _wheel_names(env: Environment, told: set[str]) -> Iterator[Finding]:
    """Marks such as +cu12torch2.7cxx11abiFALSE say which torch a kernel package was compiled for."""
    torch = env.versions.get("torch")
    if torch is None:
        return
    built = env.built("torch")
    for package, have in env.versions.items():
        match = re.search(r"\+.*?(?:torch|pt)(\d)\.?(\d+)", have)
        if match is None or package == "torch" or package in told:
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
            if row.module.startswith("nvidia."):
                keep = next((name for name in here if name.endswith(f"-cu{_cuda_major(env)}")), keep)
            loud = row.module != "cv2" if len({env.versions[name] for name in here}) == 1 else not row.module.startswith("nvidia.")
            others = [name for name in here if name != keep]
            names = ", ".join(f"{name} {env.versions[name]}" for name in here)
            cures = (env.cure("uninstall", package=" ".join(here)), env.cure("reinstall", package=keep, version=env.versions[keep].partition("+")[0]))
            yield found("package.duplicate_variant", "warning" if loud else "info", row.module,
                        f"{names} are variants of one library and overwrite each other's files; keep {keep}. Another package most likely brought {', '.join(others)}. Uninstall all of them, then install {keep} again.",
                        f"{names} 是同一个库的不同变体，会互相覆盖文件；保留 {keep}。{'、'.join(others)} 很可能由其他软件包带来。请先全部卸载，再重新安装 {keep}。",
                        env.proof(*here), cures, row.source)  # fmt: skip


def _cuda_major(env: Environment) -> str:
    torch = env.built("torch")
    return (torch.toolkit or "").split(".")[0] if torch is not None and torch.device == "cuda" else ""


def broken(env: Environment) -> Iterator[Finding]:
    """Releases that are known to fail."""
    situation = Situation(env.machine.profile, Answers())
    for facts in env.machine.catalog.packages.values():
        for row in facts.broken:
            have = env.versions.get(row.package)
            if have is not None and within(have, row.versions) and holds(row.when, situation):
                yield found("package.known_broken", row.severity, row.package, f"{row.package} {have}: {row.because.en}", f"{row.package} {have}：{row.because.zh}",
                            env.proof(row.package), env.cures(row.remedies), row.source)  # fmt: skip
