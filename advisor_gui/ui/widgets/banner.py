"""A strip above the pages that says what is unusual now, with what can be done about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton

from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE


class Banner(QFrame):
    """A sentence and up to two actions. KIND is its frame in the style sheet."""

    def __init__(self, kind: str, *actions: Callable[[], object]) -> None:
        super().__init__()
        self.setProperty("kind", kind)
        across = QHBoxLayout(self)
        across.setContentsMargins(SPACE[4], SPACE[1], SPACE[3], SPACE[1])
        across.setSpacing(SPACE[2])
        self.sentence = label()
        across.addWidget(self.sentence, 1)
        self.buttons = []
        for action in actions:
            button = QPushButton()
            button.clicked.connect(lambda _=False, act=action: act())
            across.addWidget(button)
            self.buttons.append(button)
        self.hide()

    def show_text(self, sentence: str, *names: str) -> None:
        self.sentence.setText(sentence)
        self.setAccessibleName(sentence)
        for button, name in zip(self.buttons, names, strict=True):
            button.setText(name)
        self.show()
