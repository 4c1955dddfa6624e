"""The page Machine: cards with live meters, findings in order of pain, environments, and every fact with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from advisor_gui.ui import live
from advisor_gui.ui.pages.base import Page, card, emptied, label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.device import DeviceCard, ProcessorCard, RamCard, SystemCard
from advisor_gui.ui.widgets.finding import FindingCard
from advisor_gui.ui.widgets.tables import EnvironmentTable, FactTable
from knowledge.facts import MachineProfile

if TYPE_CHECKING:
    from probes.live import LiveSample

SHOWN_FINDINGS = 4


class MachinePage(Page):
    name = "machine"

    def build(self) -> None:
        head = QHBoxLayout()
        titles = QVBoxLayout()
        self.title = label("", size="title")
        self.subtitle = label("", "muted")
        titles.addWidget(self.title)
        titles.addWidget(self.subtitle)
        head.addLayout(titles, 1)
        self.rescan, self.other = QPushButton(), QPushButton()
        self.rescan.clicked.connect(lambda: self.context.actions["rescan"]())
        self.other.clicked.connect(lambda: self.context.actions["open_machine"]())
        for button in (self.rescan, self.other):
            head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addLayout(head)
        titles.setSpacing(SPACE[0])

        self.hint, hint_column = card()
        across = QHBoxLayout()
        self.hint_text = label()
        self.hint_go, self.hint_away = QPushButton(), QPushButton()
        self.hint_go.setProperty("kind", "primary")
        self.hint_go.clicked.connect(lambda: self.context.go("project"))
        self.hint_away.setProperty("kind", "link")
        self.hint_away.clicked.connect(self._dismiss)
        across.addWidget(self.hint_text, 1)
        across.addWidget(self.hint_away)
        across.addWidget(self.hint_go)
        hint_column.addLayout(across)
        self.column.addWidget(self.hint)
        self.hint.hide()

        self.grid_holder = QWidget()
        self.grid = QGridLayout(self.grid_holder)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setSpacing(SPACE[2])
        self.column.addWidget(self.grid_holder)
        self.processor = ProcessorCard(self.context)
        self.ram = RamCard(self.context)
        self.system = SystemCard(self.context)
        self.devices: list[DeviceCard] = []

        self.findings_title = label(size="section")
        self.column.addWidget(self.findings_title)
        self.findings = QVBoxLayout()
        self.findings.setSpacing(SPACE[1])
        self.column.addLayout(self.findings)
        self.more = QPushButton()
        self.more.setProperty("kind", "link")
        self.more.clicked.connect(self._show_all)
        self.column.addWidget(self.more, 0, Qt.AlignmentFlag.AlignLeft)

        self.environments_title = label(size="section")
        self.column.addWidget(self.environments_title)
        self.environments_state = label("", "muted")
        self.column.addWidget(self.environments_state)
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.column.addWidget(self.search)
        self.environments = EnvironmentTable(self.context)
        self.search.textChanged.connect(self.environments.filter)
        self.column.addWidget(self.environments)

        self.facts_toggle = QPushButton()
        self.facts_toggle.setProperty("kind", "link")
        self.facts_toggle.setCheckable(True)
        self.column.addWidget(self.facts_toggle, 0, Qt.AlignmentFlag.AlignLeft)
        self.facts = FactTable(self.context)
        self.facts.hide()
        self.facts_toggle.toggled.connect(self._facts_toggled)
        self.column.addWidget(self.facts)
        self.column.addStretch(1)
        self._all = False
        self._laid: tuple[int, int] | None = None

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.machine"))
        self.rescan.setText(words("machine.rescan"))
        self.other.setText(words("machine.open_other"))
        self.hint_text.setText(words("machine.hint"))
        self.hint_go.setText(words("machine.continue"))
        self.hint_away.setText(words("machine.dismiss"))
        self.findings_title.setText(words("machine.findings"))
        self.environments_title.setText(words("machine.environments"))
        self.search.setPlaceholderText(words("machine.environments_search"))
        self.search.setAccessibleName(words("machine.environments_search"))
        self.facts_toggle.setText(words("machine.facts"))

    def refresh(self, topic: str) -> None:
        if topic in ("shown", "machine", "language"):
            self._machine()
        if topic in ("shown", "findings", "machine", "language"):
            self._findings()
        if topic == "shown":
            self._live()

    def _machine(self) -> None:
        words, machine = self.context.words, self.context.desk.machine
        other = self.context.desk.machine_path is not None
        if machine is None:
            self.subtitle.setText(words("main.scanning"))
        else:
            self.subtitle.setText(words("machine.subtitle_other" if other else "machine.subtitle"))
        if other:
            for shown in (self.processor, self.ram, self.system, *self.devices):
                shown.clear_live()
        self.hint.setVisible(machine is not None and not other and not self.context.settings.now.hint_dismissed)
        machine = machine or MachineProfile()
        self.processor.show_machine(machine)
        self.ram.show_machine(machine)
        self.system.show_machine(machine)
        wanted = list(machine.accelerators) if machine.accelerators else [None]
        if self.context.desk.machine is None:
            wanted = []
        while len(self.devices) > len(wanted):
            gone = self.devices.pop()
            gone.setParent(None)
            gone.deleteLater()
        while len(self.devices) < len(wanted):
            self.devices.append(DeviceCard(self.context))
        for shown, device in zip(self.devices, wanted, strict=True):
            shown.show_device(device, known=machine.accelerators is not None)
        self._lay()
        pythons = machine.pythons
        reading = self.context.jobs.running("scan")
        state = None
        if not pythons:
            state = "reading" if reading or self.context.desk.machine is None else "skipped" if pythons is None else "none"
        self.environments_state.setVisible(state is not None)
        if state is not None:
            self.environments_state.setText(words(f"machine.environments_{state}"))
        self.environments.setVisible(state is None)
        self.search.setVisible(state is None)
        self.environments.show_pythons(pythons or (), self.context.desk.catalog)
        if self.facts.isVisible():
            self.facts.show_machine(machine)

    def _lay(self) -> None:
        """Cards side by side, as many as are wide enough."""
        cards = [*self.devices, self.processor, self.ram, self.system]
        wide = self.viewport().width() >= 980
        columns = (4 if len(cards) in (4, 7, 8) else 3) if wide else 3 if len(cards) in (3, 5, 6, 9) else 2
        if self._laid == (columns, len(cards)) and all(c.parent() is self.grid_holder for c in cards):
            return
        self._laid = (columns, len(cards))
        for place, one in enumerate(cards):
            self.grid.addWidget(one, place // columns, place % columns)
        for column in range(4):
            self.grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        if hasattr(self, "devices"):
            self._lay()

    def _findings(self) -> None:
        found = [f for f in self.context.desk.findings if f.severity != "info"]
        notes = [f for f in self.context.desk.findings if f.severity == "info"]
        emptied(self.findings)
        shown = [*found, *notes] if self._all else found[:SHOWN_FINDINGS]
        for finding in shown:
            self.findings.addWidget(FindingCard(self.context, finding))
        hidden = len(found) + len(notes) - len(shown)
        self.more.setVisible(hidden > 0)
        self.more.setText(self.context.words("machine.show_notes", count=hidden))
        known = self.context.desk.machine is not None and (
            bool(self.context.desk.findings) or not self.context.jobs.running("scan")
        )
        if known and not found:
            self.findings.addWidget(label(self.context.words("machine.healthy"), "good"))
        self.findings_title.setVisible(known)

    def _show_all(self) -> None:
        self._all = True
        self._findings()

    def _facts_toggled(self, on: bool) -> None:
        self.facts.setVisible(on)
        if on and self.context.desk.machine is not None:
            self.facts.show_machine(self.context.desk.machine)

    def _dismiss(self) -> None:
        self.context.settings.change(hint_dismissed=True)
        self.hint.hide()

    def _live(self) -> None:
        """Meters run only while this page is visible and shows this machine."""
        if self.context.desk.machine_path is None and not self.context.jobs.running("live"):
            self.context.jobs.start("live", live.sample_until_cancelled, on_part=self._sampled)

    def _sampled(self, sample: LiveSample) -> None:
        if self.context.desk.machine_path is not None:
            self.context.jobs.cancel("live")
            return
        self.processor.sampled(sample)
        self.ram.sampled(sample)
        for shown in self.devices:
            shown.sampled(sample)

    def hideEvent(self, event: object) -> None:
        self.context.jobs.cancel("live")
        super().hideEvent(event)  # type: ignore[arg-type]


