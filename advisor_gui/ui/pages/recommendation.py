"""The page Recommendation: the stack, why, memory, commands, alternatives, what was ruled out, and what would change it."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout

from advisor_gui import session, wording
from advisor_gui.ui.pages.base import Page, card, emptied, label, pill, toned
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.advice import FIT_PILL, framework_name
from advisor_gui.ui.widgets.finding import RemedyList
from advisor_gui.ui.widgets.install import InstallBox
from advisor_gui.ui.widgets.layers import DEVICE, Layers
from advisor_gui.ui.widgets.memory import MemoryBar
from advisor_gui.ui.widgets.tables import Table
from knowledge.verdicts import Assessment, Change, Recommendation

OLD_DAYS = 90
INDEX = {"pypi": "PyPI"}


class RecommendationPage(Page):
    name = "recommendation"

    def build(self) -> None:
        head = QHBoxLayout()
        self.title = label(size="title")
        self.fit = pill()
        head.setSpacing(SPACE[2])
        head.addWidget(self.title)
        head.addWidget(self.fit)
        head.addStretch(1)
        self.go_proof = QPushButton()
        self.go_proof.setProperty("kind", "primary")
        self.go_proof.clicked.connect(lambda: self.context.go("proof"))
        head.addWidget(self.go_proof)
        top = QVBoxLayout()
        top.setSpacing(SPACE[0])
        top.addLayout(head)
        line = QHBoxLayout()
        self.note = label("", "muted", wrap=False)
        self.back = QPushButton()
        self.back.setProperty("kind", "link")
        self.back.clicked.connect(lambda: self.context.desk.pick(None))
        line.addWidget(self.note)
        line.addWidget(self.back)
        line.addStretch(1)
        top.addLayout(line)
        self.column.addLayout(top)

        across = QHBoxLayout()
        across.setSpacing(SPACE[2])
        self.stack_card, left = card()
        self.stack_title = label(size="section")
        self.layers = Layers(self.context)
        left.addWidget(self.stack_title)
        left.addWidget(self.layers)
        left.addStretch(1)
        self.why_card, right = card()
        self.why_title = label(size="section")
        self.why = label()
        self.changes_title = label(size="strong")
        self.changes = QVBoxLayout()
        self.assumed = label("", "muted", size="small")
        self.evidence_toggle = QPushButton()
        self.evidence_toggle.setProperty("kind", "link")
        self.evidence_toggle.setCheckable(True)
        self.memory = MemoryBar(self.context)
        right.addWidget(self.why_title)
        right.addWidget(self.why)
        right.addWidget(self.changes_title)
        right.addLayout(self.changes)
        right.addWidget(self.assumed)
        right.addWidget(self.memory)
        right.addWidget(self.evidence_toggle)
        right.addStretch(1)
        across.addWidget(self.stack_card, 2)
        across.addWidget(self.why_card, 3)
        self.column.addLayout(across)
        self.evidence = VerdictTable(self.context)
        self.evidence.hide()
        self.evidence_toggle.toggled.connect(self.evidence.setVisible)
        self.column.addWidget(self.evidence)

        self.commands_title = label(size="section")
        self.column.addWidget(self.commands_title)
        self.install = InstallBox(self.context)
        self.column.addWidget(self.install)
        self.others_title = label(size="section")
        self.others_note = label("", "muted")
        self.column.addLayout(self.titled(self.others_title, self.others_note))
        self.others = OtherTable(self.context)
        self.others.activated.connect(self._look)
        self.others.clicked.connect(self._look)
        self.column.addWidget(self.others)
        self.change_title = label(size="section")
        self.column.addWidget(self.change_title)
        self.change_note = label("", "muted")
        self.column.addWidget(self.change_note)
        self.change_list = QGridLayout()
        self.change_list.setSpacing(SPACE[2])
        self.column.addLayout(self.change_list)
        self.ruled_title = label(size="section")
        self.column.addWidget(self.ruled_title)
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.column.addWidget(self.filter)
        self.ruled = RuledTable(self.context)
        self.filter.textChanged.connect(self.ruled.filter)
        self.column.addWidget(self.ruled)
        self.age = label("", "muted", size="small")
        self.column.addWidget(self.age)
        self.column.addStretch(1)
        self._asked: Any = None

    def say(self) -> None:
        words = self.context.words
        for widget, key in (
            (self.stack_title, "stack"), (self.why_title, "why"), (self.changes_title, "changes_needed"),
            (self.evidence_toggle, "show_evidence"), (self.commands_title, "commands"), (self.others_title, "alternatives"),
            (self.change_title, "change"), (self.ruled_title, "ruled_out"), (self.go_proof, "verify_and_try"),
            (self.back, "back_to_chosen"), (self.others_note, "compared"),
        ):  # fmt: skip
            widget.setText(words(f"recommendation.{key}"))
        self.filter.setPlaceholderText(words("recommendation.ruled_out_filter"))
        self.filter.setAccessibleName(words("recommendation.ruled_out_filter"))

    def refresh(self, topic: str) -> None:
        if topic == "language":
            self._asked = None  # the cards are said again
        if topic in ("shown", "recommendation", "language", "resolve", "smoke", "catalog"):
            self._show(self.context.desk.shown)

    def _show(self, found: Recommendation | None) -> None:
        words, desk = self.context.words, self.context.desk
        one = desk.assessment
        self.back.setVisible(desk.picked is not None)
        for widget in (self.stack_card, self.why_card, self.commands_title, self.fit):
            widget.setVisible(one is not None)
        self.go_proof.setVisible(one is not None and desk.here)
        if found is None:
            self.title.setText(words("main.recommendation"))
            self.note.setText(words("recommendation.waiting"))
        elif one is None:
            self.title.setText(words("recommendation.none_title"))
            self.note.setText(words("recommendation.none_hint"))
        else:
            self.title.setText(framework_name(self.context, one.framework))
            scenario = desk.catalog.scenarios.get(found.scenario) if desk.catalog is not None else None
            said = words.text(scenario.title) if scenario is not None else found.scenario
            self.note.setText(words("recommendation.looking_at") if desk.picked is not None else said)
        self._assessment(one)
        self._lists(found)

    def _assessment(self, one: Assessment | None) -> None:
        words = self.context.words
        self.layers.show_assessment(one)
        self.memory.show_memory(one.memory if one is not None else None)
        self.install.show_plan(one.install if one is not None else None)
        self.commands_title.setVisible(self.install.isVisibleTo(self))
        emptied(self.changes)
        if one is None:
            self.evidence.show_rows([])
            return
        self.fit.setText(words.text(wording.FIT[one.fit]))
        toned(self.fit, FIT_PILL[one.fit])
        self.why.setText("\n".join(words.text(t) for t in one.why[:3]))
        open_verdicts = [v for v in one.verdicts if v.outcome in ("unmet", "unknown")]
        self.changes_title.setVisible(bool(open_verdicts))
        for verdict in open_verdicts:
            self.changes.addWidget(label(words.text(verdict.because), "warn"))
            if verdict.remedies:
                self.changes.addWidget(RemedyList(self.context, verdict.remedies[:3]))
        said = [words("recommendation.assumed", what=words.text(a.because)) for a in one.assumptions]
        self.assumed.setText("\n".join(said))
        self.assumed.setVisible(bool(said))
        self.evidence.show_assessment(one)
        resolve, desk = self.context.desk.resolve, self.context.desk
        state = "not_verified"
        if resolve is not None and resolve.outcome == "verified" and not resolve.fallback:
            state = "verified"
        pins = {p.requirement for p in one.install.packages} if one.install is not None else set()
        if pins and any(s.outcome == "passed" and pins <= set(s.pins) for s in desk.smoke):
            state = "proven"
        self.install.state.setText(words(f"recommendation.{state}"))

    def _lists(self, found: Recommendation | None) -> None:
        words = self.context.words
        self.others.show_others(found)
        for below in (self.others_title, self.others_note, self.others):
            below.setVisible(bool(found and found.others))
        self.ruled.show_ruled(found, self.context.desk.assessment)
        has_ruled = self.ruled.source.rowCount() > 0
        for widget in (self.ruled_title, self.filter, self.ruled):
            widget.setVisible(has_ruled)
        if found is not None and found.knowledge_checked:
            age = found.knowledge_age_days
            old = age is not None and age > OLD_DAYS
            self.age.setText(
                words("recommendation.knowledge_old" if old else "recommendation.knowledge", date=found.knowledge_checked, days=age)
            )
        self._what_if(found)

    def _what_if(self, found: Recommendation | None) -> None:
        """Trying out changes costs many decisions, so it runs beside the window and only for a new answer."""
        desk = self.context.desk
        supposing = desk.supposition is not None  # one change at a time: the cards are those of the facts
        self.change_title.setVisible(not supposing and found is not None)
        if supposing:
            self.change_note.hide()
            emptied(self.change_list)
            self._asked = None
        if supposing or found is None or desk.catalog is None or desk.machine is None or self._asked is found:
            return
        self._asked = found
        catalog, machine, answers = desk.catalog, desk.machine, desk.answers
        self._show_changes(())
        self.change_note.setText(self.context.words("recommendation.change_looking"))
        self.change_note.show()
        self.context.jobs.start(
            "what-if", lambda progress: session.recommend(catalog, machine, answers, what_if=True),
            on_done=lambda got: self._changes(got) if self._asked is found else None, on_error=self._no_changes,
        )  # fmt: skip

    def _changes(self, got: Recommendation) -> None:
        self._show_changes(got.what_would_change)
        self.change_note.setText(self.context.words("recommendation.change_none"))
        self.change_note.setVisible(not got.what_would_change)

    def _no_changes(self, error: BaseException) -> None:
        self.change_note.setText(str(error))

    def _show_changes(self, changes: tuple[Change, ...]) -> None:
        emptied(self.change_list)
        words = self.context.words
        for place, change in enumerate(changes):
            frame, column = card()
            column.addWidget(label(words.text(change.text)))
            line = QHBoxLayout()
            try_on = QPushButton(words("recommendation.try_on"))
            try_on.setAccessibleName(f"{words('recommendation.try_on')}: {words.text(change.text)}")
            try_on.clicked.connect(partial(self._suppose, change))
            if change.fit is not None:
                line.addWidget(pill(words.text(wording.FIT[change.fit]), FIT_PILL[change.fit]))
            line.addStretch(1)
            line.addWidget(try_on)
            column.addStretch(1)
            column.addLayout(line)
            self.change_list.addWidget(frame, place // 2, place % 2)
        for column_number in range(2):
            self.change_list.setColumnStretch(column_number, 1)

    def _suppose(self, change: Change, *_: object) -> None:
        self.context.desk.suppose(change)
        self.verticalScrollBar().setValue(0)

    def _look(self, index: QModelIndex) -> None:
        found = self.context.desk.shown
        row = self.others.proxy.mapToSource(index).row() - 1  # the first row is the recommendation itself
        if found is not None and row < len(found.others):
            self.context.desk.pick(found.others[row].framework if row >= 0 else None)
            self.verticalScrollBar().setValue(0)


class VerdictTable(Table):
    named = "main.evidence"
    headings = (
        "recommendation.column_requirement", "recommendation.column_outcome", "recommendation.column_reason", "main.evidence",
        "main.source",
    )  # fmt: skip

    def show_assessment(self, value: Assessment) -> None:
        words = self.context.words
        self.show_rows([
            [v.code, words.text(wording.OUTCOME[v.outcome]), words.text(v.because),
             "; ".join(f"{e.fact} ({e.source})" for e in v.evidence), f"{v.source.url} ({v.source.date})" if v.source else ""]
            for v in value.verdicts
        ])  # fmt: skip


class OtherTable(Table):
    """The recommendation and its alternatives below each other; what differs from the recommendation is bold."""

    named = "recommendation.alternatives"
    headings = (
        "recommendation.column_framework", "recommendation.column_fit", "recommendation.column_device",
        "recommendation.column_memory", "recommendation.column_python", "recommendation.column_index", "recommendation.column_why",
    )  # fmt: skip
    compared = range(1, 6)

    def show_others(self, found: Recommendation | None) -> None:
        self.setSortingEnabled(False)  # the order is the advice
        every = [a for a in (found.chosen, *found.others) if a is not None] if found is not None else []
        rows = [self._row(one) for one in every]
        differs = frozenset(
            (number, column) for number, row in enumerate(rows) for column in self.compared if number and row[column] != rows[0][column]
        )
        self.show_rows(rows, differs)

    def _row(self, one: Assessment) -> list[str]:
        words = self.context.words
        own = next((c for c in one.stack.components if c.framework == one.framework), None)
        devices = [c.device for c in one.stack.components if c.device and c.device != "any"]
        memory = words.text(wording.size(one.memory.total_bytes)) if one.memory is not None and one.memory.total_bytes else "–"
        indexes = dict.fromkeys(p.index_id for p in one.install.packages if p.index_id) if one.install is not None else ()
        name = " ".join(w for w in (framework_name(self.context, one.framework), own.version if own is not None else None) if w)
        return [
            name, words.text(wording.FIT[one.fit]), DEVICE.get(devices[0], devices[0]) if devices else "–", memory,
            one.stack.python or "–", ", ".join(INDEX.get(i, i) for i in indexes) or "–", words.text(one.why[0]) if one.why else "",
        ]  # fmt: skip


class RuledTable(Table):
    named = "recommendation.ruled_out"
    headings = ("recommendation.column_subject", "recommendation.column_reason", "main.evidence")
    grows = 1

    def show_ruled(self, found: Recommendation | None, one: Assessment | None) -> None:
        words = self.context.words
        rows = []
        for other in found.unsuitable if found is not None else ():
            for verdict in [v for v in other.verdicts if v.outcome in ("unmet", "unknown")][:2]:
                rows.append([framework_name(self.context, other.framework), words.text(verdict.because), self._proof(verdict)])
        for build in one.ruled_out if one is not None else ():
            for verdict in [v for v in build.verdicts if v.outcome in ("unmet", "unknown")][:1]:
                name = " · ".join(w for w in (build.build, build.index_id) if w)
                rows.append([name, words.text(verdict.because), self._proof(verdict)])
        self.show_rows(rows)

    @staticmethod
    def _proof(verdict: Any) -> str:
        return "; ".join(f"{e.fact} ({e.source})" for e in verdict.evidence)
