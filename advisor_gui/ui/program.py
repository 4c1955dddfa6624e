"""The open program: what its window is made of, and what its actions do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QLibraryInfo, QLocale, Qt, QTimer, QTranslator
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from advisor_gui import session
from advisor_gui.desk import Desk
from advisor_gui.ui import theme
from advisor_gui.ui.app import choose_font, han
from advisor_gui.ui.context import Context, Look
from advisor_gui.ui.jobs import Jobs
from advisor_gui.ui.main_window import MainWindow
from advisor_gui.ui.settings import Settings
from advisor_gui.ui.words import Words

if TYPE_CHECKING:
    from advisor_gui.ui.pages.proof import ProofPage
    from knowledge.facts import Finding, MachineProfile
    from probes.progress import Progress

EMBEDDED = "onnxruntime-embedded"  # the check that needs no download


class Program:
    """The open window with what it is made of."""

    def __init__(self, app: QApplication, places: session.Folders, window: MainWindow | None = None) -> None:
        self.app = app
        settings = Settings(places.config)
        self.look = Look(self._tokens(settings.now.theme))
        self.words = Words(settings.now.language or session.default_language())
        self.jobs = Jobs()
        self.desk = Desk(places)
        self.settings = settings
        self._translator: QTranslator | None = None
        self._complete = False
        self.context = Context(
            desk=self.desk, jobs=self.jobs, words=self.words, look=self.look, settings=settings,
            go=self._go, say=self._say, complain=self._complain,
        )  # fmt: skip
        self._paint()
        if self.words.language == "zh":
            choose_font(han())  # English needs it only once something Chinese is shown, which is later
        self.window = window or MainWindow()
        self.window.fill(self.context)

    def complete(self) -> None:
        """What the first frame can do without: fonts of the other language, actions, icons, dropping, recovery."""
        from advisor_gui.ui import documents

        if self._complete:
            return
        self._complete = True
        if self.words.language != "zh":
            choose_font(han())
        self._translate()
        do = self.context.actions
        do["new"] = partial(documents.new, self.window, self.context)
        do["open"] = partial(documents.ask_open, self.window, self.context)
        do["save"] = partial(documents.save, self.window, self.context)
        do["save_as"] = partial(documents.save_as, self.window, self.context)
        do["open_machine"] = partial(documents.ask_machine, self.window, self.context)
        do["machine_at"] = self.scan
        do["this_machine"] = partial(self.scan, None)
        do["rescan"] = self.rescan
        do["record"] = self.record
        do["about"] = self.about
        do["repaint"] = self.restyle
        do["read_model"] = self.read_model
        do["verify_now"] = lambda: self._proof().start_verify()
        do["try_now"] = lambda: self._proof().start_try()
        do["try_embedded"] = lambda: self._proof().start_try(EMBEDDED)
        do["cancel_work"] = lambda: self._proof().cancel_all()
        self.words.changed.connect(self._translate)
        self.look.changed.connect(self._paint)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self.restyle)
        self._keeper = QTimer(self.window)
        self._keeper.setInterval(60_000)
        self._keeper.timeout.connect(partial(documents.keep_for_recovery, self.context))
        self._keeper.start()
        self.window.complete()

    def retire(self) -> None:
        """After the window was closed: nothing ticks any more."""
        if self._complete:
            self._keeper.stop()
        if self._translator is not None:
            self.app.removeTranslator(self._translator)
            self._translator = None

    def begin(self, file: str | None) -> None:
        """After the first paint: the first page, the knowledge, the scan."""
        self.complete()
        self.window.show_page("machine")
        self.jobs.start("catalog", self._load_catalog, on_done=self.desk.set_catalog, on_error=self._fault)
        if file:
            from advisor_gui.ui import documents

            documents.open_path(self.window, self.context, file)
        else:
            self.scan(None)

    def _load_catalog(self, _progress: Progress) -> object:
        return session.catalog(self.desk.places)

    def scan(self, path: str | None = None) -> None:
        """Look at this machine (None) or at the one in a file; hardware first, environments when they are read."""

        def hardware(progress: Progress) -> object:
            return session.open_machine(path, environments=False, progress=progress)

        def whole(progress: Progress) -> object:
            machine = session.open_machine(path, environments=True, progress=progress)
            return machine, session.doctor(session.catalog(self.desk.places), machine)

        def got_hardware(machine: MachineProfile) -> None:
            self.desk.set_machine(machine, path)
            self.jobs.start("scan", whole, on_done=got_whole, on_error=self._fault)

        def got_whole(found: tuple[MachineProfile, tuple[Finding, ...]]) -> None:
            machine, findings = found
            self.desk.set_machine(machine, path)
            self.desk.set_findings(findings)
            if path is not None:
                self.settings.opened(path)

        self.jobs.start("scan", hardware, on_done=got_hardware, on_error=self._fault)

    def rescan(self) -> None:
        self.scan(self.desk.machine_path)

    def read_model(self, path: str) -> None:
        from advisor_gui.ui.pages.project import ProjectPage

        page = self.window.page("project")
        assert isinstance(page, ProjectPage)
        page.read_model(path)

    def _proof(self) -> ProofPage:
        """The page of the proofs, shown."""
        from advisor_gui.ui.pages.proof import ProofPage

        self.window.show_page("proof")
        page = self.window.page("proof")
        assert isinstance(page, ProofPage)
        return page

    def record(self) -> None:
        from PySide6.QtWidgets import QFileDialog

        path, _ = QFileDialog.getSaveFileName(self.window, "", "machine.zip", "*.zip")
        if path:
            self.jobs.start(
                "record", lambda progress: session.record(path, progress), on_done=lambda _: self._say(self.words("main.recorded", path=path)),
                on_error=self._fault,
            )  # fmt: skip

    def about(self) -> None:
        from advisor_gui.ui.menus import plain

        checked = self.desk.recommendation.knowledge_checked if self.desk.recommendation else None
        box = QMessageBox(self.window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle(plain(self.words("main.about")))
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(self.words("main.about_text", version=session.version(), checked=checked or "–"))
        box.open()

    def raise_with(self, file: str | None) -> None:
        """A second start hands its file to this window."""
        self.window.showNormal() if self.window.isMinimized() else None
        self.window.raise_()
        self.window.activateWindow()
        if file:
            from advisor_gui.ui import documents

            documents.open_path(self.window, self.context, file)

    def restyle(self, *_: object) -> None:
        self.look.choose(self._tokens(self.settings.now.theme))

    def _tokens(self, choice: str) -> theme.Tokens:
        if choice == "system":
            scheme = QGuiApplication.styleHints().colorScheme()
            dark = scheme == Qt.ColorScheme.Dark
        else:
            dark = choice == "dark"
        return theme.DARK if dark else theme.LIGHT

    def _paint(self) -> None:
        self.app.setPalette(theme.palette(self.look.tokens))
        self.app.setStyleSheet(theme.style_sheet(self.look.tokens))

    def _translate(self) -> None:
        """Qt's own words (Cancel, Save …) in the chosen language."""
        if self._translator is not None:
            self.app.removeTranslator(self._translator)
            self._translator = None
        if self.words.language == "zh":
            translator = QTranslator(self.app)
            folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
            if translator.load("qtbase_zh_CN", folder):
                self.app.installTranslator(translator)
                self._translator = translator
        QLocale.setDefault(QLocale("zh_CN" if self.words.language == "zh" else "en_GB"))

    def _go(self, page: str) -> None:
        self.window.show_page(page)

    def _say(self, sentence: str) -> None:
        self.window.statusBar().showMessage(sentence, 5000)

    def _complain(self, sentence: str) -> None:
        box = QMessageBox(QMessageBox.Icon.Warning, self.words("main.error_title"), sentence, parent=self.window)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _fault(self, error: BaseException) -> None:
        text = getattr(error, "text", None)
        self._complain(self.words.text(text) if text is not None else self.words("main.failed", why=str(error)[:300]))
