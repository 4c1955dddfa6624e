"""Commands to copy: a block of lines with a copy button."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFontDatabase, QGuiApplication, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QSizePolicy, QVBoxLayout

from advisor_gui.ui import icons
from advisor_gui.ui.context import Context
from advisor_gui.ui.theme import SIZE_PT, SPACE


class Lines(QPlainTextEdit):
    """Lines as they are typed: a long one scrolls, since a break inside a command reads as two."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setObjectName("lines")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(2)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(SIZE_PT["body"])
        self.setFont(font)
        self._lines: tuple[str, ...] = ()

    def show_lines(self, lines: tuple[str, ...]) -> None:
        self._lines = lines
        self.setPlainText("\n".join(lines))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Up and down scroll the page; only sideways is ours."""
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def _fit(self) -> None:
        metrics = self.fontMetrics()
        widest = max((metrics.horizontalAdvance(line) for line in self._lines), default=0)
        bar = self.horizontalScrollBar().sizeHint().height() if widest + 8 > self.viewport().width() else 0
        self.setFixedHeight(metrics.lineSpacing() * max(1, len(self._lines)) + 8 + bar)


class CommandBox(QFrame):
    """Shows lines in a fixed-width font; the button copies them as they are."""

    def __init__(self, context: Context, lines: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.context = context
        self.setObjectName("commands")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        across = QHBoxLayout(self)
        across.setContentsMargins(SPACE[2], SPACE[1], SPACE[1], SPACE[1])
        across.setSpacing(SPACE[1])
        self.text = Lines()
        across.addWidget(self.text, 1)
        column = QVBoxLayout()
        self.button = QPushButton()
        self.button.clicked.connect(self.copy)
        column.addWidget(self.button)
        column.addStretch(1)
        across.addLayout(column)
        self._back = QTimer(self)
        self._back.setSingleShot(True)
        self._back.setInterval(1500)
        self._back.timeout.connect(self.say)
        context.words.changed.connect(self.say)
        context.look.changed.connect(self._paint)
        self.show_lines(lines)
        self.say()
        self._paint()

    def show_lines(self, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.text.show_lines(lines)

    def say(self) -> None:
        self.button.setText(self.context.words("main.copy"))
        self.text.setAccessibleName(self.context.words("main.commands"))
        self.button.setAccessibleName(f"{self.context.words('main.copy')}: {self.lines[0] if self.lines else ''}")

    def copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self.lines))
        self.button.setText(self.context.words("main.copied"))
        self.context.say(self.context.words("main.copied"))
        self._back.start()

    def _paint(self) -> None:
        t = self.context.look.tokens
        self.setStyleSheet(
            f"QFrame#commands {{ background: {t.code}; border: 1px solid {t.line}; border-radius: 6px; }}"
            "QPlainTextEdit#lines { background: transparent; border: 1px solid transparent; border-radius: 4px; }"
            f"QPlainTextEdit#lines:focus {{ border: 1px solid {t.accent}; }}"
        )
        self.button.setIcon(icons.icon("copy", t.text))
