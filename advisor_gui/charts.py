"""One description of a chart, drawn once as SVG for the window, the HTML report and the PDF alike."""

from __future__ import annotations

import math
from html import escape

import msgspec

from advisor_gui import wording
from knowledge.plan import Series

WIDTH, HEIGHT = 640.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 68.0, 16.0, 36.0, 46.0


class Colours(msgspec.Struct, frozen=True, kw_only=True):
    text: str = "#1b1f27"
    muted: str = "#565e6c"
    line: str = "#d9dde3"
    series: tuple[str, ...] = ("#1f5fd1", "#c76a1b", "#1d8a7a", "#7a4fc9", "#b0468f")


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One drawn value: where it stands in the picture, and what it says when pointed at."""

    x: float
    y: float
    said: str


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    svg: str
    marks: tuple[Mark, ...]
    width: float = WIDTH
    height: float = HEIGHT
    alternative: str = ""  # the chart in a sentence, for screen readers and tagged PDF


def draw(series: tuple[Series, ...], language: str, colours: Colours | None = None, *, names: tuple[str, ...] = ()) -> Chart:
    """SERIES of the same axes in one picture. Not finite values are left out; an empty chart says so."""
    colours = colours or Colours()
    kept = [
        msgspec.structs.replace(s, points=tuple(p for p in s.points if math.isfinite(p[0]) and math.isfinite(p[1])))
        for s in series
    ]
    kept = [s for s in kept if s.points]
    if not kept:
        return Chart(svg=_frame("", colours), marks=())
    first = kept[0]
    if first.kind == "histogram":
        kept = [msgspec.structs.replace(s, kind="bar", points=_bins([p[1] for p in s.points])) for s in kept]
        first = kept[0]
        x_label, y_label, x_unit, y_unit = first.y_label, first.x_label, first.y_unit, ""
    else:
        x_label, y_label, x_unit, y_unit = first.x_label, first.y_label, first.x_unit, first.y_unit
    xs = [p[0] for s in kept for p in s.points]
    ys = [p[1] for s in kept for p in s.points]
    log_x = first.kind == "line" and min(xs) > 0 and max(xs) / min(xs) >= 64
    log_y = first.kind == "line" and min(ys) > 0 and max(ys) / min(ys) >= 1000
    low_y = min(ys) if log_y else min(0.0, *ys)
    across = _Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT, log=log_x, pad=first.kind == "bar", count=len(set(xs)))
    up = _Axis(low_y, max(ys), HEIGHT - BOTTOM, TOP, log=log_y)
    body: list[str] = []
    for tick in up.ticks():
        y = up.at(tick)
        body.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{colours.line}"/>')
        body.append(_text(LEFT - 8, y + 4, _short(tick, y_unit), colours.muted, anchor="end"))
    ticks = sorted(set(xs)) if first.kind == "bar" and len(set(xs)) <= 8 else across.ticks()
    for tick in ticks:
        body.append(_text(across.at(tick), HEIGHT - BOTTOM + 18, _short(tick, x_unit), colours.muted, anchor="middle"))
    body.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, _axis(x_label.said(language), x_unit), colours.muted, anchor="middle"))
    body.append(_text(LEFT, 18, _axis(y_label.said(language), y_unit), colours.muted))
    marks: list[Mark] = []
    legend = LEFT + 160.0
    for number, one in enumerate(kept):
        colour = colours.series[number % len(colours.series)]
        name = names[number] if number < len(names) else one.label.said(language)
        places = [(across.at(x), up.at(y)) for x, y in one.points]
        if one.kind == "bar":
            wide = across.bar_width(len(kept))
            base = up.at(max(0.0, low_y) if not log_y else low_y)
            for x, y in places:
                left = x - wide * len(kept) / 2 + wide * number
                body.append(
                    f'<rect x="{left:.1f}" y="{min(y, base):.1f}" width="{max(1.0, wide - 2):.1f}" '
                    f'height="{max(1.0, abs(base - y)):.1f}" rx="2" fill="{colour}"/>'
                )
        else:
            dashed = ' stroke-dasharray="6 4"' if one.predicted else ""
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>')
            if len(places) <= 40:
                body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        if len(kept) > 1:
            body.append(f'<rect x="{legend:.1f}" y="9" width="10" height="10" rx="2" fill="{colour}"/>')
            body.append(_text(legend + 15, 18, name, colours.text))
            legend += 30 + 7.0 * len(name)
        for (x, y), point in zip(places, one.points, strict=True):
            said = f"{name}: {_short(point[0], x_unit)} · {wording.number(point[1], y_unit).said(language)}"
            marks.append(Mark(x=x, y=y, said=said))
    words = f"{first.label.said(language)}: {_short(min(ys), y_unit)} – {_short(max(ys), y_unit)}"
    return Chart(svg=_frame("".join(body), colours), marks=tuple(marks), alternative=words)


def _frame(body: str, colours: Colours) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'font-family="Noto Sans, DejaVu Sans, Stackfit Han, Noto Sans CJK SC, sans-serif" font-size="12" fill="{colours.text}">{body}</svg>'
    )


def _text(x: float, y: float, words: str, colour: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(words)}</text>'


def _axis(words: str, unit: str) -> str:
    return f"{words} ({unit})" if unit and unit not in ("bytes", "ratio") else words


def _short(value: float, unit: str) -> str:
    if unit == "bytes":
        return wording.size(value).en
    if value and abs(value) < 0.001:
        return f"{value:.0e}".replace("e-0", "e-")
    for suffix, step in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= max(step, 10_000):
            return f"{value / step:.4g}{suffix}"
    return f"{value:.4g}"


def _bins(values: list[float]) -> tuple[tuple[float, float], ...]:
    """Counts in at most 30 equal bins up to the 99.5th percentile: a single slow call must not hide the rest."""
    ordered = sorted(values)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.995))]
    low = ordered[0]
    if high <= low:
        return ((low, float(len(values))),)
    count = max(5, min(30, int(math.sqrt(len(values)))))
    width = (high - low) / count
    held = [0] * count
    for value in ordered:
        held[min(count - 1, int((value - low) / width))] += 1
    return tuple((low + width * (i + 0.5), float(n)) for i, n in enumerate(held))


class _Axis:
    """Values to places, linear or by logarithm, with round ticks."""

    def __init__(
        self, low: float, high: float, start: float, end: float, *, log: bool = False, pad: bool = False, count: int = 0
    ) -> None:
        self.log, self.count = log, max(1, count)
        self.start, self.end = start, end
        if high <= low:
            high = low + (abs(low) or 1.0) * 0.5
        if pad:
            margin = (high - low) / max(1, self.count - 1) * 0.6
            low, high = low - margin, high + margin
        elif not log:
            step = _step(high - low)
            high = math.ceil(high / step) * step
            low = math.floor(low / step) * step
        self.low, self.high = low, high

    def at(self, value: float) -> float:
        if self.log:
            share = (math.log(value) - math.log(self.low)) / ((math.log(self.high) - math.log(self.low)) or 1)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        if self.log:
            base = 2.0 if self.high / self.low < 100_000 else 10.0
            low, high = math.floor(math.log(self.low, base)), math.ceil(math.log(self.high, base))
            every = max(1, round((high - low) / 6))
            return [base**p for p in range(low, high + 1, every) if self.low * 0.999 <= base**p <= self.high * 1.001]
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def bar_width(self, beside: int) -> float:
        return max(3.0, abs(self.end - self.start) / (self.count + 0.4) * 0.8 / beside)


def _step(span: float) -> float:
    """A round distance that divides SPAN in about five."""
    rough = span / 5
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next((m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough), power * 10)
