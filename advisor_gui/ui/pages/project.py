"""The page Project: scenario cards, the questions that matter, and the recommendation following beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui.pages.base import Page, label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.advice import AdvicePanel
from advisor_gui.ui.widgets.question import QuestionRow, ScenarioGrid
from knowledge.answers import Answers
from knowledge.documents import BadInput

ORDER = (
    "rapid-prototyping", "llm-finetuning", "llm-serving", "classic-teaching", "research", "edge-inference",
    "multimodal-long-context", "distributed-training", "unified-train-serve", "production-serving", "reinforcement-learning",
)  # fmt: skip


class ProjectPage(Page):
    name = "project"

    def build(self) -> None:
        self.setAcceptDrops(True)
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        across = QHBoxLayout()
        across.setSpacing(SPACE[4])
        self.column.addLayout(across, 1)
        left = QVBoxLayout()
        left.setSpacing(SPACE[2])
        across.addLayout(left, 3)
        self.loading = label("", "muted")
        left.addWidget(self.loading)
        self.scenario_title = label(size="section")
        left.addWidget(self.scenario_title)
        self.scenarios = ScenarioGrid(self.context, self._choose)
        left.addWidget(self.scenarios)
        self.questions_title = label(size="section")
        self.questions_note = label("", "muted")
        left.addSpacing(SPACE[2])
        left.addWidget(self.questions_title)
        left.addWidget(self.questions_note)
        self.questions = QVBoxLayout()
        self.questions.setSpacing(SPACE[1])
        left.addLayout(self.questions)
        self.model_note = label("", "muted")
        self.model_note.hide()
        left.addWidget(self.model_note)
        self.browse = QPushButton()
        self.browse.clicked.connect(self._browse)
        line = QHBoxLayout()
        line.addWidget(self.browse)
        line.addStretch(1)
        left.addLayout(line)
        left.addStretch(1)
        side = QFrame()
        side.setProperty("kind", "card")
        side.setFixedWidth(300)
        inner = QVBoxLayout(side)
        inner.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
        self.advice = AdvicePanel(self.context)
        inner.addWidget(self.advice)
        holder = QWidget()
        fixed = QVBoxLayout(holder)
        fixed.setContentsMargins(0, 0, 0, 0)
        fixed.addWidget(side)
        fixed.addStretch(1)
        across.addWidget(holder)
        self.rows: dict[str, QuestionRow] = {}

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.project"))
        self.subtitle.setText(words("project.subtitle"))
        self.scenario_title.setText(words("project.scenario"))
        self.questions_title.setText(words("project.questions"))
        self.questions_note.setText(words("project.all_optional"))
        self.browse.setText(words("project.model_browse"))
        self.loading.setText(words("project.loading"))

    def refresh(self, topic: str) -> None:
        catalog = self.context.desk.catalog
        self.loading.setVisible(catalog is None)
        for widget in (self.scenario_title, self.questions_title, self.questions_note, self.browse):
            widget.setVisible(catalog is not None)
        if catalog is None:
            return
        known = [s for s in ORDER if s in catalog.scenarios]
        self.scenarios.show_scenarios(known + sorted(set(catalog.scenarios) - set(known)))
        self.scenarios.mark(self.context.desk.answers.scenario)
        if topic in ("shown", "answers", "catalog", "machine", "language"):
            self._questions()
        if topic in ("shown", "recommendation", "language"):
            self.advice.show_recommendation()

    def _questions(self) -> None:
        """Rows of the scenario's questions; kept while the scenario stays, so that typing is not disturbed."""
        desk = self.context.desk
        assert desk.catalog is not None
        scenario = desk.catalog.scenarios.get(desk.answers.scenario)
        wanted = [q for q in (scenario.questions if scenario is not None else ()) if q in desk.catalog.questions]
        wanted = [q for q in wanted if self._applies(q)]
        for name in tuple(self.rows):
            if name not in wanted:
                gone = self.rows.pop(name)
                gone.setParent(None)
                gone.deleteLater()
        for place, name in enumerate(wanted):
            if name not in self.rows:
                self.rows[name] = QuestionRow(self.context, desk.catalog.questions[name], self._answer)
            if self.questions.indexOf(self.rows[name]) != place:
                self.questions.insertWidget(place, self.rows[name])
        body = msgspec.to_builtins(desk.answers)
        for row in self.rows.values():
            row.show_value(at(body, row.question.key))
        self.browse.setVisible("model" in wanted)

    def _applies(self, name: str) -> bool:
        from knowledge import predicates
        from knowledge.facts import MachineProfile

        desk = self.context.desk
        assert desk.catalog is not None
        question = desk.catalog.questions[name]
        situation = predicates.Situation(desk.machine or MachineProfile(), desk.answers)
        return predicates.holds(question.shown_when, situation)

    def _choose(self, scenario: str, *_: object) -> None:
        self.context.desk.set_answers(msgspec.structs.replace(self.context.desk.answers, scenario=scenario))
        self.scenarios.mark(scenario)

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

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if event.mimeData().hasUrls() and event.mimeData().urls()[0].isLocalFile():
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.read_model(event.mimeData().urls()[0].toLocalFile())

    def read_model(self, path: str) -> None:
        """Read a model file in the background and take its shape as answers."""
        from advisor_gui import session

        name = Path(path).name
        self.model_note.setText(self.context.words("project.model_reading", name=name))
        self.model_note.show()
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
