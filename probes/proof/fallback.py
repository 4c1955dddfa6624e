"""Other plans in place of one whose index does not answer or that the user's own constraints forbid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from knowledge.plan import (
    InstallPackages,
    InstallPlan,
    LockedPackage,
    MakeEnvironment,
    PackageSettings,
    PlannedPackage,
    Step,
)
from knowledge.text import Text
from probes.proof import asking, uv, variants
from probes.proof.interpreters import Interpreter

SHOWN = 4


def substitutes(
    plan: InstallPlan, settings: PackageSettings, index_id: str, python: Interpreter
) -> Iterable[tuple[tuple[PlannedPackage, ...], tuple[str, ...]]]:
    """Plans in which the packages of INDEX_ID come from local wheels of the same variant, strictest first.

    Each with the names that it leaves out: a companion of torch that is not in the folder would be built for another torch.
    """
    wanted = variants.of_index(index_id)
    names = [canonicalize_name(p.name) for p in plan.packages if p.index_id == index_id]
    found = variants.local_wheels(uv.merged(settings).find_links, python.short, names)
    local = [w for w in found if wanted is None or variants.of_version(w.version) == wanted]
    if not local:
        return
    chosen: list[PlannedPackage] = []
    others: list[PlannedPackage] = []
    dropped: list[str] = []
    for package in plan.packages:
        if package.index_id != index_id:
            others.append(package)
            continue
        requirement = asking.checked(package.requirement)
        mine = [w for w in local if w.name == canonicalize_name(package.name)]
        # The very release of the plan where it is there, else the newest that the folder holds.
        mine.sort(key=lambda w: requirement.specifier.contains(Version(w.version).public), reverse=True)
        if mine:
            exact = f"{named(requirement)}=={mine[0].version}"
            chosen.append(PlannedPackage(name=package.name, requirement=exact, index_id="find-links"))
        elif canonicalize_name(package.name) in variants.TORCH_COMPANIONS:
            dropped.append(package.name)
        else:
            chosen.append(from_default(package))
    yield (*chosen, *others), tuple(dropped)
    yield (*chosen, *(relaxed(p, "<=") for p in others)), tuple(dropped)
    yield (*chosen, *(relaxed(p, "") for p in others)), tuple(dropped)


def constrained(
    plan: InstallPlan, settings: PackageSettings
) -> tuple[tuple[PlannedPackage, ...], tuple[str, ...]] | None:
    """PLAN without the pins that the user's constraint files forbid, and those constraints; None where they forbid none."""
    allowed = constraints(settings)
    broken = []
    packages = []
    for package in plan.packages:
        rule = allowed.get(canonicalize_name(package.name))
        pin = next((s.version for s in asking.checked(package.requirement).specifier if s.operator == "=="), None)
        if rule is not None and pin is not None and not rule.specifier.contains(pin, prereleases=True):
            broken.append(str(rule))
            package = relaxed(package, "")
        packages.append(package)
    return (tuple(packages), tuple(broken)) if broken else None


def constraints(settings: PackageSettings) -> dict[str, Requirement]:
    """The user's constraints by name, from constraint files on this machine (a page on the web is left to the resolver)."""
    found: dict[str, Requirement] = {}
    for place in uv.merged(settings).constraints:
        try:
            text = Path(place.removeprefix("file://")).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            words = line.split("#", 1)[0].strip()
            try:
                rule = Requirement(words) if words and not words.startswith("-") else None
            except InvalidRequirement:
                continue
            if rule is not None and (rule.marker is None or rule.marker.evaluate()):
                found[canonicalize_name(rule.name)] = rule
    return found


def pinned_plan(
    plan: InstallPlan,
    packages: Sequence[PlannedPackage],
    resolved: Sequence[LockedPackage],
    python: Interpreter,
    settings: PackageSettings,
) -> tuple[InstallPlan, Text]:
    """The plan of PACKAGES with the versions that were RESOLVED, and what differs from PLAN in words."""
    version: dict[str, str] = {canonicalize_name(p.name): p.version for p in resolved}
    before = {canonicalize_name(p.name): p for p in plan.packages}
    pinned: list[PlannedPackage] = []
    changed: list[tuple[str, str]] = []
    for package in packages:
        name = canonicalize_name(package.name)
        exact = f"{named(asking.checked(package.requirement))}=={version.get(name, '0')}"
        pinned.append(msgspec.structs.replace(package, requirement=exact))
        asked = asking.checked(before[name].requirement)
        if exact != before[name].requirement and (asked.specifier or package.index_id != before[name].index_id):
            changed.append((f"{package.name} {version.get(name)}", before[name].requirement))
    places = uv.merged(settings).find_links
    groups: dict[tuple[str, str | None], list[str]] = {}
    for package in pinned:
        groups.setdefault((package.index_id if package.index_url else "pypi", package.index_url), []).append(
            package.requirement
        )
    steps: list[Step] = [MakeEnvironment(python=python.short)]
    for (index_id, url), requirements in groups.items():
        steps.append(
            InstallPackages(
                requirements=tuple(requirements), index_id=index_id, index_url=url, find_links=places if not url else ()
            )
        )
    said = ", ".join(f"{new} ({old})" for new, old in changed[:SHOWN]) or "the same versions"
    said_zh = "、".join(f"{new}（原为 {old}）" for new, old in changed[:SHOWN]) or "相同的版本"
    other = InstallPlan(packages=tuple(pinned), environment=plan.environment, steps=tuple(steps), python=python.short)
    return other, Text(said, said_zh)


def named(requirement: Requirement) -> str:
    """name[extras] of REQUIREMENT."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return re.sub(r"\s", "", requirement.name) + extras


def from_default(package: PlannedPackage) -> PlannedPackage:
    """PACKAGE from the user's default index."""
    return PlannedPackage(name=package.name, requirement=package.requirement, index_id="pypi")


def relaxed(package: PlannedPackage, sign: str) -> PlannedPackage:
    """PACKAGE with its pin as an upper bound (SIGN "<=") or without any."""
    requirement = asking.checked(package.requirement)
    version = next((s.version for s in requirement.specifier if s.operator == "=="), None)
    bound = f"{sign}{version}" if sign and version else ""
    return msgspec.structs.replace(package, requirement=f"{named(requirement)}{bound}")
