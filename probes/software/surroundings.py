"""What around a Python changes what it loads: variables that shadow its libraries, and a missing venv module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from knowledge.facts import Evidence, Finding, Python, Remedy
from knowledge.text import Text
from probes.software import packages
from probes.software.places import Machine

# Libraries that pip packages of CUDA builds bring themselves; a folder in LD_LIBRARY_PATH is searched before them.
_LIBRARY = re.compile(r"lib(cudnn|cublas|cusparse|nccl|nvJitLink|cudart|cufft|cusolver)\.so\.(\d+)")
_PACKAGE = re.compile(r"nvidia-(cudnn|cublas|cusparse|nccl|nvjitlink|cuda-runtime|cufft|cusolver)(?:-cu\d+)?")


def findings(machine: Machine, pythons: Iterable[Python]) -> tuple[Finding, ...]:
    """Findings on PYTHONS that their own files do not tell."""
    found = tuple(pythons)
    return (*_shadowed_libraries(machine, found), *_python_path(machine), *_without_venv(machine, found))


def _shadowed_libraries(machine: Machine, pythons: tuple[Python, ...]) -> Iterator[Finding]:
    """LD_LIBRARY_PATH with libraries of the same major version as those that an environment brings."""
    variable = machine.variable("LD_LIBRARY_PATH") if machine.host.os == "linux" else None
    for folder in dict.fromkeys((variable or "").split(":")):
        if not folder.startswith("/"):
            continue
        there = {m[1].lower(): m[2] for n in machine.listing(folder).names if (m := _LIBRARY.match(n))}
        if not there:
            continue
        for one in pythons:
            clash = sorted(name for name, major in _brought(one).items() if there.get(name) == major)
            if clash and one.path:
                yield _shadowing(one.path, folder, clash)


def _brought(one: Python) -> dict[str, str]:
    """Library to major version, of the NVIDIA packages in the environment ONE."""
    brought: dict[str, str] = {}
    for package in one.packages or ():
        match = _PACKAGE.fullmatch(package.name)
        if match and package.version:
            brought[match[1].replace("cuda-runtime", "cudart")] = package.version.partition(".")[0]
    return brought


def _python_path(machine: Machine) -> Iterator[Finding]:
    """PYTHONPATH with installed packages in it: every Python, environments too, takes those first."""
    variable = machine.variable("PYTHONPATH")
    for folder in (variable or "").split(";" if machine.windows else ":"):
        names = packages.from_names(machine.listing(folder).names)[0] if machine.paths.isabs(folder) else {}
        if names:
            sample = ", ".join(sorted(names)[:4])
            yield Finding(
                code="python.path_variable",
                severity="warning",
                subject="PYTHONPATH",
                because=Text(
                    f"PYTHONPATH puts {folder} before the packages of every Python, environments included; "
                    f"it holds {len(names)} packages ({sample}).",
                    f"PYTHONPATH 让 {folder} 排在所有 Python（包括各环境）自己的软件包之前，"
                    f"其中有 {len(names)} 个软件包（{sample}）。",
                ),
                evidence=(Evidence(fact=f"PYTHONPATH = {variable}", source="environment variable PYTHONPATH"),),
                remedies=(_unset("PYTHONPATH"),),
            )


def _without_venv(machine: Machine, pythons: tuple[Python, ...]) -> Iterator[Finding]:
    """Debian and its relatives part `venv` from Python; without that package `python -m venv` fails."""
    if machine.host.os != "linux" or not machine.host.read("/etc/debian_version").ok:
        return
    for one in pythons:
        minor = re.match(r"3\.\d+", one.version or "")
        if one.kind != "system" or not minor or not (one.path or "").startswith("/usr/bin/"):
            continue
        library = machine.listing(f"/usr/lib/python{minor[0]}")
        if library.ok and "venv" in library.names and "ensurepip" not in library.names:
            package = f"python{minor[0]}-venv"
            yield Finding(
                code="python.venv_missing",
                severity="info",
                subject=one.path or "",
                because=Text(
                    f"{one.path} cannot make environments with `-m venv` until the system package {package} is there.",
                    f"在安装系统软件包 {package} 之前，{one.path} 无法用 `-m venv` 创建环境。",
                ),
                evidence=(Evidence(fact="no ensurepip", source=library.source),),
                remedies=(
                    Remedy(
                        code="install_system_package",
                        params={"package": package, "manager": "apt"},
                        text=Text(f"Install {package} on the system.", f"在系统上安装 {package}。"),
                    ),
                ),
            )


def _shadowing(path: str, folder: str, clash: list[str]) -> Finding:
    names = ", ".join(clash)
    return Finding(
        code="toolkit.mismatch",
        severity="warning",
        subject=path,
        because=Text(
            f"LD_LIBRARY_PATH names {folder}, whose {names} would be loaded in place of the one that this environment "
            "brings. The environment needs no CUDA toolkit from the system.",
            f"LD_LIBRARY_PATH 中的 {folder} 含有 {names}，会取代该环境自带的版本被加载。该环境不需要系统的 CUDA 工具包。",
        ),
        evidence=(Evidence(fact=f"{names} in {folder}", source="environment variable LD_LIBRARY_PATH"),),
        remedies=(_unset("LD_LIBRARY_PATH"),),
    )


def _unset(name: str) -> Remedy:
    return Remedy(
        code="set_env",
        params={"name": name, "value": ""},
        text=Text(f"Clear {name} before starting this environment.", f"启动该环境之前清空 {name}。"),
    )
