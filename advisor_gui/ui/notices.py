"""What stands above the pages: another machine, a supposition, answers kept from before a crash."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QVBoxLayout, QWidget

from advisor_gui.ui import documents
from advisor_gui.ui.context import Context
from advisor_gui.ui.widgets.banner import Banner


class Notices(QWidget):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.recovery = Banner("banner", self._discard, self._restore)
        self.place = Banner("banner", lambda: context.actions["this_machine"]())
        self.supposed = Banner("supposed", lambda: context.desk.suppose(None))
        for banner in (self.recovery, self.place, self.supposed):
            column.addWidget(banner)
        self.kept = documents.kept(context)
        context.words.changed.connect(self.say)
        context.desk.listen(self._changed)
        self.say()

    def _changed(self, topic: str) -> None:
        if topic in ("machine", "document", "recommendation"):
            self.say()

    def say(self) -> None:
        words, desk = self.context.words, self.context.desk
        if self.kept:
            self.recovery.show_text(words("main.recovery"), words("main.discard"), words("main.restore"))
        else:
            self.recovery.hide()
        if desk.machine_path is not None:
            self.place.show_text(words("main.not_here_short", name=Path(desk.machine_path).name), words("main.back_here"))
            self.place.setToolTip(desk.machine_path)
        else:
            self.place.hide()
        if desk.supposition is not None:
            self.supposed.show_text(words("main.supposing", what=desk.supposition.change.text), words("main.to_facts"))
        else:
            self.supposed.hide()

    def _restore(self) -> None:
        self.kept = False
        documents.recover(self.context)
        self.say()

    def _discard(self) -> None:
        self.kept = False
        documents.forget(self.context)
        self.say()
