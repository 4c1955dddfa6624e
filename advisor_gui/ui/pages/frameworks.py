"""The page Frameworks: the whole catalogue, what of it runs here, and why or why not."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from advisor_gui import session, wording
from advisor_gui.ui.pages.base import Page, card, label, pill
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.advice import FIT_PILL, framework_name
from advisor_gui.ui.widgets.finding import RemedyList
from advisor_gui.ui.widgets.rows import SECOND, TONE, TwoLines
from knowledge.catalog import Framework
from knowledge.verdicts import Assessment

LINK_LETTERS = 72
FIT_TONE = {"ready": "good", "after_changes": "warn", "undetermined": "info", "unsuitable": "bad"}
STATE_KIND = {"active": "pill-good", "maintenance": "pill-warn", "unverified": "pill-info"}


class FrameworksPage(Page):
    name = "frameworks"

    def build(self) -> None:
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.title = label(size="title")
        self.subtitle = label("", "muted")
        self.column.addLayout(self.titled(self.title, self.subtitle))
        line = QHBoxLayout()
        self.search = QLineEdit()
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(lambda _: self._filter())
        self.only = QCheckBox()
        self.only.toggled.connect(lambda _: self._filter())
        self.count = label("", "muted", wrap=False)
        line.addWidget(self.search, 1)
        line.addWidget(self.count)
        line.addWidget(self.only)
        self.column.addLayout(line)
        across = QHBoxLayout()
        across.setSpacing(SPACE[3])
        self.list = QListWidget()
        self.list.setFixedWidth(280)
        self.list.setItemDelegate(TwoLines(self.context, self.list))
        self.list.setMouseTracking(True)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setUniformItemSizes(True)
        self.list.currentItemChanged.connect(lambda item, _: self._show(item))
        across.addWidget(self.list)
        self.detail = QScrollArea()
        self.detail.setWidgetResizable(True)
        self.detail.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        across.addWidget(self.detail, 1)
        self.column.addLayout(across, 1)
        self.judged: dict[str, Assessment] = {}
        self._for: Any = None

    def say(self) -> None:
        words = self.context.words
        self.title.setText(words("main.frameworks"))
        self.subtitle.setText(words("frameworks.subtitle"))
        self.search.setPlaceholderText(words("frameworks.search"))
        self.search.setAccessibleName(words("frameworks.search"))
        self.only.setText(words("frameworks.only_here"))
        self.list.setAccessibleName(words("main.frameworks"))

    def refresh(self, topic: str) -> None:
        if topic in ("shown", "catalog", "machine", "language", "answers"):
            self._judge()
            self._fill()

    def _judge(self) -> None:
        """Every framework on this machine: some tenths of a second, so beside the window."""
        desk = self.context.desk
        if desk.catalog is None or desk.machine is None:
            return
        now = (desk.machine, desk.answers)
        if self._for is not None and self._for == now:
            return
        self._for = now
        catalog, machine, answers = desk.catalog, desk.machine, desk.answers
        self.context.jobs.start(
            "judge", lambda progress: session.assess_all(catalog, machine, answers, progress), on_done=self._judged,
            on_error=lambda error: self.context.complain(str(error)),
        )  # fmt: skip

    def _judged(self, found: dict[str, Assessment]) -> None:
        self.judged = found
        self._fill()

    def _fill(self) -> None:
        catalog = self.context.desk.catalog
        if catalog is None:
            return
        before = self._current()
        chosen = before.data(Qt.ItemDataRole.UserRole) if before is not None else None
        self.list.blockSignals(True)
        self.list.clear()
        for entry in sorted(catalog.frameworks.values(), key=lambda f: f.name.lower()):
            item = QListWidgetItem(entry.name)
            item.setData(Qt.ItemDataRole.UserRole, entry.id)
            said = self._short(entry)
            item.setData(SECOND, said)
            item.setData(TONE, FIT_TONE.get(self.judged[entry.id].fit, "muted") if entry.id in self.judged else "muted")
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{entry.name}: {said}")
            item.setToolTip(self.context.words.text(entry.summary))
            self.list.addItem(item)
            if entry.id == (chosen or "pytorch"):
                self.list.setCurrentItem(item)
                self.list.scrollToItem(item, QListWidget.ScrollHint.PositionAtCenter)
        self.list.blockSignals(False)
        self._filter()
        self._show(self.list.currentItem())

    def _current(self) -> QListWidgetItem | None:
        """The chosen row; Qt's own signature does not say that there may be none."""
        return self.list.currentItem()

    def _short(self, entry: Framework) -> str:
        words = self.context.words
        if entry.id in self.judged:
            fit = words.text(wording.FIT[self.judged[entry.id].fit])
        else:
            fit = words("frameworks.counting")
        state = "" if entry.status.state == "active" else " · " + words(f"frameworks.state_{entry.status.state}")
        return fit + state

    def _filter(self) -> None:
        catalog = self.context.desk.catalog
        wanted, shown = self.search.text().strip().lower(), 0
        for row in range(self.list.count()):
            item = self.list.item(row)
            name = item.data(Qt.ItemDataRole.UserRole)
            entry = catalog.frameworks[name] if catalog is not None else None
            text = ""
            if entry is not None:
                parts = (entry.id, entry.name, *entry.aliases, *entry.roles, *entry.does, entry.summary.en, entry.summary.zh)
                text = " ".join(parts).lower()
            hidden = any(word not in text for word in wanted.split())
            if self.only.isChecked() and name in self.judged:
                hidden = hidden or self.judged[name].fit not in ("ready", "after_changes")
            item.setHidden(hidden)
            shown += not hidden
        self.count.setText(self.context.words("frameworks.shown", count=shown, all=self.list.count()))
        if not shown:
            self.detail.setWidget(label(self.context.words("frameworks.none"), "muted"))

    def _show(self, item: QListWidgetItem | None) -> None:
        catalog = self.context.desk.catalog
        if item is None or catalog is None:
            return
        self.detail.setWidget(self._details(catalog.frameworks[item.data(Qt.ItemDataRole.UserRole)]))

    def _details(self, entry: Framework) -> QWidget:
        words = self.context.words
        holder = QWidget()
        column = QVBoxLayout(holder)
        column.setContentsMargins(0, 0, SPACE[1], 0)
        column.setSpacing(SPACE[2])
        head = QHBoxLayout()
        head.addWidget(label(entry.name, size="section", wrap=False))
        state = pill(words(f"frameworks.state_{entry.status.state}"), STATE_KIND.get(entry.status.state, "pill-bad"))
        head.addWidget(state)
        head.addStretch(1)
        want = QPushButton(words("frameworks.want"))
        want.clicked.connect(lambda: self._want(entry.id))
        head.addWidget(want)
        column.addLayout(head)
        column.addWidget(label(words.text(entry.summary)))
        column.addWidget(self._here(entry))
        said = [words.text(entry.status.note)]
        if entry.status.successors:
            names = ", ".join(framework_name(self.context, s) for s in entry.status.successors)
            said.append(words("frameworks.successors", names=names))
        self._group(column, words("frameworks.status"), said)
        for key, texts in (("strengths", entry.strengths), ("weaknesses", entry.weaknesses), ("uses", entry.uses)):
            self._group(column, words(f"frameworks.{key}"), ["• " + words.text(t) for t in texts])
        if entry.then_and_now is not None:
            then, now = entry.then_and_now.then, entry.then_and_now.now
            self._group(column, words("frameworks.then_now"), [
                words("frameworks.then", what=then), words("frameworks.now", what=now),
            ])  # fmt: skip
        column.addWidget(label(words("frameworks.licence", name=entry.licence.id), "muted"))
        column.addWidget(label(f"{words('frameworks.sources')} · {words('frameworks.checked', date=entry.checked)}", size="strong"))
        for fact in entry.sources:
            column.addWidget(source_label(fact.url, fact.date, fact.fact))
        column.addStretch(1)
        return holder

    def _group(self, column: QVBoxLayout, heading: str, lines: list[str]) -> None:
        if lines:
            block = QVBoxLayout()
            block.setSpacing(SPACE[0])
            block.addWidget(label(heading, size="strong"))
            block.addWidget(label("\n".join(lines)))
            column.addLayout(block)

    def _here(self, entry: Framework) -> QWidget:
        words = self.context.words
        frame, column = card()
        head = QHBoxLayout()
        head.addWidget(label(words("frameworks.can_i"), size="strong", wrap=False))
        head.addStretch(1)
        column.addLayout(head)
        found = self.judged.get(entry.id)
        if found is None:
            column.addWidget(label(words("frameworks.counting"), "muted"))
            return frame
        head.addWidget(pill(words.text(wording.FIT[found.fit]), FIT_PILL[found.fit]))
        for sentence in found.why[:2]:
            column.addWidget(label(words.text(sentence)))
        for verdict in [v for v in found.verdicts if v.outcome in ("unmet", "unknown")][:4]:
            column.addWidget(label(words.text(verdict.because), "bad" if found.fit == "unsuitable" else "warn"))
            if verdict.remedies:
                column.addWidget(RemedyList(self.context, verdict.remedies[:2]))
        pins = [p.requirement for p in found.install.packages] if found.install is not None else []
        if pins and found.fit != "unsuitable":
            column.addWidget(label(", ".join(pins), "muted", size="small"))
        return frame

    def _want(self, framework: str) -> None:
        self.context.desk.answer("framework", framework)
        self.context.go("recommendation")


def source_label(url: str, date: str, fact: str) -> QWidget:
    """A source as a link where it is an https address; anything else stays text. Nothing here is read as markup."""
    if not url.startswith("https://"):
        return label(f"{url} ({date}) {fact}", "muted", size="small")
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    link = QPushButton((url if len(url) <= LINK_LETTERS else url[: LINK_LETTERS - 1] + "…").replace("&", "&&"))
    link.setToolTip(url)
    link.setAccessibleName(url)
    link.setMinimumWidth(1)  # rather cut than wider than the page
    link.setProperty("kind", "link")
    link.setCursor(Qt.CursorShape.PointingHandCursor)
    link.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(url)))
    link.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
    column.addWidget(link)
    column.addWidget(label(" · ".join(w for w in (date, fact) if w), "muted", size="small"))
    return holder
