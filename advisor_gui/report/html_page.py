"""The report as one self-contained HTML page: nothing is loaded, nothing is run."""

from __future__ import annotations

from typing import Any

from advisor_gui.report import contents as blocks
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "HTML", "html"


def render(value: Report, language: str) -> bytes:
    import jinja2

    from advisor_gui import charts

    def picture(one: blocks.Picture) -> Any:
        import markupsafe

        # Drawn by us; every word in it is escaped where it is drawn.
        return markupsafe.Markup(charts.draw(one.series, language).svg)  # noqa: S704

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("advisor_gui.report", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    page = environment.get_template("report.html.jinja").render(
        c=blocks.contents(shown(value), language), picture=picture, kind=lambda b: type(b).__name__,
        lang={"zh": "zh-CN"}.get(language, "en"),
    )  # fmt: skip
    return page.encode()
