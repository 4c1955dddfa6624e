"""Charts: values stand where their axis says, hostile words stay text, broken numbers are left out."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from advisor_gui import charts
from knowledge.plan import Series
from knowledge.text import plain


def series(points: tuple[tuple[float, float], ...], kind: str = "line", label: str = "Time") -> Series:
    return Series(
        id="s", label=plain(label), x_label=plain("Length"), y_label=plain("Memory"), x_unit="tokens", y_unit="bytes",
        points=points, kind=kind,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["line", "bar", "histogram"])
def test_every_kind_is_well_formed(kind: str) -> None:
    chart = charts.draw((series(tuple((float(i), float(i * i)) for i in range(1, 30)), kind),), "en")
    ElementTree.fromstring(chart.svg)
    assert chart.marks


def test_higher_values_stand_higher() -> None:
    chart = charts.draw((series(((1, 10), (2, 20), (3, 40))),), "en")
    heights = [m.y for m in chart.marks]
    assert heights == sorted(heights, reverse=True)
    assert all(0 <= m.x <= chart.width and 0 <= m.y <= chart.height for m in chart.marks)


def test_hostile_words_stay_text() -> None:
    chart = charts.draw((series(((1, 1), (2, 2)), label="</svg><script>alert(1)</script>"), series(((1, 2), (2, 1)))), "en")
    root = ElementTree.fromstring(chart.svg)
    assert not [e for e in root.iter() if e.tag.endswith("script")]


@pytest.mark.parametrize("points", [(), ((1.0, math.nan),), ((math.inf, 1.0),), ((1.0, 1.0),), ((1.0, 0.0), (1.0, 0.0))])
def test_odd_points(points: tuple[tuple[float, float], ...]) -> None:
    ElementTree.fromstring(charts.draw((series(points),), "zh").svg)
