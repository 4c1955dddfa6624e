"""How verdicts add up: fit, the weight of the changes, and how one verdict is made and kept."""

from __future__ import annotations

from knowledge.facts import Evidence, Remedy, Source
from knowledge.judged import Situation
from knowledge.text import Text
from knowledge.verdicts import Fit, Outcome, Verdict

# A remedy of these codes alone does not make a machine fit: it names another program, another machine or another day.
NOT_A_CHANGE = frozenset({"use_instead", "wait", "more_memory", "build_from_source", "use_linux"})
FITS: tuple[Fit, ...] = ("ready", "after_changes", "undetermined", "unsuitable")
ENDED = frozenset({"project.archived", "project.superseded", "project.renamed"})


def fit_of(verdicts: tuple[Verdict, ...] | list[Verdict]) -> Fit:
    """ready: all met; after_changes: each unmet one can be changed here; undetermined: a blocking fact is unknown."""
    worst: Fit = "ready"
    for verdict in verdicts:
        if verdict.outcome == "unmet":
            # An ended project still runs; moving to its successor is the change.
            ended = verdict.code in ENDED and verdict.remedies
            if not ended and not any(r.code not in NOT_A_CHANGE or "device" in r.params for r in verdict.remedies):
                return "unsuitable"
            if worst == "ready":
                worst = "after_changes"
        elif verdict.outcome == "unknown":
            worst = "undetermined"
    return worst


# A change that takes an afternoon weighs more than one that takes a command.
WEIGHTS = {"os.unsupported": 8, "arch.unsupported": 8, "libc.musl": 4, "libc.too_old": 4, "os.too_old": 4, "driver.too_old": 2}


def changes_of(verdicts: tuple[Verdict, ...] | list[Verdict]) -> int:
    """What has to be changed, weighed: another operating system is more than a driver, a driver more than a package."""
    return sum(WEIGHTS.get(verdict.code, 1) for verdict in verdicts if verdict.outcome == "unmet")


def kept(situation: Situation, key: tuple[object, ...]) -> Verdict | None:
    found: Verdict | None = situation.memo.get(key)
    return found


def verdict_of(
    code: str,
    outcome: Outcome,
    subject: str,
    en: str,
    zh: str,
    proof: tuple[Evidence, ...] = (),
    remedies: tuple[Remedy, ...] = (),
    source: Source | None = None,
) -> Verdict:
    return Verdict(
        code=code, outcome=outcome, subject=subject, because=Text(en, zh), evidence=proof,
        remedies=remedies if outcome == "unmet" else (), source=source,
    )  # fmt: skip
