"""What people do in the window, by mouse and by keyboard: answer, look, suppose, copy, verify, try, cancel, save, reopen."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMessageBox, QPushButton

from advisor_gui import flow, session
from advisor_gui.ui import documents, single
from knowledge.plan import Measure, ResolveResult, SmokeResult
from knowledge.text import Text

Settled = Callable[[Any], None]
Until = Callable[..., None]
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "intermediate_size": 8192}  # fmt: skip


def activate(window: Any) -> None:
    """Keys go to the menus of an active window only."""
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window, 3000)


def click(button: Any) -> None:
    assert button.isVisible() and button.isEnabled()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def drop(window: Any, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    keys = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(40, 40), Qt.DropAction.CopyAction, data, *keys)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    assert window._drops.sheet.isVisible()
    QApplication.sendEvent(window, QDropEvent(QPoint(40, 40), Qt.DropAction.CopyAction, data, *keys))
    assert not window._drops.sheet.isVisible()


def test_keys_lead_to_every_page(program: Any, settled: Settled) -> None:
    settled(program)
    window = program.window
    activate(window)
    for place, name in enumerate(flow.PAGES, start=1):
        QTest.keyClick(window, Qt.Key(ord(str(place))), Qt.KeyboardModifier.ControlModifier)
        assert window.current() == name
        assert window._buttons[name].isChecked()
    window.show_page("machine")
    for name in flow.STEPS[1:]:
        QTest.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
        assert window.current() == name
    QTest.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert window.current() == flow.STEPS[-2]
    settled(program)


def test_choosing_a_scenario_brings_its_questions_up_and_the_advice_follows(program: Any, settled: Settled, until: Until) -> None:
    settled(program)
    program.window.show_page("project")
    page = program.window.page("project")
    cards = page.scenarios.cards
    until(lambda: len([c for c in cards.values() if c.isVisible()]) == len(cards))
    click(cards["llm-finetuning"])
    assert [n for n, c in cards.items() if c.isVisible()] == ["llm-finetuning"]
    assert program.desk.answers.scenario == "llm-finetuning"
    before = page.advice.memory.isVisible()
    line = page.rows["model"].line
    QTest.mouseClick(line, Qt.MouseButton.LeftButton)
    QTest.keyClicks(line, "7B")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert program.desk.answers.model.params == "7B"
    assert not before and page.advice.memory.isVisible()
    click(page.another)
    assert len([c for c in cards.values() if c.isVisible()]) == len(cards)


def test_tab_goes_as_one_reads(program: Any, settled: Settled) -> None:
    settled(program)
    activate(program.window)
    program.window.show_page("project")
    settled(program)
    page = program.window.page("project")
    order: list[Any] = []
    program.window._buttons["project"].setFocus()
    for _ in range(60):
        QTest.keyClick(program.window, Qt.Key.Key_Tab)
        order.append(program.window.focusWidget())
    first_row = next(iter(page.rows.values()))
    expected = [*page.scenarios.cards.values(), page.browse, *first_row.stops(), page.advice.details]
    found = [w for w in order if w in expected]
    assert found[: len(expected)] == [w for w in expected if w.isVisible()]


def test_an_answer_by_keyboard_alone(program: Any, settled: Settled) -> None:
    settled(program)
    activate(program.window)
    program.desk.answer("scenario", "llm-finetuning")
    program.window.show_page("project")
    page = program.window.page("project")
    box = page.rows["method"].box if "method" in page.rows else next(r.box for r in page.rows.values() if r.question.kind == "choice")
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    key = next(r.question.key for r in page.rows.values() if getattr(r, "box", None) is box)
    value: Any = program.desk.answers
    for part in key.split("."):
        value = getattr(value, part)
    assert value == box.itemData(1)


def test_a_wrong_answer_is_said_and_changes_nothing(program: Any, settled: Settled) -> None:
    settled(program)
    program.desk.answer("scenario", "llm-finetuning")
    program.window.show_page("project")
    row = program.window.page("project").rows["model"]
    QTest.keyClicks(row.line, "much")
    QTest.keyClick(row.line, Qt.Key.Key_Return)
    assert program.desk.answers.model.params is None
    assert row.why.isVisibleTo(row) and "much" in row.why.text()


def test_supposing_is_marked_and_leads_back_to_the_facts(program: Any, settled: Settled) -> None:
    settled(program)
    program.desk.answer("scenario", "llm-finetuning")
    program.desk.answer("model.params", "7B")
    program.window.show_page("recommendation")
    settled(program)
    page = program.window.page("recommendation")
    facts = program.desk.recommendation
    cards = [page.change_list.itemAt(i).widget() for i in range(page.change_list.count())]
    assert cards, "a card with an older driver has something that would change the advice"
    click(cards[0].findChild(QPushButton))
    notice = program.window.notices.supposed
    assert notice.isVisible()
    assert program.desk.supposition is not None
    assert program.desk.recommendation is facts, "the facts stay as they are"
    assert not program.desk.here, "a supposition cannot be proven"
    assert page.go_proof.isHidden()
    assert program.desk.shown != facts
    click(notice.buttons[0])
    assert program.desk.supposition is None and not notice.isVisible()
    assert program.desk.shown is facts


def test_alternatives_are_compared_and_looked_at(program: Any, settled: Settled) -> None:
    program.window.show_page("recommendation")
    settled(program)
    page = program.window.page("recommendation")
    others = program.desk.recommendation.others
    assert page.others.proxy.rowCount() == len(others) + 1
    page._look(page.others.proxy.index(1, 0))
    assert program.desk.assessment == others[0]
    assert page.back.isVisible()
    click(page.back)
    assert program.desk.assessment == program.desk.recommendation.chosen


def test_commands_are_copied_whole(program: Any, settled: Settled) -> None:
    program.window.show_page("recommendation")
    settled(program)
    box = program.window.page("recommendation").install.commands
    click(box.button)
    assert QGuiApplication.clipboard().text() == "\n".join(box.lines)
    assert any("torch==" in line for line in box.lines)
    QTest.qWait(1600)  # the button takes its own name back
    assert box.button.text() == program.words("main.copy")


def proven(check: str) -> SmokeResult:
    return SmokeResult(
        check=check, outcome="passed", because=Text("It ran.", "运行成功。"), run_s=1.5,
        measures=(Measure(id="loss", label=Text("Loss", "损失"), value=0.5, unit=""),),
    )  # fmt: skip


def test_verify_then_try(program: Any, settled: Settled, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(assessment: Any, machine: Any, *, progress: Any, **_: Any) -> ResolveResult:
        progress.log("asked")
        return ResolveResult(outcome="verified", client="uv", because=Text("All 12 packages were found.", "12 个包全部找到。"), lock="a==1")

    def smoke(check: str, machine: Any, places: Any, *, progress: Any, **_: Any) -> SmokeResult:
        progress.step(Text("Training", "训练"), 0.5)
        progress.log("step 1")
        return proven(check)

    monkeypatch.setattr(session, "resolve", resolve)
    monkeypatch.setattr(session, "smoke", smoke)
    program.window.show_page("proof")
    settled(program)
    page = program.window.page("proof")
    click(page.verify)
    until(lambda: program.desk.resolve is not None)
    assert "All 12 packages were found." in page.verdict.text()
    assert page.lock.isVisible()
    until(lambda: page.run.isEnabled())
    click(page.run)
    until(lambda: bool(program.desk.smoke) and not program.jobs.running("smoke"))
    assert page.results.count() == 1
    assert "step 1" in page.log.toPlainText()
    assert not page.work_card.isVisible()
    settled(program)


def test_cancel_answers_within_half_a_second(program: Any, settled: Settled, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def smoke(check: str, machine: Any, places: Any, *, progress: Any, **_: Any) -> SmokeResult:
        progress.wait(30)
        ended.set()
        return proven(check)

    monkeypatch.setattr(session, "smoke", smoke)
    program.window.show_page("proof")
    settled(program)
    page = program.window.page("proof")
    click(page.run)
    assert page.work_card.isVisible() and not page.run.isEnabled()
    began = time.monotonic()
    click(page.cancel)
    assert page.run.isEnabled() and not page.work_card.isVisible()
    assert ended.wait(0.5)
    assert time.monotonic() - began < 0.5
    until(lambda: not program.jobs._leaving)
    assert program.desk.smoke == (), "a late result is dropped"


def test_closing_while_work_runs_stops_it(program: Any, settled: Settled, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()

    def smoke(check: str, machine: Any, places: Any, *, progress: Any, **_: Any) -> SmokeResult:
        progress.wait(30)
        stopped.set()
        return proven(check)

    monkeypatch.setattr(session, "smoke", smoke)
    program.window.show_page("proof")
    settled(program)
    click(program.window.page("proof").run)
    program.window.close()
    assert stopped.is_set() and not program.window.isVisible()


def test_a_failure_is_a_sentence(program: Any, settled: Settled, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    def smoke(*_: Any, **__: Any) -> SmokeResult:
        raise session.CouldNot(Text("The disk is full.", "磁盘已满。"))

    monkeypatch.setattr(session, "smoke", smoke)
    program.window.show_page("proof")
    settled(program)
    click(program.window.page("proof").run)
    until(lambda: program.window.findChildren(QMessageBox))
    box = program.window.findChildren(QMessageBox)[0]
    assert box.text() == "The disk is full." and box.textFormat() == Qt.TextFormat.PlainText
    box.accept()
    until(lambda: program.window.page("proof").run.isEnabled())


def test_save_close_and_reopen(
    program: Any, settled: Settled, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(program)
    path = tmp_path / "team.stackfit"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    program.desk.answer("scenario", "llm-finetuning")
    assert program.context.actions["save"]()
    assert path.exists() and not program.desk.unsaved
    assert "team" in program.window.windowTitle()
    program.desk.answer("model.params", "7B")
    assert program.window.isWindowModified()
    program.context.actions["save"]()
    program.context.actions["new"]()
    assert program.desk.answers.scenario == "rapid-prototyping" and program.desk.document is None
    drop(program.window, path)
    until(lambda: program.desk.document == path)
    settled(program)
    assert program.desk.answers.model.params == "7B"
    assert program.window.current() == "recommendation"
    assert program.window.notices.place.isVisible(), "the machine in it is not this one"
    program.window.menus.fill_recent()
    assert any("team.stackfit" in a.text() for a in program.window.menus.menus["recent"].actions())
    click(program.window.notices.place.buttons[0])
    until(lambda: program.desk.machine_path is None)
    settled(program)


def test_unsaved_changes_are_asked_about(program: Any, settled: Settled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(program)
    path = tmp_path / "team.stackfit"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(path), ""))
    program.context.actions["save_as"]()
    program.desk.answer("scenario", "research")
    asked = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: asked.append(box.text()) or QMessageBox.StandardButton.Cancel)
    assert not program.window.close()
    assert asked and program.window.isVisible()
    monkeypatch.setattr(QMessageBox, "exec", lambda box: QMessageBox.StandardButton.Save)
    assert program.window.close()
    assert json.loads(path.read_text())["answers"]["scenario"] == "research"


def test_answers_come_back_after_a_crash(program: Any, settled: Settled) -> None:
    settled(program)
    program.desk.answer("scenario", "research")
    documents.keep_for_recovery(program.context)
    assert documents.kept(program.context)
    program.desk.answer("scenario", "llm-serving")  # what a new start would hold
    notices = program.window.notices
    notices.kept = documents.kept(program.context)
    notices.say()
    click(notices.recovery.buttons[1])
    assert program.desk.answers.scenario == "research"
    assert not documents.kept(program.context) and not notices.recovery.isVisible()


def test_a_broken_recovery_file_is_a_sentence(program: Any, settled: Settled, until: Until) -> None:
    settled(program)
    place = program.desk.places.data / documents.RECOVERY
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"{not json")
    assert not documents.recover(program.context)
    boxes = program.window.findChildren(QMessageBox)
    assert boxes and not place.exists()
    boxes[0].accept()


def test_a_model_file_falls_on_the_window(program: Any, settled: Settled, until: Until, tmp_path: Path) -> None:
    settled(program)
    program.desk.answer("scenario", "llm-finetuning")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(CONFIG))
    drop(program.window, config)
    until(lambda: program.desk.answers.model.layers == 16)
    settled(program)
    assert program.window.current() == "project"
    assert "config.json" in program.window.page("project").model_note.text()


def test_a_machine_falls_on_the_window(program: Any, settled: Settled, until: Until, tmp_path: Path) -> None:
    settled(program)
    other = tmp_path / "laptop.yaml"
    other.write_text("schema: 1\nsystem: {os: windows, release: '11', arch: x86_64}\naccelerators: []\n")
    drop(program.window, other)
    until(lambda: program.desk.machine_path == str(other))
    settled(program)
    assert program.window.notices.place.isVisible()
    assert "laptop.yaml" in program.window.notices.place.sentence.text()


def test_what_cannot_be_opened_is_said(program: Any, settled: Settled, tmp_path: Path) -> None:
    settled(program)
    (tmp_path / "song.mp3").write_bytes(b"x")
    drop(program.window, tmp_path / "song.mp3")
    boxes = program.window.findChildren(QMessageBox)
    assert boxes and "song.mp3" in boxes[0].text()
    boxes[0].accept()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("a.stackfit", "", "document"), ("m.gguf", "", "model"), ("m.yaml", "", "machine"), ("r.zip", "", "machine"),
     ("config.json", '{"model_type": "llama"}', "model"), ("report.json", '{"recommendation": {}}', "document"),
     ("probe.json", '{"schema": 1}', "machine"), ("x.mp3", "", None)],
)  # fmt: skip
def test_kind_of_file(tmp_path: Path, name: str, content: str, kind: str | None) -> None:
    (tmp_path / name).write_text(content)
    assert flow.kind_of_file(str(tmp_path / name)) == kind


def test_a_second_start_hands_its_file_to_the_first(program: Any, settled: Settled, until: Until, tmp_path: Path) -> None:
    settled(program)
    places = program.desk.places
    assert not single.handed_over(places, None), "nobody listens yet"
    got: list[str | None] = []
    listener = single.Listener(places, got.append)
    handed: list[bool] = []
    start = threading.Thread(target=lambda: handed.append(single.handed_over(places, str(tmp_path / "x.stackfit"))))
    start.start()
    until(lambda: bool(got))
    start.join()
    assert handed == [True] and got == [str(tmp_path / "x.stackfit")]
    listener.close()
    assert not single.handed_over(places, None)


def test_first_hint_goes_away_for_good(program: Any, settled: Settled) -> None:
    settled(program)
    program.window.show_page("machine")
    page = program.window.page("machine")
    assert page.hint.isVisible()
    click(page.hint_away)
    assert not page.hint.isVisible() and program.settings.now.hint_dismissed
    program.window.show_page("fleet")


def test_shortcuts_and_about_do_not_block(program: Any, settled: Settled, until: Until) -> None:
    settled(program)
    activate(program.window)
    QTest.keyClick(program.window, Qt.Key.Key_F1)
    dialogs = [d for d in program.window.findChildren(QDialog) if d.isVisible()]
    assert len(dialogs) == 1
    QTest.keyClick(dialogs[0], Qt.Key.Key_Escape)
    program.context.actions["about"]()
    box = program.window.findChildren(QMessageBox)[0]
    assert "Stackfit" in box.text()
    box.close()
    until(lambda: not [d for d in program.window.findChildren(QDialog) if d.isVisible()])


def test_report_is_previewed_and_saved(
    program: Any, settled: Settled, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = tmp_path / "page.png"
    program.window.grab().save(str(pictures))
    monkeypatch.setattr(session, "report_pages", lambda value, language: (pictures.read_bytes(),) * 2)
    program.window.show_page("report")
    page = program.window.page("report")
    until(lambda: page.sheets.count() == 2)
    target = tmp_path / "out"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(target), ""))
    click(page.buttons["json"])
    until(lambda: target.with_suffix(".json").exists() and not program.jobs.running("save-report"))
    assert json.loads(target.with_suffix(".json").read_text())["schema"] == 1
