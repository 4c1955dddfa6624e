"""Named native calls: library and system calls that are no file and no command, each failing as a value."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal


class CallFailed(Exception):
    """A native call that gave no answer; `status` is missing, denied, timed_out or failed."""

    def __init__(self, message: str, status: Literal["missing", "denied", "timed_out", "failed"] = "failed") -> None:
        super().__init__(message)
        self.status: Literal["missing", "denied", "timed_out", "failed"] = status


def affinity(_arguments: str) -> str:
    """CPUs that this process may use, comma separated."""
    get = getattr(os, "sched_getaffinity", None)
    if get is None:
        raise CallFailed("this system has no CPU affinity call", "missing")
    try:
        return ",".join(str(cpu) for cpu in sorted(get(0)))
    except OSError as error:
        raise CallFailed(str(error), "denied") from error


def cpu_count(_arguments: str) -> str:
    """Logical CPUs that are on line."""
    number = os.cpu_count()
    if number is None:
        raise CallFailed("the number of CPUs is not told", "missing")
    return str(number)


def uname(_arguments: str) -> str:
    """JSON {sysname, release, machine} of the uname call; its host name is left out."""
    get = getattr(os, "uname", None)
    if get is None:
        raise CallFailed("this system has no uname call", "missing")
    told = get()
    return json.dumps({"sysname": told.sysname, "release": told.release, "machine": told.machine})


def computer_name(_arguments: str) -> str:
    """This computer's own name; a recording asks for it only to leave it out."""
    import socket

    try:
        return socket.gethostname()
    except OSError as error:
        raise CallFailed(str(error)) from error


def libc(_arguments: str) -> str:
    """"glibc 2.39" of the C library in this process."""
    ask = getattr(os, "confstr", None)
    try:
        answer = ask("CS_GNU_LIBC_VERSION") if ask is not None else None
    except (OSError, ValueError) as error:
        raise CallFailed(str(error), "missing") from error
    if not answer:
        raise CallFailed("this C library does not name itself", "missing")
    return str(answer)


def children(name: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The command line of a helper of ours, run apart from this process because its library may hang or crash."""
    if getattr(sys, "frozen", False):
        return (sys.executable, "--probe-child", name, *arguments)
    from pathlib import Path

    return (sys.executable, "-P", str(Path(__file__).parent / "hardware" / "native_child.py"), name, *arguments)


def _in_child(name: str, cancelled: Callable[[], bool] | None) -> Callable[[str], str]:
    def ask(arguments: str) -> str:
        from probes import child

        done = child.run(children(name, (arguments,) if arguments else ()), limit_s=3.0, cancelled=cancelled)
        if done.ended == "cancelled":
            raise CallFailed(f"{name} was cancelled", "failed")
        if done.ended == "timed_out":
            raise CallFailed(f"{name} did not answer within three seconds", "timed_out")
        if done.ended != "exited" or done.rc not in (0, 3):
            raise CallFailed(f"{name} ended with {done.signal or done.rc}: {done.stderr.strip()[-200:]}", "failed")
        if done.rc == 3:  # the helper says that there is no such library
            raise CallFailed(done.stdout.strip()[:200], "missing")
        return done.stdout.strip()

    return ask


def local_calls(cancelled: Callable[[], bool] | None = None) -> Mapping[str, Callable[[str], str]]:
    """Calls that this machine can answer, by name."""
    from probes.software import calls

    found: dict[str, Callable[[str], str]] = {
        "affinity": affinity, "cpu_count": cpu_count, "uname": uname, "libc": libc, "computer_name": computer_name,
        "nvml": _in_child("nvml", cancelled), "metal": _in_child("metal", cancelled),
        "cuda_attributes": _in_child("cuda_attributes", cancelled), **calls.calls(),
    }  # fmt: skip
    if sys.platform == "win32":
        from probes.hardware import windows_calls

        found.update(windows_calls.calls())
    return found


def child_main(words: Sequence[str]) -> int:
    """What the packaged program runs when it starts itself as a helper: `--probe-child NAME …`; 2: no such helper."""
    if list(words[:1]) == ["live"]:  # the meters' helper, which stays
        from probes import live_devices

        return live_devices.main()
    from probes.hardware import native_child

    return native_child.main(list(words))
