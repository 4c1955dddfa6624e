"""From machine and answers to advice: one framework assessed, or the stack that fits a scenario best."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import msgspec

from knowledge import explain, install, ranking, situations
from knowledge import policy as policies
from knowledge.answers import Answers
from knowledge.catalog import Catalog, Companion, Framework, Scenario
from knowledge.compatibility import FITS, VENDORS, changes_of, fit_of, integrated
from knowledge.explain import remedy
from knowledge.facts import Evidence, Finding, MachineProfile
from knowledge.pairs import Part, Solution, Wanted
from knowledge.policy import Policy
from knowledge.predicates import Situation, evidence, holds
from knowledge.solve import solve
from knowledge.text import Text
from knowledge.verdicts import (
    Assessment,
    AssessmentAnswer,
    Change,
    Component,
    MemoryEstimate,
    Recommendation,
    Stack,
    Verdict,
)

OLD_DAYS = 90


class UnknownName(ValueError):
    """A framework or scenario that the catalogue does not hold."""


def assess(
    catalog: Catalog,
    machine: MachineProfile,
    framework: str,
    answers: Answers,
    *,
    today: datetime.date,
    policy: Policy | None = None,
) -> AssessmentAnswer:
    """One framework (id, alias or name) on MACHINE, no scenario needed. Raises UnknownName."""
    if policy is not None:
        catalog = policies.applied(catalog, policy)
    name = situations.known(catalog, framework)
    if name is None:
        raise UnknownName(f"{framework!r} is not in the catalogue")
    machine = situations.completed(catalog, machine)
    situation = Situation(machine, situations.named(catalog, answers))
    situation.approved = policy.approved if policy is not None else {}
    item = catalog.frameworks[name]
    solution = solve(catalog, item, situation)
    found = assessment(catalog, item, solution, situation, today=today, policy=policy)
    from knowledge import concerns

    findings = concerns.findings(catalog, situation, today, found, solution, item)
    return AssessmentAnswer(**{key: getattr(found, key) for key in found.__struct_fields__}, findings=findings)


def assessment(
    catalog: Catalog,
    framework: Framework,
    solution: Solution,
    situation: Situation,
    *,
    today: datetime.date,
    policy: Policy | None = None,
    why: Sequence[Text] = (),
    details: bool = True,
) -> Assessment:
    """SOLUTION as an Assessment: status, memory and precision join its verdicts, and the plan is rendered."""
    answers, machine = situation.answers, situation.machine
    verdicts = list(solution.verdicts)
    assumptions = list(solution.assumptions)
    verdicts.extend(status(catalog, framework, situation))
    verdicts.extend(precision(solution, situation))
    if policy is not None:
        verdicts.extend(policies.verdicts(policy, solution))
    memory = estimate(catalog, framework, solution, situation)
    if memory is not None:
        verdicts.extend(_memory_verdicts(memory, framework))
    components = tuple(
        Component(
            role=part.role,
            framework=part.framework.id,
            version=_version(part, solution),
            build=f"{part.framework.id} {part.build.id}" if part.build else None,
            device=part.build.device if part.build else None,
        )
        for part in solution.parts
    )
    plan = None
    if solution.build is not None or len(solution.parts) > 1:
        plan = install.plan(catalog, solution, answers, machine)
        plan = install.rendered(plan, solution, answers, machine)
    checked = min((part.framework.checked for part in solution.parts), default=None)
    return Assessment(
        framework=framework.id,
        fit=fit_of(verdicts),
        stack=Stack(components=components, python=(solution.python_minor or "").rstrip("t") or None),
        verdicts=tuple(verdicts),
        assumptions=tuple(assumptions),
        ruled_out=explain.ruled_out(catalog, framework, solution, situation) if details else (),
        memory=memory,
        install=plan,
        why=tuple(why),
        checked=checked,
        sources=tuple(dict.fromkeys(v.source for v in verdicts if v.source is not None)),
    )


def status(catalog: Catalog, framework: Framework, situation: Situation) -> list[Verdict]:
    """Ended projects are said to be so; whoever already depends on one may go on, and is told."""
    state = framework.status
    if state.state not in ("archived", "superseded", "renamed"):
        return []
    cures = tuple(
        remedy("use_instead", {"framework": name, "name": catalog.frameworks[name].name})
        for name in state.successors
        if name in catalog.frameworks
    ) or (remedy("use_instead"),)
    if framework.id in (situation.answers.team.existing or ()):
        cures = (*cures, remedy("pin_version", {"package": framework.packages[0]} if framework.packages else {}))
    return [
        Verdict(
            code=f"project.{state.state}",
            outcome="unmet",
            subject=framework.id,
            because=state.note,
            evidence=(Evidence(fact=f"{framework.name}: {state.state}", source=state.source.url),),
            remedies=cures,
            source=state.source,
        )
    ]


def precision(solution: Solution, situation: Situation) -> list[Verdict]:
    """Number formats that were asked for and that the cards do not have."""
    found: list[Verdict] = []
    answers, cards = situation.answers, solution.route.cards
    if solution.route.device != "cuda":
        return found
    wanted = answers.training.precision
    explicit = wanted is not None and "training.precision" not in situation.memo.get("defaulted", ())
    for place, card in zip(solution.route.places, cards, strict=False):
        have = situations.capability_of(card)
        if have is None:
            continue
        proof = evidence(situation.machine, f"accelerators.{place}.target", card.target)
        name = card.name or card.vendor
        if explicit and wanted == "bf16" and have < (8, 0):
            found.append(Verdict(
                code="accel.no_bf16", outcome="unmet", subject=name, evidence=proof,
                because=Text(f"{name} ({card.target}) has no bf16 arithmetic; it begins with 8.0.",
                             f"{name}（{card.target}）没有 bf16 运算单元，8.0 起才有。"),
                remedies=(remedy("enable_setting", {"setting": "fp16 (training.precision: fp16)"}),),
            ))  # fmt: skip
        fp8 = (explicit and wanted == "fp8") or answers.serving.weight_format in ("fp8", "nvfp4")
        if fp8 and have < (8, 9):
            found.append(Verdict(
                code="accel.no_fp8", outcome="unmet", subject=name, evidence=proof,
                because=Text(f"{name} ({card.target}) has no fp8 arithmetic; it begins with 8.9.",
                             f"{name}（{card.target}）没有 fp8 运算单元，8.9 起才有。"),
                remedies=(remedy("enable_setting", {"setting": "bf16 or int8 weights"}), remedy("quantize", {"bits": "8"})),
            ))  # fmt: skip
    return found[:1]


# Frameworks that keep a whole copy of the model on each device.
REPLICATES = frozenset({"ddp", "horovod"})
MODEL_WORK = frozenset({"train", "tune", "serve", "infer"})


def estimate(catalog: Catalog, framework: Framework, solution: Solution, situation: Situation) -> MemoryEstimate | None:
    """Memory of the model in the answers on the devices of the stack, where it trains, tunes, infers or serves."""
    answers = situation.answers
    if answers.model.params is None and answers.model.layers is None and answers.model.name is None:
        return None
    work = {word for part in solution.parts if part.role != "tracking" for word in part.framework.does}
    nowhere = solution.fit == "unsuitable" and not solution.route.cards and bool(situation.machine.accelerators)
    if nowhere or not MODEL_WORK & (work | set(framework.does)):
        return None
    key = ("memory", solution.route.places, solution.route.device == "cpu")
    if key in situation.memo:
        known: MemoryEstimate | None = situation.memo[key]
        return known
    from knowledge import sizing

    device: Any = solution.route.cards[0] if solution.route.cards else None
    if device is None and solution.route.device == "cpu":
        device = "cpu"
    found = sizing.estimate(situation.machine, answers, catalog, device=device)
    situation.memo[key] = found
    return found


def _version(part: Part, solution: Solution) -> str | None:
    """The version of PART; what ships inside another framework (DDP in torch) has the version of that one."""
    if part.build is None or part.build.packages or part.build.steps:
        return part.build.version if part.build else None
    hosts = [other.build.version for other in solution.parts if other.build and other.framework.id in part.framework.needs]
    return hosts[0] if hosts else part.build.version


def _memory_verdicts(memory: MemoryEstimate, framework: Framework) -> list[Verdict]:
    """What does not fit, as verdicts; what is merely tight is met and stays in the memory's own findings."""
    found = []
    for finding in memory.findings:
        replicated = finding.code == "memory.not_sharded" and framework.id in REPLICATES
        if finding.severity != "error" and not replicated:
            continue
        found.append(Verdict(
            code=finding.code, outcome="unmet", subject=framework.id, because=finding.because,
            evidence=finding.evidence, remedies=finding.remedies, source=finding.source,
        ))  # fmt: skip
    return found


def advise(
    catalog: Catalog,
    machine: MachineProfile,
    answers: Answers,
    *,
    today: datetime.date,
    what_if: bool = False,
    policy: Policy | None = None,
) -> Recommendation:
    """The best stack for the scenario of ANSWERS, the others in order, and what is out. Raises UnknownName."""
    if policy is not None:
        catalog = policies.applied(catalog, policy)
    scenario = catalog.scenarios.get(answers.scenario)
    if scenario is None:
        raise UnknownName(f"the scenario {answers.scenario!r} is not in the catalogue")
    machine = situations.completed(catalog, machine)
    answers, defaulted = situations.with_defaults(situations.named(catalog, answers), scenario.defaults)
    situation = Situation(machine, answers)
    situation.approved = policy.approved if policy is not None else {}
    situation.memo["defaulted"] = defaulted
    listed = candidates(catalog, scenario, situation)
    active = ranking.preferences(scenario, situation)
    rows = []
    for place, (framework, because) in enumerate(listed):
        solution = _with_companions(catalog, scenario, framework, situation)
        found = assessment(catalog, framework, solution, situation, today=today, policy=policy, details=False)
        judged = solution._replace(fit=found.fit, changes=changes_of(found.verdicts))
        rows.append((ranking.key(framework.id, judged, place, active, situation), framework, because, solution, found))
    rows.sort(key=lambda row: row[0])
    fitting = [row for row in rows if row[4].fit != "unsuitable"]
    out = [row for row in rows if row[4].fit == "unsuitable"]
    chosen = None
    others = []
    for row in fitting:
        _, framework, because, solution, found = row
        why = explain.why(framework, because, found, active, situation)
        if chosen is None:
            ruled = explain.ruled_out(catalog, framework, solution, situation)
            chosen = msgspec.structs.replace(found, why=why, ruled_out=ruled)
        else:
            others.append(msgspec.structs.replace(found, why=why))
    unsuitable = tuple(msgspec.structs.replace(row[4], why=explain.why_out(row[1], row[4])) for row in out)
    from knowledge import concerns

    main = fitting[0] if fitting else out[0] if out else None
    findings: tuple[Finding, ...] = ()
    if main is not None:
        findings = concerns.findings(catalog, situation, today, main[4], main[3], main[1])
    checked = min([scenario.checked, *(row[4].checked for row in rows[:1] if row[4].checked)])
    changes: tuple[Change, ...] = ()
    if what_if:
        from knowledge import changes as what

        changes = what.what_would_change(catalog, machine, answers, chosen, today=today, policy=policy)
    return Recommendation(
        scenario=scenario.id,
        chosen=chosen,
        others=tuple(others),
        unsuitable=unsuitable,
        findings=findings,
        what_would_change=changes,
        open_questions=_open(catalog, scenario, situation, defaulted),
        knowledge_checked=checked,
        knowledge_age_days=max(0, (today - datetime.date.fromisoformat(checked)).days),
    )


def candidates(catalog: Catalog, scenario: Scenario, situation: Situation) -> list[tuple[Framework, Text]]:
    """The frameworks to consider: those of the scenario whose conditions hold, and the one that was asked for."""
    found: dict[str, tuple[Framework, Text]] = {}
    for candidate in scenario.candidates:
        framework = catalog.frameworks.get(candidate.framework)
        if framework is not None and candidate.framework not in found and holds(candidate.when, situation):
            found[candidate.framework] = (framework, candidate.because)
    asked = situations.known(catalog, situation.answers.framework) if situation.answers.framework else None
    if asked is not None and asked not in found:
        found[asked] = (catalog.frameworks[asked], Text("You asked for it.", "这是你指定的框架。"))
    return list(found.values())


def _with_companions(catalog: Catalog, scenario: Scenario, framework: Framework, situation: Situation) -> Solution:
    """The stack of FRAMEWORK, with each companion of the scenario that fits beside it without making it fit worse."""
    plain = solve(catalog, framework, situation)
    if plain.fit == "unsuitable":
        return plain
    present = {part.framework.id for part in plain.parts}
    wanted: list[Wanted] = []
    for companion in scenario.companions:
        if _joins(companion, present, situation) and companion.framework in catalog.frameworks:
            wanted.append(Wanted(companion.role, catalog.frameworks[companion.framework]))
            present.add(companion.framework)
    if not wanted:
        return plain
    whole = solve(catalog, framework, situation, wanted)
    if _no_worse(whole, plain):
        return whole
    best = plain
    kept: list[Wanted] = []
    for item in wanted:
        trial = solve(catalog, framework, situation, [*kept, item])
        if _no_worse(trial, best):
            kept.append(item)
            best = trial
    return best


def _no_worse(found: Solution, than: Solution) -> bool:
    return (
        found.route.device == than.route.device
        and FITS.index(found.fit) <= FITS.index(than.fit)
        and found.changes <= than.changes
    )


def _joins(companion: Companion, present: set[str], situation: Situation) -> bool:
    if companion.framework in present:
        return False
    if companion.beside and not present & set(companion.beside):
        return False
    return holds(companion.when, situation)


def _open(catalog: Catalog, scenario: Scenario, situation: Situation, defaulted: frozenset[str]) -> tuple[str, ...]:
    """Questions of the scenario that were not answered and are shown."""
    from knowledge.predicates import value_of

    found = []
    for name in scenario.questions:
        question = catalog.questions.get(name)
        if question is None or not holds(question.shown_when, situation):
            continue
        if value_of(situation.answers, question.key) is None or question.key in defaulted:
            found.append(name)
    return tuple(found)


__all__ = ["VENDORS", "UnknownName", "advise", "assess", "integrated"]
