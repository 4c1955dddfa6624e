"""One question with its input: choices, several choices, number, text, yes or no, or a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QDoubleValidator
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE
from knowledge.catalog import Question

TYPING_MS = 250  # an answer is taken when typing pauses, not at each key


class QuestionRow(QFrame):
    """Label, input, and on demand why it is asked. `answered(key, value)` is called with None for "not answered"."""

    def __init__(self, context: Context, question: Question, answered: Callable[[str, Any], None]) -> None:
        super().__init__()
        self.context, self.question, self._answered = context, question, answered
        self._silent = False
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE[0], 0, SPACE[0])
        column.setSpacing(SPACE[0])
        head = QHBoxLayout()
        self.title = label(size="strong")
        self.why_button = QPushButton()
        self.why_button.setProperty("kind", "link")
        self.why_button.setCheckable(True)
        head.addWidget(self.title, 1)
        head.addWidget(self.why_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(head)
        self.why = label("", "muted")
        self.why.hide()
        self.why_button.toggled.connect(self.why.setVisible)
        column.addWidget(self.why)
        self.input = self._make()
        column.addWidget(self.input)
        context.words.changed.connect(self.say)
        self.say()

    def _make(self) -> QWidget:
        kind = self.question.kind
        if kind in ("choice", "bool"):
            self.box = QComboBox()
            self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            self.box.setMinimumContentsLength(18)
            self.box.activated.connect(self._picked)
            # The wheel scrolls the page, it does not change answers that it happens to pass over.
            self.box.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.box.wheelEvent = lambda event: event.ignore()  # type: ignore[method-assign]
            return self.box
        if kind == "many":
            holder = QWidget()
            across = QVBoxLayout(holder)
            across.setContentsMargins(0, 0, 0, 0)
            self.boxes = []
            for choice in self.question.choices:
                box = QCheckBox()
                box.toggled.connect(self._toggled)
                across.addWidget(box)
                self.boxes.append((box, choice))
            return holder
        self.line = QLineEdit()
        self.line.setClearButtonEnabled(True)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_MS)
        self._typing.timeout.connect(self._typed)
        self.line.textEdited.connect(lambda _: self._typing.start())
        self.line.editingFinished.connect(self._typed)
        if kind == "number":
            low = self.question.minimum if self.question.minimum is not None else 0.0
            self.line.setValidator(QDoubleValidator(low, self.question.maximum or 1e15, 3, self.line))
        return self.line

    def say(self) -> None:
        words, question = self.context.words, self.question
        said = words.text(question.label)
        has_unit = question.unit is not None and question.kind == "number" and "(" not in said and "（" not in said
        self.title.setText(f"{said} ({question.unit})" if has_unit else said)
        self.why_button.setText(words("project.why"))
        self.why_button.setAccessibleName(f"{words('project.why')}: {words.text(question.label)}")
        self.why.setText(words.text(question.why))
        if question.kind in ("choice", "bool"):
            place = self.box.currentIndex()
            self.box.clear()
            self.box.addItem(words("project.open"), None)
            if question.kind == "bool":
                self.box.addItem(words("project.yes"), True)
                self.box.addItem(words("project.no"), False)
            for choice in question.choices:
                self.box.addItem(words.text(choice.label), choice.value)
            self.box.setCurrentIndex(max(0, place))
            self.box.setAccessibleName(words.text(question.label))
        elif question.kind == "many":
            for box, choice in self.boxes:
                box.setText(words.text(choice.label))
        else:
            self.line.setAccessibleName(words.text(question.label))
            self.line.setPlaceholderText(words("project.model_hint") if question.kind == "model" else words("project.open"))

    def stops(self) -> list[QWidget]:
        """What the Tab key visits here, in order."""
        held = [box for box, _ in self.boxes] if self.question.kind == "many" else [self.input]
        return [self.why_button, *held]

    def show_value(self, value: Any) -> None:
        """Show an answer that came from elsewhere, without answering again."""
        self._silent = True
        try:
            if self.question.kind in ("choice", "bool"):
                self.box.setCurrentIndex(max(0, self.box.findData(value)))
            elif self.question.kind == "many":
                for box, choice in self.boxes:
                    box.setChecked(value is not None and choice.value in value)
            elif not self.line.hasFocus():
                self.line.setText("" if value is None else f"{value:g}" if isinstance(value, float) else str(value))
        finally:
            self._silent = False

    def _picked(self, place: int) -> None:
        self._answered(self.question.key, self.box.itemData(place))

    def _toggled(self, _on: bool) -> None:
        if not self._silent:
            chosen = tuple(choice.value for box, choice in self.boxes if box.isChecked())
            self._answered(self.question.key, chosen or None)

    def _typed(self) -> None:
        self._typing.stop()
        text = self.line.text().strip()
        if self.question.kind == "number":
            try:
                number = float(text) if text else None
            except ValueError:
                return  # the validator lets half-typed numbers stand; the answer stays as it was
            self._answered(self.question.key, int(number) if number is not None and number.is_integer() else number)
        else:
            self._answered(self.question.key, text or None)


class ScenarioGrid(QWidget):
    """Scenario cards: title and one sentence each."""

    def __init__(self, context: Context, chosen: Callable[[str], None]) -> None:
        super().__init__()
        self.context, self._chosen = context, chosen
        self._only: str | None = None
        self._laid, self._columns = 0, 2
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setSpacing(SPACE[1])
        self.cards: dict[str, ScenarioCard] = {}

    def show_scenarios(self, ids: list[str]) -> None:
        catalog = self.context.desk.catalog
        if catalog is None or self.cards:
            return
        for name in ids:
            made = ScenarioCard(self.context, name)
            made.clicked.connect(partial(self._chosen, name))
            self.cards[name] = made
        self._laid = 0
        self.lay(self._columns)

    def show_only(self, name: str | None) -> None:
        """The card NAME alone, or all of them."""
        self._only = name
        for own, made in self.cards.items():
            made.setVisible(name is None or own == name)
        self._laid = 0
        self.lay(self._columns)

    def lay(self, columns: int) -> None:
        self._columns = columns
        if self._laid == columns:
            return
        self._laid = columns
        shown = [m for name, m in self.cards.items() if self._only is None or name == self._only]
        for place, made in enumerate(shown):
            self.grid.addWidget(made, place // columns, place % columns)
        for column in range(3):
            self.grid.setColumnStretch(column, 1 if column < columns and (column == 0 or len(shown) > 1) else 0)

    def mark(self, scenario: str) -> None:
        for name, made in self.cards.items():
            made.setChecked(name == scenario)

    def focus(self, scenario: str) -> None:
        if scenario in self.cards:
            self.cards[scenario].setFocus()


class ScenarioCard(QPushButton):
    """A checkable card; the text is a label, so that it wraps and reads well at every width."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__()
        self.context, self.name = context, name
        self.setProperty("kind", "choice")
        self.setCheckable(True)
        self.setMinimumHeight(76)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        column.setSpacing(2)
        self.title = label(size="strong")
        self.summary = label("", "muted", size="small")
        for widget in (self.title, self.summary):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            column.addWidget(widget)
        column.addStretch(1)
        context.words.changed.connect(self.say)
        self.say()

    def say(self) -> None:
        catalog = self.context.desk.catalog
        if catalog is None:
            return
        scenario = catalog.scenarios[self.name]
        self.title.setText(self.context.words.text(scenario.title))
        self.summary.setText(self.context.words.text(scenario.summary))
        self.setAccessibleName(self.title.text())
        self.setAccessibleDescription(self.summary.text())
