"""The page Proof: verify with the resolver, try in a clean environment, see the measures, compare with earlier runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
)

from advisor_gui import session, wording
from advisor_gui.ui.pages.base import Page, card, emptied, label, toned
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.outcome import OutcomeCard
from advisor_gui.ui.widgets.tables import Table
from knowledge.plan import CheckInfo, ResolveResult, SmokeResult
from knowledge.text import Text

LOG_LINES = 2000


class ProofPage(Page):
    name = "proof"

    def build(self) -> None:
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        self.verify_card, verify = card()
        self.verify_title = label(size="section")
        self.verify_hint = label("", "muted")
        head = QHBoxLayout()
        texts = QVBoxLayout()
        texts.addWidget(self.verify_title)
        texts.addWidget(self.verify_hint)
        head.addLayout(texts, 1)
        self.lock = QPushButton()
        self.lock.clicked.connect(self._save_lock)
        self.verify = QPushButton()
        self.verify.setProperty("kind", "primary")
        self.verify.clicked.connect(self._verify)
        head.addWidget(self.lock)
        head.addWidget(self.verify)
        verify.addLayout(head)
        self.verdict = label(size="strong")
        self.verdict_detail = label("", "muted")
        verify.addWidget(self.verdict)
        verify.addWidget(self.verdict_detail)
        self.column.addWidget(self.verify_card)

        self.try_card, attempt = card()
        self.try_title = label(size="section")
        self.try_hint = label("", "muted")
        attempt.addWidget(self.try_title)
        attempt.addWidget(self.try_hint)
        line = QHBoxLayout()
        self.checks = QComboBox()
        self.checks.activated.connect(lambda _: self._describe())
        line.addWidget(self.checks, 1)
        self.run = QPushButton()
        self.run.setProperty("kind", "primary")
        self.run.clicked.connect(self._try)
        line.addWidget(self.run)
        attempt.addLayout(line)
        self.proves = label("", "muted")
        attempt.addWidget(self.proves)
        self.column.addWidget(self.try_card)

        self.work_card, work = card()
        across = QHBoxLayout()
        self.step = label()
        self.cancel = QPushButton()
        self.cancel.clicked.connect(self._cancel)
        across.addWidget(self.step, 1)
        across.addWidget(self.cancel)
        work.addLayout(across)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        work.addWidget(self.bar)
        self.column.addWidget(self.work_card)
        self.work_card.hide()
        self.log_toggle = QPushButton()
        self.log_toggle.setProperty("kind", "link")
        self.log_toggle.setCheckable(True)
        self.column.addWidget(self.log_toggle)
        self.log = QPlainTextEdit()
        self.log.setProperty("kind", "code")
        self.log.setReadOnly(True)
        self.log.setMaximumBlockCount(LOG_LINES)
        self.log.setFixedHeight(220)
        self.log.hide()
        self.log_toggle.toggled.connect(self.log.setVisible)
        self.column.addWidget(self.log)

        self.results_title = label(size="section")
        self.column.addWidget(self.results_title)
        self.results = QVBoxLayout()
        self.results.setSpacing(SPACE[2])
        self.column.addLayout(self.results)
        self.history_title = label(size="section")
        self.history_note = label("", "muted")
        self.column.addWidget(self.history_title)
        self.column.addWidget(self.history_note)
        self.history = HistoryTable(self.context)
        self.column.addWidget(self.history)
        self.column.addStretch(1)
        self.known: tuple[CheckInfo, ...] = ()

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.proof"))
        for widget, key in (
            (self.subtitle, "subtitle"), (self.verify_title, "verify_title"), (self.verify_hint, "verify_hint"),
            (self.verify, "verify"), (self.try_title, "try_title"), (self.try_hint, "try_hint"), (self.run, "try"),
            (self.cancel, "cancel"), (self.log_toggle, "log_shown"), (self.results_title, "results"),
            (self.history_title, "history"), (self.lock, "save_lock"),
        ):  # fmt: skip
            widget.setText(words(f"proof.{key}"))
        self.history_note.setText(words("proof.history_none"))
        self.checks.setAccessibleName(words("proof.check"))
        self.log.setAccessibleName(words("proof.log"))

    def refresh(self, topic: str) -> None:
        desk = self.context.desk
        busy = self._busy()
        here = desk.here
        one = desk.assessment
        has_packages = one is not None and one.install is not None and bool(one.install.packages)
        self.verify.setEnabled(here and has_packages and not busy)
        self.run.setEnabled(here and not busy)
        if desk.machine is not None and not here:
            self.subtitle.setText(self.context.words("proof.not_here"))
        else:
            self.subtitle.setText(self.context.words("proof.subtitle"))
        if topic in ("shown", "resolve", "recommendation", "language"):
            self._show_resolve(desk.resolve)
        if topic in ("shown", "machine", "answers", "language") and desk.machine is not None:
            self._load_checks()
        if topic in ("shown", "smoke", "language"):
            self._show_results(desk.smoke)
            self._load_history()

    def _busy(self) -> bool:
        return self.context.jobs.running("resolve") or self.context.jobs.running("smoke")

    def _verify(self) -> None:
        desk = self.context.desk
        one, machine = desk.assessment, desk.machine
        if one is None or machine is None:
            return
        self._begin(self.context.words("proof.resolving"))
        self.context.jobs.start(
            "resolve", lambda progress: session.resolve(one, machine, progress=progress), on_done=desk.set_resolve,
            on_error=self._failed, on_step=self._stepped, on_log=self._logged, on_end=self._end,
        )  # fmt: skip
        self.refresh("busy")

    def start_verify(self) -> None:
        """As the button, from the menu."""
        if self.verify.isEnabled():
            self._verify()

    def start_try(self, check: str | None = None) -> None:
        """Run CHECK, or the one that is chosen, as the button does."""
        if self.run.isEnabled():
            self._run_check(check or self.checks.currentData())

    def _try(self) -> None:
        self._run_check(self.checks.currentData())

    def _run_check(self, check: str | None) -> None:
        desk = self.context.desk
        machine, one = desk.machine, desk.assessment
        if check is None or machine is None:
            return
        info = next((c for c in self.known if c.id == check), None)
        fits = one if info is not None and one is not None and one.framework in info.frameworks else None
        self._begin("")
        self.context.jobs.start(
            "smoke", lambda progress: session.smoke(check, machine, desk.places, progress=progress, assessment=fits),
            on_done=desk.add_smoke, on_error=self._failed, on_step=self._stepped, on_log=self._logged, on_end=self._end,
        )  # fmt: skip
        self.refresh("busy")

    def _begin(self, said: str) -> None:
        self.log.clear()
        self.step.setText(said)
        self.bar.setRange(0, 0)
        self.work_card.show()

    def _stepped(self, text: Text, share: float | None) -> None:
        self.step.setText(self.context.words.text(text))
        self.bar.setRange(0, 0 if share is None else 100)
        if share is not None:
            self.bar.setValue(round(share * 100))

    def _logged(self, line: str) -> None:
        self.log.appendPlainText(line)

    def _end(self) -> None:
        if not self._busy():
            self.work_card.hide()
        self.refresh("busy")

    def _failed(self, error: BaseException) -> None:
        text = getattr(error, "text", None)
        self.context.complain(self.context.words.text(text) if text is not None else str(error))

    def cancel_all(self) -> None:
        if self._busy():
            self._cancel()

    def _cancel(self) -> None:
        for name in ("resolve", "smoke"):
            self.context.jobs.cancel(name)
        self.work_card.hide()
        self.refresh("busy")

    def _show_resolve(self, result: ResolveResult | None) -> None:
        words = self.context.words
        for widget in (self.verdict, self.verdict_detail):
            widget.setVisible(result is not None)
        self.lock.setVisible(result is not None and bool(result.lock))
        if result is None:
            return
        kind = {"verified": "warn" if result.fallback else "good", "refused": "bad"}.get(result.outcome, "warn")
        toned(self.verdict, kind)
        said = words.text(wording.RESOLVE_OUTCOME[result.outcome])
        if result.fallback and result.outcome == "verified":  # what was planned is not what was verified
            said = words("proof.fallback_verified")
        self.verdict.setText(f"{said}: {words.text(result.because)}")
        detail = []
        if result.packages:
            detail.append(words("proof.packages", count=len(result.packages), size=wording.size(result.download_bytes)))
        if result.fallback and result.plan is not None:
            detail.append(words("proof.fallback", pins=", ".join(p.requirement for p in result.plan.packages)))
        detail += [words.text(f.because) for f in result.findings]
        self.verdict_detail.setText("\n".join(detail))

    def _save_lock(self) -> None:
        result = self.context.desk.resolve
        path, _ = QFileDialog.getSaveFileName(self, "", "requirements.lock.txt")
        if path and result is not None and result.lock:
            try:
                session.write_whole(Path(path), result.lock.encode())
            except session.CouldNot as error:
                self.context.complain(self.context.words.text(error.text))

    def _load_checks(self) -> None:
        machine = self.context.desk.machine
        assert machine is not None
        self.context.jobs.start("checks", lambda _: session.checks(machine), on_done=self._got_checks, on_error=self._failed)

    def _got_checks(self, known: tuple[CheckInfo, ...]) -> None:
        desk, words = self.context.desk, self.context.words
        self.known = known
        scenario = desk.catalog.scenarios.get(desk.answers.scenario) if desk.catalog is not None else None
        wanted = list(scenario.checks) if scenario is not None else []
        chosen = desk.assessment.framework if desk.assessment is not None else None

        def order(check: CheckInfo) -> tuple[bool, bool, int, str]:
            place = wanted.index(check.id) if check.id in wanted else len(wanted)
            return (not check.runs_here, check.id not in wanted and chosen not in check.frameworks, place, check.id)

        before = self.checks.currentData()
        self.checks.clear()
        for check in sorted(known, key=order):
            self.checks.addItem(f"{words.text(check.title)}  ·  {check.id}", check.id)
        place = self.checks.findData(before)
        self.checks.setCurrentIndex(max(0, place))
        self._describe()

    def _describe(self) -> None:
        words = self.context.words
        check = next((c for c in self.known if c.id == self.checks.currentData()), None)
        if check is None:
            self.proves.setText("")
            return
        said = [] if check.runs_here else [words("proof.cannot", why=check.because)]
        if check.proves is not None:
            said.append(words("proof.proves", what=check.proves))
        self.proves.setText("\n".join(said))

    def _show_results(self, results: tuple[SmokeResult, ...]) -> None:
        self.results_title.setVisible(bool(results))
        emptied(self.results)
        for result in reversed(results):
            self.results.addWidget(OutcomeCard(self.context, result))

    def _load_history(self) -> None:
        places = self.context.desk.places
        self.context.jobs.start("history", lambda _: session.runs(places), on_done=self._got_history, on_error=self._failed)

    def _got_history(self, runs: Any) -> None:
        self.history_note.setVisible(not runs)
        self.history.setVisible(bool(runs))
        self.history.show_runs(runs)

    def hideEvent(self, event: object) -> None:
        for name in ("checks", "history"):
            self.context.jobs.cancel(name)
        super().hideEvent(event)  # type: ignore[arg-type]


class HistoryTable(Table):
    named = "proof.history"
    headings = ("proof.column_when", "proof.column_check", "proof.column_outcome", "proof.column_main", "proof.column_time")

    def show_runs(self, runs: tuple[SmokeResult, ...]) -> None:
        words = self.context.words
        rows = []
        for run in runs:
            main = run.measures[0] if run.measures else None
            said = f"{words.text(main.label)}: {words.text(wording.number(main.value, main.unit))}" if main is not None else ""
            when = (run.started or "").replace("T", " ")[:16]
            outcome = words.text(wording.SMOKE_OUTCOME[run.outcome])
            rows.append([when, run.check, outcome, said, words.text(wording.duration(run.run_s)) if run.run_s else ""])
        self.show_rows(rows)
