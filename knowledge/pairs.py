
"""Parts that agree with each other: for one framework and its companions, the builds that go together on one device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knowledge import pythons
from knowledge.catalog import Build, Catalog, Framework
from knowledge.compatibility import FITS, HARDWARE, Checked, Route, changes_of, check, fit_of, integrated, routes
from knowledge.explain import remedy
from knowledge.facts import Python
from knowledge.loader import bases
from knowledge.predicates import Situation, evidence
from knowledge.text import Text
from knowledge.verdicts import Assumption, Fit, Verdict
from knowledge.versions import specifier, version, within

ELSEWHERE = frozenset({"os.unsupported", "arch.unsupported"})


class Part(NamedTuple):
    """One framework of a stack with the build that was chosen for it (None: part of another package)."""

    role: str
    framework: Framework
    build: Build | None
    verdicts: tuple[Verdict, ...] = ()


class Solution(NamedTuple):
    parts: tuple[Part, ...]
    route: Route
    verdicts: tuple[Verdict, ...]
    assumptions: tuple[Assumption, ...]
    fit: Fit
    changes: int
    python: Python | None
    python_minor: str | None

    @property
    def build(self) -> Build | None:
        return self.parts[0].build


class Wanted(NamedTuple):
    """A part that is to join a stack, in its role."""

    role: str
    framework: Framework


def rank(solution: Solution) -> tuple[int, int]:
    return FITS.index(solution.fit), solution.changes


def ordered(framework: Framework, situation: Situation) -> tuple[Build, ...]:
    """Builds by preference: stable first, then the newest version, then their order in the file."""
    key = ("ordered", framework.id)
    found: tuple[Build, ...] | None = situation.memo.get(key)
    if found is None:
        zero = version("0")
        by_version = sorted(framework.builds, key=lambda b: version(b.version) or zero, reverse=True)  # type: ignore[arg-type,return-value]
        found = tuple(sorted(by_version, key=lambda b: not b.stable))
        situation.memo[key] = found
    return found


def supports(catalog: Catalog, framework: Framework, device: str, situation: Situation) -> bool:
    """Whether some build of FRAMEWORK, or of what it runs on, is for DEVICE."""
    key = ("supports", framework.id, device)
    found: bool | None = situation.memo.get(key)
    if found is None:
        situation.memo[key] = False  # a circle of needs ends here
        found = any(build.device == device for build in framework.builds)
        floating = not framework.builds or any(build.device == "any" for build in framework.builds)
        if not found and floating:
            below = [catalog.frameworks[name] for name in bases(framework) if name in catalog.frameworks]
            # What runs on nothing else and has no code of its own for a device (a tracker, a scheduler) goes beside any.
            lone = bool(framework.builds) or device == "cpu"
            found = any(supports(catalog, item, device, situation) for item in below) if below else lone
        situation.memo[key] = found
    return found


def solve(
    catalog: Catalog,
    framework: Framework,
    situation: Situation,
    companions: Sequence[Wanted] = (),
    device: str | None = None,
) -> Solution:
    """The best stack for FRAMEWORK on this machine.

    The device comes first: the best one for which there is any build, even if it is not usable today. A dedicated card
    that no build has code for leaves the processor, with the card's verdict; a GPU inside the processor leaves it silently.
    """
    carried: Solution | None = None
    waiting: Solution | None = None
    cpu = supports(catalog, framework, "cpu", situation)
    for places, group in _groups(situation):
        found = _on_group(catalog, framework, group, situation, companions, device)
        if found is None:
            continue
        if not places:
            plain = _on_processor(catalog, framework, found, carried, situation)
            # The device inside waits for a change; where the processor would need one too, the device is worth it.
            kept = waiting is not None and plain.fit != "ready" and FITS.index(waiting.fit) <= FITS.index(plain.fit)
            return waiting if waiting is not None and kept else plain
        inside = all(integrated(card) for card in found.route.cards)
        if found.fit == "unsuitable":
            if carried is None or (not inside and all(integrated(c) for c in carried.route.cards)):
                carried = found
            continue
        if inside and cpu and (found.fit == "after_changes" or _target_unknown(found)):
            waiting = waiting or found
            continue
        return found
    return waiting or carried or _nowhere(catalog, framework, situation)


def _target_unknown(solution: Solution) -> bool:
    """Whether all that is not known is which architecture the device has."""
    unknown = {v.code for v in solution.verdicts if v.outcome == "unknown"}
    return bool(unknown) and unknown <= {"accel.arch_not_built", "accel.arch_too_old"}


def _groups(situation: Situation) -> list[tuple[tuple[int, ...], list[Route]]]:
    """The routes by the cards that they use, best cards first; the processor is the last."""
    found: dict[tuple[int, ...], list[Route]] = {}
    for route in routes(situation):
        found.setdefault(route.places, []).append(route)
    return list(found.items())


def _on_group(
    catalog: Catalog,
    framework: Framework,
    group: list[Route],
    situation: Situation,
    companions: Sequence[Wanted],
    device: str | None,
) -> Solution | None:
    """The first kind of build that these cards can use on this system as it is, else the first that can be had at all."""
    best: Solution | None = None
    for route in group:
        if (device is not None and route.device != device) or not supports(catalog, framework, route.device, situation):
            continue
        found = on_route(catalog, framework, route, situation, companions)
        if found is None:
            continue
        elsewhere = any(v.outcome == "unmet" and v.code in ELSEWHERE for v in found.verdicts)
        if found.fit != "unsuitable" and not elsewhere:
            return found
        if best is None or (best.fit == "unsuitable" and found.fit != "unsuitable"):
            best = found
    return best


def _hardware(solution: Solution) -> list[Verdict]:
    return [v for v in solution.verdicts if v.outcome == "unmet" and v.code in HARDWARE]


def _on_processor(
    catalog: Catalog,
    framework: Framework,
    found: Solution,
    carried: Solution | None,
    situation: Situation,
) -> Solution:
    """The processor's stack, with the verdict of a dedicated card that it leaves idle."""
    extra: list[Verdict] = []
    if carried is not None and not all(integrated(card) for card in carried.route.cards):
        for verdict in _hardware(carried)[:1]:  # another system than this one is no fault of the card
            cure = remedy("use_instead", {"device": "CPU"})
            extra.append(
                Verdict(
                    code=verdict.code,
                    outcome="unmet",
                    subject=verdict.subject,
                    because=Text(
                        f"No build of {framework.name} that fits here has code for this card. {verdict.because.en} "
                        "The plan below uses the processor.",
                        f"{framework.name} 没有适合此卡的构建。{verdict.because.zh}下面的方案使用 CPU。",
                    ),
                    evidence=verdict.evidence,
                    remedies=(cure, *(r for r in verdict.remedies if r.params or r.code != "use_instead")),
                    source=verdict.source,
                )
            )
    elif situation.machine.accelerators is None and _has_device(catalog, framework, situation):
        extra.append(
            Verdict(
                code="accel.none",
                outcome="unknown",
                subject="accelerators",
                because=Text("Which accelerators this machine has is not known.", "本机有哪些加速器未知。"),
                evidence=evidence(situation.machine, "accelerators", None),
            )
        )
    if not extra:
        return found
    verdicts = (*found.verdicts, *extra)
    return found._replace(verdicts=verdicts, fit=fit_of(verdicts), changes=changes_of(verdicts))


def _has_device(catalog: Catalog, framework: Framework, situation: Situation) -> bool:
    return any(supports(catalog, framework, d, situation) for d in ("cuda", "rocm", "xpu", "metal", "cann", "qnn"))


def _nowhere(catalog: Catalog, framework: Framework, situation: Situation) -> Solution:
    """No device of this machine is one that FRAMEWORK is built for: its newest build, with that said."""
    cards = situation.machine.accelerators
    outcome = "unknown" if cards is None else "unmet"
    devices = sorted({build.device for build in framework.builds} - {"any"})
    wanted = ", ".join(devices) or "?"
    names = ", ".join(card.name or card.vendor for card in cards or ()) or "-"
    code = "accel.vendor_unsupported" if cards else "accel.none"
    verdict = Verdict(
        code=code,
        outcome=outcome,  # type: ignore[arg-type]
        subject=framework.id,
        because=Text(
            f"{framework.name} is built for {wanted}; accelerators of this machine: {'not known' if cards is None else names}.",
            f"{framework.name} 适用于 {wanted}；本机加速器：{'未知' if cards is None else names}。",
        ),
        evidence=evidence(situation.machine, "accelerators", None if cards is None else names),
        remedies=(remedy("use_instead"),) if outcome == "unmet" else (),
    )
    route = Route("cpu", ())
    situation.python, situation.python_minor = None, None
    builds = ordered(framework, situation)
    if not builds:
        return Solution((Part(_role(framework), framework, None),), route, (verdict,), (), fit_of([verdict]), 1, None, None)
    build = builds[0]
    situation.python_minor = pythons.fresh([build.pythons])[0]
    checked = check(catalog, framework, build, route, situation)
    verdicts = (*[v for v in checked.verdicts if v.subject != "Python"], verdict)
    part = Part(_role(framework), framework, build, verdicts)
    return Solution((part,), Route(build.device, ()), verdicts, checked.assumptions, fit_of(verdicts),
                    changes_of(verdicts), None, situation.python_minor)  # fmt: skip


def _role(framework: Framework) -> str:
    return framework.roles[0] if framework.roles else "core"


def on_route(
    catalog: Catalog, framework: Framework, route: Route, situation: Situation, companions: Sequence[Wanted] = ()
) -> Solution | None:
    """The best stack on one device: over the Pythons that are installed, then with a new one."""
    best: Solution | None = None
    for python, name in pythons.options(situation):
        situation.python, situation.python_minor = python, name
        found = _with_python(catalog, framework, route, situation, companions)
        if found is None or any(v.subject == "Python" and v.outcome == "unmet" for v in found.verdicts):
            continue  # a plan is never made with a Python that there are no wheels for
        if best is None or rank(found) < rank(best):
            best = found
        if best.fit == "ready":
            return best
    if best is not None and best.fit == "unsuitable":
        return best  # with this Python met, so another one would not help
    offers = {minor for build in _roots(framework, route) for minor in build.pythons}
    for name in _bases_pythons(catalog, framework, offers):
        situation.python, situation.python_minor = None, name
        found = _with_python(catalog, framework, route, situation, companions)
        if found is not None and (best is None or rank(found) < rank(best)):
            best = found
        if found is not None and (found.fit != "unsuitable" or not _python_is_why(found)):
            break
    return best


def _python_is_why(solution: Solution) -> bool:
    """Whether the minor that was tried is one without wheels, so that another could make a difference."""
    return any(v.outcome == "unmet" and v.subject == "Python" and not v.remedies for v in solution.verdicts)


def _bases_pythons(catalog: Catalog, framework: Framework, offers: set[str]) -> list[str]:
    """Minors to try for a new environment, the best first."""
    if not offers:
        for name in bases(framework):
            base = catalog.frameworks.get(name)
            offers |= {minor for build in base.builds for minor in build.pythons} if base is not None else set()
    found = pythons.fresh([tuple(offers)]) if offers else [pythons.PREFERRED[0]]
    return [name for name in found if not name.endswith("t")][:5]


def _roots(framework: Framework, route: Route) -> list[Build]:
    return [build for build in framework.builds if build.device in (route.device, "any")]


def _with_python(
    catalog: Catalog, framework: Framework, route: Route, situation: Situation, companions: Sequence[Wanted]
) -> Solution | None:
    """The best stack with the Python at hand: ready before others, fewest changes, newest version."""
    existing = situation.answers.team.existing or ()
    if not framework.builds:
        return _combine(catalog, framework, None, route, situation, companions)
    docker = situation.answers.tools.packages == "docker"
    candidates: list[tuple[int, int, bool, int, bool, int, Build]] = []
    for place, build in enumerate(ordered(framework, situation)):
        if build.device not in (route.device, "any"):
            continue
        if build.device == "any" and build.uses and not any(
            supports(catalog, catalog.frameworks[n], route.device, situation) for n in build.uses if n in catalog.frameworks
        ):
            continue
        checked = check(catalog, framework, build, route, situation)
        foreign = not any(name in existing for name in build.uses)
        other_client = in_container(build) != docker
        candidates.append(
            (FITS.index(checked.fit), checked.changes, build.device == "any", foreign, other_client, place, build)
        )
    candidates.sort(key=lambda item: item[:6])
    best: Solution | None = None
    for level, _, _, _, _, _, build in candidates:
        if best is not None and (level, 0) > rank(best):
            break
        found = _combine(catalog, framework, build, route, situation, companions)
        if best is None or rank(found) < rank(best):
            best = found
        if found.fit == "ready" or not (build.uses or framework.needs or companions):
            break
    return best


def in_container(build: Build) -> bool:
    """Whether BUILD is an image to run and no package."""
    return not build.packages and any(step.get("step") == "container_run" for step in build.steps)


class _Stack:
    """A stack while it is put together: what each part demands of the others."""

    def __init__(self) -> None:
        self.bounds: dict[str, list[str]] = {}
        self.toolkits: dict[str, str] = {}  # framework id to the CUDA that a part above it was compiled with
        self.waiting: dict[str, str] = {}  # framework id to role
        self.done: dict[str, Part] = {}


def _combine(
    catalog: Catalog,
    framework: Framework,
    build: Build | None,
    route: Route,
    situation: Situation,
    companions: Sequence[Wanted],
) -> Solution:
    """BUILD of FRAMEWORK with all it runs on and its companions, each in the best build that the others accept."""
    stack = _Stack()
    conflicts: list[Verdict] = []
    checked = None if build is None else check(catalog, framework, build, route, situation)
    assumptions: list[Assumption] = list(checked.assumptions) if checked else []
    _take(catalog, stack, _role(framework), framework, build, checked, situation)
    for wanted in companions:
        if wanted.framework.id not in stack.done:
            stack.waiting[wanted.framework.id] = wanted.role
    while stack.waiting:
        name = _next(catalog, stack.waiting)
        role = stack.waiting.pop(name)
        part = catalog.frameworks.get(name)
        if part is None or name in stack.done:
            continue
        bounds, toolkit = stack.bounds.get(name, []), stack.toolkits.get(name)
        chosen, found = _choose(catalog, part, route, situation, bounds, toolkit)
        if chosen is None and part.builds:
            conflicts.append(_conflict(part, stack.bounds.get(name, []), framework))
        if found is not None:
            assumptions.extend(a for a in found.assumptions if a not in assumptions)
        _take(catalog, stack, role, part, chosen, found, situation)
    parts = tuple(stack.done.values())
    verdicts: dict[tuple[str, str, str], Verdict] = {}
    for item in parts:
        for verdict in item.verdicts:
            if verdict.outcome == "unmet" and verdict.code in ELSEWHERE:
                verdicts.setdefault(("elsewhere", "unmet", ""), verdict)  # the stack moves as one
            else:
                verdicts.setdefault((verdict.code, verdict.outcome, verdict.subject), verdict)
    merged = (*_one_python(verdicts.values()), *conflicts)
    return Solution(parts, route, merged, tuple(assumptions), fit_of(merged), changes_of(merged), situation.python,
                    situation.python_minor)  # fmt: skip


def _one_python(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The parts share one Python: of several refusals the first stands for all; a refusal drops the parts that agree."""
    found = list(verdicts)
    refused = [v for v in found if v.subject == "Python" and v.outcome != "met"]
    if not refused:
        return found
    return [v for v in found if v.subject != "Python"] + refused[:1]


def _next(catalog: Catalog, waiting: dict[str, str]) -> str:
    """A waiting part that no other waiting part runs on, so that all demands on it are known."""
    for name in waiting:
        if not any(name in catalog.foundations.get(other, ()) for other in waiting if other != name):
            return name
    return next(iter(waiting))


def _take(
    catalog: Catalog,
    stack: _Stack,
    role: str,
    framework: Framework,
    build: Build | None,
    checked: Checked | None,
    situation: Situation,
) -> None:
    """FRAMEWORK joins the stack: what it runs on waits, and what it demands of others is kept."""
    stack.done[framework.id] = Part(role, framework, build, checked.verdicts if checked else ())
    uses = build.uses if build is not None else {}
    for name in (*framework.needs, *uses):
        if name in catalog.frameworks and name not in stack.done:
            stack.waiting.setdefault(name, _role(catalog.frameworks[name]))
    for name, bound in uses.items():
        stack.bounds.setdefault(name, []).append(bound)
        if build is not None and build.device == "cuda" and build.toolkit is not None:
            stack.toolkits.setdefault(name, build.toolkit)
    owners = catalog.owners
    for package in build.packages if build is not None else ():
        owner = owners.get(package.name.lower())
        if owner is not None and owner != framework.id and owner not in uses:
            stack.bounds.setdefault(owner, []).append(f"=={package.version}")
    for conflict in framework.conflicts:
        bound = conflict.params.get("version", "")
        owner = owners.get(conflict.params.get("package", "").lower())
        if owner is None or owner == framework.id or owner in uses:
            continue  # what the build itself says of the other part is the newer word
        if conflict.code == "pin_version" and bound[:1] in "<>=!~" and specifier(bound):
            stack.bounds.setdefault(owner, []).append(bound)


def _choose(
    catalog: Catalog,
    framework: Framework,
    route: Route,
    situation: Situation,
    bounds: list[str],
    toolkit: str | None = None,
) -> tuple[Build | None, Checked | None]:
    """The best build of FRAMEWORK within BOUNDS for the route's device, else for any device, else for the processor.

    Of equal ones the one with the CUDA major of TOOLKIT, which what stands above it was compiled with.
    """
    new = situation.python is None
    key = ("choose", framework.id, route.device, route.places, tuple(bounds), toolkit, situation.python_minor, new)
    known: tuple[Build | None, Checked | None] | None = situation.memo.get(key)
    if known is not None:
        return known
    best: tuple[bool, int, int, int, int] | None = None
    chosen: tuple[Build | None, Checked | None] = (None, None)
    for rung, place, build in _allowed(framework, route.device, situation):
        if not all(within(build.version, bound) for bound in bounds):
            continue
        checked = check(catalog, framework, build, route, situation)
        foreign = toolkit is not None and build.toolkit is not None and _major(build.toolkit) != _major(toolkit)
        score = (foreign, FITS.index(checked.fit), checked.changes, rung, place)
        if best is None or score < best:
            best, chosen = score, (build, checked)
        if score[:4] == (False, 0, 0, 0):
            break  # the list is in order of preference
    situation.memo[key] = chosen
    return chosen


def _allowed(framework: Framework, device: str, situation: Situation) -> list[tuple[int, int, Build]]:
    """Builds for DEVICE, else for any device, else for the processor: rung of preference, place in the order, build."""
    key = ("allowed", framework.id, device)
    found: list[tuple[int, int, Build]] | None = situation.memo.get(key)
    if found is None:
        devices = {build.device for build in framework.builds}
        rungs = [name for name in (device, "any") if name in devices] or ["cpu"]
        found = [(rungs.index(b.device), n, b) for n, b in enumerate(ordered(framework, situation)) if b.device in rungs]
        found.sort(key=lambda item: item[:2])
        situation.memo[key] = found
    return found


def _major(release: str) -> str:
    return release.split(".")[0]


def _conflict(framework: Framework, bounds: list[str], root: Framework) -> Verdict:
    wanted = " and ".join(bounds) or "this device"
    return Verdict(
        code="package.conflict",
        outcome="unmet",
        subject=f"{root.id} + {framework.id}",
        because=Text(
            f"The parts demand {framework.name} {wanted}; no build of it that is known here satisfies that.",
            f"各部分对 {framework.name} 的要求是 {wanted}，没有已知构建能同时满足。",
        ),
        remedies=(remedy("use_instead"),),
    )
