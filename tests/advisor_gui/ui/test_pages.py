"""Every page in both languages: complete, named for screen readers, reachable by keyboard, and never read as markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)  # fmt: skip

from advisor_gui import flow
from advisor_gui.ui import words as wordlist
from advisor_gui.ui.menus import plain
from advisor_gui.ui.widgets.chart import ChartView

CONTROLS = (QAbstractButton, QLineEdit, QComboBox, QPlainTextEdit, QAbstractItemView, ChartView)


def visible(root: QWidget, kinds: Any) -> Iterator[Any]:
    for widget in root.findChildren(QWidget):
        if isinstance(widget, kinds) and widget.isVisible() and not isinstance(widget.parentWidget(), QComboBox):
            yield widget


def said(root: QWidget) -> set[str]:
    """Every text that can be seen in ROOT."""
    found = set()
    for widget in visible(root, (QLabel, QAbstractButton, QLineEdit)):
        found.add(widget.text())
        if isinstance(widget, QLineEdit):
            found.add(widget.placeholderText())
    return found


@pytest.mark.parametrize("page", flow.PAGES)
def test_language_changes_everywhere_at_once(shown: Any, settled: Callable[[Any], None], page: str) -> None:
    shown.window.show_page(page)
    settled(shown)
    labels = wordlist.load().values()
    english = {t.en for t in labels if t.en != t.zh and "{" not in t.en} - {t.zh for t in labels}
    chinese = {t.zh for t in labels if t.en != t.zh and "{" not in t.zh} - {t.en for t in labels}
    assert said(shown.window) & english
    shown.words.choose("zh")
    settled(shown)
    assert not {t for t in said(shown.window) if t in english}
    assert said(shown.window) & chinese
    shown.words.choose("en")
    settled(shown)
    assert not {t for t in said(shown.window) if t in chinese}


@pytest.mark.parametrize("page", flow.PAGES)
def test_every_control_has_a_name_for_screen_readers(shown: Any, settled: Callable[[Any], None], page: str) -> None:
    shown.window.show_page(page)
    settled(shown)
    nameless = []
    for widget in visible(shown.window, CONTROLS):
        if widget.objectName() in ("qt_toolbar_ext_button", "qt_menubar_ext_button") or "QTableCorner" in type(widget).__name__:
            continue
        if isinstance(widget.parentWidget(), QLineEdit):
            continue  # the cross in a search field, which Qt names in its own way
        described = QAccessible.queryAccessibleInterface(widget)
        if described is None or not described.text(QAccessible.Text.Name).strip():
            nameless.append((type(widget).__name__, widget.objectName(), widget.parentWidget()))
    assert not nameless


@pytest.mark.parametrize("page", flow.PAGES)
def test_tab_reaches_every_control(shown: Any, settled: Callable[[Any], None], page: str) -> None:
    window = shown.window
    window.show_page(page)
    settled(shown)
    window.activateWindow()
    wanted = {
        w for w in visible(window.page(page), CONTROLS)
        if w.isEnabled() and w.focusPolicy() & Qt.FocusPolicy.TabFocus and not isinstance(w.parentWidget(), QLineEdit)
    }  # fmt: skip
    reached = set()
    window._buttons[page].setFocus()
    for _ in range(400):
        QTest.keyClick(window, Qt.Key.Key_Tab)
        focused = QApplication.focusWidget() or window.focusWidget()
        if focused is window._buttons[page] and reached >= wanted:
            break
        reached.add(focused)
    assert not wanted - reached


@pytest.mark.parametrize("page", flow.PAGES)
def test_no_label_reads_markup(shown: Any, settled: Callable[[Any], None], page: str) -> None:
    shown.window.show_page(page)
    settled(shown)
    assert all(label.textFormat() == Qt.TextFormat.PlainText or not label.text() for label in shown.window.findChildren(QLabel))


@pytest.mark.parametrize("page", flow.PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_the_smallest_window(shown: Any, settled: Callable[[Any], None], page: str, language: str) -> None:
    shown.words.choose(language)
    shown.desk.answer("scenario", "llm-finetuning")
    shown.desk.answer("model.params", "7B")
    window = shown.window
    window.resize(960, 640)
    window.show_page(page)
    settled(shown)
    looked_at = window.page(page)
    assert looked_at.body.width() <= looked_at.viewport().width() + 1
    for label in visible(looked_at, QLabel):
        if not label.wordWrap() and label.text() and label.pixmap().isNull():
            assert label.width() >= label.fontMetrics().horizontalAdvance(label.text()) - 1, label.text()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_entries_of_a_menu_share_a_letter(shown: Any, language: str) -> None:
    shown.words.choose(language)
    menus = shown.window.menus
    groups = {"bar": [menus.menus[n].title() for n in ("file", "view", "prove", "help")]}
    for name, menu in menus.menus.items():
        groups[name] = [a.text() for a in menu.actions() if not a.isSeparator()]
    for name, texts in groups.items():
        letters = [m.lower() for t in texts for m in re.findall(r"&([^&\s])", t)]
        assert len(letters) == len(set(letters)), (name, texts)
    in_bar = {m.lower() for t in groups["bar"] for m in re.findall(r"&([^&\s])", t)}
    for page in flow.PAGES:
        for button in shown.window.page(page).findChildren(QAbstractButton):
            assert not {m.lower() for m in re.findall(r"&([A-Za-z])", button.text().replace("&&", ""))} & in_bar


def test_menu_text_without_its_letter() -> None:
    assert plain("&Save") == "Save"
    assert plain("保存(&S)") == "保存"
    assert plain("打开(&O)…") == "打开"


def test_every_menu_entry_does_something(shown: Any) -> None:
    assert set(shown.window.menus.actions) <= set(shown.context.actions)


def test_reduced_motion_stills_the_bar(shown: Any, settled: Callable[[Any], None], until: Callable[..., None]) -> None:
    foot = shown.window.statusBar()
    shown.settings.change(reduced_motion=True)
    shown.jobs.start("fleet", lambda progress: progress.wait(30))
    assert foot.work.text()
    assert not foot.bar.isVisible()
    shown.settings.change(reduced_motion=False)
    foot.show_work()
    assert foot.bar.isVisible()
    shown.jobs.cancel("fleet")
    until(lambda: not foot.work.text())
    assert not foot.bar.isVisible()
