"""What judging a condition starts from and ends in: the situation, the four outcomes, the evidence."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from knowledge.answers import Answers
from knowledge.facts import Evidence, MachineProfile, Python
from knowledge.text import Text
from knowledge.verdicts import Outcome
from knowledge.versions import at_least

GIB = 2**30


class Judged(NamedTuple):
    outcome: Outcome
    because: Text
    evidence: tuple[Evidence, ...] = ()


class Situation:
    """One machine with one set of answers; what was judged once is kept for this decision only."""

    __slots__ = ("answers", "approved", "machine", "memo", "python", "python_minor")

    def __init__(self, machine: MachineProfile, answers: Answers) -> None:
        self.machine = machine
        self.answers = answers
        self.python: Python | None = None  # the interpreter that the plan at hand would use
        self.python_minor: str | None = None  # or the minor that it would ask for
        self.approved: dict[str, str] = {}  # package to the versions that a team's policy allows
        self.memo: dict[Any, Any] = {}


def evidence(machine: MachineProfile, key: str, value: object) -> tuple[Evidence, ...]:
    """The fact KEY with its VALUE and where it was read."""
    if key in machine.overrides:
        source = "stated by the user"
    else:
        source = machine.sources.get(key) or ("machine file" if machine.recorded else "this computer")
    shown = "not known" if value is None else str(value)
    return (Evidence(fact=f"{key} = {shown}", source=source),)


def said(outcome: Outcome, en: str, zh: str, proof: tuple[Evidence, ...] = ()) -> Judged:
    return Judged(outcome, Text(en, zh), proof)


def unknown(what_en: str, what_zh: str, proof: tuple[Evidence, ...] = ()) -> Judged:
    return said("unknown", f"{what_en} is not known.", f"{what_zh}未知。", proof)


def outcome_of(known: bool | None) -> Outcome:
    return "unknown" if known is None else "met" if known else "unmet"


def bounded(have: str | None, args: dict[str, Any], name_en: str, name_zh: str, proof: tuple[Evidence, ...]) -> Judged:
    low, high = args.get("min"), args.get("max")
    good: bool | None = True
    if have is None:
        good = None
    else:
        if low is not None:
            good = at_least(have, low)
        if good and high is not None:
            good = at_least(high, have)
    if good is None:
        return unknown(name_en, name_zh, proof)
    bounds = " ".join(f"{mark} {value}" for mark, value in (("≥", low), ("≤", high)) if value is not None)
    return said(outcome_of(good), f"{name_en} is {have}; needed is {bounds}.", f"{name_zh}是 {have}；需要 {bounds}。", proof)


# Kinds of arguments that several words share


class AnyOf(msgspec.Struct, forbid_unknown_fields=True):
    any: list[str]


class Bounds(msgspec.Struct, forbid_unknown_fields=True):
    min: str | None = None
    max: str | None = None


class Minimum(msgspec.Struct, forbid_unknown_fields=True):
    min: str


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Is(msgspec.Struct, forbid_unknown_fields=True):
    is_: bool = msgspec.field(name="is", default=True)
