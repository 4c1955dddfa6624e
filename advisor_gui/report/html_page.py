"""The report as one self-contained HTML page: nothing is loaded, nothing is run."""

from __future__ import annotations

from typing import Any

from advisor_gui.report import blocks
from advisor_gui.report.contents import contents
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "HTML", "html"


def render(value: Report, language: str) -> bytes:
    import jinja2
    import markupsafe

    from advisor_gui import charts

    # The page's own colours, so that a chart follows light and dark like the words around it.
    colours = charts.Colours(
        text="var(--text)", muted="var(--muted)", line="var(--line)", series=tuple(f"var(--c{n})" for n in (0, 3, 4, 1, 2))
    )

    def picture(one: blocks.Picture) -> Any:
        # Drawn by us; every word in it is escaped where it is drawn.
        return markupsafe.Markup(charts.draw(one.series, language, colours).svg)  # noqa: S704

    def said(one: blocks.Picture) -> str:
        return charts.draw(one.series, language).alternative or one.title

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("advisor_gui.report", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
        finalize=lambda v: blocks.isolated(v) if type(v) is str else v,
    )  # fmt: skip
    page = environment.get_template("report.html.jinja").render(
        c=contents(shown(value), language), picture=picture, alternative=said, kind=lambda b: type(b).__name__,
        lang={"zh": "zh-CN"}.get(language, "en"), zh=language == "zh",
    )  # fmt: skip
    return page.encode()
