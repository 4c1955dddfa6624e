"""How installed Pythons are laid out: version, word size and processor of one, and where its packages lie."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from probes.software import binary
from probes.software.places import Machine

PROGRAM = re.compile(r"^python(?P<version>\d(?:\.\d+t?)?)?(?P<suffix>\.exe)?$", re.IGNORECASE)
_LIBRARY = re.compile(r"^python(\d+\.\d+)(t?)$")
_UV_NAME = re.compile(
    r"^cpython-(?P<version>\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?)(?P<free>\+freethreaded)?(?:\+\w+)?-[^-]+-[^-]+-"
)
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc)\d+)?")


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


class Installations:
    """The installations of one machine, each read once however many environments stand on it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._bases: dict[tuple[str, str | None], Base] = {}

    def prefix_of(self, program: str) -> str:
        """The folder that PROGRAM is installed in: above bin or Scripts, on Windows beside the program."""
        folder = self.machine.parent(program)
        if self.machine.windows and self.machine.name(folder).lower() not in ("scripts", "bin"):
            return folder
        return self.machine.parent(folder)

    def base(self, path: str, real: str, minor: str | None) -> Base:
        """The installation whose program is REAL (PATH with links followed)."""
        key = (real, minor)
        if key not in self._bases:
            self._bases[key] = self._read(path, real, minor)
        return self._bases[key]

    def _read(self, path: str, real: str, minor: str | None) -> Base:
        machine = self.machine
        prefix = self.prefix_of(real)
        named = PROGRAM.match(machine.name(real)) or PROGRAM.match(machine.name(path))
        said = named["version"] if named else None
        free: bool | None = bool(said and said.endswith("t"))
        if said and "." in said:
            minor = minor or said.rstrip("t")
        if minor is None or machine.windows:
            minor, free = self._minor_and_threads(prefix, minor)
        elif not free and tuple(map(int, minor.split("."))) >= (3, 13):
            # A free-threaded build also installs a program without the t; its library folder keeps it.
            names = machine.listing(machine.join(prefix, "lib")).names
            free = f"python{minor}t" in names and f"python{minor}" not in names
        head = machine.host.call("file_head", real)
        header = binary.header(head.text) if head.ok else None
        if header is None and (head.ok or (head.status == "missing" and not machine.host.recorded)):
            return Base(prefix=prefix, program=path, present=False)  # a script, a broken link, an empty alias
        uv = next((m for part in real.split(machine.separator) if (m := _UV_NAME.match(part))), None)
        if uv:
            free = bool(uv["free"])
        version = self._version(prefix, real, minor, free, uv["version"] if uv else None)
        archs = header.archs if header else ()
        return Base(
            prefix=prefix, program=path, minor=minor or minor_of(version), version=version,
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

    def site_folders(self, prefix: str, minor: str | None, free: bool | None) -> tuple[str, ...]:
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

    def user_folders(self, minor: str | None) -> tuple[str, ...]:
        """Where `pip install --user` puts packages; every Python of the same minor version but venvs reads them."""
        machine = self.machine
        if minor is None or machine.variable("PYTHONNOUSERSITE"):
            return ()
        if machine.windows:
            roaming = machine.variable("APPDATA")
            folder = f"Python{minor.replace('.', '')}"
            return (machine.join(roaming, "Python", folder, "site-packages"),) if roaming else ()
        if machine.home is None:
            return ()
        base = machine.variable("PYTHONUSERBASE") or machine.join(machine.home, ".local")
        folders = [machine.join(base, "lib", f"python{minor}", "site-packages")]
        if machine.host.os == "macos":
            folders.append(machine.join(machine.home, "Library/Python", minor, "lib/python/site-packages"))
        return tuple(folders)


def configuration(text: str) -> dict[str, str]:
    """Keys and values of pyvenv.cfg, keys in lower case."""
    told: dict[str, str] = {}
    for line in text.splitlines()[:100]:
        key, equals, value = line.partition("=")
        if equals:
            told[key.strip().lower()] = value.strip()
    return told


def plain_version(value: str) -> str | None:
    """3.12.3 of 3.12.3, 3.12.3.final.0 and 3.14.0.rc.2 ("3.14.0rc2")."""
    match = re.match(r"(\d+\.\d+\.\d+)\.(alpha|beta|candidate|rc)\.(\d+)", value)
    if match:
        return match[1] + {"alpha": "a", "beta": "b"}.get(match[2], "rc") + match[3]
    plain = _VERSION.match(value)
    return plain[0] if plain else None


def minor_of(version: str | None) -> str | None:
    """3.12 of 3.12.3."""
    match = re.match(r"\d+\.\d+", version or "")
    return match[0] if match else None


def kind_of(real: str, kind: str) -> str:
    """KIND, made exact by the folder that the program really lies in."""
    if kind != "system":
        return kind
    folders = (
        (r"[/\\]\.pyenv[/\\]|pyenv-win", "pyenv"), (r"[/\\]uv[/\\]python[/\\]", "uv"),
        (r"/Cellar/|/homebrew/", "homebrew"), (r"^/Library/Frameworks/", "framework"), (r"/\.asdf/", "asdf"),
        (r"/mise/installs/", "mise"), (r"/\.rye/", "rye"), (r"^/nix/store/", "nix"),
    )  # fmt: skip
    return next((word for pattern, word in folders if re.search(pattern, real)), kind)


