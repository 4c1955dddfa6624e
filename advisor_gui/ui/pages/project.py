"""The page Project: scenario cards, the questions that matter, and the recommendation following beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFileDialog, QGridLayout, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui.pages.base import Page, card, label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.advice import AdvicePanel
from advisor_gui.ui.widgets.question import QuestionRow, ScenarioGrid
from knowledge.answers import Answers
from knowledge.documents import BadInput

ORDER = (
    "rapid-prototyping", "llm-finetuning", "llm-serving", "classic-teaching", "research", "edge-inference",
    "multimodal-long-context", "distributed-training", "unified-train-serve", "production-serving", "reinforcement-learning",
)  # fmt: skip
SIDE = 300  # width of the advice beside the questions


class ProjectPage(Page):
    name = "project"

    def build(self) -> None:
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        self.loading = label("", "muted")
        self.column.addWidget(self.loading)
        head = QHBoxLayout()
        self.scenario_title = label(size="section")
        self.another = QPushButton()
        self.another.setProperty("kind", "link")
        self.another.clicked.connect(self._choose_again)
        head.addWidget(self.scenario_title, 1)
        head.addWidget(self.another)
        self.column.addLayout(head)
        self.scenarios = ScenarioGrid(self.context, self._choose)
        self.column.addWidget(self.scenarios)
        self.questions_title = label(size="section")
        self.questions_note = label("", "muted")
        self.column.addLayout(self.titled(self.questions_title, self.questions_note))
        line = QHBoxLayout()
        self.browse = QPushButton()
        self.browse.clicked.connect(self._browse)
        self.model_note = label("", "muted")
        line.addWidget(self.browse)
        line.addWidget(self.model_note, 1)
        self.column.addLayout(line)
        self.questions = QGridLayout()
        self.questions.setHorizontalSpacing(SPACE[4])
        self.questions.setVerticalSpacing(SPACE[1])
        self.column.addLayout(self.questions)
        self.column.addStretch(1)
        # The advice stands still beside the questions: it is what they change.
        self.setViewportMargins(0, 0, SIDE + SPACE[4], 0)
        self.side = QScrollArea(self)
        self.side.setProperty("kind", "side")
        self.side.setWidgetResizable(True)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        frame, inner = card()
        self.advice = AdvicePanel(self.context)
        inner.addWidget(self.advice)
        holder = QWidget()
        fixed = QVBoxLayout(holder)
        fixed.setContentsMargins(0, 0, 0, 0)
        fixed.addWidget(frame)
        fixed.addStretch(1)
        self.side.setWidget(holder)
        self.rows: dict[str, QuestionRow] = {}
        self._choosing = self.context.desk.answers == Answers()
        self._laid: tuple[int, tuple[str, ...]] = (0, ())

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.project"))
        self.subtitle.setText(words("project.subtitle"))
        self.scenario_title.setText(words("project.scenario"))
        self.another.setText(words("project.change_scenario"))
        self.questions_title.setText(words("project.questions"))
        self.questions_note.setText(words("project.all_optional"))
        self.browse.setText(words("project.model_browse"))
        self.loading.setText(words("project.loading"))
        self.model_note.setText(words("project.model_drop"))

    def refresh(self, topic: str) -> None:
        catalog = self.context.desk.catalog
        self.loading.setVisible(catalog is None)
        for widget in (self.scenario_title, self.another, self.questions_title, self.questions_note, self.browse):
            widget.setVisible(catalog is not None)
        if catalog is None:
            return
        if topic == "document":
            self._choosing = self.context.desk.answers == Answers()
        known = [s for s in ORDER if s in catalog.scenarios]
        self.scenarios.show_scenarios(known + sorted(set(catalog.scenarios) - set(known)))
        self._scenario()
        if topic in ("shown", "answers", "catalog", "machine", "language"):
            self._questions()
        if topic in ("shown", "recommendation", "language", "catalog"):
            self.advice.show_recommendation()

    def _scenario(self) -> None:
        """All cards while choosing; afterwards the chosen one, so that the questions come up."""
        self.scenarios.mark(self.context.desk.answers.scenario)
        self.scenarios.show_only(None if self._choosing else self.context.desk.answers.scenario)
        self.another.setVisible(not self._choosing)

    def _choose_again(self) -> None:
        self._choosing = True
        self._scenario()
        self.verticalScrollBar().setValue(0)
        self.scenarios.focus(self.context.desk.answers.scenario)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        area = self.viewport().geometry()
        self.side.setGeometry(area.right() + 1, SPACE[4], SIDE, max(120, self.height() - 2 * SPACE[4]))
        self._lay()

    def _lay(self) -> None:
        """Questions and cards in as many columns as read well."""
        room = self.viewport().width()
        columns = 2 if room >= 600 else 1
        self.scenarios.lay(3 if room >= 900 else columns)
        names = tuple(self.rows)
        if self._laid == (columns, names):
            return
        self._laid = (columns, names)
        for place, row in enumerate(self.rows.values()):
            self.questions.addWidget(row, place // columns, place % columns, Qt.AlignmentFlag.AlignTop)
        for column in range(2):
            self.questions.setColumnStretch(column, 1 if column < columns else 0)

    def _questions(self) -> None:
        """Rows of the scenario's questions; kept while the scenario stays, so that typing is not disturbed."""
        desk = self.context.desk
        assert desk.catalog is not None
        scenario = desk.catalog.scenarios.get(desk.answers.scenario)
        wanted = [q for q in (scenario.questions if scenario is not None else ()) if q in desk.catalog.questions]
        wanted = [q for q in wanted if self._applies(q)]
        for name in set(self.rows) - set(wanted):
            gone = self.rows.pop(name)
            self.questions.removeWidget(gone)
            gone.hide()
            gone.setParent(None)
            gone.deleteLater()
        for name in wanted:
            if name not in self.rows:
                self.rows[name] = QuestionRow(self.context, desk.catalog.questions[name], self._answer)
        self.rows = {name: self.rows[name] for name in wanted}
        self._lay()
        self._tab_order()
        body = msgspec.to_builtins(desk.answers)
        for row in self.rows.values():
            row.show_value(at(body, row.question.key))
        self.browse.setVisible("model" in wanted)
        self.model_note.setVisible("model" in wanted)

    def _tab_order(self) -> None:
        """By rows, as they read; Qt's own order is that in which they were made."""
        before: QWidget = self.another
        rows = [stop for row in self.rows.values() for stop in row.stops()]
        for stop in (*self.scenarios.cards.values(), self.browse, *rows, self.side, self.advice.details):
            QWidget.setTabOrder(before, stop)
            before = stop

    def _applies(self, name: str) -> bool:
        from knowledge import predicates
        from knowledge.facts import MachineProfile

        desk = self.context.desk
        assert desk.catalog is not None
        question = desk.catalog.questions[name]
        situation = predicates.Situation(desk.machine or MachineProfile(), desk.answers)
        return predicates.holds(question.shown_when, situation)

    def _choose(self, scenario: str, *_: object) -> None:
        self._choosing = False
        self.context.desk.set_answers(msgspec.structs.replace(self.context.desk.answers, scenario=scenario))
        self._scenario()
        self.another.setFocus()

    def _answer(self, key: str, value: Any) -> None:
        row = next((r for r in self.rows.values() if r.question.key == key), None)
        try:
            self.context.desk.answer(key, value)
        except BadInput as error:
            if row is not None:
                row.why.setText(self.context.words.text(error.text))
                row.why_button.setChecked(True)

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "", "", self.context.words("project.model_files"))
        if path:
            self.read_model(path)

    def read_model(self, path: str) -> None:
        """Read a model file in the background and take its shape as answers."""
        from advisor_gui import session

        name = Path(path).name
        self.model_note.setText(self.context.words("project.model_reading", name=name))
        self.context.jobs.start(
            "model", lambda progress: session.model_answers(path), on_done=lambda model: self._model_read(name, model),
            on_error=self._model_failed,
        )  # fmt: skip

    def _model_read(self, name: str, model: Any) -> None:
        words = self.context.words
        from knowledge.documents import count

        size = wording.parameters(count(model.params))
        what = words("project.model_params", params=size)
        if model.layers and model.hidden:
            what = words("project.model_layers", params=size, layers=model.layers, hidden=model.hidden)
        self.model_note.setText(words("project.model_read", name=name, what=what))
        answers: Answers = self.context.desk.answers
        self.context.desk.set_answers(msgspec.structs.replace(answers, model=model))

    def _model_failed(self, error: BaseException) -> None:
        text = getattr(error, "text", None)
        self.model_note.setText(self.context.words.text(text) if text is not None else str(error))


def at(body: Any, key: str) -> Any:
    """The value at a dotted key, or None where the path is not there."""
    for word in key.split("."):
        body = body.get(word) if isinstance(body, dict) else None
    return body
