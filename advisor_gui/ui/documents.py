"""What the File menu does: assessments opened, saved, recovered after a crash; other machines; recordings."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from advisor_gui import session
from advisor_gui.report.value import Report
from advisor_gui.ui.context import Context
from knowledge import documents
from knowledge.answers import Answers
from knowledge.documents import BadInput

RECOVERY = "recovery.stackfit"


def encode(context: Context) -> bytes:
    """The open assessment as a .stackfit document (a report value, both languages). Raises CouldNot where nothing is open."""
    desk = context.desk
    if desk.machine is None or desk.recommendation is None:
        raise session.CouldNot("There is nothing to save before the machine has been looked at.")
    value = session.report(
        desk.machine, desk.answers, desk.recommendation, desk.findings, resolved=desk.resolve, smoke_results=desk.smoke
    )
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def decode(raw: str, name: str) -> Report:
    """A .stackfit document or a report in JSON. Raises BadInput."""
    return documents.convert(documents.parse(raw, name), Report, name)


def new(context: Context) -> None:
    desk = context.desk
    desk.document, desk.picked, desk.smoke, desk.resolve = None, None, (), None
    desk.set_answers(Answers())
    desk.unsaved = False
    desk.tell("document")
    context.go("project")


def open_path(parent: QWidget, context: Context, path: str) -> None:
    """Open an assessment, a machine file or a recording, whichever PATH is."""
    try:
        if path.endswith(".stackfit"):
            _show(context, decode(session.read_text(path, "an assessment"), path), Path(path))
        else:
            context.actions["machine_at"](path)
            return
    except BadInput as error:
        context.complain(context.words.text(error.text))
        return
    context.settings.opened(path)
    context.go("recommendation")


def _show(context: Context, value: Report, path: Path | None) -> None:
    desk = context.desk
    desk.answers = value.answers
    desk.set_machine(value.machine, str(path) if path is not None else "…")
    desk.set_findings(value.findings)
    desk.smoke = value.smoke
    desk.resolve = value.resolve
    desk.document, desk.unsaved = path, False
    for topic in ("answers", "smoke", "resolve", "document"):
        desk.tell(topic)


def ask_open(parent: QWidget, context: Context) -> None:
    path, _ = QFileDialog.getOpenFileName(parent, "", "", context.words("main.documents"))
    if path and may_leave(parent, context):
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
    (context.desk.places.data / RECOVERY).unlink(missing_ok=True)
    context.desk.tell("document")
    return True


def may_leave(parent: QWidget, context: Context) -> bool:
    """Asks about unsaved changes to a document; True where the user did not cancel."""
    if not context.desk.unsaved or context.desk.document is None:
        return True
    button = QMessageBox.StandardButton
    box = QMessageBox(parent)
    box.setText(context.words("main.unsaved"))
    box.setStandardButtons(button.Save | button.Discard | button.Cancel)
    answer = box.exec()
    if answer == button.Save:
        return save(parent, context)
    return bool(answer == button.Discard)


def keep_for_recovery(context: Context) -> None:
    """Written now and then while there are unsaved changes, so that a crash costs at most a minute."""
    if context.desk.unsaved and context.desk.machine is not None and context.desk.recommendation is not None:
        session.write_whole(context.desk.places.data / RECOVERY, encode(context))


def recover(context: Context) -> bool:
    """Show what was kept before a crash; False where nothing was."""
    path = context.desk.places.data / RECOVERY
    if not path.exists():
        return False
    try:
        value = decode(session.read_text(path, "an assessment"), str(path))
    finally:
        path.unlink(missing_ok=True)
    context.desk.set_answers(value.answers)
    return True
