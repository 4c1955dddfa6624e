"""The window: builds the rail, the pages and the menus, and connects them; it decides nothing."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from advisor_gui import flow

if TYPE_CHECKING:
    from advisor_gui.ui.context import Context
    from advisor_gui.ui.pages.base import Page

RAIL_PX = 204
FIRST = {"light": ("#f5f6f8", "#eceef2"), "dark": ("#15181d", "#101317")}  # window and rail of the tokens, before these are read


class Blank(QWidget):
    """The first frame: the two grounds of the window, so that filling it changes nothing that was seen."""

    painted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.theme = "light" if self.palette().window().color().lightness() > 127 else "dark"
        self._told = False

    def paintEvent(self, _event: QPaintEvent) -> None:
        window, rail = (QColor(tone) for tone in FIRST[self.theme])
        painter = QPainter(self)
        painter.fillRect(self.rect(), window)
        painter.fillRect(0, 0, RAIL_PX, self.height(), rail)
        painter.end()
        if not self._told:
            self._told = True
            QTimer.singleShot(0, self.painted.emit)


class MainWindow(QMainWindow):
    """Empty at first; `fill` makes the rail, the menus and the pages, once there is something to fill it with."""

    painted = Signal()  # the first frame was seen

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Stackfit")
        self.setMinimumSize(960, 640)
        self.resize(1280, 800)
        self._pages: dict[str, Page] = {}
        self._buttons: dict[str, QPushButton] = {}
        self._headings: dict[str, QLabel] = {}
        self._recalled = False
        self._blank = Blank()
        self._blank.painted.connect(self.painted)
        self.setCentralWidget(self._blank)

    def recall(self, folder: Path) -> None:
        """Place and brightness of last time, from two lines that `Settings` keeps for this."""
        try:
            theme, _, geometry = (folder / "first-frame").read_text(encoding="ascii").partition("\n")
        except (OSError, ValueError):
            return  # a first start, or a file that somebody wrote into: the settings themselves say more in a moment
        if theme in FIRST:
            self._blank.theme = theme
        self._recalled = self.restoreGeometry(QByteArray.fromHex(geometry.strip().encode()))

    def fill(self, context: Context) -> None:
        from advisor_gui.ui.foot import Foot
        from advisor_gui.ui.menus import Menus

        self.context = context
        self._build()
        do = context.actions
        do.setdefault("quit", self.close)
        do.setdefault("next", partial(self._step, flow.following))
        do.setdefault("back", partial(self._step, flow.preceding))
        for name in flow.PAGES:
            do[name] = partial(self.show_page, name)
        self.menus = Menus(self, context)
        self.setStatusBar(Foot(context))
        self._say()
        context.words.changed.connect(self._say)
        context.desk.listen(self._desk_changed)
        if context.settings.now.geometry and not self._recalled:
            self.restoreGeometry(QByteArray.fromHex(context.settings.now.geometry.encode()))

    def complete(self) -> None:
        """After the first frame: what hangs on the window without changing its shape."""
        from advisor_gui.ui import documents
        from advisor_gui.ui.drops import Drops
        from advisor_gui.ui.notices import Notices

        self.notices = Notices(self.context)
        self._right.insertWidget(0, self.notices)
        self._drops = Drops(self, self.context, partial(documents.open_path, self, self.context))
        self._paint_icons()
        self.context.look.changed.connect(self._paint_icons)

    def _build(self) -> None:
        from advisor_gui.ui.pages.base import label
        from advisor_gui.ui.theme import SPACE

        body = QWidget()
        across = QHBoxLayout(body)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(0)
        rail = QFrame()
        rail.setProperty("kind", "rail")
        rail.setFixedWidth(RAIL_PX)
        down = QVBoxLayout(rail)
        down.setContentsMargins(SPACE[1], SPACE[3], SPACE[1], SPACE[2])
        down.setSpacing(SPACE[0])
        group = QButtonGroup(self)
        for heading, names in (("steps", flow.STEPS), ("look_up", flow.TOOLS)):
            if heading == "look_up":
                down.addSpacing(SPACE[3])
            self._headings[heading] = label("", "muted", size="small")
            self._headings[heading].setContentsMargins(SPACE[2], 0, 0, 0)
            down.addWidget(self._headings[heading])
            for name in names:
                button = QPushButton()
                button.setProperty("kind", "rail")
                button.setCheckable(True)
                button.setIconSize(QSize(16, 16))
                button.clicked.connect(partial(self.show_page, name))
                group.addButton(button)
                down.addWidget(button)
                self._buttons[name] = button
        down.addStretch(1)
        across.addWidget(rail)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        self._right = right
        self.stack = QStackedWidget()
        right.addWidget(self.stack, 1)
        across.addLayout(right, 1)
        self.setCentralWidget(body)

    def _step(self, step: object) -> None:
        found = step(self.current()) if callable(step) else None
        if found is not None:
            self.show_page(found)

    def current(self) -> str:
        return next((n for n, p in self._pages.items() if p is self.stack.currentWidget()), flow.PAGES[0])

    def page(self, name: str) -> Page:
        """The page NAME, made when first wanted."""
        from advisor_gui.ui import pages

        if name not in self._pages:
            self._pages[name] = pages.make(name, self.context)
            self._pages[name].setAccessibleName(self.context.words(f"main.{name}"))
            self.stack.addWidget(self._pages[name])
        return self._pages[name]

    def show_page(self, name: str, *_: object) -> None:
        """Show the page NAME; the key focus stays on the rail where it was there, else goes to the page."""
        on_rail = self.focusWidget() in self._buttons.values() or self.focusWidget() is None
        self.stack.setCurrentWidget(self.page(name))
        self._buttons[name].setChecked(True)
        (self._buttons[name] if on_rail else self._pages[name]).setFocus()

    def _say(self) -> None:
        words = self.context.words
        for name, button in self._buttons.items():
            button.setText(words(f"main.{name}"))
        for name, heading in self._headings.items():
            heading.setText(words(f"main.{name}"))
        for name, page in self._pages.items():
            page.setAccessibleName(words(f"main.{name}"))
        self.menus.say()
        self._title()

    def _title(self) -> None:
        desk = self.context.desk
        name = desk.document.stem if desk.document is not None else ""
        self.setWindowTitle(f"{name}[*] – Stackfit" if name else "Stackfit[*]")
        self.setWindowModified(desk.unsaved and desk.document is not None)

    def _paint_icons(self) -> None:
        from advisor_gui.ui import icons

        for name, button in self._buttons.items():
            button.setIcon(icons.icon(name, self.context.look.tokens.text, self.context.look.tokens.accent))

    def _desk_changed(self, _topic: str) -> None:
        self._title()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not hasattr(self, "menus"):  # closed before it was filled
            event.accept()
            return
        from advisor_gui.ui import documents

        if not documents.may_leave(self, self.context):
            event.ignore()
            return
        raw = bytes(self.saveGeometry().toHex().data()).decode()
        self.context.settings.change(geometry=raw, page=self.current())
        documents.forget(self.context)
        self.hide()  # what has to be waited for is waited for out of sight
        late = self.context.jobs.close()
        for page in self._pages.values():
            page.close()
        self.statusBar().clearMessage()
        if late:
            sys.stderr.write(self.context.words("main.still_running", names=", ".join(late)) + "\n")
        event.accept()
