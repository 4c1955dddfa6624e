"""The recommendation in short, as it stands beside the questions."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label, pill, toned
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.memory import MemoryBar

FIT_PILL = {"ready": "pill-good", "after_changes": "pill-warn", "undetermined": "pill-info", "unsuitable": "pill-bad"}


def framework_name(context: Context, framework: str) -> str:
    catalog = context.desk.catalog
    entry = catalog.frameworks.get(framework) if catalog is not None else None
    return entry.name if entry is not None else framework


class AdvicePanel(QWidget):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[1])
        self.heading = label("", "muted", size="small")
        self.name = label(size="section")
        self.fit = pill()
        self.parts = label("", "muted")
        self.why = label()
        self.memory = MemoryBar(context)
        self.others = label("", "muted")
        self.details = QPushButton()
        self.details.setProperty("kind", "primary")
        self.details.clicked.connect(lambda: context.go("recommendation"))
        for widget in (self.heading, self.name):
            column.addWidget(widget)
        line = QHBoxLayout()
        line.addWidget(self.fit)
        line.addStretch(1)
        column.addLayout(line)
        for below in (self.parts, self.why, self.details, self.memory, self.others):
            column.addWidget(below)
        context.words.changed.connect(self.show_recommendation)
        self.show_recommendation()

    def show_recommendation(self) -> None:
        words, found = self.context.words, self.context.desk.recommendation
        self.heading.setText(words("project.side_title"))
        self.details.setText(words("project.side_details"))
        chosen = found.chosen if found is not None else None
        for part in (self.fit, self.parts, self.why, self.memory, self.others, self.details):
            part.setVisible(chosen is not None)
        if found is None or chosen is None:
            self.name.setText("")
            self.why.setVisible(True)
            self.why.setText(words("project.side_waiting" if found is None else "project.side_none"))
            self.details.setVisible(found is not None)
            return
        self.name.setText(framework_name(self.context, chosen.framework))
        self.fit.setText(words.text(wording.FIT[chosen.fit]))
        toned(self.fit, FIT_PILL[chosen.fit])
        parts = []
        for one in chosen.stack.components:
            parts.append(" ".join(w for w in (framework_name(self.context, one.framework), one.version) if w))
        if chosen.stack.python:
            parts.append(f"Python {chosen.stack.python}")
        self.parts.setText("\n".join(parts))
        self.why.setText("\n".join(words.text(t) for t in chosen.why[:2]))
        self.memory.show_memory(chosen.memory)
        names = ", ".join(framework_name(self.context, o.framework) for o in found.others[:4])
        self.others.setVisible(bool(names))
        self.others.setText(words("project.side_others", names=names))
