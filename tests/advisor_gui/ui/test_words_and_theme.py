"""Every label is there in both languages and every text colour can be read on its background."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from advisor_gui.ui import theme, words

UI = Path(theme.__file__).parent
CJK = re.compile(r"[\u4e00-\u9fff]")
SAME_IN_BOTH = {"Stackfit", "NPU", "GPU", "Python", "Python {version}", "{degrees} °C", "{watts} W"}


def test_every_label_is_said_in_both_languages() -> None:
    for key, text in words.load().items():
        assert text.en.strip(), key
        assert text.zh.strip(), key
        assert not CJK.search(text.en), key
        if text.en not in SAME_IN_BOTH:
            assert CJK.search(text.zh), f"{key} is not translated: {text.zh}"
        assert set(re.findall(r"{(\w+)}", text.en)) == set(re.findall(r"{(\w+)}", text.zh)), key


def test_every_key_that_is_used_exists() -> None:
    known = words.load()
    used = set()
    for file in UI.rglob("*.py"):
        used |= set(re.findall(r"words\(\s*\"([a-z_]+\.[a-z_]+)\"", file.read_text(encoding="utf-8")))
    assert used
    assert used <= set(known), used - set(known)


@pytest.mark.parametrize("t", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast(t: theme.Tokens) -> None:
    pairs = [
        (ink, ground) for ink in (t.text, t.muted) for ground in (t.window, t.rail, t.surface, t.raised, t.code)
    ] + [(t.on_accent, t.accent), (t.accent, t.surface), (t.accent, t.window), (t.accent, t.accent_soft), (t.text, t.accent_soft),
         (t.good, t.good_soft), (t.warn, t.warn_soft), (t.bad, t.bad_soft), (t.info, t.info_soft), (t.good, t.surface),
         (t.warn, t.surface), (t.bad, t.surface), (t.good, t.window), (t.bad, t.window), (t.warn, t.window)]  # fmt: skip
    low = [(ink, ground, round(theme.contrast(ink, ground), 2)) for ink, ground in pairs if theme.contrast(ink, ground) < 4.5]
    assert not low
