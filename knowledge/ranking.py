"""The order of stacks: fit, then the scenario's own preferences, each with its reason, then the scenario's order."""

from __future__ import annotations

from knowledge.catalog import Preference, Scenario
from knowledge.compatibility import FITS, integrated
from knowledge.pairs import Solution
from knowledge.predicates import Situation, holds


def preferences(scenario: Scenario, situation: Situation) -> tuple[Preference, ...]:
    """The preferences of SCENARIO whose conditions all hold, in their order."""
    return tuple(item for item in scenario.preferences if holds(item.when, situation))


def moved(framework: str, active: tuple[Preference, ...]) -> Preference | None:
    """The first preference that speaks of FRAMEWORK."""
    return next((item for item in active if framework in item.frameworks), None)


def key(
    framework: str, solution: Solution, place: int, active: tuple[Preference, ...], situation: Situation
) -> tuple[object, ...]:
    """Sorts stacks; every part can be said in a sentence.

    The framework that was asked for comes first unless it cannot run; what cannot run comes last, and before it what
    has ended and nobody here depends on; then whether an accelerator that is there is used (a driver to be installed is
    better than the processor today); then fit; then each preference in the scenario's order; then the scenario's order.
    """
    asked = situation.answers.framework == framework and solution.fit != "unsuitable"
    out = solution.fit == "unsuitable"
    state = solution.parts[0].framework.status.state
    ended = state in ("archived", "superseded", "renamed") and framework not in (situation.answers.team.existing or ())
    wishes = []
    for item in active:
        if item.avoid:
            wishes.append(1 if framework in item.frameworks else 0)
        else:
            wishes.append(item.frameworks.index(framework) if framework in item.frameworks else len(item.frameworks))
    return not asked, out, ended, idle(solution, situation), FITS.index(solution.fit), *wishes, place


def idle(solution: Solution, situation: Situation) -> bool:
    """Whether the stack leaves a dedicated accelerator of this machine unused although its card was looked at."""
    if solution.route.cards or situation.answers.target.kind in ELSEWHERE:
        return False
    needs_device = any(part.framework.roles and part.framework.roles[0] in COMPUTES for part in solution.parts)
    cards = situation.machine.accelerators or ()
    return needs_device and any(
        not integrated(card) and (card.kind == "gpu" or card.vendor == "huawei") for card in cards
    )


# Devices that are not this machine: its own card says nothing about them.
ELSEWHERE = frozenset({"android", "ios", "embedded-linux", "browser", "windows", "macos", "microcontroller"})
COMPUTES = frozenset({"core", "high-level", "finetuning", "distribution", "kernels", "runtime", "server"})
