"""What every page is: a scrolling column that says its labels again when the language changes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from advisor_gui.ui.context import Context
from advisor_gui.ui.theme import SIZE_PT, SPACE


def label(text: str = "", kind: str | None = None, *, size: str = "body", wrap: bool = True) -> QLabel:
    """A plain-text label; foreign words can never become markup."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setText(text)
    made.setWordWrap(wrap)
    if kind is not None:
        made.setProperty("kind", kind)
    font = made.font()
    font.setPointSizeF(SIZE_PT[size])
    font.setBold(size in ("strong", "section", "title"))
    made.setFont(font)
    made.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse if kind != "muted" else Qt.TextInteractionFlag.NoTextInteraction
    )
    return made


def card() -> tuple[QFrame, QVBoxLayout]:
    """A raised surface and the column inside it."""
    frame = QFrame()
    frame.setProperty("kind", "card")
    column = QVBoxLayout(frame)
    column.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
    column.setSpacing(SPACE[1])
    return frame, column


class Page(QScrollArea):
    """A page of the window. Subclasses build once in `build`, and show the desk in `refresh`."""

    name = ""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.body = QWidget()
        self.column = QVBoxLayout(self.body)
        self.column.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[4])
        self.column.setSpacing(SPACE[3])
        self.setWidget(self.body)
        self.build()
        self.say()
        context.words.changed.connect(self._said_again)
        context.desk.listen(self._changed)
        self._stale = False

    def build(self) -> None:
        """Make the widgets; no text and no desk yet."""

    def say(self) -> None:
        """Set every label in the chosen language."""

    def refresh(self, topic: str) -> None:
        """Show the desk after TOPIC changed; called only while the page is visible ("shown" when it becomes so)."""

    def _said_again(self) -> None:
        self.say()
        if self.isVisible():
            self.refresh("language")
        else:
            self._stale = True

    def _changed(self, topic: str) -> None:
        if self.isVisible():
            self.refresh(topic)
        else:
            self._stale = True

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self.refresh("shown")
        self._stale = False
