"""One finding as a card: how bad, why, on what evidence, and each repair with its commands to copy."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui import icons
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.command import CommandBox
from knowledge.facts import Finding, Remedy

ICON = {"error": "error", "warning": "warning", "info": "info"}
TONE = {"error": "bad", "warning": "warn", "info": "info"}


class FindingCard(QFrame):
    def __init__(self, context: Context, finding: Finding) -> None:
        super().__init__()
        self.setProperty("kind", "card")
        self.context, self.finding = context, finding
        across = QHBoxLayout(self)
        across.setContentsMargins(SPACE[3], SPACE[2], SPACE[3], SPACE[2])
        across.setSpacing(SPACE[2])
        self.mark = QLabel()
        self.mark.setAlignment(Qt.AlignmentFlag.AlignTop)
        across.addWidget(self.mark)
        self.column = QVBoxLayout()
        self.column.setSpacing(SPACE[0])
        across.addLayout(self.column, 1)
        self.because = label(size="strong")
        self.column.addWidget(self.because)
        self.evidence = label("", "muted", size="small")
        self.column.addWidget(self.evidence)
        self.remedies = RemedyList(context, finding.remedies)
        self.column.addWidget(self.remedies)
        context.words.changed.connect(self.say)
        context.look.changed.connect(self.paint)
        self.say()
        self.paint()

    def say(self) -> None:
        words, finding = self.context.words, self.finding
        severity = words.text(wording.SEVERITY[finding.severity])
        self.because.setText(words.text(finding.because))
        self.setAccessibleName(f"{severity}: {words.text(finding.because)}")
        self.mark.setAccessibleName(severity)
        self.mark.setToolTip(severity)
        facts = " · ".join(dict.fromkeys(f"{e.fact} ({e.source})" for e in finding.evidence[:4]))
        self.evidence.setText(" · ".join(w for w in (severity, finding.subject, facts) if w))

    def paint(self) -> None:
        colour = getattr(self.context.look.tokens, TONE[self.finding.severity])
        self.mark.setPixmap(icons.pixmap(ICON[self.finding.severity], colour))


class RemedyList(QWidget):
    """Repairs below each other, the first one first."""

    def __init__(self, context: Context, remedies: tuple[Remedy, ...]) -> None:
        super().__init__()
        self.context, self.remedies = context, remedies
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        self.sentences: list[QLabel] = []
        for remedy in remedies:
            sentence = label()
            column.addWidget(sentence)
            self.sentences.append(sentence)
            if remedy.commands:
                column.addWidget(CommandBox(context, remedy.commands))
        context.words.changed.connect(self.say)
        self.say()
        self.setVisible(bool(remedies))

    def say(self) -> None:
        for sentence, remedy in zip(self.sentences, self.remedies, strict=True):
            sentence.setText("→ " + self.context.words.text(remedy.text))
