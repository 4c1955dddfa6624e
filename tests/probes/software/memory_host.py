"""A machine made of dictionaries: files, links, commands, variables and calls that a test writes down."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Mapping, Sequence

from probes.host import Reading


class MemoryHost:
    """Answers like a machine that holds FILES and nothing else; a folder exists where a file lies below it."""

    def __init__(
        self,
        files: Mapping[str, str] | None = None,
        *,
        os: str = "linux",
        links: Mapping[str, str] | None = None,
        folders: Sequence[str] = (),
        denied: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        commands: Mapping[str, Reading] | None = None,
        calls: Mapping[str, str] | None = None,
        recorded: bool = False,
    ) -> None:
        self.os = os
        self.recorded = recorded
        self.files = dict(files or {})
        self.links = dict(links or {})
        self.denied = set(denied)
        self.environment = dict(environment or {})
        self.commands = dict(commands or {})
        self.calls = dict(calls or {})
        self.ran: list[str] = []
        self._paths = ntpath if os == "windows" else posixpath
        self._folders: dict[str, set[str]] = {}
        for path in (*self.files, *self.links):
            self._add(path)
        for folder in folders:
            self._folders.setdefault(folder, set())
            self._add(folder)

    def _add(self, path: str) -> None:
        while True:
            parent, name = self._paths.split(path)
            if not name or parent == path:
                return
            self._folders.setdefault(parent, set()).add(name)
            path = parent

    def _followed(self, path: str) -> str:
        for _ in range(20):
            for link, target in self.links.items():
                if path == link or path.startswith(link + "/"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])
                    break
            else:
                return path
        return path

    def read(self, path: str) -> Reading:
        place = self._followed(path)
        if path in self.denied:
            return Reading(status="denied", source=path)
        if place in self.files:
            return Reading(status="ok", text=self.files[place], source=path)
        return Reading(status="missing", source=path)

    def list(self, path: str) -> Reading:
        place = self._followed(path)
        if path in self.denied:
            return Reading(status="denied", source=path)
        if place in self._folders:
            return Reading(status="ok", names=tuple(sorted(self._folders[place])), source=path)
        return Reading(status="missing", source=path)

    def link(self, path: str) -> Reading:
        if path in self.links:
            return Reading(status="ok", text=self.links[path], source=path)
        return Reading(status="missing", source=path)

    def access(self, path: str) -> Reading:
        there = self._followed(path) in self.files or self._followed(path) in self._folders
        return Reading(status="ok" if there else "missing", text="rx" if there else "", source=path)

    def disk(self, path: str) -> Reading:
        return Reading(status="missing", source=path)

    def run(self, argv: Sequence[str], limit_s: float = 3.0) -> Reading:
        line = " ".join(argv)
        self.ran.append(line)
        return self.commands.get(line, Reading(status="missing", source=line))

    def env(self, name: str) -> Reading:
        if name in self.environment:
            return Reading(status="ok", text=self.environment[name], source=name)
        return Reading(status="missing", source=name)

    def which(self, name: str) -> Reading:
        for folder in self.environment.get("PATH", "").split(";" if self.os == "windows" else ":"):
            path = self._paths.join(folder, name)
            if folder and (self._followed(path) in self.files):
                return Reading(status="ok", text=path, source=name)
        return Reading(status="missing", source=name)

    def call(self, name: str, arguments: str = "") -> Reading:
        for key in (f"{name}({arguments})", name):
            if key in self.calls:
                return Reading(status="ok", text=self.calls[key], source=f"{name}({arguments})")
        if name == "file_head" and (head := self.files.get(self._followed(arguments), "")):
            return Reading(status="ok", text=head, source=f"{name}({arguments})")
        return Reading(status="missing", source=f"{name}({arguments})")


def elf(machine: int = 0x3E, word: int = 2) -> str:
    """The first bytes of an ELF program, in hexadecimal digits."""
    return (b"\x7fELF" + bytes([word, 1, 1]) + bytes(9) + b"\x02\0" + machine.to_bytes(2, "little") + bytes(44)).hex()


def pe(machine: int = 0x8664, magic: int = 0x20B) -> str:
    """The first bytes of a Windows program, in hexadecimal digits."""
    head = bytearray(0x100)
    head[0:2], head[0x3C:0x40] = b"MZ", (0x80).to_bytes(4, "little")
    head[0x80:0x84], head[0x84:0x86] = b"PE\0\0", machine.to_bytes(2, "little")
    head[0x98:0x9A] = magic.to_bytes(2, "little")
    return bytes(head).hex()


def mach(*kinds: int) -> str:
    """The first bytes of a Mac program for one processor, or of a universal one for several."""
    if len(kinds) == 1:
        return ((0xFEEDFACF).to_bytes(4, "little") + kinds[0].to_bytes(4, "little") + bytes(24)).hex()
    entries = b"".join(kind.to_bytes(4, "big") + bytes(16) for kind in kinds)
    return ((0xCAFEBABE).to_bytes(4, "big") + len(kinds).to_bytes(4, "big") + entries).hex()
