"""Starts the window: fonts, theme, language, the first scan; hands a file to a window that is already open."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QLibraryInfo, QLocale, Qt, QTimer, QTranslator
from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QGuiApplication
from PySide6.QtWidgets import QApplication, QMessageBox

from advisor_gui import session
from advisor_gui.desk import Desk
from advisor_gui.ui import theme
from advisor_gui.ui.context import Context, Look
from advisor_gui.ui.jobs import Jobs
from advisor_gui.ui.settings import Settings
from advisor_gui.ui.words import Words

if TYPE_CHECKING:
    from advisor_gui.ui.main_window import MainWindow
    from advisor_gui.ui.pages.proof import ProofPage
    from knowledge.facts import Finding, MachineProfile
    from probes.progress import Progress

EMBEDDED = "onnxruntime-embedded"  # the check that needs no download
APP_ID = "io.github.stackfit.Stackfit"


def main(file: str | None = None) -> int:
    """Open the window and run until it is closed."""
    from advisor_gui.ui import single

    app = application(sys.argv[:1])
    places = session.folders()
    if single.handed_over(places, file):
        return 0
    window = build(app, places)
    listener = single.Listener(places, window.raise_with)  # noqa: F841 - lives as long as the window
    window.window.show()
    # After the first paint: nothing slow may come before it.
    QTimer.singleShot(0, partial(window.begin, file))
    return app.exec()


def application(argv: list[str]) -> QApplication:
    """The one QApplication, in our style."""
    keep_constants()
    existing = QApplication.instance()
    app = existing if isinstance(existing, QApplication) else QApplication(argv)
    app.setApplicationName("stackfit")
    app.setApplicationDisplayName("Stackfit")
    app.setDesktopFileName(APP_ID)
    app.setStyle("Fusion")
    choose_font(None)
    return app


def keep_constants() -> None:
    """Keep None, True and False alive on Python 3.11, where PySide6 6.12 gives a reference to them away at each call.

    Without this a count reaches zero after some thousand calls and Python ends with "none_dealloc" or "bool_dealloc" (seen:
    1.0 reference of None lost for each QLabel.setText; none with PySide6 6.11.3, nor from Python 3.12 on, where the
    constants are never freed).
    """
    if sys.version_info >= (3, 12):
        return
    import ctypes

    for constant in (None, True, False):
        count = ctypes.c_ssize_t.from_address(id(constant))
        if abs(count.value - sys.getrefcount(constant)) < 64:  # the count is where a release build of CPython keeps it
            count.value += 1 << 40


def han() -> str | None:
    """Register our Chinese fonts and return their family."""
    family = None
    for file in sorted(Path(__file__).with_name("assets").glob("*.otf")):
        number = QFontDatabase.addApplicationFont(str(file))
        family = next(iter(QFontDatabase.applicationFontFamilies(number)), family)
    return family


def choose_font(family: str | None) -> None:
    """The system's own Latin font first, then FAMILY for Chinese: asked alone, Qt may pick Japanese glyph shapes."""
    font = QApplication.font()
    latin = QFontInfo(font).family()
    font.setFamilies([latin, family] if family else [latin])
    font.setPointSizeF(theme.SIZE_PT["body"])
    font.setStyleHint(QFont.StyleHint.SansSerif)
    QApplication.setFont(font)


def build(app: QApplication, places: session.Folders) -> Program:
    return Program(app, places)


class Program:
    """The open window with what it is made of."""

    def __init__(self, app: QApplication, places: session.Folders) -> None:
        from advisor_gui.ui.main_window import MainWindow

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
            choose_font(han())  # English needs it only once something Chinese is shown, which is after the first frame
        self.window: MainWindow = MainWindow(self.context)

    def complete(self) -> None:
        """What the first frame can do without: fonts of the other language, actions, icons, dropping, recovery."""
        from advisor_gui.ui import documents

        if self._complete:
            return
        self._complete = True
        self.app.setApplicationVersion(session.version())
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


def default_document_folder() -> Path:
    return Path.home()
