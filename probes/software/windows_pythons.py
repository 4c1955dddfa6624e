"""Pythons that only Windows itself names: those of the registry, of the launcher `py`, and of the Store."""

from __future__ import annotations

import json
import re

import msgspec

from probes.software.places import Machine

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:(?:a|b|rc)\d+)?")
_STORE = re.compile(r"PythonSoftwareFoundation\.Python\.(\d+\.\d+)_\w+$")


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """One Python that Windows names; `packages` is its site-packages where it is not beside the program."""

    path: str
    version: str | None
    bits: int | None = None
    packages: str | None = None
    source: str


def registered(machine: Machine) -> tuple[Registered, ...] | None:
    """Pythons of the registry (PEP 514), or of the launcher where the registry cannot be read; None: neither told."""
    reading = machine.host.call("registry_pythons")
    if reading.ok:
        rows = registry_rows(machine, reading.text, reading.source)
        if rows is not None:
            return rows
    listed = machine.host.run(["py", "-0p"])
    if not listed.ok:
        return None
    return tuple(
        Registered(path=path, version=version, bits=bits, source=listed.source)
        for version, bits, path in launcher_rows(listed.text)
    )


def registry_rows(machine: Machine, text: str, source: str) -> tuple[Registered, ...] | None:
    """TEXT, JSON of the native call `registry_pythons`, as rows; None where it is not that."""
    rows: list[Registered] = []
    try:
        for row in json.loads(text):
            path = str(row["path"])
            if not path.lower().endswith(".exe"):
                path = machine.join(path, "python.exe")
            version = _VERSION.match(str(row.get("version") or ""))
            bits = {"32bit": 32, "64bit": 64}.get(str(row.get("arch")))
            rows.append(Registered(path=path, version=version[0] if version else None, bits=bits, source=source))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return tuple(rows)


def launcher_rows(text: str) -> list[tuple[str | None, int | None, str]]:
    r"""Version, bits and path of each line of `py -0p`: " -V:3.12 *  C:\Python312\python.exe", " -3.10-32  C:\…"."""
    rows: list[tuple[str | None, int | None, str]] = []
    for line in text.splitlines():
        match = re.match(r"\s*-(?:V:)?(?P<tag>\S+)\s+(?:\*\s+)?(?P<path>[A-Za-z]:\\.*?\.exe)\s*\*?\s*$", line)
        if match:
            version = re.search(r"(?:^|/)(\d+\.\d+)", match["tag"])
            bits = re.search(r"-(32|64)$", match["tag"])
            rows.append((version[1] if version else None, int(bits[1]) if bits else None, match["path"]))
    return rows


def store(machine: Machine) -> tuple[Registered, ...]:
    r"""Pythons of the Store. Its own folder may not be listed, but each app's packages stand in the user's folder.

    The programs in WindowsApps are aliases; `python.exe` there is present without any Python and opens the Store.
    """
    local = machine.variable("LOCALAPPDATA")
    if local is None:
        return ()
    rows = []
    packages = machine.join(local, "Packages")
    for name in machine.listing(packages).names:
        if match := _STORE.match(name):
            folder = f"Python{match[1].replace('.', '')}"
            rows.append(
                Registered(
                    path=machine.join(local, "Microsoft", "WindowsApps", name, "python.exe"), version=match[1],
                    bits=32 if machine.variable("PROCESSOR_ARCHITECTURE") == "x86" else 64,
                    packages=machine.join(packages, name, "LocalCache", "local-packages", folder, "site-packages"),
                    source=machine.join(packages, name),
                )
            )  # fmt: skip
    return tuple(rows)
