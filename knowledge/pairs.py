"""Parts that agree with each other: for one framework and its companions, the builds that go together on one device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knowledge.catalog import Build, Catalog, Framework
from knowledge.compatibility import FITS, Checked, Route, changes_of, check, fit_of
from knowledge.explain import remedy
from knowledge.facts import Python
from knowledge.loader import bases
from knowledge.predicates import Situation
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


def role_of(framework: Framework) -> str:
    return framework.roles[0] if framework.roles else "core"


def roots(framework: Framework, route: Route) -> list[Build]:
    return [build for build in framework.builds if build.device in (route.device, "any")]


def with_python(
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
    _take(catalog, stack, role_of(framework), framework, build, checked, situation)
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
            stack.waiting.setdefault(name, role_of(catalog.frameworks[name]))
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
