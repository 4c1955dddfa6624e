"""Recordings written by tests: the answers of a machine as a folder, read back through the one door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from knowledge.facts import MachineProfile
from probes.machine import probe
from probes.recording import RecordedHost

Commands = Mapping[str, str | tuple[int, str]]


def recorded(
    folder: Path, *, system: str = "linux", files: Mapping[str, str] | None = None, links: Mapping[str, str] | None = None,
    folders: tuple[str, ...] = (), commands: Commands | None = None, **answers: Mapping[str, object],
) -> RecordedHost:  # fmt: skip
    """A recording in FOLDER. COMMANDS: line to output, or to (exit status, output); ANSWERS: env, which, access, disk, calls."""
    listed = []
    (folder / "cmd").mkdir(parents=True, exist_ok=True)
    for number, (line, told) in enumerate((commands or {}).items()):
        rc, text = told if isinstance(told, tuple) else (0, told)
        (folder / "cmd" / f"{number}.txt").write_text(text, encoding="utf-8")
        listed.append({"argv": line.split(), "line": line, "rc": rc, "file": f"{number}.txt"})
    about = {"schema": 1, "os": system, "fs": "fs.json", "commands": listed, **answers}
    (folder / "recording.json").write_text(json.dumps(about), encoding="utf-8")
    packed = {"files": dict(files or {}), "links": dict(links or {}), "dirs": list(folders)}
    (folder / "fs.json").write_text(json.dumps(packed), encoding="utf-8")
    return RecordedHost(folder)


def profile(folder: Path, **told: object) -> MachineProfile:
    """The profile of a recording with these answers; nothing in it may have failed."""
    found = probe(recorded(folder, **told))  # type: ignore[arg-type]
    assert not [one for one in found.findings if one.code == "probe.failed" and "could not be read" in one.because.en]
    return found


def codes(found: MachineProfile) -> set[str]:
    return {one.code for one in found.findings}
