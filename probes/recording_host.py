"""A host that asks another and keeps every answer, to be written as a recording with personal details replaced."""

from __future__ import annotations

import json
import re
import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from probes.host import COMMAND_LIMIT_S, Host, Reading
from probes.neutral import NOT_KEPT, Neutral

KEEP_TEXT = 2_000_000
Tree = tuple[dict[str, str], dict[str, str], list[str], dict[str, str]]  # files, links, folders, access
Outputs = tuple[list[dict[str, Any]], dict[str, str]]  # commands, their texts by file name


class RecordingHost:
    """Answers like HOST and remembers what it answered. Thread-safe, since probes run side by side."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self.reads: dict[str, Reading] = {}
        self.lists: dict[str, Reading] = {}
        self.links: dict[str, Reading] = {}
        self.accesses: dict[str, Reading] = {}
        self.disks: dict[str, Reading] = {}
        self.runs: dict[tuple[str, ...], Reading] = {}
        self.variables: dict[str, Reading] = {}
        self.programs: dict[str, Reading] = {}
        self.calls: dict[tuple[str, str], Reading] = {}

    @property
    def os(self) -> str:
        return self._host.os

    @property
    def recorded(self) -> bool:
        return self._host.recorded

    def _kept(self, store: dict[Any, Reading], key: Any, reading: Reading) -> Reading:
        with self._lock:
            store[key] = reading
        return reading

    def read(self, path: str) -> Reading:
        return self._kept(self.reads, path, self._host.read(path))

    def list(self, path: str) -> Reading:
        return self._kept(self.lists, path, self._host.list(path))

    def link(self, path: str) -> Reading:
        return self._kept(self.links, path, self._host.link(path))

    def access(self, path: str) -> Reading:
        return self._kept(self.accesses, path, self._host.access(path))

    def disk(self, path: str) -> Reading:
        return self._kept(self.disks, path, self._host.disk(path))

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Reading:
        return self._kept(self.runs, tuple(argv), self._host.run(argv, limit_s))

    def env(self, name: str) -> Reading:
        return self._kept(self.variables, name, self._host.env(name))

    def which(self, name: str) -> Reading:
        return self._kept(self.programs, name, self._host.which(name))

    def call(self, name: str, arguments: str = "") -> Reading:
        return self._kept(self.calls, (name, arguments), self._host.call(name, arguments))

    # --- writing ------------------------------------------------------------------------------------------------

    def write(self, out: Path, neutral: Neutral) -> None:
        """The recording as a zip at OUT; the file appears whole or not at all. Raises OSError."""
        files, links, dirs, access = self._tree(neutral)
        commands, outputs = self._commands(neutral)
        about = {
            "schema": 1, "os": self.os, "fs": "fs.json", "commands": commands, "env": self._environment(neutral),
            "which": {n: neutral.path(r.text) for n, r in sorted(self.programs.items()) if r.ok}, "access": access,
            "disk": {neutral.path(p): list(r.numbers) for p, r in sorted(self.disks.items()) if r.ok}, "calls": self._calls(neutral),
        }  # fmt: skip
        packed = {"files": files, "links": links, "dirs": dirs}
        draft = out.with_name(out.name + ".part")
        try:
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, text in (("recording.json", _json(about)), ("fs.json", _json(packed)), *outputs.items()):
                    archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # no time stamps
            draft.replace(out)
        finally:
            draft.unlink(missing_ok=True)

    def _tree(self, neutral: Neutral) -> Tree:
        separator = "\\" if self.os == "windows" else "/"
        files = {neutral.path(p): neutral.text(_trimmed(p, r.text)) for p, r in sorted(self.reads.items()) if r.ok}
        links = {neutral.path(p): neutral.path(r.text) for p, r in sorted(self.links.items()) if r.ok and r.text}
        dirs: set[str] = set()
        for path, reading in self.lists.items():
            if not reading.ok:
                continue
            dirs.add(neutral.path(path))
            for name in reading.names:
                dirs.add(neutral.path(path).rstrip("/\\") + separator + neutral.name(path, name))
        access = {neutral.path(p): r.text for p, r in sorted(self.accesses.items()) if r.ok}
        for store in (self.reads, self.lists):
            for path, reading in store.items():
                if reading.status == "denied":
                    access[neutral.path(path)] = ""
        return files, links, sorted(dirs - files.keys() - links.keys()), access

    def _commands(self, neutral: Neutral) -> Outputs:
        commands, outputs = [], {}
        for number, (argv, reading) in enumerate(sorted(self.runs.items())):
            if reading.status not in ("ok", "failed", "timed_out"):
                continue
            words = [neutral.path(word) for word in argv]
            file = f"{number:03d}-{re.sub(r'[^a-z0-9]+', '-', words[0].lower())[-40:].strip('-')}.txt"
            rc = None if reading.status == "timed_out" else reading.rc if reading.rc is not None else 0
            if reading.status == "failed" and not rc:
                rc = 1
            commands.append({"argv": words, "line": " ".join(words), "rc": rc, "file": file})
            outputs[f"cmd/{file}"] = neutral.text(reading.text[:KEEP_TEXT])
        return commands, outputs

    def _environment(self, neutral: Neutral) -> dict[str, str]:
        return {
            name: neutral.text(reading.text) for name, reading in sorted(self.variables.items()) if reading.ok and not NOT_KEPT.search(name)
        }

    def _calls(self, neutral: Neutral) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for (name, arguments), reading in sorted(self.calls.items()):
            key = f"{name}({neutral.path(arguments) if ' ' not in arguments else ' '.join(map(neutral.path, arguments.split(' ')))})"
            if reading.ok:
                found[key] = neutral.text(reading.text)
            elif reading.status != "missing":
                found[key] = {"status": reading.status}
        return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def _trimmed(path: str, text: str) -> str:
    """Only what a probe needs of files that hold more: the list of all PCI devices, the variables of process 1."""
    if path.endswith("pci.ids"):
        from probes.hardware.pci import VENDORS

        parts = re.split(r"^(?=[0-9a-f]{4}  )", text, flags=re.MULTILINE)
        return "".join(part for part in parts if part[:4] in VENDORS)
    if path == "/proc/1/environ":
        return "\0".join(part for part in text.split("\0") if part.startswith("container="))
    return text[:KEEP_TEXT]
