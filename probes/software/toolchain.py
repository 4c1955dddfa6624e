"""Toolkits, compilers and clients by version, from the files that they leave behind."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from knowledge.facts import Evidence, Finding, Software
from knowledge.text import Text
from probes.host import Host
from probes.software.places import Machine

Answer = str | bool | None
COMMAND_LIMIT_S = 3.0
_LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib", "/usr/lib/aarch64-linux-gnu",
)  # fmt: skip


class Seen(msgspec.Struct, frozen=True):
    """A version (or True: present, version not told; False: looked for and absent) and where it was read."""

    value: Answer
    source: str


def software(host: Host, *, deep: bool = False) -> tuple[Software, tuple[Finding, ...], dict[str, str]]:
    """Software of HOST, what could not be read, and the source of each fact ("software.cuda_toolkit").

    Files tell most of it and no program is started. DEEP also asks the programs that alone know their version, at the
    same time and each for at most three seconds; without it such a program is told as True: there, version not asked.
    """
    machine = Machine(host)
    seen: dict[str, Seen] = {}
    for name, read in _READERS.items():
        one = read(machine)
        if one is not None:
            seen[name] = one
    # A recording answers at once, and some hold a program's answer but not its files.
    findings = _ask_programs(machine, seen) if deep or host.recorded else []
    values = {name: one.value for name, one in seen.items()}
    sources = {f"software.{name}": one.source for name, one in seen.items()}
    return msgspec.convert(values, Software), tuple(findings), sources


# One reader a fact: None where it cannot be known, Seen(False, …) where it was looked for and is not there.


def cuda_toolkit(machine: Machine) -> Seen | None:
    """The CUDA toolkit: version.json (11.1 and newer) or version.txt of CUDA_HOME, /usr/local/cuda or the newest
    /usr/local/cuda-X.Y; a distribution's own package by its cuda.h. The driver's CUDA is another number."""
    folders = [value for name in ("CUDA_HOME", "CUDA_PATH") if (value := machine.variable(name))]
    if machine.windows:
        base = machine.join(
            machine.variable("ProgramFiles") or "C:\\Program Files", "NVIDIA GPU Computing Toolkit", "CUDA"
        )
        listing = machine.listing(base)
        folders += [machine.join(base, name) for name in _newest_first(listing.names, r"v(\d+\.\d+)$")]
    else:
        base = "/usr/local"
        listing = machine.listing(base)
        folders += ["/usr/local/cuda"]
        folders += [machine.join(base, name) for name in _newest_first(listing.names, r"cuda-(\d+\.\d+)$")]
        folders += ["/opt/cuda"]
    for folder in folders:
        one = _cuda_in(machine, folder)
        if one is not None:
            return one
    program = machine.host.which("nvcc")
    if program.ok:
        real = machine.real(program.text)
        return _cuda_in(machine, machine.parent(machine.parent(real))) or Seen(True, program.text)
    return _absent(machine, listing.ok, base)


def _cuda_in(machine: Machine, folder: str) -> Seen | None:
    path = machine.join(folder, "version.json")
    reading = machine.host.read(path)
    if reading.ok:
        match = re.search(r'"cuda"\s*:\s*\{[^{}]*?"version"\s*:\s*"(\d+\.\d+)[^"]*"', reading.text)
        if match:
            return Seen(match[1], path)
    path = machine.join(folder, "version.txt")
    reading = machine.host.read(path)
    if reading.ok and (match := re.search(r"CUDA Version (\d+\.\d+)", reading.text)):
        return Seen(match[1], path)
    for path in (machine.join(folder, "include/cuda.h"), machine.join(folder, "include/cuda_runtime_api.h")):
        reading = machine.host.read(path)
        match = re.search(r"^#define\s+(?:CUDA_VERSION|CUDART_VERSION)\s+(\d{4,6})\s*$", reading.text, re.MULTILINE)
        if reading.ok and match:
            number = int(match[1])
            return Seen(f"{number // 1000}.{number % 1000 // 10}", path)
    return None


def rocm(machine: Machine) -> Seen | None:
    """ROCm: .info/version of ROCM_PATH, /opt/rocm or the newest /opt/rocm-X.Y.Z."""
    if machine.windows:
        base = machine.join(machine.variable("ProgramFiles") or "C:\\Program Files", "AMD", "ROCm")
        listing = machine.listing(base)
        names = _newest_first(listing.names, r"(\d+\.\d+(?:\.\d+)?)$")
        return Seen(names[0], machine.join(base, names[0])) if names else _absent(machine, listing.ok, base)
    listing = machine.listing("/opt")
    folders = [value for name in ("ROCM_PATH", "ROCM_HOME") if (value := machine.variable(name))]
    names = _newest_first(listing.names, r"rocm-(\d+\.\d+(?:\.\d+)?)$")
    folders += ["/opt/rocm", *(machine.join("/opt", name) for name in names), "/opt/rocm/core"]
    for folder in folders:
        for inner in (".info/version", ".info/version-rocm", ".info/version-dev", "core/.info/version"):
            path = machine.join(folder, inner)
            reading = machine.host.read(path)
            if reading.ok and (match := re.match(r"\s*(\d+\.\d+(?:\.\d+)?)", reading.text)):
                return Seen(match[1], path)
    if names:
        return Seen(names[0].removeprefix("rocm-"), machine.join("/opt", names[0]))
    path = "/usr/include/rocm-core/rocm_version.h"  # a distribution's own packages
    reading = machine.host.read(path)
    parts = [
        match[1]
        for word in ("MAJOR", "MINOR", "PATCH")
        if (match := re.search(rf"#define\s+ROCM_VERSION_{word}\s+(\d+)", reading.text))
    ]
    if len(parts) == 3:
        return Seen(".".join(parts), path)
    return _absent(machine, listing.ok, "/opt")


def cann(machine: Machine) -> Seen | None:
    """Huawei CANN: version of the toolkit, from its info files under ASCEND_HOME_PATH or /usr/local/Ascend."""
    if machine.host.os != "linux":
        return Seen(False, "Ascend toolkits exist for Linux only")
    listing = machine.listing("/usr/local/Ascend")
    folders = [v for name in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH") if (v := machine.variable(name))]
    folders += ["/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/cann", "/usr/local/Ascend/latest"]
    folders += ["/usr/local/Ascend/nnrt/latest", "/usr/local/Ascend/nnae/latest"]
    if machine.home:
        folders.append(machine.join(machine.home, "Ascend/ascend-toolkit/latest"))
    for folder in folders:
        names = [
            "version.cfg", "version.info", "runtime/version.info", "compiler/version.info", "toolkit/version.info",
            "opp/version.info", "share/info/runtime/version.info",
        ]  # fmt: skip
        for arch in ("aarch64-linux", "x86_64-linux"):
            names.append(f"{arch}/ascend_toolkit_install.info")
            names.append(f"{arch}/ascend_nnrt_install.info")
        for inner in names:
            path = machine.join(folder, inner)
            reading = machine.host.read(path)
            if reading.ok and (version := cann_version(reading.text)):
                return Seen(version, path)
    return _absent(machine, listing.ok or machine.listing("/usr/local").ok, "/usr/local/Ascend")


def cann_version(text: str) -> str | None:
    """8.2.RC1 of `Version=8.2.RC1`, `version=8.0.0`, `runtime_running_version=[7.6.0.1.220:8.0.0]`."""
    match = re.search(r"^\s*\w*running_version\s*=\s*\[[^:\]]*:([^\]]+)\]", text, re.MULTILINE)
    match = match or re.search(r"^\s*(?:package_)?version\s*=\s*\"?(\d[\w.]*)", text, re.MULTILINE | re.IGNORECASE)
    return match[1].strip() if match and re.match(r"\d+\.\d", match[1].strip()) else None


def oneapi(machine: Machine) -> Seen | None:
    """Intel oneAPI: the newest compiler's folder under ONEAPI_ROOT or /opt/intel/oneapi."""
    default = "/opt/intel/oneapi"
    if machine.windows:
        default = machine.join(machine.variable("ProgramFiles(x86)") or "C:\\Program Files (x86)", "Intel", "oneAPI")
    root = machine.variable("ONEAPI_ROOT") or default
    listing = machine.listing(root)
    if not listing.ok:
        return _absent(machine, machine.listing(machine.parent(machine.parent(root))).ok, root)
    compilers = machine.join(root, "compiler")
    names = _newest_first(machine.listing(compilers).names, r"(\d{4}\.\d+(?:\.\d+)?)$")
    names = names or _newest_first(listing.names, r"(\d{4}\.\d+)$")
    return Seen(names[0] if names else True, compilers if names else root)


def level_zero(machine: Machine) -> Seen | None:
    """The Level Zero loader: libze_loader.so.1.X.Y names its version."""
    if machine.windows:
        path = machine.join(machine.variable("SystemRoot") or "C:\\Windows", "System32", "ze_loader.dll")
        if machine.host.access(path).ok:
            return Seen(True, path)
        return _absent(machine, machine.host.access(machine.join(machine.parent(path), "kernel32.dll")).ok, path)
    if machine.host.os == "macos":
        return Seen(False, "Level Zero exists for Linux and Windows only")
    looked = False
    for folder in _LIBRARY_FOLDERS:
        listing = machine.listing(folder)
        looked = looked or listing.ok
        found = [m for name in listing.names if (m := re.fullmatch(r"libze_loader\.so(?:\.(\d+\.\d+\.\d+))?", name))]
        versions = sorted((m[1] for m in found if m[1]), key=_numbers)
        if versions:
            return Seen(versions[-1], machine.join(folder, f"libze_loader.so.{versions[-1]}"))
        if any(name.startswith("libze_loader.so") for name in listing.names):
            return Seen(True, folder)
    return _absent(machine, looked, "libze_loader.so in the library folders")


def vc_redist(machine: Machine) -> Seen | None:
    """The Visual C++ 2015-2022 runtime: its three libraries, of which older runtimes lack vcruntime140_1.dll."""
    if not machine.windows:
        return None
    folder = machine.join(machine.variable("SystemRoot") or "C:\\Windows", "System32")
    readings = [
        machine.host.access(machine.join(folder, name))
        for name in ("vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll")
    ]
    if all(reading.ok for reading in readings):
        return Seen(True, readings[1].source)
    looked = machine.host.access(machine.join(folder, "kernel32.dll")).ok  # which every Windows has
    if looked and any(reading.status == "missing" for reading in readings):
        return Seen(False, next(reading.source for reading in readings if reading.status == "missing"))
    return None


def msvc(machine: Machine) -> Seen | None:
    """Microsoft's C++ compiler: the newest VC\\Tools\\MSVC folder of any Visual Studio."""
    if not machine.windows:
        return Seen(False, "MSVC exists for Windows only")
    looked, versions = False, []
    for variable, default in (("ProgramFiles", "C:\\Program Files"), ("ProgramFiles(x86)", "C:\\Program Files (x86)")):
        programs = machine.variable(variable) or default
        looked = looked or machine.listing(programs).ok
        root = machine.join(programs, "Microsoft Visual Studio")
        for year in machine.children(root):
            for edition in machine.children(year):
                folder = machine.join(edition, "VC", "Tools", "MSVC")
                versions += [(name, folder) for name in machine.listing(folder).names if re.match(r"\d+\.\d+", name)]
    if versions:
        name, folder = max(versions, key=lambda pair: _numbers(pair[0]))
        return Seen(name, folder)
    return _absent(machine, looked, "Microsoft Visual Studio")


def gcc(machine: Machine) -> Seen | None:
    """GNU's compiler: its program leads to NAME-MAJOR; the exact version stands in a folder of its library."""
    program = machine.host.which("gcc")
    if not program.ok:
        return _absent(machine, machine.path_known(), "gcc on PATH")
    real = machine.real(program.text)
    match = re.search(r"gcc-(\d+(?:\.\d+)*)", machine.name(real))
    for base in ("/usr/lib/gcc", "/usr/lib64/gcc", "/usr/libexec/gcc"):
        for target in machine.children(base):
            names = _newest_first(machine.listing(target).names, r"(\d+(?:\.\d+)*)$")
            if match and match[1] in names:
                return Seen(match[1], machine.join(target, match[1]))
            if names and match is None and real.startswith("/usr/bin/"):
                return Seen(names[0], machine.join(target, names[0]))
    return Seen(match[1] if match else True, real)


def nvcc(machine: Machine) -> Seen | None:
    """The CUDA compiler on PATH; its toolkit's own file tells the version."""
    program = machine.host.which("nvcc")
    if not program.ok:
        return _absent(machine, machine.path_known(), "nvcc on PATH")
    one = _cuda_in(machine, machine.parent(machine.parent(machine.real(program.text))))
    return Seen(one.value if one else True, program.text)


def cmake(machine: Machine) -> Seen | None:
    """CMake on PATH; the folder of its modules names major and minor."""
    program = machine.host.which("cmake")
    if not program.ok:
        return _absent(machine, machine.path_known(), "cmake on PATH")
    share = machine.join(machine.parent(machine.parent(machine.real(program.text))), "share")
    names = _newest_first(machine.listing(share).names, r"cmake-(\d+\.\d+)$")
    return Seen(names[0].removeprefix("cmake-") if names else True, program.text)


def container_toolkit(machine: Machine) -> Seen | None:
    """NVIDIA's container toolkit: its program, and whether Docker's daemon.json or a CDI file knows the runtime."""
    if machine.host.os == "macos":
        return Seen(False, "the NVIDIA container toolkit exists for Linux only")
    for name in ("nvidia-ctk", "nvidia-container-cli", "nvidia-container-runtime"):
        program = machine.host.which(name)
        if program.ok:
            return Seen(True, program.text)
    return _absent(machine, machine.path_known(), "nvidia-ctk on PATH")


def uv(machine: Machine) -> Seen | None:
    """uv on PATH; its receipt or the metadata beside it names the version."""
    program = machine.host.which("uv")
    if not program.ok:
        return _absent(machine, machine.path_known(), "uv on PATH")
    config = machine.variable("XDG_CONFIG_HOME") or (machine.join(machine.home, ".config") if machine.home else None)
    if config:
        path = machine.join(config, "uv", "uv-receipt.json")
        reading = machine.host.read(path)
        match = re.search(r'"version"\s*:\s*"(\d+\.\d+\.\d+)"', reading.text)
        prefix = re.search(r'"install_prefix"\s*:\s*"([^"]+)"', reading.text)
        if match and prefix and machine.parent(program.text).startswith(prefix[1]):
            return Seen(match[1], path)
    return Seen(_version_beside(machine, program.text, "uv") or True, program.text)


def pip(machine: Machine) -> Seen | None:
    """pip on PATH, of the Python that the program belongs to."""
    for name in ("pip3", "pip"):
        program = machine.host.which(name)
        if program.ok:
            return Seen(_version_beside(machine, program.text, "pip") or True, program.text)
    return _absent(machine, machine.path_known(), "pip on PATH")


def conda(machine: Machine) -> Seen | None:
    """conda: CONDA_EXE or the program on PATH; its root's conda-meta names the version."""
    program = machine.variable("CONDA_EXE")
    if program is None:
        reading = machine.host.which("conda")
        program = reading.text if reading.ok else None
    if program is None:
        return _absent(machine, machine.path_known(), "conda on PATH")
    root = machine.parent(machine.parent(machine.real(program)))
    for name in machine.listing(machine.join(root, "conda-meta")).names:
        if match := re.match(r"conda-(\d+\.\d+[\w.]*)-[^-]+\.json$", name):
            return Seen(match[1], machine.join(root, "conda-meta", name))
    return Seen(True, program)


def _client(name: str) -> Callable[[Machine], Seen | None]:
    def read(machine: Machine) -> Seen | None:
        program = machine.host.which(name)
        if program.ok:
            return Seen(True, program.text)
        return _absent(machine, machine.path_known(), f"{name} on PATH")

    return read


_READERS: dict[str, Callable[[Machine], Seen | None]] = {
    "cuda_toolkit": cuda_toolkit, "rocm": rocm, "cann": cann, "oneapi": oneapi, "level_zero": level_zero,
    "vc_redist": vc_redist, "msvc": msvc, "gcc": gcc, "nvcc": nvcc, "cmake": cmake, "docker": _client("docker"),
    "container_toolkit": container_toolkit, "kubectl": _client("kubectl"), "slurm": _client("sinfo"), "uv": uv,
    "pip": pip, "conda": conda,
}  # fmt: skip

# What to ask where only the program knows: arguments, and what its answer says.
_QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "cuda_toolkit": (("nvcc", "--version"), r"release (\d+\.\d+)"),
    "nvcc": (("nvcc", "--version"), r"release (\d+\.\d+)"),
    "gcc": (("gcc", "-dumpfullversion", "-dumpversion"), r"^(\d+(?:\.\d+)*)"),
    "cmake": (("cmake", "--version"), r"cmake version (\d+\.\d+\.\d+)"),
    "docker": (("docker", "--version"), r"version (\d+\.\d+\.\d+)"),
    "container_toolkit": (("nvidia-ctk", "--version"), r"version (\d+\.\d+\.\d+)"),
    "kubectl": (("kubectl", "version", "--client"), r"v(\d+\.\d+\.\d+)"),
    "slurm": (("sinfo", "--version"), r"slurm\S* (\d+\.\d+[\w.-]*)"),
    "uv": (("uv", "--version"), r"uv (\d+\.\d+\.\d+)"),
}


_RUNTIMES = ("docker", "info", "--format", "{{json .Runtimes}}")


def _ask_programs(machine: Machine, seen: dict[str, Seen]) -> list[Finding]:
    """Completes SEEN by the programs that are there without a version, and by all that a recording answers."""
    recorded = machine.host.recorded
    names = [name for name in _QUESTIONS if (seen[name].value is True if name in seen else recorded)]
    if not names:
        return []
    # Imported here: without questions no thread is needed, and the import costs a tenth of a fast probe.
    from concurrent.futures import ThreadPoolExecutor

    findings = []
    questions = [_QUESTIONS[name][0] for name in names]
    with ThreadPoolExecutor(min(8, len(names) + 1)) as pool:
        *readings, runtimes = pool.map(lambda argv: machine.host.run(argv, COMMAND_LIMIT_S), (*questions, _RUNTIMES))
    if runtimes.ok and runtimes.text.lstrip().startswith("{") and "container_toolkit" not in seen:
        seen["container_toolkit"] = Seen('"nvidia"' in runtimes.text, runtimes.source)
    for name, reading in zip(names, readings, strict=True):
        match = re.search(_QUESTIONS[name][1], reading.text[:20000], re.MULTILINE)
        if reading.ok and match:
            seen[name] = Seen(match[1], reading.source)
        elif reading.status in ("timed_out", "failed"):
            findings.append(_unanswered(name, reading.source, reading.status))
    return findings


def _version_beside(machine: Machine, program: str, package: str) -> str | None:
    """The version of PACKAGE in the site-packages of the installation that the script PROGRAM belongs to."""
    prefix = machine.parent(machine.parent(program))
    if machine.windows:
        folders = [machine.join(prefix, "Lib", "site-packages")]
    else:
        library = machine.join(prefix, "lib")
        minors = [name for name in machine.listing(library).names if re.match(r"python\d\.\d+t?$", name)]
        folders = [machine.join(library, name, "site-packages") for name in sorted(minors, key=_numbers, reverse=True)]
        if prefix == "/usr":
            folders.insert(0, "/usr/lib/python3/dist-packages")
    for folder in folders:
        for name in machine.listing(folder).names:
            if match := re.fullmatch(rf"{package}-(\d[\w.]*)\.dist-info", name):
                return match[1]
    return None


def _absent(machine: Machine, looked: bool, source: str) -> Seen | None:
    """Absent, where it could be looked for; a recording that does not hold the place leaves it unknown."""
    return Seen(False, source) if looked and machine.whole() else None


def _newest_first(names: tuple[str, ...], pattern: str) -> list[str]:
    found = [name for name in names if re.match(pattern, name)]
    return sorted(found, key=_numbers, reverse=True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number[:9]) for number in re.findall(r"\d+", text))


def _unanswered(name: str, source: str, status: str) -> Finding:
    how = (
        ("did not answer within three seconds", "在三秒内没有回应")
        if status == "timed_out"
        else ("gave no version", "没有给出版本")
    )
    return Finding(
        code="software.unanswered", severity="info", subject=f"software.{name}",
        because=Text(f"`{source}` {how[0]}; its version is not known.", f"`{source}` {how[1]}，其版本未知。"),
        evidence=(Evidence(fact=status, source=source),),
    )  # fmt: skip
