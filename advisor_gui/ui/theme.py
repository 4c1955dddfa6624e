"""The look: colours, type scale and spacing as tokens, for light and dark, and the palette and style sheet made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from PySide6.QtGui import QPalette


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """One colour scheme. Each text colour keeps 4.5:1 on each surface it is used on (a test measures it)."""

    dark: bool
    window: str  # behind everything
    rail: str
    surface: str  # cards
    raised: str  # inputs, hover
    line: str
    text: str
    muted: str
    accent: str
    on_accent: str
    accent_soft: str
    good: str
    good_soft: str
    warn: str
    warn_soft: str
    bad: str
    bad_soft: str
    info: str
    info_soft: str
    code: str  # background of commands


LIGHT = Tokens(
    dark=False, window="#f5f6f8", rail="#eceef2", surface="#ffffff", raised="#f0f2f5", line="#d9dde3",
    text="#1b1f27", muted="#565e6c", accent="#1f5fd1", on_accent="#ffffff", accent_soft="#e3ecfc",
    good="#1a7040", good_soft="#e2f4e9", warn="#8a5300", warn_soft="#fdf1dc", bad="#b3261e", bad_soft="#fce8e6",
    info="#0b6580", info_soft="#e0f2f7", code="#f0f2f5",
)  # fmt: skip
DARK = Tokens(
    dark=True, window="#15181d", rail="#101317", surface="#1e2229", raised="#282d36", line="#363c47",
    text="#e8eaee", muted="#a4acb9", accent="#7aa7ff", on_accent="#0c1a33", accent_soft="#22304a",
    good="#6fd39a", good_soft="#1c3327", warn="#f0b95a", warn_soft="#3a2e18", bad="#ff938a", bad_soft="#42221f",
    info="#6cc5e0", info_soft="#18323b", code="#171a20",
)  # fmt: skip

SPACE = (4, 8, 12, 16, 24, 32)  # the only distances used
RADIUS = 8
SIZE_PT = {"small": 9.0, "body": 10.0, "strong": 10.0, "section": 12.0, "title": 18.0}


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours after WCAG 2.1 (relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palette(tokens: Tokens) -> QPalette:
    """Set by hand: asking Qt for a colour scheme does nothing on several Linux desktops."""
    from PySide6.QtGui import QColor, QPalette

    made = QPalette()
    role = QPalette.ColorRole
    for where, colour in (
        (role.Window, tokens.window), (role.WindowText, tokens.text), (role.Base, tokens.surface),
        (role.AlternateBase, tokens.raised), (role.Text, tokens.text), (role.Button, tokens.raised),
        (role.ButtonText, tokens.text), (role.BrightText, tokens.on_accent), (role.Highlight, tokens.accent),
        (role.HighlightedText, tokens.on_accent), (role.ToolTipBase, tokens.raised), (role.ToolTipText, tokens.text),
        (role.PlaceholderText, tokens.muted), (role.Link, tokens.accent), (role.LinkVisited, tokens.accent),
        (role.Light, tokens.raised), (role.Midlight, tokens.line), (role.Mid, tokens.muted), (role.Dark, tokens.muted),
        (role.Shadow, tokens.line), (role.Accent, tokens.accent),
    ):  # fmt: skip
        made.setColor(where, QColor(colour))
    for where in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, where, QColor(tokens.muted))
    return made


def style_sheet(t: Tokens) -> str:
    """One style sheet for the whole program; widgets name themselves by the property `kind`."""
    from pathlib import Path

    # Fusion draws arrows and ticks from palette shades that vanish in the dark; these are our own strokes.
    assets = Path(__file__).with_name("assets") / ("dark" if t.dark else "light")
    down, tick, dot = ((assets / f"{name}.svg").as_posix() for name in ("down", "tick", "dot"))
    return f"""
    QWidget {{ color: {t.text}; }}
    QMainWindow, QDialog {{ background: {t.window}; }}
    QToolTip {{ background: {t.raised}; color: {t.text}; border: 1px solid {t.line}; padding: 4px; }}
    QFrame[kind="rail"] {{ background: {t.rail}; border: none; border-right: 1px solid {t.line}; }}
    QFrame[kind="card"] {{ background: {t.surface}; border: 1px solid {t.line}; border-radius: {RADIUS}px; }}
    QFrame[kind="banner"] {{ background: {t.info_soft}; border: none; border-bottom: 1px solid {t.line}; }}
    QFrame[kind="supposed"] {{ background: {t.warn_soft}; border: none; border-bottom: 1px solid {t.line}; }}
    QFrame[kind="drop"] {{ background: {t.accent_soft}; border: 2px dashed {t.accent}; border-radius: {RADIUS}px; }}
    QFrame[kind="layer"] {{ background: {t.raised}; border: 1px solid {t.line}; border-radius: 6px; }}
    QFrame[kind="line"] {{ background: {t.line}; max-height: 1px; border: none; }}
    QLabel {{ background: transparent; }}
    QLabel[kind="sheet"] {{ background: #ffffff; border: 1px solid {t.line}; }}
    QLabel[kind="muted"] {{ color: {t.muted}; }}
    QLabel[kind="link"] {{ color: {t.accent}; }}
    QLabel[kind="info"] {{ color: {t.info}; }}
    QLabel[kind="good"] {{ color: {t.good}; }}
    QLabel[kind="warn"] {{ color: {t.warn}; }}
    QLabel[kind="bad"] {{ color: {t.bad}; }}
    QLabel[kind="pill-good"] {{ color: {t.good}; background: {t.good_soft}; border-radius: 9px; padding: 2px 8px; }}
    QLabel[kind="pill-warn"] {{ color: {t.warn}; background: {t.warn_soft}; border-radius: 9px; padding: 2px 8px; }}
    QLabel[kind="pill-bad"] {{ color: {t.bad}; background: {t.bad_soft}; border-radius: 9px; padding: 2px 8px; }}
    QLabel[kind="pill-info"] {{ color: {t.info}; background: {t.info_soft}; border-radius: 9px; padding: 2px 8px; }}
    QPushButton {{ background: {t.raised}; border: 1px solid {t.line}; border-radius: 6px; padding: 5px 12px; }}
    QPushButton:hover {{ border-color: {t.muted}; }}
    QPushButton:pressed {{ background: {t.line}; }}
    QPushButton:disabled {{ color: {t.muted}; }}
    QPushButton:focus, QToolButton:focus {{ border: 2px solid {t.accent}; padding: 4px 11px; }}
    QPushButton[kind="primary"] {{ background: {t.accent}; color: {t.on_accent}; border: 1px solid {t.accent}; }}
    QPushButton[kind="primary"]:focus {{ border: 2px solid {t.text}; }}
    QPushButton[kind="primary"]:disabled {{ background: {t.raised}; color: {t.muted}; border-color: {t.line}; }}
    QPushButton[kind="rail"] {{ background: transparent; border: 1px solid transparent; border-radius: 6px;
        padding: 8px 12px; text-align: left; }}
    QPushButton[kind="rail"]:hover {{ background: {t.raised}; }}
    QPushButton[kind="rail"]:checked {{ background: {t.accent_soft}; color: {t.accent}; font-weight: 600; }}
    QPushButton[kind="rail"]:focus {{ border: 1px solid {t.accent}; padding: 8px 12px; }}
    QPushButton[kind="link"] {{ background: transparent; border: none; color: {t.accent}; padding: 2px; text-align: left; }}
    QPushButton[kind="link"]:hover {{ text-decoration: underline; }}
    QPushButton[kind="link"]:focus {{ border: 1px solid {t.accent}; padding: 1px; }}
    QPushButton[kind="choice"] {{ background: {t.surface}; border: 1px solid {t.line}; border-radius: {RADIUS}px;
        padding: 12px; text-align: left; }}
    QPushButton[kind="choice"]:hover {{ border-color: {t.muted}; }}
    QPushButton[kind="choice"]:checked {{ background: {t.accent_soft}; border: 2px solid {t.accent}; padding: 11px; }}
    QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox {{ background: {t.surface}; border: 1px solid {t.line};
        border-radius: 6px; padding: 5px 8px; selection-background-color: {t.accent};
        selection-color: {t.on_accent}; min-height: 18px; }}
    QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus {{ border: 2px solid {t.accent}; padding: 4px 7px; }}
    QComboBox::drop-down {{ border: none; width: 24px; }}
    QComboBox::down-arrow {{ image: url({down}); width: 12px; height: 12px; }}
    QComboBox:disabled, QLineEdit:disabled {{ color: {t.muted}; background: {t.raised}; }}
    QComboBox QAbstractItemView::item {{ min-height: 26px; padding: 0 8px; }}
    QComboBox QAbstractItemView {{ background: {t.surface}; border: 1px solid {t.line};
        selection-background-color: {t.accent_soft}; selection-color: {t.text}; }}
    QPlainTextEdit[kind="code"], QTextEdit[kind="code"] {{ background: {t.code}; border: 1px solid {t.line};
        border-radius: 6px; padding: 8px; font-family: monospace; }}
    QPlainTextEdit:focus, QTextEdit:focus {{ border: 2px solid {t.accent}; }}
    QTableView, QTreeView, QListView {{ background: {t.surface}; alternate-background-color: {t.raised};
        border: 1px solid {t.line}; border-radius: 6px; gridline-color: {t.line};
        selection-background-color: {t.accent_soft}; selection-color: {t.text}; }}
    QTableView::item {{ padding: 0 8px; border: none; }}
    QTableView::item:selected {{ background: {t.accent_soft}; color: {t.text}; }}
    QTableView:focus, QTreeView:focus, QListView:focus {{ border: 2px solid {t.accent}; }}
    QHeaderView::section {{ background: {t.raised}; color: {t.muted}; border: none; border-bottom: 1px solid {t.line};
        padding: 6px 9px; }}
    QProgressBar {{ background: {t.raised}; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }}
    QProgressBar::chunk {{ background: {t.accent}; border-radius: 3px; }}
    QScrollArea {{ border: none; background: transparent; }}
    QScrollArea > QWidget > QWidget {{ background: transparent; }}
    QScrollBar:vertical {{ background: transparent; width: 12px; margin: 2px; }}
    QScrollBar::handle:vertical {{ background: {t.muted}; border-radius: 4px; min-height: 32px; }}
    QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 2px; }}
    QScrollBar::handle:horizontal {{ background: {t.muted}; border-radius: 4px; min-width: 32px; }}
    QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page {{ background: none; border: none;
        width: 0; height: 0; }}
    QPlainTextEdit#lines QScrollBar:horizontal {{ height: 9px; }}
    QPlainTextEdit#lines QScrollBar::handle:horizontal {{ border-radius: 3px; }}
    QCheckBox::indicator, QRadioButton::indicator {{ width: 16px; height: 16px; border: 1px solid {t.muted};
        background: {t.surface}; }}
    QCheckBox::indicator {{ border-radius: 4px; }}
    QRadioButton::indicator {{ border-radius: 8px; }}
    QCheckBox::indicator:checked {{ background: {t.accent}; border-color: {t.accent}; image: url({tick}); }}
    QRadioButton::indicator:checked {{ background: {t.accent}; border-color: {t.accent}; image: url({dot}); }}
    QCheckBox {{ padding: 2px; border: 1px solid transparent; border-radius: 4px; }}
    QCheckBox:focus {{ border-color: {t.accent}; }}
    QMenu {{ background: {t.surface}; border: 1px solid {t.line}; padding: 4px; }}
    QMenu::item {{ padding: 6px 24px; border-radius: 4px; }}
    QMenu::item:selected {{ background: {t.accent_soft}; }}
    QMenu::item:disabled {{ color: {t.muted}; }}
    QMenu::separator {{ height: 1px; background: {t.line}; margin: 4px 8px; }}
    QMenuBar {{ background: {t.rail}; border-bottom: 1px solid {t.line}; }}
    QMenuBar::item {{ padding: 4px 8px; background: transparent; }}
    QStatusBar {{ background: {t.rail}; border-top: 1px solid {t.line}; }}
    QStatusBar::item {{ border: none; }}
    QMenuBar::item:selected {{ background: {t.accent_soft}; }}
    QTabBar::tab {{ padding: 6px 14px; background: transparent; color: {t.muted}; border-bottom: 2px solid transparent; }}
    QTabBar::tab:selected {{ color: {t.text}; border-bottom: 2px solid {t.accent}; }}
    QTabWidget::pane {{ border: none; }}
    QSplitter::handle {{ background: {t.line}; }}
    """
