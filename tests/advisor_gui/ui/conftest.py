"""The window as tests get it: built on a machine file, without the network, and closed with nothing left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from advisor_gui import session
from advisor_gui.ui import app as starter
from advisor_gui.ui import live

MACHINE = """
schema: 1
system: {os: linux, distribution: ubuntu, release: "24.04", kernel: "6.11.0", arch: x86_64, libc: glibc, libc_version: "2.39"}
cpu: {vendor: amd, model: "AMD Ryzen 9 9950X", sockets: 1, physical_cores: 16, logical_cpus: 32, usable_cpus: 32.0,
      flags: [sse4_1, sse4_2, ssse3, popcnt, avx, avx2, fma, f16c, avx512f]}
memory: {total_bytes: 67200000000, available_bytes: 60000000000}
disk: {free_bytes: 800000000000}
accelerators:
  - {kind: gpu, vendor: nvidia, name: "NVIDIA GeForce RTX 5090", count: 1, memory_bytes: 34190917632, memory_kind: dedicated,
     target: "12.0", driver_version: "570.86.10", driver_api_max: "12.8", state: usable}
pythons:
  - {path: /home/anna/work/.venv/bin/python, version: "3.12.3", kind: venv, arch: x86_64, bits: 64, free_threaded: false,
     packages: [{name: torch, version: "2.5.1+cu124"}, {name: numpy, version: "2.1.0"}]}
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A warning of Qt in a test of the window fails it."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.qt_log_level_fail("WARNING"))
            # The offscreen platform says this for each window that has a smallest size; it means nothing.
            item.add_marker(pytest.mark.qt_log_ignore("propagateSizeHints", extend=True))


@pytest.fixture(scope="session", autouse=True)
def constants_are_kept() -> None:
    starter.keep_constants()


@pytest.fixture
def machine_file(tmp_path: Path) -> str:
    path = tmp_path / "desktop.yaml"
    path.write_text(MACHINE, encoding="utf-8")
    return str(path)


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """The program with its window shown. "This computer" is the machine file, and the meters stand still."""
    file = folder / "this-computer.yaml"
    file.write_text(MACHINE, encoding="utf-8")
    home = folder / "window-home"
    before = set(QApplication.topLevelWidgets())
    really = session.open_machine

    def machine(path: str | None, **options: Any) -> Any:
        return really(path or str(file), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "open_machine", machine)
        patch.setattr(live, "sample_until_cancelled", lambda progress: progress.wait(60))
        places = session.Folders(cache=home / "cache", data=home / "data", config=home / "config")
        made = starter.build(starter.application(["stackfit"]), places)
        made.settings.change(language="en", theme="light")
        made.words.choose("en")
        made.restyle()
        made.window.show()
        made.begin(None)
        yield made
        made.desk.unsaved = False
        made.window.close()
        made.retire()
        until(lambda: not made.jobs._running and not made.jobs._leaving)
        timers = [t for t in made.window.findChildren(QTimer) if t.isActive()]
        assert not timers, f"timers left running: {[(t.parent(), t.interval()) for t in timers]}"
        made.window.deleteLater()
        wait(0.02)
        assert not isValid(made.window)
        left = [w for w in set(QApplication.topLevelWidgets()) - before if alive(w)]
        assert not left, f"windows left open: {left}"


@pytest.fixture
def program(qapp: QApplication, tmp_path: Path) -> Iterator[Any]:
    """A window of its own for one test."""
    with opened(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def one_window(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with opened(tmp_path_factory.mktemp("window")) as made:
        yield made


@pytest.fixture
def shown(one_window: Any) -> Iterator[Any]:
    """One window for all the tests of a module that only look; each leaves it idle."""
    settle(one_window)
    yield one_window
    one_window.words.choose("en")
    one_window.window.show_page("fleet")
    settle(one_window)
    until(lambda: not one_window.jobs._running and not one_window.jobs._leaving)


def alive(widget: QWidget) -> bool:
    try:
        return widget.isVisible()
    except RuntimeError:
        return False


def until(done: Callable[[], object], limit_s: float = 10.0) -> None:
    """Let the window work until DONE() is true."""
    end = time.monotonic() + limit_s
    while not done():
        assert time.monotonic() < end, "it did not happen in time"
        QApplication.processEvents()
        time.sleep(0.002)


def wait(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        QApplication.processEvents()
        QApplication.sendPostedEvents(None, 52)  # deferred deletes
        time.sleep(0.002)


WORK = ("scan", "catalog", "judge", "preview", "what-if", "checks", "history", "storage", "package-settings", "open", "model")


def settle(program: Any) -> None:
    """Wait until the window has nothing left to do by itself."""
    until(lambda: program.desk.recommendation is not None and not any(program.jobs.running(n) for n in WORK))
    wait(0.01)


@pytest.fixture
def settled() -> Callable[[Any], None]:
    return settle


@pytest.fixture(name="until")
def until_fixture() -> Callable[..., None]:
    return until


@pytest.fixture(name="wait")
def wait_fixture() -> Callable[[float], None]:
    return wait
