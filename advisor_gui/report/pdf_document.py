"""The report as PDF, set by typst: searchable text in both languages, page numbers, contents, tagged for screen readers."""

from __future__ import annotations

import datetime
import json
from contextlib import ExitStack
from importlib import resources
from typing import Any, Literal

import msgspec

from advisor_gui.report import contents as blocks
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "PDF", "pdf"
PREVIEW_DPI = 110.0


def render(value: Report, language: str) -> bytes:
    return _compile(value, language, "pdf")[0]


def pages(value: Report, language: str, dpi: float = PREVIEW_DPI) -> tuple[bytes, ...]:
    """The pages of the PDF as PNG pictures, for a true preview."""
    return _compile(value, language, "png", dpi=dpi)


def _compile(value: Report, language: str, kind: Literal["pdf", "png"], dpi: float | None = None) -> tuple[bytes, ...]:
    import typst

    from advisor_gui import charts

    c = blocks.contents(shown(value), language)
    body = msgspec.to_builtins(c)
    for section, blocky in zip(body["sections"], c.sections, strict=True):
        section["blocks"] = [_block(b, language, charts) for b in blocky.blocks]
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
        return {"kind": "Paragraph", "said": block}
    body = {"kind": type(block).__name__, **msgspec.to_builtins(block)}
    if isinstance(block, blocks.Picture):
        chart = charts.draw(block.series, language)
        body = {"kind": "Picture", "title": block.title, "svg": chart.svg, "alt": chart.alternative or block.title}
    return body
