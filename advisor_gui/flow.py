"""The order of the pages and what each needs before it can say something; no toolkit."""

from __future__ import annotations

from typing import Literal

STEPS = ("machine", "project", "recommendation", "proof", "report")
TOOLS = ("frameworks", "fleet", "settings")
PAGES = STEPS + TOOLS
Page = Literal["machine", "project", "recommendation", "proof", "report", "frameworks", "fleet", "settings"]


def following(page: str) -> str | None:
    """The step after PAGE, or None where it is the last or no step."""
    if page not in STEPS or page == STEPS[-1]:
        return None
    return STEPS[STEPS.index(page) + 1]


def preceding(page: str) -> str | None:
    if page not in STEPS or page == STEPS[0]:
        return None
    return STEPS[STEPS.index(page) - 1]


def ready(page: str, *, has_machine: bool, has_recommendation: bool, has_proof: bool) -> bool:
    """Whether PAGE already holds a result (the rail marks it)."""
    return {
        "machine": has_machine, "project": has_recommendation, "recommendation": has_recommendation, "proof": has_proof,
    }.get(page, False)  # fmt: skip
