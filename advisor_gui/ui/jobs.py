"""Background work for the window: one object for all of it; results come back in the window's own thread."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from knowledge.text import Text
from probes.progress import Cancelled, Progress

LINES = 2000  # of a log that comes faster than it can be shown, the last ones are kept
AT_ONCE = 400
EVERY_MS = 50


class Job(QObject):
    """One piece of work that runs in a thread. After `cancel` nothing of it arrives any more but `ended`."""

    stepped = Signal(object, object)  # Text, share or None
    logged = Signal(str)  # one or more lines: a flood of them is handed on a few times a second
    parted = Signal(object)
    done = Signal(object)
    failed = Signal(object)  # the exception
    ended = Signal()
    _finished = Signal(object, object)
    _spoke = Signal()

    def __init__(self, name: str, work: Callable[[Progress], Any], parent: QObject) -> None:
        super().__init__(parent)
        self.name = name
        self.cancelled = False
        self._work = work
        self.progress = Progress(on_step=self._step, on_log=self._log, on_part=self._part)
        self._lines: deque[str] = deque(maxlen=LINES)
        self._hand_on = QTimer(self)
        self._hand_on.setSingleShot(True)
        self._hand_on.setInterval(EVERY_MS)
        self._hand_on.timeout.connect(self._flush)
        self._spoke.connect(self._hand_on.start, Qt.ConnectionType.QueuedConnection)
        self._finished.connect(self._finish, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._run, name=f"job-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Ask the work to stop; a late result is dropped."""
        self.cancelled = True
        self.progress.cancel()

    def wait(self, limit_s: float) -> bool:
        """True where the thread ended within LIMIT_S."""
        self._thread.join(timeout=limit_s)
        return not self._thread.is_alive()

    def _step(self, text: Text, share: float | None) -> None:
        if not self.cancelled:
            self.stepped.emit(text, share)

    def _log(self, line: str) -> None:
        """Called in the job's thread."""
        first = not self._lines
        self._lines.append(line)
        if first and not self.cancelled:
            self._spoke.emit()

    def _flush(self) -> None:
        self._hand_on.stop()
        lines = []
        while self._lines:
            lines.append(self._lines.popleft())
            if len(lines) >= AT_ONCE:  # the rest at the next turn of the event loop
                self._hand_on.start()
                break
        if lines and not self.cancelled:
            self.logged.emit("\n".join(lines))

    def _part(self, value: object) -> None:
        if not self.cancelled:
            self.parted.emit(value)

    def _run(self) -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = self._work(self.progress)
        except Exception as fault:  # noqa: BLE001 - the one place where work ends; the page shows what went wrong
            error = fault
        try:
            self._finished.emit(result, error)
        except RuntimeError:
            return  # the window is gone and with it the receiver; there is nobody to tell

    def _finish(self, result: Any, error: BaseException | None) -> None:
        while self._lines and not self.cancelled:
            self._flush()
        self._hand_on.stop()
        if not self.cancelled:
            if error is None:
                self.done.emit(result)
            elif not isinstance(error, Cancelled):
                self.failed.emit(error)
        self.ended.emit()


class Jobs(QObject):
    """Starts jobs by name: a new job cancels the one of the same name. Owns them until they have ended."""

    changed = Signal()  # a job was started or ended

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: dict[str, Job] = {}
        self._leaving: set[Job] = set()

    def start(
        self,
        name: str,
        work: Callable[[Progress], Any],
        *,
        on_done: Callable[[Any], None] | None = None,
        on_error: Callable[[BaseException], None] | None = None,
        on_step: Callable[[Text, float | None], None] | None = None,
        on_log: Callable[[str], None] | None = None,
        on_part: Callable[[Any], None] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> Job:
        """Run WORK(progress) in a thread; the callables are called in the window's thread."""
        self.cancel(name)
        job = Job(name, work, self)
        job.ended.connect(partial(self._ended, job))  # first, so that `on_end` sees the job as no longer running
        for signal, slot in (
            (job.done, on_done), (job.failed, on_error), (job.stepped, on_step), (job.logged, on_log), (job.parted, on_part),
            (job.ended, on_end),
        ):  # fmt: skip
            if slot is not None:
                signal.connect(slot)
        self._running[name] = job
        job.start()
        self.changed.emit()
        return job

    def running(self, name: str) -> bool:
        return name in self._running

    def any_running(self, apart_from: frozenset[str] = frozenset()) -> bool:
        return bool(set(self._running) - apart_from)

    def cancel(self, name: str) -> None:
        job = self._running.pop(name, None)
        if job is not None:
            self._leaving.add(job)
            job.cancel()
            self.changed.emit()

    def close(self, limit_s: float = 3.0) -> tuple[str, ...]:
        """Cancel everything and wait; names of jobs that did not stop in time."""
        for name in tuple(self._running):
            self.cancel(name)
        return tuple(job.name for job in tuple(self._leaving) if not job.wait(limit_s))

    def _ended(self, job: Job) -> None:
        if self._running.get(job.name) is job:
            del self._running[job.name]
        self._leaving.discard(job)
        job.deleteLater()
        self.changed.emit()
