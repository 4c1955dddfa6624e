"""The one door to a machine: files, links, commands, variables and native calls, each answered with a Reading that never raises."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from probes import child

Status = Literal["ok", "missing", "denied", "timed_out", "failed"]
READ_LIMIT_BYTES = 4_000_000
COMMAND_LIMIT_S = 3.0
COMMANDS_CALL = "recorded_commands"  # a recording's own call: the command lines it holds of a program, as JSON


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one question to the machine gave. `text` is empty unless status is ok or (for a command) failed."""

    status: Status
    text: str = ""
    source: str = ""
    elapsed_s: float = 0.0
    rc: int | None = None  # commands only
    names: tuple[str, ...] = ()  # listings only, sorted
    numbers: tuple[int, ...] = ()  # disk: (total, free) bytes

    @property
    def ok(self) -> bool:
        return self.status == "ok"


class Host(Protocol):
    """A machine that can be asked. `os` is linux, windows or macos (or another lower-case word)."""

    @property
    def os(self) -> str: ...
    @property
    def recorded(self) -> bool: ...
    def read(self, path: str) -> Reading: ...
    def list(self, path: str) -> Reading: ...
    def link(self, path: str) -> Reading: ...
    def access(self, path: str) -> Reading:
        """text is a subset of "rwx" that this user has on PATH."""
        ...

    def disk(self, path: str) -> Reading: ...
    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Reading: ...
    def env(self, name: str) -> Reading: ...
    def which(self, name: str) -> Reading: ...
    def call(self, name: str, arguments: str = "") -> Reading:
        """A named native call (probes.native lists them); text is its answer, JSON where it is more than a word."""
        ...


def system_name(platform: str = sys.platform) -> str:
    """linux, windows or macos for a sys.platform."""
    if platform.startswith("linux"):
        return "linux"
    return {"win32": "windows", "cygwin": "windows", "darwin": "macos"}.get(platform, platform.rstrip("0123456789"))


class LocalHost:
    """This machine."""

    recorded = False

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        calls: Mapping[str, Callable[[str], str]] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._calls = calls
        self._cancelled = cancelled

    @property
    def os(self) -> str:
        return system_name()

    def read(self, path: str) -> Reading:
        began = time.perf_counter()
        try:
            # Opened unbuffered and without blocking: a FIFO or a device in place of a file must not hang a probe.
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            try:
                chunks, left = [], READ_LIMIT_BYTES
                while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
                    chunks.append(chunk)
                    left -= len(chunk)
            finally:
                os.close(descriptor)
        except OSError as error:
            return Reading(status=_status(error), text="", source=path, elapsed_s=time.perf_counter() - began)
        text = b"".join(chunks).decode("utf-8", "replace")
        return Reading(status="ok", text=text, source=path, elapsed_s=time.perf_counter() - began)

    def list(self, path: str) -> Reading:
        try:
            names = tuple(sorted(os.listdir(path)))  # noqa: PTH208 - names only, thousands of folders
        except OSError as error:
            return Reading(status=_status(error), source=path)
        return Reading(status="ok", names=names, source=path)

    def link(self, path: str) -> Reading:
        try:
            return Reading(status="ok", text=os.readlink(path), source=path)  # noqa: PTH115 - the target as it stands
        except OSError as error:
            return Reading(status="missing" if error.errno == 22 else _status(error), source=path)

    def access(self, path: str) -> Reading:
        if not os.path.lexists(path):
            return Reading(status="missing", source=path)
        modes = (("r", os.R_OK), ("w", os.W_OK), ("x", os.X_OK))
        return Reading(status="ok", text="".join(c for c, m in modes if os.access(path, m)), source=path)

    def disk(self, path: str) -> Reading:
        place = Path(path)
        while not place.exists() and place != place.parent:
            place = place.parent
        try:
            usage = shutil.disk_usage(place)
        except OSError as error:
            return Reading(status=_status(error), source=path)
        return Reading(status="ok", numbers=(usage.total, usage.free), source=path)

    def run(self, argv: Sequence[str], limit_s: float = COMMAND_LIMIT_S) -> Reading:
        line = " ".join(argv)
        program = self.which(argv[0])
        if not program.ok:
            return Reading(status="missing", source=line)
        environment = {**self._environment, "LC_ALL": "C", "LANG": "C"}
        done = child.run(
            [program.text, *argv[1:]], limit_s=limit_s, environment=environment, cancelled=self._cancelled
        )
        if done.ended == "not_started":
            return Reading(status="denied" if "Permission" in done.reason else "missing", source=line)
        if done.ended in ("timed_out", "cancelled"):
            return Reading(status="timed_out", source=line, elapsed_s=done.elapsed_s)
        return Reading(
            status="ok" if done.rc == 0 else "failed",
            text=done.stdout if done.rc == 0 or done.stdout.strip() else done.stderr,
            source=line, elapsed_s=done.elapsed_s, rc=done.rc,
        )  # fmt: skip

    def env(self, name: str) -> Reading:
        value = self._environment.get(name)
        source = f"environment variable {name}"
        return Reading(status="missing", source=source) if value is None else Reading(status="ok", text=value, source=source)

    def which(self, name: str) -> Reading:
        """The program's absolute path. The current folder and relative PATH entries are ignored."""
        source = f"which {name}"
        if Path(name).is_absolute():
            found = shutil.which(name)
        else:
            folders = [f for f in self._environment.get("PATH", os.defpath).split(os.pathsep) if Path(f).is_absolute()]
            found = None
            for folder in folders:
                # One folder at a time and absolute, so that Windows cannot put the current folder first.
                found = shutil.which(str(Path(folder, name)))
                if found:
                    break
        return Reading(status="ok", text=found, source=source) if found else Reading(status="missing", source=source)

    def call(self, name: str, arguments: str = "") -> Reading:
        from probes import native

        calls = native.local_calls(self._cancelled) if self._calls is None else self._calls
        source = f"{name}({arguments})"
        function = calls.get(name)
        if function is None:
            return Reading(status="missing", source=source)
        try:
            return Reading(status="ok", text=function(arguments), source=source)
        except native.CallFailed as error:
            return Reading(status=error.status, text=str(error), source=source)


def _status(error: OSError) -> Status:
    if isinstance(error, (FileNotFoundError, NotADirectoryError, IsADirectoryError)):
        return "missing"
    return "denied" if isinstance(error, PermissionError) else "failed"
