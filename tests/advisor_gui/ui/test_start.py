"""The start: an empty frame that is right at once, then everything in it; constants that stay alive."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from advisor_gui import places, session
from advisor_gui.ui import app as starter
from advisor_gui.ui import live, main_window, theme
from advisor_gui.ui.settings import Settings

ROOT = Path(__file__).resolve().parents[3]


def test_the_first_frame_has_the_colours_of_the_theme() -> None:
    assert main_window.FIRST["light"] == (theme.LIGHT.window, theme.LIGHT.rail)
    assert main_window.FIRST["dark"] == (theme.DARK.window, theme.DARK.rail)
    assert theme.SIZE_PT["body"] == starter.BODY_PT


def test_the_first_frame_stands_where_the_window_stood(qapp: QApplication, tmp_path: Path) -> None:
    one = main_window.MainWindow()
    one.resize(960, 700)  # the offscreen screen is small
    Settings(tmp_path).change(theme="dark", geometry=bytes(one.saveGeometry().toHex().data()).decode())
    again = main_window.MainWindow()
    again.recall(tmp_path)
    assert again.size() == one.size() and again._blank.theme == "dark"
    (tmp_path / "first-frame").write_bytes(b"\xff\xfe nonsense")
    third = main_window.MainWindow()
    third.recall(tmp_path)
    assert third.size().width() == 1280
    for window in (one, again, third):
        assert window.close()
        window.deleteLater()


def test_everything_comes_after_the_first_frame(
    qapp: QApplication, tmp_path: Path, machine_file: str, until: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    really = session.open_machine
    monkeypatch.setattr(session, "open_machine", lambda path, **options: really(path or machine_file, **options))
    monkeypatch.setattr(live, "sample_until_cancelled", lambda progress: progress.wait(60))
    folders = places.Folders(cache=tmp_path / "c", data=tmp_path / "d", config=tmp_path / "e")
    window = starter.first_frame(folders)
    opening = starter.Opening(starter.bare(["stackfit"]), folders, window, None)
    window.painted.connect(opening.go)
    assert opening.program is None
    window.show()
    until(lambda: opening.program is not None and opening.program.desk.recommendation is not None)
    program: Any = opening.program
    opening.go()
    assert opening.program is program, "filled once"
    until(lambda: not program.jobs.running("scan"))
    program.desk.unsaved = False
    window.close()
    program.retire()
    opening.listener.close()  # type: ignore[attr-defined]
    until(lambda: not program.jobs._running and not program.jobs._leaving)
    window.deleteLater()


def test_constants_outlive_many_calls() -> None:
    code = (
        "import os; os.environ['QT_QPA_PLATFORM'] = 'offscreen'\n"
        "from PySide6.QtWidgets import QApplication, QLabel\n"
        "from advisor_gui.ui import app as starter\n"
        "starter.keep_constants(); app = QApplication(['x']); label = QLabel()\n"
        "for number in range(60_000):\n"
        "    label.setText('x'); label.isVisible(); label.hasFocus()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_slow_is_loaded_before_the_first_frame() -> None:
    code = "import sys\nfrom advisor_gui.ui import app\nprint(*[n for n in ('msgspec', 'psutil', 'yaml', 'numpy', 'jinja2') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []
