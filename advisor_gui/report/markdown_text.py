"""The report as Markdown, for a repository or a ticket."""

from __future__ import annotations

import re

from advisor_gui.report import contents as blocks
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "Markdown", "md"

# Characters that could start markup, a link, HTML or a mention.
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!$&@])")


def plain(text: str) -> str:
    """TEXT on one line with every character escaped that Markdown or HTML could read."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(lines: tuple[str, ...]) -> list[str]:
    """Lines in a fence that is longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence, ""]


def render(value: Report, language: str) -> bytes:
    c = blocks.contents(shown(value), language)
    out = [f"# {plain(c.title)}", "", plain(c.subtitle), ""]
    out += ["| | |", "|---|---|"]
    for fact in c.summary:
        note = f"<br>{plain(fact.note)}" if fact.note else ""
        out.append(f"| {plain(fact.label)} | **{plain(fact.value)}**{note} |")
    out.append("")
    for section in c.sections:
        out += [f"## {plain(section.title)}", ""]
        for block in section.blocks:
            out += _block(block)
    out += ["---", "", plain(c.foot), ""]
    return "\n".join(out).encode()


def _block(block: object) -> list[str]:
    if isinstance(block, str):
        return [plain(block), ""]
    if isinstance(block, blocks.Table):
        lines = ["| " + " | ".join(plain(h) for h in block.heads) + " |", "|" + "---|" * len(block.heads)]
        return [*lines, *("| " + " | ".join(plain(cell) for cell in row) + " |" for row in block.rows), ""]
    if isinstance(block, blocks.Notice):
        out = [f"**{plain(block.word)}**: {plain(block.said)}", ""]
        if block.detail:
            out += [f"*{plain(block.detail)}*", ""]
        for repair in block.repairs:
            out += [f"- {plain(repair.said)}", ""]
            if repair.commands:
                out += fenced(repair.commands)
        return out
    if isinstance(block, blocks.Commands):
        return [f"**{plain(block.title)}**", "", *fenced(block.lines)]
    if isinstance(block, blocks.Bar):
        rows = [f"| {plain(label)} | {plain(size)} |" for label, size, _, _ in block.parts]
        return ["| | |", "|---|---|", *rows, "", f"**{plain(block.said)}**", ""]
    if isinstance(block, blocks.Picture):
        first = block.series[0]
        out = [f"**{plain(block.title)}**", "", f"| {plain(first.x_label.en)} ({first.x_unit}) | {plain(first.y_label.en)} ({first.y_unit}) |",
               "|---|---|"]  # fmt: skip
        points = [p for s in block.series for p in s.points]
        return [*out, *(f"| {x:g} | {y:g} |" for x, y in points[:60]), ""]
    raise TypeError(f"a report block of an unknown kind: {type(block).__name__}")
