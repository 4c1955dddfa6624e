"""Why, and why not: positions in a sentence or three, and the builds that were ruled out with their verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge.facts import Remedy
from knowledge.remedies import remedy
from knowledge.text import Text

if TYPE_CHECKING:
    from knowledge.catalog import Catalog, Framework, Preference
    from knowledge.pairs import Solution
    from knowledge.predicates import Situation
    from knowledge.verdicts import Assessment, RuledOut, Verdict

__all__ = ["Remedy", "remedy", "ruled_out", "why", "why_not", "why_out"]


def ruled_out(
    catalog: Catalog, framework: Framework, solution: Solution, situation: Situation
) -> tuple[RuledOut, ...]:
    """The other builds for this machine's devices, each with the verdicts that are not met; newer ones that fit have none."""
    from knowledge.compatibility import Route, check, routes
    from knowledge.verdicts import RuledOut

    chosen = solution.build
    situation.python, situation.python_minor = solution.python, solution.python_minor
    by_device: dict[str, Route] = {}
    for route in routes(situation):
        by_device.setdefault(route.device, route)
    by_device.setdefault("any", solution.route)
    found = []
    for build in framework.builds:
        if chosen is not None and build.id == chosen.id:
            continue
        place = by_device.get(build.device)
        if place is None:
            continue
        checked = check(catalog, framework, build, place, situation)
        verdicts = tuple(v for v in checked.verdicts if v.outcome in ("unmet", "unknown"))
        found.append(RuledOut(build=f"{framework.id} {build.id}", index_id=build.index, verdicts=verdicts))
    return tuple(found)


def why(
    framework: Framework, because: Text, found: Assessment, active: tuple[Preference, ...], situation: Situation
) -> tuple[Text, ...]:
    """The position of FRAMEWORK in at most three sentences: what it is for, what moved it, what has to change first."""
    sentences: list[Text] = []
    if situation.answers.framework == framework.id:
        sentences.append(Text("You asked for it.", "这是你指定的框架。"))
    moved = next((item for item in active if framework.id in item.frameworks), None)
    if moved is not None:
        sentences.append(moved.because)
    if because not in sentences:
        sentences.append(because)
    sentences.append(_state(found))
    return tuple(dict.fromkeys(sentences))[:4]


def _state(found: Assessment) -> Text:
    unmet = [v for v in found.verdicts if v.outcome == "unmet"]
    unknown = [v for v in found.verdicts if v.outcome == "unknown"]
    if found.fit == "ready":
        return Text("It runs on this machine as it is.", "它可以直接在这台机器上运行。")
    if found.fit == "undetermined":
        reasons = unknown[0].because if unknown else Text("", "")
        return Text(f"Whether it runs cannot be said yet. {reasons.en}", f"目前无法判断能否运行。{reasons.zh}")
    first = unmet[0] if unmet else None
    cure = first.remedies[0].text if first is not None and first.remedies else None
    if first is None:
        return Text("It does not run on this machine.", "它无法在这台机器上运行。")
    if found.fit == "after_changes" and cure is not None:
        return Text(f"It runs after a change: {cure.en}", f"需要先做一处改动：{cure.zh}")
    return first.because


def why_out(framework: Framework, found: Assessment) -> tuple[Text, ...]:
    """Why FRAMEWORK is out: each unmet requirement that nobody can change here."""
    reasons = tuple(v.because for v in found.verdicts if v.outcome == "unmet")
    return reasons[:3] or (framework.status.note,)


def why_not(found: Assessment) -> tuple[Verdict, ...]:
    """The verdicts that stand between this machine and the framework of FOUND; empty where it is ready. Never raises."""
    return tuple(v for v in found.verdicts if v.outcome in ("unmet", "unknown"))
