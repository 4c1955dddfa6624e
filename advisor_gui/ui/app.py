"""Starts the window: one for each user, its first frame at once, everything else after that frame is seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QFont, QFontDatabase, QFontInfo
from PySide6.QtWidgets import QApplication

from advisor_gui import places as places_of
from advisor_gui.ui.main_window import MainWindow

if TYPE_CHECKING:
    from advisor_gui.ui.program import Program

APP_ID = "io.github.stackfit.Stackfit"
AT_THE_LATEST_MS = 1500  # a window that is never painted (minimised, another desktop) is filled all the same
BODY_PT = 10.0


def main(file: str | None = None) -> int:
    """Open the window and run until it is closed."""
    from advisor_gui.ui import single

    app = bare(sys.argv[:1])
    places = places_of.folders()
    if single.handed_over(places, file):
        return 0
    window = first_frame(places)
    open_now = Opening(app, places, window, file)
    window.painted.connect(open_now.go)
    QTimer.singleShot(AT_THE_LATEST_MS, open_now.go)
    window.show()
    return app.exec()


def first_frame(places: places_of.Folders) -> MainWindow:
    """The window as it stood last time, still empty: nothing slow may come before it."""
    window = MainWindow()
    window.recall(places.config)
    return window


class Opening:
    """Fills the window once, after its first frame."""

    def __init__(self, app: QApplication, places: places_of.Folders, window: MainWindow, file: str | None) -> None:
        self.app, self.places, self.window, self.file = app, places, window, file
        self.program: Program | None = None
        self.listener: object = None

    def go(self) -> None:
        if self.program is not None:
            return
        from advisor_gui.ui import single
        from advisor_gui.ui.program import Program

        keep_constants()
        choose_font(None)
        self.program = Program(self.app, self.places, self.window)
        self.listener = single.Listener(self.places, self.program.raise_with)
        self.program.begin(self.file)


def bare(argv: list[str]) -> QApplication:
    """The one QApplication, in our style."""
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(argv)
    app.setApplicationName("stackfit")
    app.setApplicationDisplayName("Stackfit")
    app.setDesktopFileName(APP_ID)
    app.setStyle("Fusion")
    return app


def application(argv: list[str]) -> QApplication:
    """The QApplication with fonts, for programs that show a whole window at once."""
    keep_constants()
    app = bare(argv)
    choose_font(None)
    return app


def build(app: QApplication, places: places_of.Folders) -> Program:
    """The program with its window filled and not yet shown."""
    from advisor_gui.ui.program import Program

    return Program(app, places)


def keep_constants() -> None:
    """Keep None, True and False alive on Python 3.11, where PySide6 6.12 gives a reference to them away at each call.

    Without this a count reaches zero after some thousand calls and Python ends with "none_dealloc" or "bool_dealloc" (seen:
    1.0 reference of None lost for each QLabel.setText; none with PySide6 6.11.3, nor from Python 3.12 on, where the
    constants are never freed).
    """
    if sys.version_info >= (3, 12):
        return
    import ctypes

    for constant in (None, True, False):
        count = ctypes.c_ssize_t.from_address(id(constant))
        if abs(count.value - sys.getrefcount(constant)) < 64:  # the count is where a release build of CPython keeps it
            count.value += 1 << 40


def han() -> str | None:
    """Register our Chinese fonts and return their family."""
    family = None
    for file in sorted(Path(__file__).with_name("assets").glob("*.otf")):
        number = QFontDatabase.addApplicationFont(str(file))
        family = next(iter(QFontDatabase.applicationFontFamilies(number)), family)
    return family


def choose_font(family: str | None) -> None:
    """The system's own Latin font first, then FAMILY for Chinese: asked alone, Qt may pick Japanese glyph shapes."""
    font = QApplication.font()
    latin = QFontInfo(font).family()
    font.setFamilies([latin, family] if family else [latin])
    font.setPointSizeF(BODY_PT)
    font.setStyleHint(QFont.StyleHint.SansSerif)
    QApplication.setFont(font)
