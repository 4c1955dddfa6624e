"""Packages built for another device, another card, another driver or another processor than this machine has."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

from collections.abc import Iterator

from knowledge.builds_of import Built, contents, platform_of
from knowledge.catalog import Contents
from knowledge.diagnosis.fitting import Fitting, fitting
from knowledge.diagnosis.situation import DEVICE_OF, VENDORS, Environment, found, title
from knowledge.facts import Accelerator, Evidence, Finding, Remedy, Severity
from knowledge.instruction_sets import with_implied
from knowledge.versions import at_least, capability, covers, version, within

# Package to the framework whose builds can take its place.
FRAMEWORKS = {
    "torch": "pytorch", "tensorflow": "tensorflow", "tensorflow-cpu": "tensorflow", "paddlepaddle": "paddlepaddle",
    "paddlepaddle-gpu": "paddlepaddle", "onnxruntime": "onnxruntime", "onnxruntime-gpu": "onnxruntime", "jax": "jax",
    "tensorrt": "tensorrt", "bitsandbytes": "bitsandbytes", "vllm": "vllm", "xformers": "xformers",
}  # fmt: skip
VENDOR_OF = {device: vendor for vendor, device in DEVICE_OF.items()}
# These stand on torch: where torch itself does not fit, that is the cause.
ON_TORCH = frozenset({"bitsandbytes", "vllm", "xformers", "flash-attn"})
LARGE = frozenset({"torch", "paddlepaddle-gpu", "onnxruntime-gpu"})
# Makers whose PyTorch is a build of their own.
OWN_TORCH = {
    "hygon": "DTK PyTorch", "metax": "MACA PyTorch", "iluvatar": "CoreX PyTorch", "kunlunxin": "XPyTorch",
    "enflame": "torch_gcu", "biren": "BIRENSUPA PyTorch",
}  # fmt: skip
# They bring onnxruntime along for a small model of their own.
BRINGS_ORT = frozenset({
    "fastembed", "chromadb", "rapidocr-onnxruntime", "faster-whisper", "magika", "markitdown", "silero-vad", "piper-tts", "openwakeword",
    "unstructured-inference", "argostranslate", "flashrank", "optimum", "stanza", "kokoro-onnx",
})  # fmt: skip
JETSON = frozenset({(5, 3), (6, 2), (7, 2), (8, 7)})
ORDER = (
    "torch", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-rocm", "paddlepaddle-gpu", "paddlepaddle",
    "jax-cuda13-plugin", "jax-cuda12-plugin", "onnxruntime-gpu", "onnxruntime-rocm", "onnxruntime-migraphx", "onnxruntime",
    "tensorrt", "tensorrt-llm", "mxnet", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "vllm", "bitsandbytes", "xformers",
    "flash-attn",
)  # fmt: skip


def devices(env: Environment) -> Iterator[Finding]:
    """Each package with device code: does its code, its toolkit and its device belong to what is here?"""
    torch_at_fault = False
    for package in ORDER:
        if package not in env.versions or (torch_at_fault and package in ON_TORCH):
            continue
        built = env.built(package)
        if built is None or built.device is None:
            continue
        finding = _cpu_build(env, built) if built.device == "cpu" else _device_build(env, built)
        if finding is not None:
            yield finding
            if package == "torch" and finding.severity != "info":
                torch_at_fault = True
    yield from _plugins(env)


def _device_build(env: Environment, built: Built) -> Finding | None:
    vendor = VENDOR_OF.get(built.device or "")
    machine = env.machine
    if vendor is None or machine.profile.accelerators is None:
        return None
    if not any(card.vendor == vendor for card in machine.cards):
        return _other_vendor(env, built)
    cards = machine.of(vendor)
    outside = [item for item in cards if not _inside(item[1])]
    cards = outside or cards  # a GPU inside the processor is no fault beside a card
    if not cards:
        return None  # there, but not usable: that is the fault, and it is told
    return _code(env, built, cards) or _driver(env, built, cards)


def _code(env: Environment, built: Built, cards: list[tuple[int, Accelerator]]) -> Finding | None:
    """Whether the files hold code for the cards."""
    bad = [(place, card) for place, card in cards if _runs(env, built, card) is False]
    if not bad:
        return None
    names = ", ".join(title(card) for _, card in bad)
    targets = ", ".join(sorted({card.target or "?" for _, card in bad}))
    holds = ", ".join(built.targets) if built.targets else f"{built.target_min} and newer" if built.target_min else "other cards"
    holds_zh = "、".join(built.targets) if built.targets else f"{built.target_min} 及更新" if built.target_min else "其他硬件"
    proof = env.proof(built.package) + tuple(
        item for place, card in bad for item in env.machine.fact(f"accelerators.{place}.target", card.target)
    )
    jetson = any(_is_jetson(env, card) for _, card in bad)
    tag = f" ({built.tag})" if built.tag and not built.marked and built.tag not in ("any", "cuda") else ""
    en = f"{built.package} {built.version}{tag} in this environment has no code for {names} ({targets}); it holds {holds}."
    zh = f"此环境中的 {built.package} {built.version}{tag} 没有适用于 {names}（{targets}）的代码；其中包含：{holds_zh}。"
    if jetson:
        en += " These wheels are for ARM servers; a Jetson needs those made for JetPack."
        zh += "这些轮子面向 ARM 服务器，Jetson 需要为 JetPack 编译的轮子。"
    elif built.because is not None:
        en, zh = f"{en} {built.because.en}", f"{zh}{built.because.zh}"
    cures = _replacement(env, built, [card for _, card in bad])
    if not cures:
        cures = (env.cure("use_instead"), env.cure("build_from_source", package=built.package))
    severity: Severity = "error" if len(bad) == len(cards) else "warning"
    if all(_inside(card) for _, card in bad):
        severity = "info"
    return found("package.arch_not_built", severity, built.package, en, zh, proof, cures, built.source)


def _is_jetson(env: Environment, card: Accelerator) -> bool:
    return card.vendor == "nvidia" and (env.machine.profile.system.arch in ("aarch64", None)) and capability(card.target) in JETSON


def _runs(env: Environment, built: Built, card: Accelerator) -> bool | None:
    """Whether BUILT runs on CARD; None where that is not known."""
    if card.target is None or built.tag == "nv":
        return None
    platform = env.platform or ""
    if _is_jetson(env, card) and platform == "linux-aarch64" and (built.server_only or (built.package == "torch" and built.tag != "nv")):
        return False
    have, low, high = capability(card.target), capability(built.target_min), capability(built.target_max)
    if have is not None and ((low is not None and have < low) or (high is not None and have > high)):
        return False
    if built.targets is None:
        return None
    return covers(built.targets, built.ptx, card.target)


def _driver(env: Environment, built: Built, cards: list[tuple[int, Accelerator]]) -> Finding | None:
    """Whether the driver serves the toolkit that the package was built with."""
    machine = env.machine
    backend = machine.catalog.backends.get(built.device or "")
    if backend is None or built.toolkit is None:
        return None
    line = next((item for item in backend.toolkits if within(built.toolkit, item.versions)), None)
    system = machine.profile.system
    side = "windows" if system.os == "windows" or system.wsl else "linux"
    floor = line.driver_min.get(side) if line else None
    if line is None or floor is None:
        return None
    for place, card in cards:
        good = at_least(card.driver_version, floor)
        if good is None and card.driver_api_max is not None:
            have, need = version(card.driver_api_max), version(built.toolkit)
            good = None if have is None or need is None else have.major >= need.major
        if good is not False:
            continue
        vendor = VENDORS.get(card.vendor, card.vendor)
        shown = card.driver_version or f"for CUDA {card.driver_api_max}"
        older = fitting(env, FRAMEWORKS.get(built.package, ""), built.device or "", [(place, card)], built.version)
        cures: list[Remedy] = [env.cure("update_driver", vendor=vendor, minimum=floor, os=side)]
        if older is not None and older.build.toolkit != built.toolkit:
            cures.extend(older.remedies(env, built.package))
        elif built.package.startswith("jax-"):
            cures.extend(env.cures(built.remedies))
        return found(
            "package.driver_too_old", "error", built.package,
            f"{built.package} {built.version} was built with {backend.name.en} {built.toolkit}, which needs driver {floor} or newer; here is {shown}. It falls back to the processor or fails.",
            f"{built.package} {built.version} 使用 {backend.name.zh} {built.toolkit} 编译，需要 {floor} 或更高版本的驱动；当前是 {shown}。它会退回 CPU 或报错。",
            env.proof(built.package) + machine.fact(f"accelerators.{place}.driver_version", card.driver_version), tuple(cures), line.source,
        )  # fmt: skip
    return None


def _replacement(env: Environment, built: Built, cards: list[Accelerator]) -> tuple[Remedy, ...]:
    """Remedies that bring a build with code for CARDS, the best first, and those of the package's own facts."""
    places = [(place, card) for place, card in enumerate(env.machine.cards) if card in cards]
    better = fitting(env, FRAMEWORKS.get(built.package, ""), built.device or "", places, built.version)
    cures: list[Remedy] = []
    if any(_is_jetson(env, card) for card in cards) and (better is None or not better.build.index.startswith("jetson")):
        better = None
        cures.append(env.cure("use_index", package=built.package, index="jetson-jp6"))
        cures.append(env.cure("build_from_source", package=built.package))
    if better is not None:
        cures.extend(better.remedies(env, built.package))
    cures.extend(env.cures(built.remedies))
    return tuple(cures)


def _other_vendor(env: Environment, built: Built) -> Finding | None:
    """A build for a vendor of which this machine has nothing."""
    if built.package not in LARGE and built.package != "torch":
        return None
    machine = env.machine
    maker = VENDORS.get(VENDOR_OF.get(built.device or "", ""), built.device or "")
    proof = env.proof(built.package)
    better = _usable(env, built.package, built.version)
    if better is not None:
        card, choice = better
        severity: Severity = "info" if _inside(card) else "warning"
        return found("package.gpu_build", severity, built.package,
                     f"{built.package} {built.version} is built for {maker} devices; {title(card)} is not used by it.",
                     f"{built.package} {built.version} 是面向 {maker} 设备的构建，不会使用 {title(card)}。", proof,
                     choice.remedies(env, built.package))  # fmt: skip
    own = next((card for card in machine.cards if card.vendor in OWN_TORCH), None)
    if own is not None and built.package == "torch":
        return found("package.gpu_build", "warning", "torch",
                     f"torch {built.version} of the public index is not built for {title(own)}; its maker's own build ({OWN_TORCH[own.vendor]}) is, mostly as a container image.",
                     f"公共软件源的 torch {built.version} 不支持 {title(own)}；需要厂商自己的构建（{OWN_TORCH[own.vendor]}），通常以容器镜像提供。", proof,
                     (env.cure("container_image"), env.cure("use_instead", name=OWN_TORCH[own.vendor])))  # fmt: skip
    if machine.of("huawei") or any(card.vendor in ("moore-threads", "cambricon", "habana") for card in machine.cards):
        return None  # its plug-in is the subject
    return found("package.gpu_build", "info", built.package,
                 f"{built.package} {built.version} is built for {maker} devices, of which there are none here; it works on the processor, and the CPU build is some gigabytes smaller.",
                 f"{built.package} {built.version} 是面向 {maker} 设备的构建，本机没有这类设备；它可以用 CPU 运行，而 CPU 版能省下数 GB。", proof,
                 (env.cure("use_index", package=built.package, index="cpu"),) if built.package == "torch" else ())  # fmt: skip


def _inside(card: Accelerator) -> bool:
    """A GPU inside the processor that is a by-product; the large unified ones are the machine's main device."""
    if card.vendor in ("nvidia", "apple", "huawei") or card.target in ("gfx1151", "gfx942"):
        return False
    return card.memory_kind in ("shared", "unified") or card.integrated is True


def _usable(env: Environment, package: str, have: str) -> tuple[Accelerator, Fitting] | None:
    """The best device here for which there is a build of PACKAGE's framework."""
    order = sorted(
        ((place, card) for place, card in enumerate(env.machine.cards) if card.state in ("usable", "unknown")),
        key=lambda item: (_inside(item[1]), item[1].kind == "npu" and item[1].vendor != "huawei", item[1].vendor != "nvidia"),
    )
    for place, card in order:
        device = DEVICE_OF.get(card.vendor)
        if device in (None, "metal", "cpu") or card.kind == "npu":
            continue
        choice = fitting(env, FRAMEWORKS.get(package, ""), device or "", [(place, card)], have)
        if choice is not None:
            return card, choice
    return None


def _cpu_build(env: Environment, built: Built) -> Finding | None:
    """A CPU build beside a device that another build would use; nothing where there is no such build anyway."""
    if built.package not in FRAMEWORKS:
        return None
    if built.package == "onnxruntime" and any(name.startswith("onnxruntime-") for name in env.versions if "genai" not in name):
        return None  # two variants, or a plug-in that brings the device
    if _has_variant(env, built.package):
        return None  # both are there: which one wins is the subject
    better = _usable(env, built.package, built.version)
    if better is None:
        return None
    card, choice = better
    severity: Severity = "info" if _inside(card) else "warning"
    if built.package == "onnxruntime" and ({"torch", "tensorflow", "jax"} | BRINGS_ORT) & set(env.versions):
        severity = "info"  # most often brought along by another package
    if _is_jetson(env, card) and not built.marked:
        severity = "info"  # JetPack's own wheels carry no mark either
    how_en = "" if built.marked else " (the version carries no mark, but this is what the package index holds for this system)"
    how_zh = "" if built.marked else "（版本号没有标记，但软件源为此系统提供的就是 CPU 版）"
    cures = env.cures(built.remedies) if built.remedies else choice.remedies(env, built.package)
    en = f"{built.package} {built.version} is the CPU build{how_en}; {title(card)} stays idle."
    zh = f"{built.package} {built.version} 是 CPU 版{how_zh}，{title(card)} 不会被使用。"
    if built.because is not None:
        en, zh = f"{en} {built.because.en}", f"{zh}{built.because.zh}"
    return found("package.cpu_build", severity, built.package, en, zh, env.proof(built.package), cures, built.source)


def _has_variant(env: Environment, package: str) -> bool:
    rows = (row for facts in env.machine.catalog.packages.values() for row in facts.variants if package in row.packages)
    return any(name != package and name in env.versions for row in rows for name in row.packages)


def _plugins(env: Environment) -> Iterator[Finding]:
    """Packages that reach a vendor's device only through a second package."""
    for facts in env.machine.catalog.packages.values():
        for row in facts.plugins:
            if row.package not in env.versions or any(name in env.versions for name in row.plugins):
                continue
            cards = env.machine.of(row.vendor)
            if not cards or env.machine.profile.system.os not in row.os:
                continue
            yield found("package.cpu_build", "warning", row.package, f"{title(cards[0][1])} stays idle: {row.because.en}",
                        f"{title(cards[0][1])} 不会被使用：{row.because.zh}", env.proof(row.package), env.cures(row.remedies), row.source)  # fmt: skip


def processor(env: Environment) -> Iterator[Finding]:
    """Packages whose code needs instructions that this processor (or the virtual one) does not have."""
    flags = env.machine.profile.cpu.flags
    platform = env.platform or ""
    if flags is None or not platform.endswith("x86_64") or not flags:
        return
    have = with_implied(flags)
    for row in _rows(env):
        missing = [flag for flag in row.cpu_flags if flag not in have]
        if not missing:
            continue
        en = f"{row.package} {env.versions[row.package]} needs {', '.join(missing)}, which this processor does not offer."
        zh = f"{row.package} {env.versions[row.package]} 需要 {'、'.join(missing)}，而此处理器不提供。"
        if row.because is not None:
            en, zh = f"{en} {row.because.en}", f"{zh}{row.because.zh}"
        cpu = env.machine.profile.cpu
        proof = (*env.proof(row.package), Evidence(fact=f"cpu.model = {cpu.model or 'not known'}", source="cpu.flags"))
        yield found("cpu.feature_missing", "error", row.package, en, zh, proof, env.cures(row.remedies), row.source)


def libc(env: Environment) -> Iterator[Finding]:
    """Packages that were installed although they ask for a newer C library than there is."""
    system = env.machine.profile.system
    if system.os != "linux" or system.libc != "glibc" or system.libc_version is None:
        return
    for row in _rows(env):
        if row.glibc_min is None or at_least(system.libc_version, row.glibc_min) is not False:
            continue
        en = f"{row.package} {env.versions[row.package]} needs glibc {row.glibc_min}; this system has {system.libc_version}."
        zh = f"{row.package} {env.versions[row.package]} 需要 glibc {row.glibc_min}，此系统为 {system.libc_version}。"
        if row.because is not None:
            en, zh = f"{en} {row.because.en}", f"{zh}{row.because.zh}"
        cures = (*env.cures(row.remedies), env.cure("update_os"))
        proof = env.proof(row.package) + env.machine.fact("system.libc_version", system.libc_version)
        yield found("libc.too_old", "error", row.package, en, zh, proof, cures, row.source)


def _rows(env: Environment) -> Iterator[Contents]:
    platform = platform_of(env.machine.profile, env.python)
    for row in contents(env.machine.catalog):
        have = env.versions.get(row.package)
        if have is None or not (row.cpu_flags or row.glibc_min):
            continue
        if row.platforms and platform not in row.platforms:
            continue
        if row.versions and not within(have, row.versions):
            continue
        yield row


def libraries(env: Environment) -> Iterator[Finding]:
    """CUDA libraries that a package needs beside its wheel, and a compiler of another CUDA than torch's."""
    torch = env.built("torch")
    cuda = torch.toolkit if torch is not None and torch.device == "cuda" else None
    software = env.machine.profile.software
    ort = env.built("onnxruntime-gpu")
    if ort is not None and ort.toolkit is not None and env.machine.of("nvidia"):
        major = ort.toolkit.split(".")[0]
        system_cuda = software.cuda_toolkit if isinstance(software.cuda_toolkit, str) else None
        own = f"nvidia-cudnn-cu{major}" in env.versions
        offered = [word for word in (cuda, system_cuda) if word is not None]
        if not own and offered and all(word.split(".")[0] != major for word in offered):
            yield found("toolkit.mismatch", "warning", "onnxruntime-gpu", f"onnxruntime-gpu {ort.version} loads the libraries of CUDA {major}; here are those of CUDA {offered[0]}. It falls back to the processor.",
                        f"onnxruntime-gpu {ort.version} 需要 CUDA {major} 的库；此处只有 CUDA {offered[0]} 的库，会退回 CPU。", env.proof("onnxruntime-gpu", "torch"),
                        (env.cure("install_package", package="onnxruntime-gpu[cuda,cudnn]"), env.cure("pin_version", package="onnxruntime-gpu", version="1.26.0" if major == "13" else "1.18.1")), ort.source)  # fmt: skip
        elif not own and not offered and software.cuda_toolkit is False:
            yield found("toolkit.missing", "warning", "onnxruntime-gpu", f"onnxruntime-gpu {ort.version} brings no CUDA libraries, and none are installed. It falls back to the processor.",
                        f"onnxruntime-gpu {ort.version} 不含 CUDA 库，本机也没有安装，会退回 CPU。", env.proof("onnxruntime-gpu"),
                        (env.cure("install_package", package="onnxruntime-gpu[cuda,cudnn]"),), ort.source)  # fmt: skip
    tensorflow = env.built("tensorflow")
    if (
        tensorflow is not None and tensorflow.device == "cuda" and env.machine.of("nvidia") and software.cuda_toolkit is False
        and not any(name.startswith("nvidia-cudnn") for name in env.versions) and not env.machine.profile.system.container
    ):  # fmt: skip
        yield found("toolkit.missing", "warning", "tensorflow", f"tensorflow {tensorflow.version} was installed without its CUDA libraries, and none are on this system: it sees no GPU.",
                    f"安装 tensorflow {tensorflow.version} 时没有带上 CUDA 库，系统中也没有：它看不到 GPU。", env.proof("tensorflow"),
                    (env.cure("install_package", package="tensorflow[and-cuda]"),), tensorflow.source)  # fmt: skip
    compiler = software.nvcc if isinstance(software.nvcc, str) else software.cuda_toolkit
    if isinstance(compiler, str) and cuda is not None and compiler.split(".")[0] != cuda.split(".")[0]:
        yield found("toolkit.mismatch", "info", "CUDA", f"nvcc is of CUDA {compiler}, torch of CUDA {cuda}: torch itself runs, but extensions (flash-attn, custom kernels) refuse to compile.",
                    f"nvcc 属于 CUDA {compiler}，torch 属于 CUDA {cuda}：torch 可以运行，但扩展（flash-attn、自定义算子）无法编译。",
                    env.proof("torch") + env.machine.fact("software.cuda_toolkit", compiler), (env.cure("install_system_package", name=f"CUDA toolkit {cuda}"),))  # fmt: skip
