"""Install commands by package manager and shell, to copy or save."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from advisor_gui import session
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.command import CommandBox
from knowledge.plan import InstallPlan

SUFFIX = {"bash": "install.sh", "powershell": "install.ps1", "cmd": "install.cmd"}
SHELL_NAMES = {"bash": "bash", "powershell": "PowerShell", "cmd": "cmd"}


def own_shell() -> str:
    return "powershell" if sys.platform == "win32" else "bash"


class InstallBox(QWidget):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.plan: InstallPlan | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[1])
        across = QHBoxLayout()
        self.client, self.shell = QComboBox(), QComboBox()
        for box in (self.client, self.shell):
            box.setMinimumWidth(120)
        self.save = QPushButton()
        self.save.clicked.connect(self._save)
        across.addWidget(self.client)
        across.addWidget(self.shell)
        across.addStretch(1)
        across.addWidget(self.save)
        column.addLayout(across)
        self.commands = CommandBox(context)
        column.addWidget(self.commands)
        self.state = label("", "muted", size="small")
        column.addWidget(self.state)
        self.client.activated.connect(self._client_picked)
        self.shell.activated.connect(self._shell_picked)
        context.words.changed.connect(self.say)
        self.say()

    def say(self) -> None:
        words = self.context.words
        self.save.setText(words("recommendation.save_commands"))
        self.client.setAccessibleName(words("recommendation.client"))
        self.shell.setAccessibleName(words("recommendation.shell"))

    def show_plan(self, plan: InstallPlan | None) -> None:
        self.plan = plan
        have = plan.commands if plan is not None else {}
        self.setVisible(bool(have))
        if not have:
            return
        wanted = self.context.desk.answers.tools.packages or self.context.settings.now.client
        self._fill(self.client, list(have), wanted)
        self._shells()

    def _fill(self, box: QComboBox, names: list[str], wanted: str | None) -> None:
        box.clear()
        for name in names:
            box.addItem(SHELL_NAMES.get(name, name), name)
        box.setCurrentIndex(names.index(wanted) if wanted in names else 0)
        box.setVisible(len(names) > 1)

    def _shells(self) -> None:
        assert self.plan is not None
        shells = self.plan.commands[self.client.currentData()]
        wanted = self.context.desk.answers.tools.shell or self.context.settings.now.shell
        if wanted is None and self.context.desk.machine is not None:
            wanted = "powershell" if self.context.desk.machine.system.os == "windows" else "bash"
        self._fill(self.shell, list(shells), wanted or own_shell())
        self._lines()

    def _lines(self) -> None:
        assert self.plan is not None
        self.commands.show_lines(tuple(self.plan.commands[self.client.currentData()][self.shell.currentData()]))

    def _client_picked(self, _: int) -> None:
        self.context.settings.change(client=self.client.currentData())
        self._shells()

    def _shell_picked(self, _: int) -> None:
        self.context.settings.change(shell=self.shell.currentData())
        self._lines()

    def _save(self) -> None:
        name = SUFFIX.get(self.shell.currentData(), "install.txt")
        path, _ = QFileDialog.getSaveFileName(self, "", name)
        if not path:
            return
        ending = "\r\n" if self.shell.currentData() != "bash" else "\n"
        try:
            session.write_whole(Path(path), (ending.join(self.commands.lines) + ending).encode())
        except session.CouldNot as error:
            self.context.complain(self.context.words.text(error.text))
