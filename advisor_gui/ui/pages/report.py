"""The page Report: a true preview of the document, and saving it in each format."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout

from advisor_gui import session
from advisor_gui.ui.pages.base import Page, emptied, label
from advisor_gui.ui.theme import SPACE

FORMATS = (("pdf", "PDF"), ("html", "HTML"), ("md", "Markdown"), ("json", "JSON"))
QUIET_MS = 400


class ReportPage(Page):
    name = "report"

    def build(self) -> None:
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET_MS)
        self._quiet.timeout.connect(self._preview)
        line = QHBoxLayout()
        self.named = QLineEdit()
        self.named.setMaxLength(120)
        self.named.textEdited.connect(lambda _: self._quiet.start())
        line.addWidget(self.named, 1)
        self.buttons: dict[str, QPushButton] = {}
        for suffix, _name in FORMATS:
            self.buttons[suffix] = QPushButton()
            self.buttons[suffix].clicked.connect(partial(self._save, suffix))
            line.addWidget(self.buttons[suffix])
        self.buttons["pdf"].setProperty("kind", "primary")
        self.starter = QPushButton()
        self.starter.clicked.connect(self._starter)
        line.addWidget(self.starter)
        self.column.addLayout(line)
        self.state = label("", "muted")
        self.column.addWidget(self.state)
        self.sheets = QVBoxLayout()
        self.sheets.setSpacing(SPACE[3])
        self.column.addLayout(self.sheets)
        self.column.addStretch(1)
        self._pictures: tuple[bytes, ...] = ()

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.report"))
        self.subtitle.setText(words("report.subtitle"))
        self.named.setPlaceholderText(words("report.title_hint"))
        self.named.setAccessibleName(words("report.title_label"))
        for suffix, name in FORMATS:
            self.buttons[suffix].setText(name)
            self.buttons[suffix].setAccessibleName(words("report.save_as", format=name))
            self.buttons[suffix].setToolTip(words("report.save_as", format=name))
        self.starter.setText(words("report.starter"))
        self.starter.setToolTip(words("report.starter_hint"))

    def refresh(self, topic: str) -> None:
        has = self.context.desk.recommendation is not None
        for button in (*self.buttons.values(), self.starter):
            button.setEnabled(has)
        if not has:
            self.state.setText(self.context.words("report.waiting"))
            self.state.show()
            return
        if topic in ("shown", "recommendation", "findings", "resolve", "smoke", "language"):
            self._quiet.start()

    def value(self) -> Any:
        desk = self.context.desk
        assert desk.machine is not None and desk.recommendation is not None
        return session.report(
            desk.machine, desk.answers, desk.recommendation, desk.findings, resolved=desk.resolve, smoke_results=desk.smoke,
            title=self.named.text().strip() or None, knowledge=desk.catalog,
        )  # fmt: skip

    def _preview(self) -> None:
        if self.context.desk.recommendation is None or not self.isVisible():
            return
        value, language = self.value(), self.context.words.language
        self.state.setText(self.context.words("report.preparing"))
        self.state.show()
        self.context.jobs.start(
            "preview", lambda _: session.report_pages(value, language), on_done=self._show, on_error=self._failed
        )

    def _show(self, pictures: tuple[bytes, ...]) -> None:
        self.state.hide()
        self._pictures = pictures
        self._clear()
        for number, raw in enumerate(pictures, start=1):
            sheet = QLabel()
            sheet.setProperty("kind", "sheet")
            picture = QPixmap()
            picture.loadFromData(raw)
            width = min(760, self.viewport().width() - 2 * SPACE[4])
            ratio = self.devicePixelRatioF()
            picture = picture.scaledToWidth(round(width * ratio), Qt.TransformationMode.SmoothTransformation)
            picture.setDevicePixelRatio(ratio)
            sheet.setPixmap(picture)
            sheet.setAccessibleName(self.context.words("report.page", number=number, count=len(pictures)))
            self.sheets.addWidget(sheet, 0, Qt.AlignmentFlag.AlignHCenter)

    def _clear(self) -> None:
        emptied(self.sheets)

    def _save(self, suffix: str) -> None:
        name = dict(FORMATS)[suffix]
        path, _ = QFileDialog.getSaveFileName(self, "", f"stackfit-report.{suffix}", f"{name} (*.{suffix})")
        if not path:
            return
        path = path if path.lower().endswith(f".{suffix}") else f"{path}.{suffix}"
        value, language = self.value(), self.context.words.language
        self.context.jobs.start(
            "save-report", lambda _: session.write_report(value, path, language),
            on_done=lambda done: self.context.say(self.context.words("report.saved", path=str(done))), on_error=self._failed,
        )  # fmt: skip

    def _starter(self) -> None:
        desk = self.context.desk
        folder = QFileDialog.getExistingDirectory(self, self.context.words("report.starter"))
        if not folder or desk.recommendation is None or desk.machine is None:
            return
        found, answers, machine, language = desk.recommendation, desk.answers, desk.machine, self.context.words.language
        target = Path(folder) / "stackfit-starter"
        # A lock belongs to the pins that were resolved: another stack's is none of this one's.
        asked, plan = desk.resolve, found.chosen.install if found.chosen is not None else None
        same = asked is not None and asked.plan is not None and plan is not None and asked.plan.packages == plan.packages
        lock = asked.lock if asked is not None and same else None
        self.context.jobs.start(
            "starter", lambda _: session.write_starter(found, answers, machine, target, language, lock=lock),
            on_done=lambda _: self.context.say(self.context.words("report.saved", path=str(target))), on_error=self._failed,
        )  # fmt: skip

    def _failed(self, error: BaseException) -> None:
        self.state.hide()
        text = getattr(error, "text", None)
        self.context.complain(self.context.words.text(text) if text is not None else str(error))

    def hideEvent(self, event: object) -> None:
        self._quiet.stop()
        self.context.jobs.cancel("preview")
        super().hideEvent(event)  # type: ignore[arg-type]
