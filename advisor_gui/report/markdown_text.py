"""The report as Markdown, for a repository or a ticket."""

from __future__ import annotations

import math
import re

from advisor_gui.report import blocks
from advisor_gui.report.contents import contents
from advisor_gui.report.privacy import shown
from advisor_gui.report.value import Report

NAME, SUFFIX = "Markdown", "md"
POINTS = 12

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


def cell(text: str) -> str:
    """TEXT in a table, its own lines kept."""
    return "<br>".join(plain(line) for line in text.splitlines())


def _titled(title: str, lines: list[str]) -> list[str]:
    """LINES below their title, where they have one."""
    return [f"**{plain(title)}**", "", *lines] if title else lines


def render(value: Report, language: str) -> bytes:
    c = contents(shown(value), language)
    out = [f"# {plain(c.title)}", "", plain(c.subtitle), ""]
    out += [f"**{plain(c.verdict.word)}**", "", plain(c.verdict.said), ""]
    out += ["| | |", "|---|---|"]
    for fact in c.summary:
        note = f"<br>{plain(fact.note)}" if fact.note else ""
        out.append(f"| {plain(fact.label)} | **{plain(fact.value)}**{note} |")
    out.append("")
    out += [f"{number}. {plain(step)}" for number, step in enumerate(c.next_steps, 1)]
    out += [""] if c.next_steps else []
    for number, section in enumerate(c.sections, 1):
        out += [f"## {number} {plain(section.title)}", ""]
        for block in section.blocks:
            out += _block(block, language)
    out += ["---", "", plain(c.foot), ""]
    return "\n".join(out).encode()


def _block(block: object, language: str) -> list[str]:
    if isinstance(block, str):
        return [plain(block), ""]
    if isinstance(block, blocks.Heading):
        return [f"### {plain(block.said)}", ""]
    if isinstance(block, blocks.Bullets):
        return [*(f"- {plain(item)}" for item in block.items), ""]
    if isinstance(block, blocks.Table):
        lines = ["| " + " | ".join(plain(h) for h in block.heads) + " |", "|" + "---|" * len(block.heads)]
        rows = ["| " + " | ".join(cell(c) for c in row) + " |" for row in block.rows]
        return _titled(block.title, [*lines, *rows, ""])
    if isinstance(block, blocks.Reasons):
        out = []
        for one in block.items:
            rest = " ".join(f"*{plain(w)}*" for w in (one.evidence, one.source) if w)
            out.append(f"- **{plain(one.word)}**: {plain(one.title)}. {plain(one.said)}" + (f"<br>{rest}" if rest else ""))
        return [*out, ""]
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
        return [f"**{plain(block.title)}**", "", *_points(block, language)]
    raise TypeError(f"a report block of an unknown kind: {type(block).__name__}")


def _points(block: blocks.Picture, language: str) -> list[str]:
    """A chart as a table: at most POINTS rows of each curve, evenly chosen; samples as their spread."""
    out: list[str] = []
    for one in block.series:
        points = [p for p in one.points if math.isfinite(p[0]) and math.isfinite(p[1])]
        if not points:
            continue
        heads = [f"{axis.said(language)} ({unit})" if unit else axis.said(language)
                 for axis, unit in ((one.x_label, one.x_unit), (one.y_label, one.y_unit))]  # fmt: skip
        if one.kind == "histogram":
            values = sorted(p[1] for p in points)
            spread = [("min", values[0]), ("p50", values[len(values) // 2]), ("p95", values[int(0.95 * (len(values) - 1))]), ("max", values[-1])]
            out += ["| " + " | ".join(f"{name} {plain(one.y_unit)}".strip() for name, _ in spread) + " |", "|---|---|---|---|",
                    "| " + " | ".join(f"{v:.4g}" for _, v in spread) + " |", ""]  # fmt: skip
            continue
        every = max(1, math.ceil(len(points) / POINTS))
        kept = points[::every] if points[-1] in points[::every] else [*points[::every], points[-1]]
        out += [plain(one.label.said(language)), "", f"| {plain(heads[0])} | {plain(heads[1])} |", "|---|---|",
                *(f"| {x:.6g} | {y:.6g} |" for x, y in kept), ""]  # fmt: skip
    return out
