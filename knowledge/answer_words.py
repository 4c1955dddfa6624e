"""Words on what the user answered: one function each, and what it may be given."""

from __future__ import annotations

from typing import Any

import msgspec

from knowledge.answers import Answers
from knowledge.documents import count
from knowledge.facts import Evidence
from knowledge.judged import (
    Judged,
    Situation,
    outcome_of,
    said,
    unknown,
)


class AnswerArgs(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    any: list[str | int | float | bool] | None = None
    min: float | None = None
    max: float | None = None
    set_: bool | None = msgspec.field(name="set", default=None)


def value_of(answers: Answers, key: str) -> Any:
    """The answer at the dotted KEY, None where it was not given. Raises AttributeError for a key that is none."""
    value: Any = answers
    for word in key.split("."):
        if value is None:
            return None
        value = getattr(value, word)
    return value


def shown(have: Any) -> str:
    """An answer as it is written in an answers file."""
    if isinstance(have, bool):
        return "true" if have else "false"
    return ", ".join(str(one) for one in have) if isinstance(have, tuple) else str(have)


def answer(args: dict[str, Any], situation: Situation) -> Judged:
    key = args["key"]
    have = value_of(situation.answers, key)
    if args.get("set") is not None:
        good: bool | None = (have is not None and have != ()) == args["set"]
    elif have is None:
        return unknown(f"The answer to {key}", f"问题 {key} 的回答")
    elif args.get("any") is not None:
        good = any(item in args["any"] for item in have) if isinstance(have, tuple) else have in args["any"]
    else:
        number = float(count(have) or 0) if key in ("model.params", "model.active_params") else float(have)
        good = not (args.get("min") is not None and number < args["min"])
        good = good and not (args.get("max") is not None and number > args["max"])
    if have is None or have == ():
        return said(outcome_of(good), f"You left {key} open.", f"你没有回答 {key}。",
                    (Evidence(fact=f"{key}: no answer", source="answers"),))  # fmt: skip
    return said(outcome_of(good), f"You answered {key}: {shown(have)}.", f"你的回答 {key}：{shown(have)}。",
                (Evidence(fact=f"{key} = {have}", source="answers"),))  # fmt: skip


def existing(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.team.existing
    if have is None:
        return unknown("What the team already uses", "团队现有技术栈")
    good = any(word in args["any"] for word in have)
    return said(outcome_of(good), f"The team uses {', '.join(have) or 'nothing yet'}.", f"团队现有：{'、'.join(have) or '无'}。",
                (Evidence(fact=f"team.existing = {', '.join(have)}", source="answers"),))  # fmt: skip


class Range(msgspec.Struct, forbid_unknown_fields=True):
    min: str | int | float | None = None
    max: str | int | float | None = None


def model_params(args: dict[str, Any], situation: Situation) -> Judged:
    have = count(situation.answers.model.params)
    if have is None:
        return unknown("The size of the model", "模型规模")
    low, high = count(args.get("min")), count(args.get("max"))
    good = not (low is not None and have < low) and not (high is not None and have > high)
    return said(outcome_of(good), f"The model has {have / 1e9:g} billion parameters.", f"模型参数量 {have / 1e9:g} B。",
                (Evidence(fact=f"model.params = {have}", source="answers"),))  # fmt: skip


class IntRange(msgspec.Struct, forbid_unknown_fields=True):
    min: int | None = None
    max: int | None = None


def device_count(situation: Situation) -> int | None:
    """Devices of the cluster in the answers, else usable GPUs (or NPUs) of this machine."""
    cluster = situation.answers.cluster
    if cluster is not None and (cluster.nodes is not None or cluster.gpus_per_node is not None):
        return (cluster.nodes or 1) * (cluster.gpus_per_node or 1)
    cards = situation.machine.accelerators
    if cards is None:
        return None
    counts: dict[str, int] = {}
    for card in cards:
        if card.state in ("usable", "unknown") and not (card.vendor == "intel" and card.memory_kind == "shared"):
            counts[card.vendor] = counts.get(card.vendor, 0) + card.count
    return max(counts.values(), default=0)


def devices(args: dict[str, Any], situation: Situation) -> Judged:
    have = device_count(situation)
    if have is None:
        return unknown("How many devices there are", "设备数量")
    good = not (args.get("min") is not None and have < args["min"])
    good = good and not (args.get("max") is not None and have > args["max"])
    return said(outcome_of(good), f"There are {have} devices to compute on.", f"可用于计算的设备有 {have} 个。")


def target(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.target.kind
    return said(outcome_of(have in args["any"]), f"The target is {have}.", f"目标平台是 {have}。",
                (Evidence(fact=f"target.kind = {have}", source="answers"),))  # fmt: skip


def task(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.answers.task
    if have is None:
        return unknown("The task", "任务类型")
    return said(outcome_of(have in args["any"]), f"The task is {have}.", f"任务类型是 {have}。",
                (Evidence(fact=f"task = {have}", source="answers"),))  # fmt: skip
