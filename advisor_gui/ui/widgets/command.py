"""Commands to copy: a block of lines with a copy button."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout

from advisor_gui.ui import icons
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SIZE_PT, SPACE


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
        self.text = label("")
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(SIZE_PT["body"])
        self.text.setFont(font)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
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
        # A zero-width break after each space-free stretch would be copied along; QLabel breaks at spaces only.
        self.text.setText("\n".join(lines))

    def say(self) -> None:
        self.button.setText(self.context.words("main.copy"))
        self.button.setAccessibleName(f"{self.context.words('main.copy')}: {self.lines[0] if self.lines else ''}")

    def copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self.lines))
        self.button.setText(self.context.words("main.copied"))
        self.context.say(self.context.words("main.copied"))
        self._back.start()

    def _paint(self) -> None:
        t = self.context.look.tokens
        self.setStyleSheet(f"QFrame#commands {{ background: {t.code}; border: 1px solid {t.line}; border-radius: 6px; }}")
        self.button.setIcon(icons.icon("copy", t.text))
