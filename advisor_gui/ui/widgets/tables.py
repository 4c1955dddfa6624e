"""The tables of the Machine page: Python environments, and all facts with their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QSortFilterProxyModel, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView

from advisor_gui.ui.context import Context
from knowledge.facts import MachineProfile, Python

if TYPE_CHECKING:
    from knowledge.catalog import Catalog

LAST_PX = 240  # of a last column that is worth less room than the one that grows
ROWS = 12  # a table in a scrolling page shows at most so many and then scrolls by itself


class Table(QTableView):
    """A read-only table with a text filter over all columns."""

    headings: tuple[str, ...] = ()
    named = ""  # the key of its name for screen readers
    grows: int | None = None  # the column that takes the room that is left; None: the last

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.source = QStandardItemModel(0, len(self.headings), self)
        self.proxy = QSortFilterProxyModel(self)
        self.proxy.setSourceModel(self.source)
        self.proxy.setFilterKeyColumn(-1)
        self.proxy.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.setModel(self.proxy)
        self.setSortingEnabled(True)
        self.sortByColumn(-1, Qt.SortOrder.AscendingOrder)  # as given, until the user asks for another order
        self.setAlternatingRowColors(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.horizontalHeader().setStretchLastSection(self.grows is None)
        context.words.changed.connect(self.say)
        self.say()

    def say(self) -> None:
        self.source.setHorizontalHeaderLabels([self.context.words(key) for key in self.headings])
        if self.named:
            self.setAccessibleName(self.context.words(self.named))
            self.horizontalHeader().setAccessibleName(self.context.words(self.named))
        self._fit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.addAction(self.context.words("main.copy"), self.copy)
        menu.exec(event.globalPos())
        menu.deleteLater()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """The chosen rows as tab-separated text."""
        rows = sorted({index.row() for index in self.selectedIndexes()})
        said = ["\t".join(str(self.proxy.index(r, c).data() or "") for c in range(self.proxy.columnCount())) for r in rows]
        if said:
            QGuiApplication.clipboard().setText("\n".join(said))
            self.context.say(self.context.words("main.copied"))

    def filter(self, text: str) -> None:
        self.proxy.setFilterFixedString(text.strip())
        self._fit()

    def show_rows(self, rows: list[list[str]], bold: frozenset[tuple[int, int]] = frozenset()) -> None:
        """ROWS as text; BOLD names the (row, column) that stand out."""
        self.source.setRowCount(0)
        strong = self.font()
        strong.setBold(True)
        for number, row in enumerate(rows):
            items = [QStandardItem(word) for word in row]
            for place, item in enumerate(items):
                item.setToolTip(item.text() if len(item.text()) > 40 else "")
                if (number, place) in bold:
                    item.setFont(strong)
            self.source.appendRow(items)
        header = self.horizontalHeader()
        last = len(self.headings) - 1
        for column in range(last):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        if self.grows is not None:
            header.setSectionResizeMode(self.grows, QHeaderView.ResizeMode.Stretch)
            header.setSectionResizeMode(last, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(last, LAST_PX)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as its rows, with room for a bar along the foot where the columns do not fit side by side."""
        rows = min(max(1, self.proxy.rowCount()), ROWS)
        header = self.horizontalHeader()
        height = header.sizeHint().height() + rows * self.verticalHeader().defaultSectionSize() + 2 * self.frameWidth() + 2
        if header.length() > self.viewport().width() + 1:
            height += self.horizontalScrollBar().sizeHint().height()
        if height != self.height():
            self.setFixedHeight(height)


class EnvironmentTable(Table):
    named = "machine.environments"
    headings = ("machine.column_version", "machine.column_kind", "machine.column_frameworks", "machine.column_path")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._shown: object = None

    def show_pythons(self, pythons: tuple[Python, ...], catalog: Catalog | None) -> None:
        if self._shown == (pythons, catalog is None):
            return
        self._shown = (pythons, catalog is None)
        wanted = {f.packages[0].lower() for f in catalog.frameworks.values() if f.packages} if catalog else set()
        rows = []
        for python in pythons:
            held = [
                f"{p.name} {p.version}" for p in python.packages or () if p.name.lower().replace("_", "-") in wanted and p.version
            ]
            version = " ".join(w for w in (python.version or "?", "(free-threaded)" if python.free_threaded else "") if w)
            rows.append([version, python.kind or "", ", ".join(held), python.path or ""])
        self.show_rows(rows)


class FactTable(Table):
    named = "machine.facts"
    headings = ("machine.column_fact", "machine.column_value", "machine.column_source")

    def show_machine(self, machine: MachineProfile) -> None:
        body = msgspec.to_builtins(machine)
        rows = []
        for part in ("system", "cpu", "memory", "disk", "accelerators", "software", "network"):
            rows += [[key, value, self._source(machine, key)] for key, value in leaves(body.get(part), part)]
        self.show_rows(rows)

    def _source(self, machine: MachineProfile, key: str) -> str:
        """The source of KEY or of the nearest fact above it."""
        while key:
            if key in machine.sources:
                return machine.sources[key]
            key = key.rpartition(".")[0]
        return ""


def leaves(value: Any, path: str) -> list[tuple[str, str]]:
    """Dotted key and text of every known value below VALUE; what is not known is left out."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}.{key}")]
    if isinstance(value, (list, tuple)):
        if all(not isinstance(v, (dict, list)) for v in value):
            return [(path, ", ".join(str(v) for v in value))] if value else []
        return [leaf for place, inner in enumerate(value) for leaf in leaves(inner, f"{path}.{place}")]
    return [(path, str(value))]
