"""What every page is: a scrolling column that says its labels again when the language changes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from advisor_gui.ui.context import Context
from advisor_gui.ui.theme import SIZE_PT, SPACE


def label(text: str = "", kind: str | None = None, *, size: str = "body", wrap: bool | None = None) -> QLabel:
    """A plain-text label; foreign words can never become markup. Titles stay on one line, all else wraps."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setText(text)
    made.setWordWrap(size != "title" if wrap is None else wrap)
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


def toned(made: QLabel, kind: str | None) -> None:
    """Give a label another kind (its colours and padding) after it was made."""
    made.setProperty("kind", kind)
    made.style().unpolish(made)
    made.style().polish(made)
    made.updateGeometry()


def pill(text: str = "", kind: str = "pill-info") -> QLabel:
    """A short state in a rounded box that never stretches."""
    made = label(text, kind, size="small", wrap=False)
    made.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    return made


def emptied(column: QLayout) -> None:
    """Take every widget out of COLUMN and let Qt remove it when it is safe to."""
    while (item := column.takeAt(0)) is not None:
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        elif inner is not None:
            emptied(inner)


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

    def titled(self, title: QLabel, subtitle: QLabel | None = None) -> QVBoxLayout:
        """Title and subtitle close to each other, as one block."""
        block = QVBoxLayout()
        block.setSpacing(SPACE[0])
        block.addWidget(title)
        if subtitle is not None:
            block.addWidget(subtitle)
        return block

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
