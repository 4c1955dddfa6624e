"""The report as PDF, set by typst: searchable text in both languages, page numbers, contents, tagged for screen readers."""

from __future__ import annotations

import datetime
import json
import re
from contextlib import ExitStack
from importlib import resources
from typing import Any, Literal

import msgspec

from advisor_gui.report import blocks
from advisor_gui.report.contents import contents
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "PDF", "pdf"
PREVIEW_DPI = 110.0
LINE_WORD = 64  # characters of a word that fit on one line of code or prose
# A run without a place to break: neither blanks nor letters after which a line may end (Han, kana, Hangul).
RUN = re.compile(r"[^\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+")


def breakable(text: str, longest: int) -> str:
    """TEXT in which each run longer than LONGEST may be broken: after / \\ - _ . = : where there is one near, else anywhere."""

    def broken(found: re.Match[str]) -> str:
        word = found[0]
        if len(word) <= longest:
            return word
        out, since = [], 0
        for letter in word:
            out.append(letter)
            since += 1
            if (letter in "/\\-_.=:,;&?@" and since >= 6) or since >= longest:
                out.append("\u200b")
                since = 0
        return "".join(out)

    return RUN.sub(broken, blocks.isolated(text))


def render(value: Report, language: str) -> bytes:
    return _compile(value, language, "pdf")[0]


def pages(value: Report, language: str, dpi: float = PREVIEW_DPI) -> tuple[bytes, ...]:
    """The pages of the PDF as PNG pictures, for a true preview."""
    return _compile(value, language, "png", dpi=dpi)


def _compile(value: Report, language: str, kind: Literal["pdf", "png"], dpi: float | None = None) -> tuple[bytes, ...]:
    import typst

    from advisor_gui import charts

    c = contents(shown(value), language)
    body = _broken(msgspec.to_builtins(msgspec.structs.replace(c, sections=())), LINE_WORD // 2)
    body["sections"] = [
        {"id": s.id, "title": s.title, "blocks": [_block(b, language, charts) for b in s.blocks]} for s in c.sections
    ]
    moment = datetime.datetime.fromisoformat(value.created)
    with ExitStack() as stack:
        folder = stack.enter_context(resources.as_file(resources.files("advisor_gui.report") / "templates"))
        fonts = stack.enter_context(resources.as_file(resources.files("advisor_gui.ui") / "assets"))
        made: bytes | list[bytes] = typst.compile(
            str(folder / "report.typ"), format=kind, font_paths=[str(fonts)],
            sys_inputs={"data": json.dumps(body, ensure_ascii=False)}, timestamp=round(moment.timestamp()), ppi=dpi,
        )  # fmt: skip
    return tuple(made) if isinstance(made, list) else (made,)


def _block(block: Any, language: str, charts: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"kind": "Paragraph", "said": breakable(block, LINE_WORD)}
    if isinstance(block, blocks.Picture):
        chart = charts.draw(block.series, language)
        return {"kind": "Picture", "title": breakable(block.title, LINE_WORD), "svg": chart.svg, "alt": chart.alternative or block.title}
    body = {"kind": type(block).__name__, **msgspec.to_builtins(block)}
    if isinstance(block, blocks.Table):
        shares = block.wide or tuple(1.0 for _ in block.heads)
        # A column as wide as the page holds about a hundred letters of the table's size.
        fits = [max(11, int(98 * share / sum(shares)) - 2) for share in shares]
        body["wide"] = shares
        body["heads"] = [breakable(h, n) for h, n in zip(block.heads, fits, strict=True)]
        body["rows"] = [[breakable(c, n) for c, n in zip(row, fits, strict=True)] for row in block.rows]
        return body
    if isinstance(block, blocks.Commands):
        return body | {"title": breakable(block.title, LINE_WORD), "lines": [breakable(line, 110 if block.small else 90) for line in block.lines]}
    made: dict[str, Any] = _broken(body, LINE_WORD)
    return made


def _broken(item: Any, longest: int) -> Any:
    if isinstance(item, str):
        return breakable(item, longest)
    if isinstance(item, dict):
        return {key: inner if key == "url" else _broken(inner, longest) for key, inner in item.items()}
    if isinstance(item, (list, tuple)):
        return [_broken(inner, longest) for inner in item]
    return item
