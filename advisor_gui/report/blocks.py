"""The blocks that a report is made of, in one language; formats only lay them out."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from knowledge.plan import Series
from knowledge.text import Text

# Marks that set or override the direction of what follows, and letters written from right to left.
TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+")
Tone = Literal["good", "warn", "bad", "info", "plain"]


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    value: str
    tone: Tone = "plain"
    note: str = ""


class Bullets(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[str, ...]


class Heading(msgspec.Struct, frozen=True, kw_only=True):
    """A heading inside a section."""

    said: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """`wide` gives each column its share of the width; empty: all the same. `title` folds the table away where a format can."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wide: tuple[float, ...] = ()
    lead: bool = True  # the first column names its row
    title: str = ""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement: what was asked, what came of it, because of what, and where that is written."""

    tone: Tone
    word: str
    title: str
    said: str
    evidence: str = ""
    source: str = ""
    url: str = ""


class Reasons(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Reason, ...]


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    said: str
    commands: tuple[str, ...] = ()


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    tone: Tone
    word: str
    said: str
    detail: str = ""
    repairs: tuple[Repair, ...] = ()


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    """Lines to type. `folded` ones are shown on demand where a format can; `small` ones are long files."""

    title: str
    lines: tuple[str, ...]
    folded: bool = False
    small: bool = False


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """The memory bar: shares of the widest value, in percent."""

    parts: tuple[tuple[str, str, float, int], ...]  # label, size, percent, colour number
    have_percent: float | None
    low_percent: float | None
    high_percent: float | None
    said: str
    tone: Tone


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    series: tuple[Series, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    blocks: tuple[Any, ...]  # str (a paragraph) or any block of this module


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report. `verdict` stands first and alone; `next_steps` is what to do, in order."""

    language: str
    title: str
    subtitle: str
    verdict: Notice
    summary: tuple[Fact, ...]
    next_steps: tuple[str, ...]
    sections: tuple[Section, ...]
    foot: str


def isolated(text: str) -> str:
    """TEXT whose right-to-left runs do not turn the words around them, and without marks that would turn a line."""
    return RTL.sub(lambda run: f"{run[0]}\u200e", TURNING.sub("", text))


class Sayer:
    """Says things in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, en: str, zh: str) -> str:
        return zh if self.language == "zh" else en

    def text(self, value: Text) -> str:
        return value.said(self.language)

    def joined(self, words: list[str] | tuple[str, ...]) -> str:
        """WORDS as an enumeration."""
        return ("、" if self.language == "zh" else ", ").join(words)

    def sentence(self, words: str) -> str:
        """WORDS with a full stop, unless they end with a mark."""
        return words if not words or words[-1] in ".!?。！？" else words + self(".", "。")
