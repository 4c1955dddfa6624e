"""Every Python on the machine and the packages in it, read from files; no Python that was found is ever run."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator

import msgspec

from knowledge.facts import Evidence, Finding, Package, Python
from knowledge.text import Text
from probes.host import Host
from probes.software import binary, packages, places
from probes.software.places import Machine, Place

SEARCH_LIMIT_S = 4.0
_PROGRAM = re.compile(r"^python(?P<version>\d(?:\.\d+t?)?)?(?P<suffix>\.exe)?$", re.IGNORECASE)
_LIBRARY = re.compile(r"^python(\d+\.\d+)(t?)$")
_UV_NAME = re.compile(
    r"^cpython-(?P<version>\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)(?P<free>\+freethreaded)?(?:\+\w+)?-(?P<system>[^-]+)-(?P<arch>[^-]+)-"
)
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc)\d+)?")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One Python, where it was read, and what could not be read of it."""

    python: Python
    source: str
    findings: tuple[Finding, ...] = ()


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """An installation that environments build on; `folders` are its site-packages in the order of sys.path."""

    prefix: str
    program: str
    minor: str | None = None
    version: str | None = None
    free_threaded: bool | None = None
    bits: int | None = None
    arch: str | None = None
    folders: tuple[str, ...] = ()
    present: bool = True


def pythons(host: Host) -> tuple[tuple[Python, ...] | None, tuple[Finding, ...], dict[str, str]]:
    """All Pythons of HOST with their packages, what could not be read, and the source of each ("pythons.0").

    None in place of the list: nothing could be looked at, as in a recording without folders. Time is spent on listing
    folders; a search that takes longer than four seconds stops and says so.
    """
    reader = _Reader(Machine(host))
    began = time.perf_counter()
    found: dict[str, Found] = {}
    stopped = False
    for key, one in reader.all():
        found.setdefault(key, one)
        if not host.recorded and time.perf_counter() - began > SEARCH_LIMIT_S:
            stopped = True
            break
    if not found and not reader.looked():
        return None, (), {}
    findings = [finding for one in found.values() for finding in one.findings]
    findings += reader.findings
    if stopped:
        findings.append(_stopped(len(found)))
    sources = {f"pythons.{number}": one.source for number, one in enumerate(found.values())}
    return tuple(one.python for one in found.values()), tuple(findings), sources


def one_python(host: Host, path: str) -> tuple[Python | None, tuple[Finding, ...]]:
    """The Python at PATH, a program or the folder of an environment; None and a finding where there is none."""
    reader = _Reader(Machine(host))
    one = reader.at(path)
    if one is None:
        return None, (_no_python(path),)
    return one.python, one.findings


class _Reader:
    """Reads installations and environments of one machine; bases and listings are read once."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.findings: list[Finding] = []
        self._bases: dict[tuple[str, str | None], Base] = {}
        self._packages: dict[str, dict[str, str | None]] = {}
        self._denied: set[str] = set()
        self._seen: set[str] = set()
        self._looked = False

    def looked(self) -> bool:
        """Whether any usual place could be listed at all."""
        return self._looked

    def all(self) -> Iterator[tuple[str, Found]]:
        machine = self.machine
        for folder in places.program_folders(machine):
            listing = machine.listing(folder)
            self._looked = self._looked or listing.ok
            programs = [name for name in listing.names if _PROGRAM.match(name)]
            # `python3` is what people type, so it stands for the installation that it starts.
            for name in sorted(programs, key=lambda n: (n.lower() not in ("python3", "python.exe"), len(n), n)):
                yield from self._once(self.at_program(machine.join(folder, name)))
        yield from self._windows()
        for place in (
            *places.conda_environments(machine), *places.kept_environments(machine), *places.installations(machine),
        ):  # fmt: skip
            yield from self._once(self.at_prefix(place))
        for place in places.project_environments(machine):
            yield from self._once(self.at_prefix(place))

    def at(self, path: str) -> Found | None:
        """The Python at PATH: its program, or its folder."""
        one = self.at_prefix(Place(path, "system"))
        if one is None and _PROGRAM.match(self.machine.name(path)):
            one = self.at_program(path)
        return one

    def at_program(self, path: str) -> Found | None:
        """The environment or installation that the program PATH belongs to."""
        machine = self.machine
        prefix = self._prefix_of(path)
        if machine.configuration(prefix).ok:
            return self._virtual(prefix, "venv")
        if machine.windows and "windowsapps" in path.lower():
            return None  # an alias: it starts the Store's Python, or opens the Store; _windows reads the Store's folders
        real = machine.real(path)
        for candidate in dict.fromkeys((prefix, self._prefix_of(real))):
            if self._is_conda(candidate):
                return self._conda(candidate, "conda")
            if candidate != prefix and machine.configuration(candidate).ok:
                return self._virtual(candidate, "venv")
        if machine.host.os == "macos" and path == "/usr/bin/python3":
            return None  # a stub that asks to install developer tools; the tools' own folder is looked at
        return self._installed(path, real, "system")

    def at_prefix(self, place: Place) -> Found | None:
        """The environment or installation in the folder PLACE."""
        machine, prefix = self.machine, place.prefix
        if machine.configuration(prefix).ok:
            return self._virtual(prefix, "venv" if place.kind in ("conda", "system", "uv", "pyenv") else place.kind)
        if self._is_conda(prefix):
            return self._conda(prefix, "pixi" if place.kind == "pixi" else "conda")
        if place.kind == "venv":
            return None
        folder = prefix if machine.windows else machine.join(prefix, "bin")
        names = [name for name in machine.listing(folder).names if _PROGRAM.match(name)]
        if not names:
            return None
        best = min(names, key=lambda n: (n.lower() not in ("python3", "python.exe"), len(n), n))
        path = machine.join(folder, best)
        return self._installed(path, machine.real(path), place.kind)

    def _once(self, one: Found | None) -> Iterator[tuple[str, Found]]:
        if one is None or one.python.path is None:
            return
        machine = self.machine
        folder, name = machine.parent(one.python.path), machine.name(one.python.path)
        if machine.windows:
            key = one.python.path.lower()
        elif one.python.kind in _OWN_FOLDER or machine.configuration(machine.parent(folder)).ok:
            key = machine.join(machine.real(folder), "python")  # a virtual environment is its folder, not its program
        else:
            key = machine.real(machine.join(folder, name))
        if key not in self._seen:
            self._seen.add(key)
            yield key, one

    def _prefix_of(self, program: str) -> str:
        folder = self.machine.parent(program)
        if self.machine.windows and self.machine.name(folder).lower() not in ("scripts", "bin"):
            return folder
        return self.machine.parent(folder)

    def _is_conda(self, prefix: str) -> bool:
        return "history" in self.machine.listing(self.machine.join(prefix, "conda-meta")).names or any(
            name.startswith("python-") for name in self.machine.listing(self.machine.join(prefix, "conda-meta")).names
        )

    # Virtual environments

    def _virtual(self, prefix: str, kind: str) -> Found | None:
        machine = self.machine
        reading = machine.configuration(prefix)
        told = _configuration(reading.text)
        home = told.get("home", "")
        version = _plain_version(told.get("version_info") or told.get("version") or "")
        minor = _minor(version)
        base = self._base_of_virtual(home, told, minor)
        folders = self._site_folders(prefix, minor or base.minor, base.free_threaded)
        groups = [self._read_packages(folder) for folder in folders]
        if told.get("include-system-site-packages", "").lower() == "true":
            groups += self._shared_groups(base)
        program = machine.join(prefix, "Scripts\\python.exe" if machine.windows else "bin/python")
        findings = self._denials(folders)
        if not base.present:
            findings += (_base_gone(program, home, reading.source),)
        found = Python(
            path=program, version=version if version and version.count(".") == 2 else base.version or version,
            kind=kind, arch=base.arch, bits=base.bits,
            free_threaded=base.free_threaded, packages=self._merged(folders, groups),
        )  # fmt: skip
        return Found(python=found, source=reading.source, findings=findings)

    def _base_of_virtual(self, home: str, told: dict[str, str], minor: str | None) -> Base:
        machine = self.machine
        if not home or not machine.paths.isabs(home):
            return Base(prefix="", program="")
        listing = machine.listing(home)
        names = [name for name in listing.names if _PROGRAM.match(name)]
        wanted = machine.name(told.get("executable") or told.get("base-executable") or "")
        choices = (wanted, f"python{minor}", f"python{minor}t", "python3", "python", "python.exe")
        name = next((choice for choice in choices if choice in names), None)
        if name is None:
            gone = listing.ok or (listing.status == "missing" and not machine.host.recorded)
            return Base(prefix=home, program="", minor=minor, present=not gone)
        path = machine.join(home, name)
        return self._base(path, machine.real(path), minor)

    def _shared_groups(self, base: Base) -> list[dict[str, str | None]]:
        return [self._read_packages(folder) for folder in (*self._user_folders(base.minor), *base.folders)]

    # conda

    def _conda(self, prefix: str, kind: str) -> Found | None:
        machine = self.machine
        meta = machine.join(prefix, "conda-meta")
        records = machine.listing(meta)
        recorded = packages.conda_packages(records.names)
        program = machine.join(prefix, "python.exe" if machine.windows else "bin/python")
        version = recorded.get("python")
        if version is None:
            return None  # an environment of other programs
        free = any(re.match(r"python(-freethreading)?-\d.*(_cp\d+t|freethreading)", name) for name in records.names)
        minor = _minor(version)
        base = self._base(program, machine.real(program), minor)
        folders = self._site_folders(prefix, minor, free)
        own = packages.with_conda(self._joined(folders), recorded)
        groups = [*(self._read_packages(folder) for folder in self._user_folders(minor)), own]
        found = Python(
            path=program, version=version, kind=kind, arch=base.arch, bits=base.bits, free_threaded=free,
            packages=packages.merged(groups),
        )  # fmt: skip
        return Found(python=found, source=records.source or meta, findings=self._denials(folders))

    # Installations

    def _installed(self, path: str, real: str, kind: str) -> Found | None:
        machine = self.machine
        base = self._base(path, real, None)
        if not base.present or base.minor is None:
            return None
        groups = self._shared_groups(base)
        found = Python(
            path=path, version=base.version or base.minor, kind=_kind(real, kind), arch=base.arch, bits=base.bits,
            free_threaded=base.free_threaded, packages=self._merged(base.folders, groups),
        )  # fmt: skip
        return Found(python=found, source=real, findings=self._denials(base.folders))

    def _base(self, path: str, real: str, minor: str | None) -> Base:
        """The installation whose program is REAL (PATH with links followed)."""
        key = (real, minor)
        if key not in self._bases:
            self._bases[key] = self._read_base(path, real, minor)
        return self._bases[key]

    def _read_base(self, path: str, real: str, minor: str | None) -> Base:
        machine = self.machine
        prefix = self._prefix_of(real)
        named = _PROGRAM.match(machine.name(real)) or _PROGRAM.match(machine.name(path))
        said = named["version"] if named else None
        free: bool | None = bool(said and said.endswith("t"))
        if said and "." in said:
            minor = minor or said.rstrip("t")
        if minor is None or machine.windows:
            minor, free = self._minor_and_threads(prefix, minor)
        head = machine.host.call("file_head", real)
        header = binary.header(head.text) if head.ok else None
        if header is None and (head.ok or (minor is None and not machine.windows)):
            return Base(prefix=prefix, program=path, present=False)  # a script, a broken link, an empty alias
        uv = next((m for part in real.split(machine.separator) if (m := _UV_NAME.match(part))), None)
        if uv:
            free = bool(uv["free"])
        version = self._version(prefix, real, minor, free, uv["version"] if uv else None)
        archs = header.archs if header else ()
        return Base(
            prefix=prefix, program=path, minor=minor or _minor(version), version=version,
            free_threaded=free if minor else None,
            bits=header.bits if header else None,
            arch=archs[0] if len(archs) == 1 else self._native(archs),
            folders=tuple(self._installation_folders(prefix, minor, free)),
        )  # fmt: skip

    def _minor_and_threads(self, prefix: str, minor: str | None) -> tuple[str | None, bool | None]:
        machine = self.machine
        if machine.windows:
            names = machine.listing(prefix).names
            found = [m for name in names if (m := re.fullmatch(r"python(\d)(\d+)(t?)\.dll", name.lower()))]
            if found:
                best = max(found, key=lambda m: int(m[2]))
                return f"{best[1]}.{best[2]}", bool(best[3])
            return minor, None
        names = machine.listing(machine.join(prefix, "lib")).names
        found = [m for name in names if (m := _LIBRARY.match(name))]
        if len(found) == 1:
            return found[0][1], bool(found[0][2])
        return minor, None

    def _version(self, prefix: str, real: str, minor: str | None, free: bool | None, told: str | None) -> str | None:
        machine = self.machine
        if told:
            return told
        folder = machine.name(prefix)
        if (match := re.fullmatch(r"(\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)t?(?:_\d+)?", folder)) is not None:
            return match[1]
        if minor is None:
            return None
        tag = "t" if free else ""
        candidates = [real]
        if machine.windows:
            candidates = [machine.join(prefix, f"python{minor.replace('.', '')}{tag}.dll"), real]
        elif machine.host.os == "macos":
            candidates += [machine.join(prefix, "PythonT" if free else "Python")]
            candidates += [machine.join(prefix, "Python3"), machine.join(prefix, f"lib/libpython{minor}{tag}.dylib")]
        else:
            candidates += [
                machine.join(prefix, folder, f"libpython{minor}{tag}.so.1.0") for folder in ("lib", "lib64")
            ]
            header = machine.host.call("file_head", real)
            arch = (binary.header(header.text) if header.ok else None) or binary.Header(None, ())
            candidates += [f"/usr/lib/{name}-linux-gnu/libpython{minor}{tag}.so.1.0" for name in arch.archs]
        for candidate in candidates:
            reading = machine.host.call("python_version", f"{minor} {candidate}")
            if reading.ok:
                return reading.text
        return None

    def _native(self, archs: tuple[str, ...]) -> str | None:
        """Which half of a universal program runs: this processor's own; None where that is not known."""
        if not archs:
            return None
        translated = self.machine.host.run(["sysctl", "-n", "hw.optional.arm64"], 1.0)
        if translated.ok and translated.text.strip() == "1":
            return "aarch64" if "aarch64" in archs else archs[0]
        return "x86_64" if "x86_64" in archs else archs[0]

    # site-packages

    def _installation_folders(self, prefix: str, minor: str | None, free: bool | None) -> Iterator[str]:
        join = self.machine.join
        if self.machine.windows:
            yield join(prefix, "Lib", "site-packages")
            return
        if minor is None:
            return
        library = f"python{minor}{'t' if free else ''}"
        if prefix == "/usr":
            # Debian's own layout, and that of distributions with lib64.
            yield f"/usr/local/lib/{library}/dist-packages"
            yield f"/usr/local/lib/{library}/site-packages"
            yield f"/usr/local/lib64/{library}/site-packages"
            yield "/usr/lib/python3/dist-packages"
            yield f"/usr/lib/{library}/dist-packages"
        yield join(prefix, "lib", library, "site-packages")
        yield join(prefix, "lib64", library, "site-packages")

    def _site_folders(self, prefix: str, minor: str | None, free: bool | None) -> tuple[str, ...]:
        """site-packages of the environment PREFIX; lib64 is mostly a link to lib and then not asked again."""
        machine = self.machine
        if machine.windows:
            return (machine.join(prefix, "Lib", "site-packages"),)
        library = machine.join(prefix, "lib")
        if minor is not None:
            for tag in ("t", "") if free else ("", "t"):
                folder = machine.join(library, f"python{minor}{tag}", "site-packages")
                if machine.listing(folder).ok:
                    other = machine.join(prefix, "lib64", f"python{minor}{tag}", "site-packages")
                    if not machine.host.link(machine.join(prefix, "lib64")).ok and machine.listing(other).ok:
                        return folder, other
                    return (folder,)
        names = [name for name in machine.listing(library).names if _LIBRARY.match(name)]
        return tuple(machine.join(library, name, "site-packages") for name in names)

    def _user_folders(self, minor: str | None) -> tuple[str, ...]:
        """Where `pip install --user` puts packages; every Python of the same minor version but venvs reads them."""
        machine = self.machine
        if minor is None or machine.variable("PYTHONNOUSERSITE"):
            return ()
        if machine.windows:
            roaming = machine.variable("APPDATA")
            return (machine.join(roaming, "Python", f"Python{minor.replace('.', '')}", "site-packages"),) if roaming else ()
        if machine.home is None:
            return ()
        base = machine.variable("PYTHONUSERBASE") or machine.join(machine.home, ".local")
        folders = [machine.join(base, "lib", f"python{minor}", "site-packages")]
        if machine.host.os == "macos":
            folders.append(machine.join(machine.home, "Library/Python", minor, "lib/python/site-packages"))
        return tuple(folders)

    def _read_packages(self, folder: str) -> dict[str, str | None]:
        found = self._packages.get(folder)
        if found is None:
            listing = self.machine.host.list(folder)
            if listing.status == "denied":
                self._denied.add(folder)
            found = self._packages[folder] = packages.in_site_packages(
                self.machine.host, folder, listing.names, self.machine.separator
            )
        return found

    def _joined(self, folders: Iterable[str]) -> dict[str, str | None]:
        joined: dict[str, str | None] = {}
        for folder in folders:
            for name, version in self._read_packages(folder).items():
                joined.setdefault(name, version)
        return joined

    def _merged(self, folders: tuple[str, ...], groups: list[dict[str, str | None]]) -> tuple[Package, ...] | None:
        """None where no site-packages could be listed: what is in there is then not known."""
        if not any(groups) and (not folders or any(folder in self._denied for folder in folders)):
            return None
        return packages.merged(groups)

    def _denials(self, folders: tuple[str, ...]) -> tuple[Finding, ...]:
        return tuple(_denied(folder) for folder in folders if folder in self._denied)

    # Windows

    def _windows(self) -> Iterator[tuple[str, Found]]:
        machine = self.machine
        if not machine.windows:
            return
        for path, version, arch in self._registered():
            one = self.at_program(path)
            if one is None:
                bits = {"32bit": 32, "64bit": 64}.get(arch or "")
                python = Python(path=path, version=version, kind="system", bits=bits)
                one = Found(python=python, source="registry_pythons()")
            yield from self._once(one)
        yield from self._store()

    def _registered(self) -> list[tuple[str, str | None, str | None]]:
        host = self.machine.host
        reading = host.call("registry_pythons")
        rows: list[tuple[str, str | None, str | None]] = []
        if reading.ok:
            try:
                for row in json.loads(reading.text):
                    path = str(row["path"])
                    if not path.lower().endswith(".exe"):
                        path = self.machine.join(path, "python.exe")
                    version = _VERSION.match(str(row.get("version") or ""))
                    rows.append((path, version[0] if version else None, row.get("arch")))
            except (ValueError, TypeError, KeyError, AttributeError):
                rows.clear()
        if rows:
            self._looked = True
            return rows
        listed = host.run(["py", "-0p"])
        self._looked = self._looked or listed.ok
        return [(path, version, None) for version, path in launcher_rows(listed.text)]

    def _store(self) -> Iterator[tuple[str, Found]]:
        machine = self.machine
        local = machine.variable("LOCALAPPDATA")
        if local is None:
            return
        for name in machine.listing(machine.join(local, "Packages")).names:
            match = re.match(r"PythonSoftwareFoundation\.Python\.(\d+\.\d+)_\w+$", name)
            if match is None:
                continue
            minor = match[1]
            path = machine.join(local, "Microsoft", "WindowsApps", name, "python.exe")
            folder = machine.join(
                local, "Packages", name, "LocalCache", "local-packages", f"Python{minor.replace('.', '')}", "site-packages"
            )
            found = Python(
                path=path, version=minor, kind="store", bits=64, free_threaded=False,
                packages=packages.merged([self._read_packages(folder)]),
            )  # fmt: skip
            yield from self._once(Found(python=found, source=machine.join(local, "Packages", name)))


_OWN_FOLDER = ("venv", "conda", "pixi", "poetry", "pipx", "hatch", "uv-tool")


def launcher_rows(text: str) -> list[tuple[str | None, str]]:
    r"""Version and path of each line of `py -0p`: " -V:3.12 *        C:\Python312\python.exe", " -3.10-64  C:\…"."""
    rows: list[tuple[str | None, str]] = []
    for line in text.splitlines():
        match = re.match(r"\s*-(?:V:)?(?P<tag>\S+)\s+(?:\*\s+)?(?P<path>[A-Za-z]:\\.*?\.exe)\s*\*?\s*$", line)
        if match:
            version = re.search(r"(?:^|/)(\d+\.\d+)", match["tag"])
            rows.append((version[1] if version else None, match["path"]))
    return rows


def _configuration(text: str) -> dict[str, str]:
    """Keys and values of pyvenv.cfg, keys in lower case."""
    told: dict[str, str] = {}
    for line in text.splitlines()[:100]:
        key, equals, value = line.partition("=")
        if equals:
            told[key.strip().lower()] = value.strip()
    return told


def _plain_version(value: str) -> str | None:
    """3.12.3 of 3.12.3, 3.12.3.final.0 and 3.14.0.rc.2 ("3.14.0rc2")."""
    match = re.match(r"(\d+\.\d+\.\d+)\.(alpha|beta|candidate|rc)\.(\d+)", value)
    if match:
        return match[1] + {"alpha": "a", "beta": "b"}.get(match[2], "rc") + match[3]
    plain = _VERSION.match(value)
    return plain[0] if plain else None


def _minor(version: str | None) -> str | None:
    match = re.match(r"\d+\.\d+", version or "")
    return match[0] if match else None


def _kind(real: str, kind: str) -> str:
    """KIND, made exact by the folder that the program really lies in."""
    if kind != "system":
        return kind
    folders = (
        (r"/\.pyenv/|\\\.pyenv\\|pyenv-win", "pyenv"), (r"[/\\]uv[/\\]python[/\\]", "uv"), (r"/Cellar/|/homebrew/", "homebrew"),
        (r"^/Library/Frameworks/", "framework"), (r"/\.asdf/", "asdf"), (r"/mise/installs/", "mise"), (r"/\.rye/", "rye"),
        (r"^/nix/store/", "nix"),
    )  # fmt: skip
    return next((word for pattern, word in folders if re.search(pattern, real)), kind)


def _stopped(count: int) -> Finding:
    return Finding(
        code="python.search_stopped", severity="info", subject="pythons",
        because=Text(
            f"Looking for Pythons took longer than {SEARCH_LIMIT_S:g} seconds and was stopped after {count}; "
            "others may not be listed. Name one with --python PATH.",
            f"查找 Python 用时超过 {SEARCH_LIMIT_S:g} 秒，在找到 {count} 个之后停止，可能还有未列出的。可用 --python 路径 指定。",
        ),
    )  # fmt: skip


def _no_python(path: str) -> Finding:
    return Finding(
        code="python.not_found", severity="error", subject=path,
        because=Text(
            f"There is no Python at {path}: neither a Python program nor an environment's folder (pyvenv.cfg, conda-meta).",
            f"{path} 处没有 Python：既不是 Python 程序，也不是环境目录（没有 pyvenv.cfg 或 conda-meta）。",
        ),
    )  # fmt: skip


def _denied(folder: str) -> Finding:
    return Finding(
        code="python.unreadable", severity="info", subject=folder,
        because=Text(
            f"The packages in {folder} are not known: this user may not list the folder.",
            f"无法得知 {folder} 中的软件包：当前用户没有列出该目录的权限。",
        ),
        evidence=(Evidence(fact="permission denied", source=folder),),
    )  # fmt: skip


def _base_gone(program: str, home: str, source: str) -> Finding:
    return Finding(
        code="python.base_missing", severity="warning", subject=program,
        because=Text(
            f"This environment was made from a Python in {home} that is no longer there, so it cannot start. Make it anew.",
            f"该环境基于 {home} 中的 Python 创建，而那个 Python 已不存在，因此无法启动。请重新创建环境。",
        ),
        evidence=(Evidence(fact=f"home = {home}", source=source),),
    )  # fmt: skip
