"""Report formats: each module of this folder that defines NAME and SUFFIX renders the one Report value."""

from __future__ import annotations

from importlib import import_module

from advisor_gui.report.value import Report
from knowledge.documents import BadInput
from knowledge.text import Text

FORMATS = {"html": "html_page", "pdf": "pdf_document", "md": "markdown_text", "json": "json_value"}


def render(value: Report, suffix: str, language: str) -> bytes:
    """VALUE in the format of SUFFIX (html, pdf, md, json). Raises BadInput for any other."""
    if suffix not in FORMATS:
        raise BadInput(Text(
            f"the suffix {suffix[:20]!r} is no report format; allowed are {', '.join(sorted(FORMATS))}.",
            f"后缀 {suffix[:20]!r} 不是报告格式；允许的格式有 {', '.join(sorted(FORMATS))}。",
        ))  # fmt: skip
    made = import_module(f"advisor_gui.report.{FORMATS[suffix]}").render(value, language)
    assert isinstance(made, bytes)
    return made
