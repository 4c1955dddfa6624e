"""Every Python on the machine and the packages in it, read from files; no Python that was found is ever run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from knowledge.facts import Finding, Package, Python
from probes.host import Host
from probes.software import installation, packages, places, python_findings, surroundings, windows_pythons
from probes.software.installation import PROGRAM, Base
from probes.software.places import Machine, Place

# Kinds that are a folder of their own: the same program may stand behind many of them.
_OWN_FOLDER = ("venv", "conda", "pixi", "poetry", "pipx", "hatch", "uv-tool")
_SEARCHES = (
    places.conda_environments, places.kept_environments, places.installations, places.project_environments,
)  # fmt: skip


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One Python, where it was read, and what could not be read of it."""

    python: Python
    source: str
    findings: tuple[Finding, ...] = ()


def pythons(host: Host) -> tuple[tuple[Python, ...] | None, tuple[Finding, ...], dict[str, str]]:
    """All Pythons of HOST with their packages, what could not be read, and the source of each ("pythons.0").

    Kinds: system, venv, conda, pixi, pyenv, uv, uv-tool, poetry, pipx, hatch, asdf, mise, rye, nix, homebrew,
    framework, store. None in place of the list: nothing could be looked at, as in a recording without folders. Time
    is spent on listing folders; a search that takes longer than four seconds stops and says so.
    """
    machine = Machine(host)
    reader = _Reader(machine)
    found = list(reader.all())
    if not found and not reader.looked:
        return None, (), {}
    findings = [finding for one in found for finding in one.findings]
    findings += surroundings.findings(machine, [one.python for one in found])
    if machine.late():
        findings.append(python_findings.search_stopped(len(found), places.SEARCH_LIMIT_S))
    sources = {f"pythons.{number}": one.source for number, one in enumerate(found)}
    return tuple(one.python for one in found), tuple(findings), sources


def one_python(host: Host, path: str) -> tuple[Python | None, tuple[Finding, ...]]:
    """The Python at PATH, a program or the folder of an environment; None and a finding where there is none."""
    machine = Machine(host)
    one = _Reader(machine).at(path)
    if one is None:
        return None, (python_findings.not_found(path),)
    return one.python, (*one.findings, *surroundings.findings(machine, [one.python]))


class _Reader:
    """Reads installations and environments of one machine; each folder is listed once."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.looked = False  # whether any usual place could be listed at all
        self._installations = installation.Installations(machine)
        self._packages: dict[str, dict[str, str | None]] = {}
        self._listed: dict[str, str] = {}
        self._seen: set[str] = set()

    def all(self) -> Iterator[Found]:
        """Each Python once: those on PATH first, as people meet them, then those in folders of tools and projects."""
        machine = self.machine
        for folder in places.program_folders(machine):
            listing = machine.listing(folder)
            self.looked = self.looked or (listing.ok and machine.whole())
            for name in _by_habit(listing.names):
                yield from self._once(self.at_program(machine.join(folder, name)))
        if machine.windows:
            yield from self._windows()
        for search in _SEARCHES:
            for place in search(machine):
                if machine.late():
                    return
                yield from self._once(self.at_prefix(place))

    def at(self, path: str) -> Found | None:
        """The Python at PATH: its folder, or its program."""
        one = self.at_prefix(Place(path, "system"))
        if one is None and PROGRAM.match(self.machine.name(path)):
            one = self.at_program(path)
        return one

    def at_program(self, path: str) -> Found | None:
        """The environment or installation that the program PATH belongs to."""
        machine = self.machine
        prefix = self._installations.prefix_of(path)
        if machine.configuration(prefix).ok:
            return self._virtual(prefix, "venv")
        if machine.windows and "windowsapps" in path.lower():
            return None  # an alias that starts the Store's Python or opens the Store; windows_pythons reads the Store
        real = machine.real(path)
        for candidate in dict.fromkeys((prefix, self._installations.prefix_of(real))):
            if self._is_conda(candidate):
                return self._conda(candidate, "conda")
            if candidate != prefix and machine.configuration(candidate).ok:
                return self._virtual(candidate, "venv")
        if machine.host.os == "macos" and real.startswith("/usr/bin/"):
            return None  # a stub that asks to install developer tools; the tools' own folder is looked at
        return self._installed(path, real, "system")

    def at_prefix(self, place: Place) -> Found | None:
        """The environment or installation in the folder PLACE."""
        machine, prefix = self.machine, place.prefix
        if machine.configuration(prefix).ok:
            kept = place.kind in _OWN_FOLDER and place.kind not in ("conda", "pixi")
            return self._virtual(prefix, place.kind if kept else "venv")
        if self._is_conda(prefix):
            return self._conda(prefix, "pixi" if place.kind == "pixi" else "conda")
        if place.kind in _OWN_FOLDER:
            return None  # the folder is there no more, or is something else
        folder = prefix if machine.windows else machine.join(prefix, "bin")
        for name in _by_habit(machine.listing(folder).names):
            path = machine.join(folder, name)
            return self._installed(path, machine.real(path), place.kind)
        return None

    def _once(self, one: Found | None) -> Iterator[Found]:
        """ONE, unless the same installation or environment was found before by another way."""
        if one is None or one.python.path is None:
            return
        machine, path = self.machine, one.python.path
        if machine.windows:
            key = path.lower()
        elif one.python.kind in _OWN_FOLDER:
            key = machine.real(machine.parent(path))  # its program is a link to a program that many share
        else:
            key = machine.real(path)
        if key not in self._seen:
            self._seen.add(key)
            yield one

    def _virtual(self, prefix: str, kind: str) -> Found:
        """A virtual environment: pyvenv.cfg names its version and the folder of the Python that it stands on."""
        machine = self.machine
        reading = machine.configuration(prefix)
        told = installation.configuration(reading.text)
        home = told.get("home", "")
        version = installation.plain_version(told.get("version_info") or told.get("version") or "")
        base = self._base_of_virtual(home, told, installation.minor_of(version))
        if version is None or version.count(".") < 2:
            version = base.version or version
        folders = self._installations.site_folders(prefix, installation.minor_of(version), base.free_threaded)
        groups = [self._read_packages(folder) for folder in folders]
        if told.get("include-system-site-packages", "").lower() == "true":
            groups += self._shared(base)
        program = machine.join(prefix, "Scripts\\python.exe" if machine.windows else "bin/python")
        findings = self._denials(folders)
        if not base.present:
            findings += (python_findings.base_missing(program, home, reading.source),)
        found = Python(
            path=program, version=version, kind=kind, arch=base.arch, bits=base.bits, free_threaded=base.free_threaded,
            packages=self._merged(folders, groups),
        )  # fmt: skip
        return Found(python=found, source=reading.source, findings=findings)

    def _base_of_virtual(self, home: str, told: dict[str, str], minor: str | None) -> Base:
        machine = self.machine
        if not home or not machine.paths.isabs(home):
            return Base(prefix="", program="")
        listing = machine.listing(home)
        wanted = machine.name(told.get("executable") or told.get("base-executable") or "")
        choices = (wanted, f"python{minor}", f"python{minor}t", "python3", "python", "python.exe")
        name = next((choice for choice in choices if choice in listing.names and PROGRAM.match(choice)), None)
        if name is None:
            gone = listing.ok or (listing.status == "missing" and not machine.host.recorded)
            return Base(prefix=home, program="", minor=minor, present=not gone)
        path = machine.join(home, name)
        return self._installations.base(path, machine.real(path), minor)

    def _is_conda(self, prefix: str) -> bool:
        names = self.machine.listing(self.machine.join(prefix, "conda-meta")).names
        return any(name.startswith("python-") and name.endswith(".json") for name in names)

    def _conda(self, prefix: str, kind: str) -> Found:
        """A conda environment: its records name every package with its build, Python too."""
        machine = self.machine
        records = machine.listing(machine.join(prefix, "conda-meta"))
        recorded = packages.conda_packages(records.names)
        program = machine.join(prefix, "python.exe" if machine.windows else "bin/python")
        version = recorded.get("python")
        minor = installation.minor_of(version)
        free = any(re.match(r"python-\d.*(_cp\d+t|freethreading)", name) for name in records.names)
        base = self._installations.base(program, machine.real(program), minor)
        folders = self._installations.site_folders(prefix, minor, free)
        own: dict[str, str | None] = {}
        for folder in folders:
            own = {**self._read_packages(folder), **own}
        groups = [self._read_packages(folder) for folder in self._installations.user_folders(minor)]
        groups.append(packages.with_conda(own, recorded))
        found = Python(
            path=program, version=version, kind=kind, arch=base.arch, bits=base.bits, free_threaded=free,
            packages=packages.merged(groups),
        )  # fmt: skip
        return Found(python=found, source=records.source, findings=self._denials(folders))

    def _installed(self, path: str, real: str, kind: str) -> Found | None:
        """An installation, by its program; None where that is a script, a broken link, or nothing."""
        base = self._installations.base(path, real, None)
        if not base.present or base.minor is None:
            return None
        found = Python(
            path=path, version=base.version or base.minor, kind=installation.kind_of(real, kind), arch=base.arch,
            bits=base.bits, free_threaded=base.free_threaded, packages=self._merged(base.folders, self._shared(base)),
        )  # fmt: skip
        return Found(python=found, source=real, findings=self._denials(base.folders))

    def _windows(self) -> Iterator[Found]:
        registered = windows_pythons.registered(self.machine)
        self.looked = self.looked or registered is not None
        for row in registered or ():
            one = self.at_program(row.path)
            if one is None and "windowsapps" not in row.path.lower():
                python = Python(path=row.path, version=row.version, kind="system", bits=row.bits)
                one = Found(python=python, source=row.source)
            yield from self._once(one)
        for row in windows_pythons.store(self.machine):
            inside = packages.merged([self._read_packages(row.packages)]) if row.packages else None
            python = Python(path=row.path, version=row.version, kind="store", bits=row.bits, packages=inside)
            yield from self._once(Found(python=python, source=row.source))

    def _shared(self, base: Base) -> list[dict[str, str | None]]:
        """What an installation sees: the user's own packages before its site-packages, as in sys.path."""
        folders: Iterable[str] = (*self._installations.user_folders(base.minor), *base.folders)
        return [self._read_packages(folder) for folder in folders]

    def _read_packages(self, folder: str) -> dict[str, str | None]:
        found = self._packages.get(folder)
        if found is None:
            listing = self.machine.host.list(folder)
            self._listed[folder] = listing.status
            found = self._packages[folder] = packages.in_site_packages(
                self.machine.host, folder, listing.names, self.machine.separator
            )
        return found

    def _merged(self, folders: tuple[str, ...], groups: list[dict[str, str | None]]) -> tuple[Package, ...] | None:
        """None where no site-packages could be listed: what is in there is then not known."""
        if not any(groups) and not any(self._listed.get(folder) == "ok" for folder in folders):
            return None
        return packages.merged(groups)

    def _denials(self, folders: tuple[str, ...]) -> tuple[Finding, ...]:
        return tuple(python_findings.unreadable(f) for f in folders if self._listed.get(f) == "denied")


def _by_habit(names: Iterable[str]) -> list[str]:
    """The Python programs among NAMES; what people type comes first, so it stands for the installation it starts."""
    programs = [name for name in names if PROGRAM.match(name)]
    return sorted(programs, key=lambda name: (name.lower() not in ("python3", "python.exe"), len(name), name))
