"""Which build of a framework would serve a device of this machine in one environment: what the repair installs."""

from __future__ import annotations

from typing import NamedTuple

from knowledge.answers import Answers
from knowledge.builds_of import name_key
from knowledge.catalog import Build
from knowledge.compatibility import Route, check
from knowledge.diagnosis.situation import Environment
from knowledge.facts import Accelerator, Remedy
from knowledge.predicates import Situation
from knowledge.versions import minor, version

RANK = {"ready": 0, "undetermined": 1, "after_changes": 2}


class Fitting(NamedTuple):
    build: Build
    needed: tuple[Remedy, ...]  # what else must change for this build (another Python, WSL2 …)
    index_url: str | None

    def remedy(self, env: Environment, package: str) -> Remedy:
        """Installs the build in the environment in place of PACKAGE."""
        build = self.build
        item = next((p for p in build.packages if name_key(p.name) == package), build.packages[0] if build.packages else None)
        if item is None:
            return env.cure("use_instead")
        index = item.index or build.index
        params = {"package": item.name, "version": item.version, "index": index}
        if self.index_url is not None:
            params["index_url"] = self.index_url
        if index == "pypi":
            del params["index"]
            return env.cure("reinstall", **params)
        return env.cure("use_index", **params)


def fitting(
    env: Environment, framework: str, device: str, cards: list[tuple[int, Accelerator]], have: str
) -> Fitting | None:
    """The best build of FRAMEWORK for CARDS: one that runs as things stand, of the version at hand if possible, else the newest.

    None where no build could be made to run here without other hardware or another system.
    """
    machine = env.machine
    entry = machine.catalog.frameworks.get(framework)
    if entry is None:
        return None
    situation = Situation(machine.profile, Answers())
    situation.python = env.python
    situation.python_minor = minor(env.python.version)
    route = Route(device, tuple(card for _, card in cards), tuple(place for place, _ in cards))
    public = version(have.partition("+")[0])
    zero = version("0")
    best: tuple[tuple[object, ...], Build, tuple[Remedy, ...]] | None = None
    for place, build in enumerate(entry.builds):
        if build.device != device or not build.packages:
            continue
        checked = check(machine.catalog, entry, build, route, situation)
        if checked.fit not in RANK:
            continue
        needed = tuple(
            item for verdict in checked.verdicts if verdict.outcome == "unmet" for item in verdict.remedies
        )
        same = version(build.version) == public
        newest = version(build.version) or zero
        key = (RANK[checked.fit], not build.stable, not same, _Reversed(newest), place)
        if best is None or key < best[0]:
            best = key, build, needed
    if best is None:
        return None
    build = best[1]
    index = machine.catalog.indexes.get(build.index)
    return Fitting(build, best[2], index.url if index else None)


class _Reversed:
    """Sorts the newest version first."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)  # type: ignore[operator]
