"""Which installed Python a plan can use: found in the machine's profile, by uv, or our own; never downloaded."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from knowledge.facts import MachineProfile
from knowledge.plan import PackageSettings
from probes import child
from probes.proof import uv

PLAIN_KINDS = ("system", "pyenv", "uv", "python.org", "homebrew", "framework", "registry")


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """An absolute path and a version ("3.11.7")."""

    path: str
    version: str

    @property
    def short(self) -> str:
        return ".".join(self.version.split(".")[:2])


def own() -> Interpreter | None:
    """The Python that runs this program, or None where the program is packaged and has none to lend."""
    if getattr(sys, "frozen", False):
        return None
    base = getattr(sys, "_base_executable", None) or sys.executable
    path = base if Path(base).is_file() else sys.executable
    return Interpreter(path=path, version=".".join(map(str, sys.version_info[:3])))


def installed(machine: MachineProfile | None) -> tuple[Interpreter, ...]:
    """Pythons of this machine that environments can be made from, plain installations first, newest first."""
    found: list[tuple[int, Interpreter]] = []
    mine = own()
    if mine is not None:
        found.append((0, mine))
    if machine is not None and not machine.recorded:
        for python in machine.pythons or ():
            if python.path is None or python.version is None or python.free_threaded or python.bits == 32:
                continue
            if not Path(python.path).is_file():
                continue
            rank = 1 if python.kind in PLAIN_KINDS or python.kind is None else 2
            found.append((rank, Interpreter(path=python.path, version=python.version)))
    found.sort(key=lambda pair: pair[0])
    seen: set[str] = set()
    kept = []
    for _, interpreter in found:
        real = str(Path(interpreter.path).resolve())
        if real not in seen:
            seen.add(real)
            kept.append(interpreter)
    return tuple(kept)


def choose(
    wanted: str | None, machine: MachineProfile | None, settings: PackageSettings, path: str | None = None
) -> Interpreter | None:
    """The Python at PATH, or an installed one of version WANTED ("3.12"; None: any). None where there is none."""
    if path is not None:
        return Interpreter(path=path, version=version_of(path) or wanted or "3")
    for interpreter in installed(machine):
        if wanted is None or interpreter.short == ".".join(wanted.split(".")[:2]):
            return interpreter
    if wanted is None:
        return None
    # The profile may have been made without a scan of environments; uv looks in the usual places.
    done = uv.run(["python", "find", "--no-project", "--system", wanted], settings, limit_s=20)
    found = done.stdout.strip()
    return Interpreter(path=found, version=wanted) if done.rc == 0 and found else None


def with_library(machine: MachineProfile | None) -> Interpreter | None:
    """An installed Python whose libpython lies where the system's loader finds it: programs that embed Python load that.

    A private Python (pyenv, uv) may have the library, but a server would load the system's of the same name instead.
    """
    candidates = ["/usr/bin/python3", *(p.path for p in installed(machine))]
    question = (
        "import sys, sysconfig; v = sysconfig.get_config_var; print(v('LIBDIR'), v('INSTSONAME'), v('MULTIARCH'), "
        "'.'.join(map(str, sys.version_info[:3])))"
    )
    for path in dict.fromkeys(candidates):
        done = child.run([path, "-I", "-c", question], limit_s=10, environment=uv.inherited())
        words = done.stdout.split()
        if done.rc != 0 or len(words) != 4:
            continue
        folder, name, triplet, version = words
        if folder in ("/usr/lib", "/usr/lib64", f"/usr/lib/{triplet}") and any(
            (Path(place) / name).exists() for place in (folder, f"{folder}/{triplet}")
        ):
            return Interpreter(path=path, version=version)
    return None


def version_of(path: str) -> str | None:
    """The version of the Python at PATH, from its pyvenv.cfg or by asking it."""
    done = child.run(
        [path, "-I", "-S", "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))"],
        limit_s=10, environment=uv.inherited(),
    )  # fmt: skip
    return done.stdout.strip() or None if done.rc == 0 else None
