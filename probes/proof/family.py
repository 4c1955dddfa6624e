"""Run one command whose whole family of processes ends with it: at a limit, on cancel, when this program is killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from probes import child

# A packaged program has no Python to lend; it runs a script file that is given after this option.
CHILD_SCRIPT = "--child-script"
SUPERVISOR = Path(__file__).with_name("supervisor.py")


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. `peak_bytes`: the most memory that all its processes held at once (Linux; else None)."""

    done: child.Done
    peak_bytes: int | None = None
    memory_limited: bool = False
    oom_killed: bool = False


def run(
    command: Sequence[str],
    *,
    python: str,
    limit_s: float,
    environment: Mapping[str, str],
    folder: str | None = None,
    memory_limit_bytes: int | None = None,
    cancelled: Callable[[], bool] | None = None,
    on_stdout: Callable[[str], None] | None = None,
    on_stderr: Callable[[str], None] | None = None,
    keep_bytes: int = child.KEEP_BYTES,
) -> Ran:
    """COMMAND (absolute program first) under the supervisor, which PYTHON runs. On Windows the tree is ended."""
    with tempfile.TemporaryDirectory(prefix=scratch_prefix()) as private:
        report = Path(private) / "report.json"
        argv = list(command)
        if os.name == "posix":
            argv = [
                *script_starter(python), str(SUPERVISOR), str(os.getpid()), str(memory_limit_bytes or 0), str(report), "--",
                *command,
            ]  # fmt: skip
        done = child.run(
            argv, limit_s=limit_s, environment=environment, folder=folder, cancelled=cancelled, on_stdout=on_stdout,
            on_stderr=on_stderr, keep_bytes=keep_bytes, end=end,
        )  # fmt: skip
        told: dict[str, object] = {}
        with contextlib.suppress(OSError, ValueError):
            told = json.loads(report.read_text())
    peak = told.get("peak_bytes")
    killed = told.get("signal") == "SIGKILL" or done.rc in (137, -9)
    kills = told.get("oom_kills")
    return Ran(
        done=done,
        peak_bytes=peak if isinstance(peak, int) and peak > 0 else None,
        memory_limited=told.get("ended") == "memory_limit",
        oom_killed=killed and isinstance(kills, int) and kills > 0,
    )


def scratch_prefix() -> str:
    """How our folders for one run begin: they say whose they are, so that `sweep` can tell what a killed program left."""
    return f"sf-{os.getpid()}-"


def sweep() -> None:
    """Delete the folders for one run whose program is gone."""
    import psutil

    for folder in Path(tempfile.gettempdir()).glob("sf-*-*"):
        match = re.fullmatch(r"sf-(\d+)-\w+", folder.name)
        if match is not None and folder.is_dir() and not psutil.pid_exists(int(match.group(1))):
            shutil.rmtree(folder, ignore_errors=True)


def script_starter(python: str) -> list[str]:
    """The words before a script's path: plain Python without site packages, or the packaged program itself."""
    if getattr(sys, "frozen", False) and python == sys.executable:
        return [python, CHILD_SCRIPT]
    return [python, "-I", "-S"]


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask the supervisor first, for it also knows the grandchildren that left the group; then end the group."""
    if os.name == "posix" and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.4)
    child.end_group(process)
