"""The window: builds the rail, the pages and the menus, and connects them; it decides nothing."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QAction, QCloseEvent, QKeySequence
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenu,
    QProgressBar,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from advisor_gui import flow
from advisor_gui.ui import documents, icons, pages
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import Page, label
from advisor_gui.ui.theme import SPACE

# Work that goes on by itself and is no news to the user.
QUIET = frozenset({"live", "history", "checks", "storage", "package-settings"})


class MainWindow(QMainWindow):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.setMinimumSize(960, 640)
        self.resize(1280, 800)
        self._pages: dict[str, Page] = {}
        self._buttons: dict[str, QPushButton] = {}
        self._headings: dict[str, QLabel] = {}
        self._actions: dict[str, QAction] = {}
        self._menus: dict[str, QMenu] = {}
        self._build()
        self._build_menus()
        self._say()
        context.words.changed.connect(self._say)
        context.look.changed.connect(self._paint_icons)
        context.desk.listen(self._desk_changed)
        context.jobs.changed.connect(self._jobs_changed)
        if context.settings.now.geometry:
            self.restoreGeometry(QByteArray.fromHex(context.settings.now.geometry.encode()))

    def _build(self) -> None:
        body = QWidget()
        across = QHBoxLayout(body)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(0)
        rail = QFrame()
        rail.setProperty("kind", "rail")
        rail.setFixedWidth(204)
        down = QVBoxLayout(rail)
        down.setContentsMargins(SPACE[1], SPACE[3], SPACE[1], SPACE[2])
        down.setSpacing(SPACE[0])
        group = QButtonGroup(self)
        for heading, names in (("steps", flow.STEPS), ("look_up", flow.TOOLS)):
            if heading == "look_up":
                down.addSpacing(SPACE[3])
            self._headings[heading] = label("", "muted", size="small")
            self._headings[heading].setContentsMargins(SPACE[2], 0, 0, 0)
            down.addWidget(self._headings[heading])
            for name in names:
                button = QPushButton()
                button.setProperty("kind", "rail")
                button.setCheckable(True)
                button.clicked.connect(partial(self.show_page, name))
                group.addButton(button)
                down.addWidget(button)
                self._buttons[name] = button
        down.addStretch(1)
        across.addWidget(rail)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(0)
        self.banner = label("", "pill-info")
        self.banner.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], SPACE[1])
        self.banner.hide()
        right.addWidget(self.banner)
        self.stack = QStackedWidget()
        right.addWidget(self.stack, 1)
        across.addLayout(right, 1)
        self.setCentralWidget(body)
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setFixedWidth(120)
        self.busy.setTextVisible(False)
        self.busy.hide()
        self.statusBar().addPermanentWidget(self.busy)
        self.statusBar().setSizeGripEnabled(False)
        self._paint_icons()

    def _build_menus(self) -> None:
        do = self.context.actions
        standard = QKeySequence.StandardKey
        plan = {
            "file": (
                ("new", standard.New), ("open", standard.Open), ("recent", None), None, ("save", standard.Save),
                ("save_as", standard.SaveAs), None, ("open_machine", "Ctrl+M"), ("this_machine", None), ("record", None), None,
                ("quit", standard.Quit),
            ),
            "view": (("rescan", "F5"), ("next", "Alt+Right"), ("back", "Alt+Left"), None, *((n, None) for n in flow.PAGES)),
            "help": (("about", None),),
        }  # fmt: skip
        do.setdefault("quit", self.close)
        do.setdefault("next", partial(self._step, flow.following))
        do.setdefault("back", partial(self._step, flow.preceding))
        for place, name in enumerate(flow.PAGES, start=1):
            do[name] = partial(self.show_page, name)
            plan_key = f"Ctrl+{place}"
            self._actions[name] = QAction(self)
            self._actions[name].setShortcut(plan_key)
        for menu_name, entries in plan.items():
            menu = self.menuBar().addMenu("")
            self._menus[menu_name] = menu
            for entry in entries:
                if entry is None:
                    menu.addSeparator()
                    continue
                name, key = entry
                if name == "recent":
                    self._menus["recent"] = menu.addMenu("")
                    self._menus["recent"].aboutToShow.connect(self._fill_recent)
                    continue
                action = self._actions.setdefault(name, QAction(self))
                if key is not None:
                    action.setShortcut(key)
                action.triggered.connect(partial(self._act, name))
                menu.addAction(action)

    def _act(self, name: str) -> None:
        self.context.actions[name]()

    def _step(self, step: object) -> None:
        found = step(self.current()) if callable(step) else None
        if found is not None:
            self.show_page(found)

    def _fill_recent(self) -> None:
        menu = self._menus["recent"]
        menu.clear()
        for path in self.context.settings.now.recent:
            menu.addAction(path, partial(documents.open_path, self, self.context, path))
        if not self.context.settings.now.recent:
            menu.addAction(self.context.words("main.no_recent")).setEnabled(False)

    def current(self) -> str:
        return next((n for n, p in self._pages.items() if p is self.stack.currentWidget()), flow.PAGES[0])

    def show_page(self, name: str, *_: object) -> None:
        """Show the page NAME, made when first wanted."""
        if name not in self._pages:
            self._pages[name] = pages.make(name, self.context)
            self.stack.addWidget(self._pages[name])
        self.stack.setCurrentWidget(self._pages[name])
        self._buttons[name].setChecked(True)
        self._pages[name].setAccessibleName(self.context.words(f"main.{name}"))

    def _say(self) -> None:
        words = self.context.words
        for name, button in self._buttons.items():
            button.setText(words(f"main.{name}"))
        for name, heading in self._headings.items():
            heading.setText(words(f"main.{name}"))
        for name, menu in self._menus.items():
            menu.setTitle(words(f"main.{name}"))
        for name, action in self._actions.items():
            action.setText(words(f"main.{name}"))
        self._title()
        self._banner()

    def _title(self) -> None:
        desk = self.context.desk
        name = desk.document.stem if desk.document is not None else ""
        self.setWindowTitle(f"{name}[*] – Stackfit" if name else "Stackfit[*]")
        self.setWindowModified(desk.unsaved and desk.document is not None)

    def _banner(self) -> None:
        desk = self.context.desk
        self.banner.setVisible(desk.machine_path is not None)
        if desk.machine_path is not None:
            self.banner.setText(self.context.words("main.not_here", name=desk.machine_path))

    def _paint_icons(self) -> None:
        for name, button in self._buttons.items():
            button.setIcon(icons.icon(name, self.context.look.tokens.text, self.context.look.tokens.accent))

    def _desk_changed(self, topic: str) -> None:
        self._title()
        if topic in ("machine", "document"):
            self._banner()

    def _jobs_changed(self) -> None:
        self.busy.setVisible(self.context.jobs.any_running(apart_from=QUIET))

    def closeEvent(self, event: QCloseEvent) -> None:
        if not documents.may_leave(self, self.context):
            event.ignore()
            return
        raw = bytes(self.saveGeometry().toHex().data()).decode()
        self.context.settings.change(geometry=raw, page=self.current())
        late = self.context.jobs.close()
        for page in self._pages.values():
            page.close()
        if late:
            self.context.say(self.context.words("main.still_running", names=", ".join(late)))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
        event.accept()
