"""Files dropped anywhere on the window: shown where they may fall, then opened by what they are."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE


def local_file(data: QMimeData) -> str | None:
    """The first local file or folder in DATA; addresses of other kinds are nothing to us."""
    return next((url.toLocalFile() for url in data.urls() if url.isLocalFile()), None) if data.hasUrls() else None


class Drops(QObject):
    """Watches WINDOW. `opened(path)` is called for what falls on it."""

    def __init__(self, window: QWidget, context: Context, opened: Callable[[str], object]) -> None:
        super().__init__(window)
        self.window, self.context, self._opened = window, context, opened
        self.sheet = QFrame(window)
        self.sheet.setProperty("kind", "drop")
        self.sheet.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        column = QVBoxLayout(self.sheet)
        self.sentence = label(size="section")
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self.sentence)
        self.sheet.hide()
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.DragEnter, QEvent.Type.Drop) and isinstance(event, QDropEvent):
            path = local_file(event.mimeData())
            if path is None:
                return False
            event.acceptProposedAction()
            self._mark(kind == QEvent.Type.DragEnter)
            if kind == QEvent.Type.Drop:
                self._opened(path)
            return True
        if kind == QEvent.Type.DragLeave:
            self._mark(False)
        return super().eventFilter(watched, event)

    def _mark(self, on: bool) -> None:
        self.sentence.setText(self.context.words("main.drop"))
        self.sheet.setGeometry(self.window.rect().adjusted(SPACE[4], SPACE[4], -SPACE[4], -SPACE[4]))
        self.sheet.setVisible(on)
        self.sheet.raise_()
