"""The menu bar: entries by name, their keys, and the recent files."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QMainWindow, QMenu

from advisor_gui import flow
from advisor_gui.ui import documents
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label
from advisor_gui.ui.theme import SPACE

KEY = QKeySequence.StandardKey
# Menu -> (name of the action, its key); None is a line between groups.
PLAN: dict[str, tuple[tuple[str, KEY | str | None] | None, ...]] = {
    "file": (
        ("new", KEY.New), ("open", KEY.Open), ("recent", None), None, ("save", KEY.Save), ("save_as", KEY.SaveAs), None,
        ("open_machine", "Ctrl+M"), ("this_machine", None), ("record", None), None, ("quit", KEY.Quit),
    ),
    "view": (
        ("rescan", "F5"), ("next", "Alt+Right"), ("back", "Alt+Left"), None,
        *((name, f"Ctrl+{place}") for place, name in enumerate(flow.PAGES, start=1)),
    ),
    "prove": (("verify_now", "F6"), ("try_now", "F7"), ("try_embedded", "Shift+F7"), None, ("cancel_work", "Ctrl+.")),
    "help": (("shortcuts", "F1"), ("about", None)),
}  # fmt: skip


class Menus:
    """Builds the bar of WINDOW and says it again when the language changes; the doing stands in `context.actions`."""

    def __init__(self, window: QMainWindow, context: Context) -> None:
        self.window, self.context = window, context
        self.actions: dict[str, QAction] = {}
        self.menus: dict[str, QMenu] = {}
        context.actions["shortcuts"] = self.show_shortcuts
        for menu_name, entries in PLAN.items():
            menu = window.menuBar().addMenu("")
            self.menus[menu_name] = menu
            for entry in entries:
                if entry is None:
                    menu.addSeparator()
                elif entry[0] == "recent":
                    self.menus["recent"] = menu.addMenu("")
                    self.menus["recent"].aboutToShow.connect(self.fill_recent)
                else:
                    menu.addAction(self._action(*entry))

    def _action(self, name: str, key: KEY | str | None) -> QAction:
        action = self.actions[name] = QAction(self.window)
        if name == "quit":
            action.setMenuRole(QAction.MenuRole.QuitRole)
        if key is not None:
            action.setShortcut(QKeySequence(key))
        action.triggered.connect(partial(self._act, name))
        return action

    def _act(self, name: str, *_: object) -> None:
        self.context.actions[name]()

    def say(self) -> None:
        words = self.context.words
        for name, menu in self.menus.items():
            menu.setTitle(words(f"main.{name}"))
        for name, action in self.actions.items():
            action.setText(words(f"main.{name}"))

    def fill_recent(self) -> None:
        menu, settings = self.menus["recent"], self.context.settings
        menu.clear()
        home = str(Path.home())
        for place, path in enumerate(settings.now.recent, start=1):
            said = f"~{path[len(home):]}" if path.startswith(home) else path
            menu.addAction(f"&{place}  {said.replace('&', '&&')}", partial(documents.open_path, self.window, self.context, path))
        if settings.now.recent:
            menu.addSeparator()
            menu.addAction(self.context.words("main.clear_recent"), partial(settings.change, recent=()))
        else:
            menu.addAction(self.context.words("main.no_recent")).setEnabled(False)

    def show_shortcuts(self) -> QDialog:
        """Every key of the menus in one list, beside the window, not in its way."""
        dialog = QDialog(self.window)
        dialog.setWindowTitle(plain(self.context.words("main.shortcuts")))
        form = QFormLayout(dialog)
        form.setContentsMargins(SPACE[4], SPACE[4], SPACE[4], SPACE[3])
        form.setHorizontalSpacing(SPACE[5])
        for action in self.actions.values():
            if not action.shortcut().isEmpty():
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                form.addRow(label(plain(action.text()), wrap=False), label(keys, "muted", wrap=False))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(dialog.reject)
        form.addRow(buttons)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def plain(text: str) -> str:
    """A menu text without its mnemonic: "&Save" and "保存(&S)" become "Save" and "保存"."""
    place = text.find("(&")
    if place >= 0 and text[place + 3 : place + 4] == ")":
        text = text[:place] + text[place + 4 :]
    return text.replace("&", "").rstrip("…")
