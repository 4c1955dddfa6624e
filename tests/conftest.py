"""What every test gets: its own settings folders, and no thread, process or widget left behind."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the real user's settings, cache or history."""
    home = tmp_path / "stackfit-home"
    monkeypatch.setenv("STACKFIT_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """A thread or child process that outlives its test fails it."""
    threads = set(threading.enumerate())
    children = _children()
    yield
    limit = time.monotonic() + 2
    while time.monotonic() < limit:
        left = [t for t in threading.enumerate() if t not in threads and t.is_alive()]
        running = _children() - children
        if not left and not running:
            return
        gc.collect()
        time.sleep(0.02)
    assert not left, f"threads left running: {[t.name for t in left]}"
    assert not running, f"processes left running: {running}"


def _children() -> set[int]:
    import psutil

    return {c.pid for c in psutil.Process().children(recursive=True) if c.status() != psutil.STATUS_ZOMBIE}


@pytest.fixture(scope="session")
def shared() -> Path:
    """The handed folder of real situations; tests that need it are skipped where it is absent."""
    if not SHARED.exists():
        pytest.skip("the folder of handed situations is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def catalog():  # type: ignore[no-untyped-def]
    from knowledge import loader

    return loader.load_catalog()
