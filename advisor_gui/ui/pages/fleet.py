"""The page "fleet"."""

from __future__ import annotations

from advisor_gui.ui.pages.base import Page, label


class FleetPage(Page):
    name = "fleet"

    def build(self) -> None:
        self.title = label("", size="title")
        self.column.addWidget(self.title)
        self.column.addStretch(1)

    def say(self) -> None:
        self.title.setText(self.context.words("main.fleet"))
