"""What the File menu does: assessments opened, saved, recovered after a crash; other machines; recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from advisor_gui import flow, session
from advisor_gui.ui.context import Context
from knowledge import documents
from knowledge.answers import Answers
from knowledge.documents import BadInput
from knowledge.text import Text

if TYPE_CHECKING:
    from advisor_gui.report.value import Report

RECOVERY = "recovery.stackfit"


def encode(context: Context) -> bytes:
    """The open assessment as a .stackfit document (a report value, both languages). Raises CouldNot where nothing is open."""
    desk = context.desk
    if desk.machine is None or desk.recommendation is None:
        raise session.CouldNot(Text(
            "There is nothing to save before the machine has been looked at.", "还没有查看电脑，没有可保存的内容。"
        ))  # fmt: skip
    value = session.report(
        desk.machine, desk.answers, desk.recommendation, desk.findings, resolved=desk.resolve, smoke_results=desk.smoke,
        knowledge=desk.catalog,
    )  # fmt: skip
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def decode(raw: str, name: str) -> Report:
    """A .stackfit document or a report in JSON. Raises BadInput."""
    from advisor_gui.report.value import Report

    return documents.convert(documents.parse(raw, name), Report, name)


def new(parent: QWidget, context: Context) -> None:
    if not may_leave(parent, context):
        return
    desk = context.desk
    desk.document, desk.picked, desk.smoke, desk.resolve = None, None, (), None
    desk.set_answers(Answers())
    desk.unsaved = False
    desk.tell("document")
    context.go("project")


def open_path(parent: QWidget, context: Context, path: str) -> None:
    """Open an assessment, a machine, a recording or a model file, whichever PATH is."""
    kind = flow.kind_of_file(path)
    if kind == "machine":
        context.actions["machine_at"](path)
    elif kind == "model":
        context.go("project")
        context.actions["read_model"](path)
    elif kind == "document" and may_leave(parent, context):
        context.jobs.start(
            "open", lambda _: decode(session.read_text(path, "an assessment"), path),
            on_done=lambda value: _opened(context, value, path), on_error=lambda error: _refused(context, error),
        )  # fmt: skip
    elif kind is None:
        context.complain(context.words("main.drop_unknown", name=Path(path).name))


def _opened(context: Context, value: Report, path: str) -> None:
    _show(context, value, Path(path))
    context.settings.opened(path)
    context.go("recommendation")


def _refused(context: Context, error: BaseException) -> None:
    text = getattr(error, "text", None)
    context.complain(context.words.text(text) if text is not None else context.words("main.failed", why=str(error)[:300]))


def _show(context: Context, value: Report, path: Path | None) -> None:
    desk = context.desk
    desk.answers, desk.picked = value.answers, None
    desk.set_machine(value.machine, str(path) if path is not None else "…")
    desk.set_findings(value.findings)
    desk.smoke = value.smoke
    desk.resolve = value.resolve
    desk.document, desk.unsaved = path, False
    for topic in ("answers", "smoke", "resolve", "document"):
        desk.tell(topic)


def ask_open(parent: QWidget, context: Context) -> None:
    path, _ = QFileDialog.getOpenFileName(parent, "", "", context.words("main.documents"))
    if path:
        open_path(parent, context, path)


def ask_machine(parent: QWidget, context: Context) -> None:
    path, _ = QFileDialog.getOpenFileName(parent, "", "", context.words("main.machines"))
    if path:
        open_path(parent, context, path)


def save(parent: QWidget, context: Context) -> bool:
    """Save to the document's own path, or ask for one. True where it is saved."""
    if context.desk.document is None:
        return save_as(parent, context)
    return _write(context, context.desk.document)


def save_as(parent: QWidget, context: Context) -> bool:
    path, _ = QFileDialog.getSaveFileName(parent, "", "assessment.stackfit", context.words("main.documents"))
    if not path:
        return False
    return _write(context, Path(path if path.endswith(".stackfit") else path + ".stackfit"))


def _write(context: Context, path: Path) -> bool:
    try:
        session.write_whole(path, encode(context))
    except session.CouldNot as error:
        context.complain(context.words.text(error.text))
        return False
    context.desk.document, context.desk.unsaved = path, False
    context.settings.opened(str(path))
    forget(context)
    context.desk.tell("document")
    return True


def may_leave(parent: QWidget, context: Context) -> bool:
    """Asks about unsaved changes to a document; True where the user did not cancel."""
    if not context.desk.unsaved or context.desk.document is None:
        return True
    button = QMessageBox.StandardButton
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(context.words("main.unsaved"))
    box.setStandardButtons(button.Save | button.Discard | button.Cancel)
    answer = box.exec()
    if answer == button.Save:
        return save(parent, context)
    return bool(answer == button.Discard)


def keep_for_recovery(context: Context) -> None:
    """Written now and then while there are unsaved changes, so that a crash costs at most a minute."""
    if context.desk.unsaved and context.desk.machine is not None and context.desk.recommendation is not None:
        try:
            session.write_whole(_recovery(context), encode(context))
        except session.CouldNot as error:
            context.say(context.words.text(error.text))


def _recovery(context: Context) -> Path:
    return context.desk.places.data / RECOVERY


def kept(context: Context) -> bool:
    """Whether answers from before a crash are there to be brought back."""
    return _recovery(context).is_file()


def forget(context: Context) -> None:
    """After a proper end, or when the user does not want them."""
    try:
        _recovery(context).unlink(missing_ok=True)
    except OSError as error:
        context.say(f"{_recovery(context)}: {error.strerror or error}")


def recover(context: Context) -> bool:
    """Bring back the answers that were kept before a crash; False where nothing readable was."""
    if not kept(context):
        return False
    path = _recovery(context)
    try:
        value = decode(session.read_text(path, "an assessment"), str(path))
    except BadInput as error:
        context.complain(context.words.text(error.text))
        return False
    finally:
        forget(context)
    context.desk.set_answers(value.answers)
    context.go("project")
    return True
