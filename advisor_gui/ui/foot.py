"""The status bar: which machine this is, what is being worked on, how old the knowledge is."""

from __future__ import annotations

from PySide6.QtWidgets import QProgressBar, QStatusBar

from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE

# Work that goes on by itself and is no news to the user.
QUIET = frozenset({"live", "history", "checks", "storage", "package-settings", "catalog"})
TOLD = ("smoke", "resolve", "scan", "open", "fleet", "preview", "judge")  # the first of these that runs is named


class Foot(QStatusBar):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.setSizeGripEnabled(False)
        self.setContentsMargins(SPACE[2], 0, SPACE[2], 0)
        self.place, self.work, self.knowledge = (label("", "muted", size="small", wrap=False) for _ in range(3))
        self.bar = QProgressBar()
        self.bar.setFixedWidth(96)
        self.bar.setTextVisible(False)
        self.addWidget(self.place)
        for widget in (self.work, self.bar, self.knowledge):
            self.addPermanentWidget(widget)
        context.jobs.changed.connect(self.show_work)
        context.desk.listen(self._changed)
        context.words.changed.connect(self.say)
        self.say()

    def _changed(self, topic: str) -> None:
        if topic in ("machine", "recommendation"):
            self.say()

    def say(self) -> None:
        words, desk = self.context.words, self.context.desk
        if desk.machine is None:
            self.place.setText("")
        else:
            devices = [d.name or d.vendor for d in desk.machine.accelerators or () if not d.integrated]
            system = " ".join(w for w in ((desk.machine.system.distribution or desk.machine.system.os or "").capitalize(),
                                          desk.machine.system.release) if w)  # fmt: skip
            where = words("main.place_here" if desk.machine_path is None else "main.place_other")
            self.place.setText(" · ".join(w for w in (where, system, *devices[:2]) if w))
        found = desk.recommendation
        self.knowledge.setText(words("main.knowledge", date=found.knowledge_checked) if found and found.knowledge_checked else "")
        self.show_work()

    def show_work(self) -> None:
        jobs = self.context.jobs
        busy = jobs.any_running(apart_from=QUIET)
        name = next((n for n in TOLD if jobs.running(n)), None)
        self.work.setText(self.context.words(f"main.job_{name}" if name else "main.working") if busy else "")
        # With reduced motion the words say it alone.
        moving = busy and not self.context.settings.now.reduced_motion
        self.bar.setRange(0, 0 if moving else 1)  # a bar that runs while hidden would wake the program at each frame
        self.bar.setVisible(moving)
        self.bar.setAccessibleName(self.work.text())
