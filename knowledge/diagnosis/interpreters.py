"""The Python of an environment: emulated, 32-bit, free-threaded, too old or too new for what is built."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

from collections.abc import Iterator

from knowledge.catalog import Catalog
from knowledge.diagnosis.situation import Environment, found
from knowledge.facts import Evidence, Finding, Remedy, Severity
from knowledge.versions import minor, minor_key

LEARNING = frozenset({"torch", "tensorflow", "jax", "paddlepaddle", "paddlepaddle-gpu", "mindspore", "mlx", "vllm"})
X86 = ("x86", "i386", "i686")


def interpreter(env: Environment, only: bool) -> Iterator[Finding]:
    """Faults of the interpreter itself. ONLY: it is the only environment, or the one that was asked about."""
    python, system = env.python, env.machine.profile.system
    subject = env.name
    proof = (Evidence(fact=f"Python {python.version or '?'}, {python.arch or '?'}, {python.bits or '?'}-bit", source=subject),)
    if python.bits == 32 or python.arch in X86:
        yield found("python.32bit", "error" if env.versions or only else "warning", subject, "This Python is a 32-bit program; machine-learning packages are built for 64-bit Python alone.",
                    "这是 32 位 Python；机器学习软件包只提供 64 位版本。", proof, (env.cure("use_64bit"),))  # fmt: skip
        return
    if python.arch and system.arch and python.arch != system.arch and system.arch in ("x86_64", "aarch64"):
        yield _emulated(env, proof, subject, only)
        return
    if python.free_threaded is True:
        other = _gil(env)
        yield found("python.free_threaded", "warning" if only and not _learns(env) else "info", subject,
                    "This Python is the free-threaded build (3.xt). It has an ABI of its own, for which most packages have no wheel.",
                    "这是自由线程版 Python（3.xt），其 ABI 与普通版不同，大多数软件包没有相应的轮子。", proof, (_use(env, other),))  # fmt: skip
    elif python.version:
        yield from _age(env, proof, subject, only)


def _learns(env: Environment) -> bool:
    """Whether a machine-learning framework is installed in the environment."""
    return bool(LEARNING & set(env.versions)) or any(name.startswith("onnxruntime") for name in env.versions)


def _emulated(env: Environment, proof: tuple[Evidence, ...], subject: str, only: bool) -> Finding:
    python, system = env.python, env.machine.profile.system
    by_en = {"macos": "Rosetta", "windows": "Windows' x64 emulation"}.get(system.os or "", "emulation")
    by_zh = {"macos": "Rosetta", "windows": "Windows 的 x64 模拟"}.get(system.os or "", "模拟器")
    en = f"This Python is an {python.arch} program under {by_en} on a processor that is {system.arch}: it is slow, is offered the wrong packages and does not reach the GPU or NPU."
    zh = f"这是通过 {by_zh} 运行的 {python.arch} Python，而处理器是 {system.arch}：速度慢，会装到错误的软件包，也用不了 GPU 或 NPU。"
    native = any(other.arch == system.arch for other in env.machine.profile.pythons or ())
    severity: Severity = "info" if native and not only and not _learns(env) else "warning"
    return found("python.emulated", severity, subject, en, zh, proof, (env.cure("use_native_arch", arch=system.arch or ""),))


def _gil(env: Environment) -> str | None:
    """Path of another Python of this machine that is an ordinary one."""
    for python in env.machine.profile.pythons or ():
        if python is not env.python and python.free_threaded is not True and python.bits != 32 and python.path and minor(python.version):
            return f"{minor(python.version)} {python.path}"
    return None


def _use(env: Environment, other: str | None) -> Remedy:
    if other is None:
        return env.cure("use_python", version="3.12")
    version, path = other.split(" ", 1)
    return env.cure("use_python", version=version, path=path)


def served(catalog: Catalog) -> tuple[str, str] | None:
    """Oldest and newest Python minor of the newest release of PyTorch in the catalogue."""
    torch = catalog.frameworks.get("pytorch")
    minors = [word for build in (torch.builds[:1] if torch else ()) for word in build.pythons if not word.endswith("t")]
    if not minors:
        return None
    return min(minors, key=minor_key), max(minors, key=minor_key)


def _age(env: Environment, proof: tuple[Evidence, ...], subject: str, only: bool) -> Iterator[Finding]:
    """Python versions for which no current framework is built."""
    have = minor(env.python.version)
    bounds = served(env.machine.catalog)
    if have is None or bounds is None or "tegra" in (env.machine.profile.system.kernel or ""):
        return  # a Jetson's Python is the one that its wheels are for
    learns = _learns(env)
    if (not only and not learns) or (learns and minor_key(have) >= (3, 10)):
        return  # one of several that nobody uses for this, or one in which the framework of its day runs
    cure = env.cure("use_python", version="3.12")
    if minor_key(have) < minor_key(bounds[0]):
        severity: Severity = "warning" if minor_key(have) < (3, 10) and only and not _learns(env) else "info"
        yield found("python.too_old", severity, subject, f"Current releases of PyTorch and others start at Python {bounds[0]}; this is {have}, so pip takes older releases.",
                    f"PyTorch 等的当前版本最低需要 Python {bounds[0]}；这里是 {have}，pip 只能装到旧版。", proof, (cure,))  # fmt: skip
    elif minor_key(have) > minor_key(bounds[1]):
        yield found("python.too_new", "warning" if only else "info", subject, f"Python {have} is newer than any framework is built for ({bounds[1]} at most).",
                    f"Python {have} 新于所有框架支持的版本（最高 {bounds[1]}）。", proof, (cure,))  # fmt: skip
