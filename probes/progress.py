"""What long work tells its caller, and how the caller asks it to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable

from knowledge.text import Text


class Cancelled(Exception):
    """Raised by `Progress.check` inside work that was asked to stop."""


class Progress:
    """Handed to every long action; thread-safe. The window and the command line give it their own listeners."""

    def __init__(
        self,
        on_step: Callable[[Text, float | None], None] | None = None,
        on_log: Callable[[str], None] | None = None,
        on_part: Callable[[object], None] | None = None,
    ) -> None:
        self._stop = threading.Event()
        self._on_step = on_step
        self._on_log = on_log
        self._on_part = on_part

    def step(self, text: Text, share: float | None = None) -> None:
        """Say what is being done; SHARE is between 0 and 1, or None where it cannot be known."""
        if self._on_step is not None:
            self._on_step(text, share)

    def log(self, line: str) -> None:
        if self._on_log is not None:
            self._on_log(line)

    def part(self, value: object) -> None:
        """Hand on a partial result, such as one live sample, while the work goes on."""
        if self._on_part is not None:
            self._on_part(value)

    def wait(self, limit_s: float) -> bool:
        """Sleep up to LIMIT_S; True at once when `cancel` is called."""
        return self._stop.wait(limit_s)

    def cancel(self) -> None:
        self._stop.set()

    def cancelled(self) -> bool:
        return self._stop.is_set()

    def check(self) -> None:
        """Raises Cancelled where `cancel` was called."""
        if self._stop.is_set():
            raise Cancelled
