"""Run one child: argument list, time limit, cancel, output caps, and the end of the whole process group."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Literal

import msgspec

Ended = Literal["exited", "crashed", "timed_out", "cancelled", "not_started"]
KEEP_BYTES = 4_000_000


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended. `signal` is its name ("SIGKILL") where one ended it."""

    ended: Ended
    rc: int | None = None
    signal: str | None = None
    stdout: str = ""
    stderr: str = ""
    elapsed_s: float = 0.0
    reason: str = ""


def run(
    argv: Sequence[str],
    *,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
    folder: str | None = None,
    cancelled: Callable[[], bool] | None = None,
    on_stdout: Callable[[str], None] | None = None,
    on_stderr: Callable[[str], None] | None = None,
    keep_bytes: int = KEEP_BYTES,
    end: Callable[[subprocess.Popen[bytes]], None] | None = None,
) -> Done:
    """ARGV as a child in a process group of its own; returns within LIMIT_S plus half a second, the group ended.

    `on_stdout` and `on_stderr` receive whole lines as they come (from reader threads). Output beyond `keep_bytes`
    per stream is read and dropped, so that a flooding child neither blocks nor fills memory. `end`: how the group is
    ended where there is a better way than `end_group`.
    """
    began = time.perf_counter()
    try:
        process = start(argv, environment=environment, folder=folder)
    except OSError as error:
        return Done(ended="not_started", reason=f"{type(error).__name__}: {error.strerror or error}")
    streams = {"out": _Sink(on_stdout, keep_bytes), "err": _Sink(on_stderr, keep_bytes)}
    readers = [
        threading.Thread(target=streams[name].drain, args=(pipe,), daemon=True, name=f"child-{name}")
        for name, pipe in (("out", process.stdout), ("err", process.stderr))
        if pipe is not None
    ]
    for reader in readers:
        reader.start()
    ended: Ended = "exited"
    while True:
        try:
            process.wait(timeout=0.02 if time.perf_counter() - began < 0.5 else 0.1)
            break
        except subprocess.TimeoutExpired:
            if cancelled is not None and cancelled():
                ended = "cancelled"
            elif time.perf_counter() - began > limit_s:
                ended = "timed_out"
            else:
                continue
            break
    # Always: a child that exited may have left grandchildren that hold our pipes or go on working.
    (end or end_group)(process)
    for reader in readers:
        reader.join(timeout=0.5)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None and not any(r.is_alive() for r in readers):
            with contextlib.suppress(OSError):
                pipe.close()
    rc = process.returncode
    name = signal_name(rc)
    if ended == "exited" and name is not None:
        ended = "crashed"
    return Done(
        ended=ended, rc=rc, signal=name, stdout=streams["out"].text(), stderr=streams["err"].text(),
        elapsed_s=time.perf_counter() - began,
    )  # fmt: skip


def start(
    argv: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: str | None = None
) -> subprocess.Popen[bytes]:
    """ARGV started in a group of its own with closed standard input. Raises OSError where it cannot be started."""
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if environment is None else dict(environment),
        cwd=folder,
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End PROCESS and all that it started, at once."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif sys.platform == "win32" and process.poll() is None:
        subprocess.run(
            ["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, timeout=5, check=False
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        if process.poll() is None:
            process.kill()
        process.wait(timeout=2)


def decoded(content: bytes) -> str:
    """Text of a file or a program's output: UTF-16 and UTF-8 by their marks, then UTF-8, then the old Windows pages.

    Programs of Windows write the code page of the console, which a recording from another country does not name:
    Chinese pages use bytes in pairs, Western ones single letters among ASCII.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if content.startswith(b"\xef\xbb\xbf"):
        return content[3:].decode("utf-8", "replace")
    head = content[:400]
    if len(head) >= 8 and head[1::2].count(0) > len(head) * 0.4 and head[::2].count(0) < len(head) * 0.1:
        return content.decode("utf-16-le", "replace")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(content) - 3:  # cut in the middle of a letter
            return content.decode("utf-8", "replace")
    text = content.decode("utf-8", "replace")
    if text.count("\ufffd") * 5 < sum(letter > "\x7f" for letter in text[:200_000]):
        return text  # UTF-8 with a few damaged letters
    runs = re.findall(rb"[\x80-\xff][\x40-\xff]|[\x80-\xff]", content[:200_000])
    pairs = sum(len(run) == 2 and run[1] >= 0x80 for run in runs)
    if pairs >= 4 and pairs > len(runs) * 0.7:
        return content.decode("gb18030", "replace")
    return content.decode("cp1252" if b"\x00" not in content else "utf-8", "replace")


def signal_name(rc: int | None) -> str | None:
    """SIGSEGV for -11; None where the child exited by itself."""
    if rc is None or rc >= 0 or os.name != "posix":
        return None
    try:
        return signal.Signals(-rc).name
    except ValueError:
        return f"signal {-rc}"


class _Sink:
    """Collects one stream up to a limit and hands whole lines on."""

    def __init__(self, on_line: Callable[[str], None] | None, keep_bytes: int) -> None:
        self._on_line = on_line
        self._left = keep_bytes
        self._kept: list[bytes] = []
        self._partial = b""

    def drain(self, pipe: IO[bytes]) -> None:
        while True:
            try:
                chunk = os.read(pipe.fileno(), 65536)
            except (OSError, ValueError):
                break
            if not chunk:
                break
            if self._left > 0:
                self._kept.append(chunk[: self._left])
                self._left -= len(chunk)
            if self._on_line is not None:
                self._lines(chunk)
        if self._on_line is not None and self._partial:
            self._on_line(self._partial.decode("utf-8", "replace"))

    def _lines(self, chunk: bytes) -> None:
        *whole, self._partial = (self._partial + chunk).split(b"\n")
        if len(self._partial) > 65536:  # a stream without newlines is cut rather than kept
            whole.append(self._partial)
            self._partial = b""
        for line in whole:
            assert self._on_line is not None
            self._on_line(line.decode("utf-8", "replace").rstrip("\r"))

    def text(self) -> str:
        return decoded(b"".join(self._kept))
