"""What a check says line by line, read strictly: a child's output is data from outside and can say anything."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import msgspec

from knowledge.facts import Evidence
from knowledge.plan import Measure, Series
from knowledge.text import Text

LINE_LIMIT = 60_000
MEASURES, SERIES, POINTS, FACTS = 300, 60, 3000, 100
OUTCOMES = ("passed", "failed", "cannot_run", "out_of_memory")


class Step(msgspec.Struct, frozen=True):
    text: Text
    share: float | None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    outcome: Literal["passed", "failed", "cannot_run", "out_of_memory"]
    text: Text
    missing: str | None = None  # a module that could not be imported


class Heard:
    """Collects one check's events. `line` takes a line and returns a Step to show, or None."""

    def __init__(self) -> None:
        self.measures: dict[str, Measure] = {}
        self.series: dict[str, Series] = {}
        self.facts: list[Evidence] = []
        self.result: Result | None = None
        self.python: str | None = None
        self.versions: dict[str, str] = {}  # of the check's packages, as installed
        self.strange = 0  # lines that were no event

    def line(self, line: str) -> Step | None:
        try:
            value = json.loads(line) if len(line) <= LINE_LIMIT else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self.strange += 1
            return None
        try:
            return self._take(value)
        except (KeyError, TypeError, ValueError, msgspec.ValidationError):
            self.strange += 1
            return None

    def _take(self, value: dict[str, Any]) -> Step | None:
        kind = value.get("event")
        if kind == "step":
            share = value.get("share")
            return Step(_text(value), min(max(_number(share), 0.0), 1.0) if share is not None else None)
        if kind == "measure" and len(self.measures) < MEASURES:
            better = value.get("better")
            self.measures[_word(value["id"])] = Measure(
                id=_word(value["id"]), value=_number(value["value"]), unit=_word(value["unit"], 20), label=_text(value),
                better=better if better in ("lower", "higher") else "neither",
            )  # fmt: skip
        elif kind == "series" and len(self.series) < SERIES:
            points = tuple((_number(a), _number(b)) for a, b in value["points"][:POINTS])
            shape = value.get("kind")
            self.series[_word(value["id"])] = Series(
                id=_word(value["id"]), label=_text(value), x_label=_pair(value["x"]), y_label=_pair(value["y"]),
                x_unit=_word(value["x_unit"], 20), y_unit=_word(value["y_unit"], 20), points=points,
                kind=shape if shape in ("bar", "histogram") else "line", predicted=value.get("predicted") is True,
            )  # fmt: skip
        elif kind == "fact" and len(self.facts) < FACTS:
            self.facts.append(Evidence(fact=_word(value["fact"], 300), source=_word(value["source"], 200)))
        elif kind == "begin":
            self.python = _word(value["python"], 40)
            told = value.get("versions")
            if isinstance(told, dict):
                self.versions = {_word(n): _word(v) for n, v in list(told.items())[:50]}
        elif kind == "result" and value.get("outcome") in OUTCOMES:
            missing = value.get("missing")
            self.result = Result(
                outcome=value["outcome"], text=_text(value), missing=_word(missing, 100) if missing else None
            )
        elif kind not in ("measure", "series", "fact"):
            self.strange += 1
        return None


def _word(value: Any, limit: int = 80) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return "".join(c for c in value[:limit] if c.isprintable())


def _text(value: dict[str, Any]) -> Text:
    return Text(_word(value["en"], 600), _word(value["zh"], 600))


def _pair(value: Any) -> Text:
    return Text(_word(value[0]), _word(value[1]))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    return float(value)
