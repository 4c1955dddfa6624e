"""Named native calls: library and system calls that are no file and no command, each failing as a value."""

from __future__ import annotations

import os
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
    return ",".join(str(cpu) for cpu in sorted(get(0)))


def local_calls() -> Mapping[str, Callable[[str], str]]:
    """Calls that this machine can answer, by name."""
    from probes.software import calls

    return {"affinity": affinity, **calls.calls()}


def child_main(words: Sequence[str]) -> int:
    """What the packaged program runs when it starts itself as a helper: `--probe-child NAME …`; 2: no such helper."""
    if list(words[:1]) == ["live"]:
        from probes import live_devices

        return live_devices.main()
    return 2
