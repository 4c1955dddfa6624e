"""The page Fleet: many machines in one table, the verdict of a stack on each, and the stack that runs on all."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLineEdit, QPushButton

from advisor_gui import fleet as fleets
from advisor_gui import session, wording
from advisor_gui.ui.pages.base import Page, label, toned
from advisor_gui.ui.widgets.advice import framework_name
from advisor_gui.ui.widgets.tables import Table


class FleetPage(Page):
    name = "fleet"

    def build(self) -> None:
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        line = QHBoxLayout()
        self.open = QPushButton()
        self.open.setProperty("kind", "primary")
        self.open.clicked.connect(self._ask)
        self.framework = QComboBox()
        self.framework.activated.connect(lambda _: self._show())
        self.filter = QLineEdit()
        self.filter.setClearButtonEnabled(True)
        self.save = QPushButton()
        self.save.clicked.connect(self._save)
        line.addWidget(self.open)
        line.addWidget(self.framework)
        line.addWidget(self.filter, 1)
        line.addWidget(self.save)
        line.addStretch(1)
        self.column.addLayout(line)
        self.verdict = label(size="strong")
        self.column.addWidget(self.verdict)
        self.table = FleetTable(self.context)
        self.filter.textChanged.connect(self.table.filter)
        self.column.addWidget(self.table)
        self.column.addStretch(1)
        self.fleet: fleets.Fleet | None = None
        self.paths: tuple[str, ...] = ()

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.fleet"))
        self.subtitle.setText(words("fleet.subtitle"))
        self.open.setText(words("fleet.open_folder"))
        self.save.setText(words("fleet.save_csv"))
        self.filter.setPlaceholderText(words("fleet.filter"))
        self.filter.setAccessibleName(words("fleet.filter"))
        self.framework.setAccessibleName(words("fleet.framework"))

    def refresh(self, topic: str) -> None:
        if topic == "answers" and self.paths:
            self.read(self.paths)
        elif topic in ("shown", "language"):
            self._show()

    def _ask(self) -> None:
        folder = QFileDialog.getExistingDirectory(self, self.context.words("fleet.open_folder"))
        if folder:
            self.read((folder,))

    def read(self, paths: tuple[str, ...]) -> None:
        """Read every machine in PATHS beside the window."""
        catalog, answers = self.context.desk.catalog, self.context.desk.answers
        if catalog is None:
            return
        self.paths = paths
        self.verdict.setText(self.context.words("fleet.working"))
        self.context.jobs.start(
            "fleet", lambda progress: fleets.examine(catalog, fleets.files(paths), answers, progress), on_done=self._got,
            on_step=lambda text, _: self.verdict.setText(self.context.words.text(text)), on_error=self._failed,
        )  # fmt: skip

    def _got(self, found: fleets.Fleet) -> None:
        self.fleet = found
        names = list(dict.fromkeys([*found.everywhere, *found.after_changes, *(f for r in found.rows for f in r.fits)]))
        self.framework.clear()
        for name in names:
            self.framework.addItem(framework_name(self.context, name), name)
        self._show()

    def _show(self) -> None:
        words, found = self.context.words, self.fleet
        for widget in (self.framework, self.filter, self.save, self.table):
            widget.setVisible(found is not None)
        if found is None:
            self.verdict.setText(words("fleet.empty"))
            toned(self.verdict, "muted")
            return
        toned(self.verdict, None)
        best = found.everywhere or found.after_changes
        key = "everywhere" if found.everywhere else "after_changes" if best else "nowhere"
        self.verdict.setText(words(f"fleet.{key}", names=", ".join(framework_name(self.context, f) for f in best[:4])))
        self.table.show_fleet(found, self.framework.currentData())

    def _save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "", "fleet.csv", "CSV (*.csv)")
        if path and self.fleet is not None:
            try:
                session.write_whole(Path(path), fleets.table(self.fleet).encode("utf-8-sig"))
            except session.CouldNot as error:
                self.context.complain(self.context.words.text(error.text))

    def _failed(self, error: BaseException) -> None:
        self.verdict.setText(self.context.words("fleet.empty"))
        text = getattr(error, "text", None)
        self.context.complain(self.context.words.text(text) if text is not None else str(error))


class FleetTable(Table):
    named = "main.fleet"
    headings = ("fleet.machine", "fleet.system", "fleet.accelerators", "fleet.memory", "fleet.driver", "main.recommendation", "fleet.takes")

    def show_fleet(self, found: fleets.Fleet, framework: str | None) -> None:
        words = self.context.words
        rows = []
        for one in found.rows:
            fit = one.fits.get(framework or "")
            need = one.needs.get(framework or "")
            rows.append([
                one.name, one.system, one.accelerators, one.memory, one.driver or "",
                words.text(wording.FIT[fit]) if fit is not None else "", one.fault or (words.text(need) if need is not None else ""),
            ])  # fmt: skip
        self.show_rows(rows)
