"""The closed vocabulary of conditions: one function per word, from the facts of a machine and the answers of a user.

Each function gets its checked arguments and the Situation and returns Judged: met, unmet, unknown (the fact was not
read or not answered) or not_applicable, with the sentence and the evidence. `ARGUMENTS` says what a word may be given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from knowledge import answer_words as answers
from knowledge import hardware_words as hardware
from knowledge import system_words as system
from knowledge.answer_words import device_count, value_of
from knowledge.catalog import Condition
from knowledge.hardware_words import memory_bytes
from knowledge.judged import AnyOf, Bounds, Is, Judged, Minimum, Nothing, Situation, evidence, said
from knowledge.verdicts import Outcome

__all__ = [
    "ARGUMENTS", "WORDS", "Judged", "Situation", "device_count", "evidence", "holds", "judge", "memory_bytes", "said",
    "value_of",
]  # fmt: skip


def judge(condition: Condition, situation: Situation) -> Judged:
    """CONDITION in SITUATION."""
    key = (id(condition), situation.python_minor, situation.python is None)
    found: tuple[Condition, Judged] | None = situation.memo.get(key)
    if found is None:
        # The condition is kept beside its answer: an id is its own only as long as it lives.
        found = condition, WORDS[condition.word](condition.args, situation)
        situation.memo[key] = found
    return found[1]


def holds(conditions: Iterable[Condition], situation: Situation) -> bool:
    """True where each condition is met; an unknown one does not hold."""
    return all(judge(condition, situation).outcome == "met" for condition in conditions)


# Combinators


class Several(msgspec.Struct, forbid_unknown_fields=True):
    of: list[Condition]


class One(msgspec.Struct, forbid_unknown_fields=True):
    of: Condition


def _inner(args: dict[str, Any], situation: Situation) -> list[Judged]:
    return [WORDS[inner["word"]](inner.get("args", {}), situation) for inner in args["of"]]


def _first(parts: list[Judged], outcome: Outcome) -> Judged:
    return next(part for part in parts if part.outcome == outcome)


def all_of(args: dict[str, Any], situation: Situation) -> Judged:
    parts = _inner(args, situation)
    outcomes = {part.outcome for part in parts}
    for outcome in ("unmet", "unknown", "met"):
        if outcome in outcomes:
            return _first(parts, outcome)
    return said("not_applicable", "Not of concern here.", "与本机无关。")


def any_of(args: dict[str, Any], situation: Situation) -> Judged:
    parts = _inner(args, situation)
    outcomes = {part.outcome for part in parts}
    for outcome in ("met", "unknown", "unmet"):
        if outcome in outcomes:
            return _first(parts, outcome)
    return said("not_applicable", "Not of concern here.", "与本机无关。")


def not_(args: dict[str, Any], situation: Situation) -> Judged:
    inner = args["of"]
    part = WORDS[inner["word"]](inner.get("args", {}), situation)
    turned: dict[Outcome, Outcome] = {"met": "unmet", "unmet": "met"}
    return Judged(turned.get(part.outcome, part.outcome), part.because, part.evidence)


WORDS: dict[str, Callable[[dict[str, Any], Situation], Judged]] = {
    "os": system.os,
    "platform": system.platform,
    "distribution": system.distribution,
    "os_release": system.os_release,
    "windows_build": system.windows_build,
    "macos": system.macos,
    "glibc": system.glibc,
    "musl": system.musl,
    "wsl": system.wsl,
    "container": system.container,
    "arch": system.arch,
    "jetson": system.jetson,
    "python": system.python,
    "python_bits": system.python_bits,
    "free_threaded": system.free_threaded,
    "accelerator": hardware.accelerator,
    "no_accelerator": hardware.no_accelerator,
    "driver": hardware.driver,
    "cpu_flags": hardware.cpu_flags,
    "cpu_vendor": hardware.cpu_vendor,
    "toolkit": hardware.toolkit,
    "memory": hardware.memory,
    "disk": hardware.disk,
    "installed": hardware.installed,
    "network": hardware.network,
    "answer": answers.answer,
    "existing": answers.existing,
    "model_params": answers.model_params,
    "devices": answers.devices,
    "target": answers.target,
    "task": answers.task,
    "all_of": all_of,
    "any_of": any_of,
    "not": not_,
}

ARGUMENTS: dict[str, type[msgspec.Struct]] = {
    "os": AnyOf,
    "platform": AnyOf,
    "distribution": AnyOf,
    "os_release": Bounds,
    "windows_build": Minimum,
    "macos": Minimum,
    "glibc": Minimum,
    "musl": Nothing,
    "wsl": system.Wsl,
    "container": Is,
    "arch": AnyOf,
    "jetson": Is,
    "python": system.PythonSpec,
    "python_bits": system.Bits,
    "free_threaded": Is,
    "accelerator": hardware.AcceleratorArgs,
    "no_accelerator": Nothing,
    "driver": hardware.DriverArgs,
    "cpu_flags": hardware.Flags,
    "cpu_vendor": AnyOf,
    "toolkit": hardware.ToolkitArgs,
    "memory": hardware.Gib,
    "disk": hardware.Gib,
    "installed": hardware.InstalledArgs,
    "network": hardware.NetworkArgs,
    "answer": answers.AnswerArgs,
    "existing": AnyOf,
    "model_params": answers.Range,
    "devices": answers.IntRange,
    "target": AnyOf,
    "task": AnyOf,
    "all_of": Several,
    "any_of": Several,
    "not": One,
}
