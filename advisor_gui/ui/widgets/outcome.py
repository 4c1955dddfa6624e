"""What one smoke run gave: outcome, sentence, measures as figures, charts."""

from __future__ import annotations

from collections import defaultdict

from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QVBoxLayout

from advisor_gui import wording
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label, pill
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.chart import ChartView
from knowledge.plan import Series, SmokeResult

PILL = {"passed": "pill-good", "cannot_run": "pill-info", "cancelled": "pill-warn"}


class OutcomeCard(QFrame):
    def __init__(self, context: Context, result: SmokeResult) -> None:
        super().__init__()
        self.setProperty("kind", "card")
        words = context.words
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE[3], SPACE[3], SPACE[3], SPACE[3])
        head = QHBoxLayout()
        state = pill(words.text(wording.SMOKE_OUTCOME[result.outcome]), PILL.get(result.outcome, "pill-bad"))
        head.addWidget(label(result.check, size="strong", wrap=False))
        head.addWidget(state)
        head.addStretch(1)
        times = []
        if result.install_s is not None:
            times.append(words("proof.installed_in", time=wording.duration(result.install_s)))
        if result.run_s is not None:
            times.append(words("proof.ran_in", time=wording.duration(result.run_s)))
        head.addWidget(label(", ".join(times), "muted", size="small", wrap=False))
        column.addLayout(head)
        column.addWidget(label(words.text(result.because)))
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE[4])
        grid.setVerticalSpacing(SPACE[2])
        for place, measure in enumerate(result.measures):
            cell = QVBoxLayout()
            cell.setSpacing(0)
            cell.addWidget(label(words.text(wording.number(measure.value, measure.unit)), size="section"))
            cell.addWidget(label(words.text(measure.label), "muted", size="small"))
            cell.addStretch(1)
            grid.addLayout(cell, place // 4, place % 4)
            grid.setColumnStretch(place % 4, 1)
        column.addLayout(grid)
        pictures = QGridLayout()
        pictures.setHorizontalSpacing(SPACE[4])
        together = grouped(result.series)
        for place, series in enumerate(together):
            row, side = divmod(place, 2)
            pictures.addWidget(label(words.text(series[0].label), size="strong"), 2 * row, side)
            pictures.addWidget(ChartView(context, series), 2 * row + 1, side)
            pictures.setColumnStretch(side, 1)
        if together:
            pictures.setColumnStretch(1, 1)  # a single chart is as wide as each of two
            column.addSpacing(SPACE[2])
        column.addLayout(pictures)
        if result.limits is not None:
            column.addWidget(label(words.text(result.limits), "muted", size="small"))
        self.setAccessibleName(f"{result.check}: {words.text(wording.SMOKE_OUTCOME[result.outcome])}")


def grouped(series: tuple[Series, ...]) -> list[tuple[Series, ...]]:
    """Series with the same axes in one chart, in their order."""
    found: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for one in series:
        found[(one.kind, one.x_label.en, one.y_label.en, one.x_unit, one.y_unit)].append(one)
    return [tuple(group) for group in found.values()]
