"""Which build of a framework would serve a device of this machine in one environment: what the repair installs."""

from __future__ import annotations

import re
from typing import NamedTuple

from knowledge.answers import Answers
from knowledge.builds_of import name_key
from knowledge.catalog import Build, BuildPackage
from knowledge.compatibility import Route, check
from knowledge.diagnosis.situation import Environment
from knowledge.facts import Accelerator, Remedy
from knowledge.predicates import Situation
from knowledge.versions import minor, version

MARKED = re.compile(r"cu\d{3}|rocm[\d.]+|xpu|cpu")
RANK = {"ready": 0, "undetermined": 1, "after_changes": 2}


class Fitting(NamedTuple):
    build: Build
    needed: tuple[Remedy, ...]  # what else must change for this build (another Python, WSL2 …)
    index_url: str | None

    def remedies(self, env: Environment, package: str) -> tuple[Remedy, ...]:
        """Installs the build in the environment in place of PACKAGE, and with it those of its parts that are there."""
        own = [p for p in self.build.packages if name_key(p.name) == package] or list(self.build.packages[:1])
        parts = [p for p in self.build.packages if p not in own and name_key(p.name) in env.versions and name_key(p.name) != "numpy"]
        other = [env.cure("uninstall", package=package)] if own and name_key(own[0].name) != package else []
        return (*other, *(self._install(env, item) for item in (*own, *parts)), *self.needed)

    def _install(self, env: Environment, item: BuildPackage) -> Remedy:
        index = item.index or self.build.index
        if index == "pypi":
            same = env.versions.get(name_key(item.name), "").partition("+")[0] == item.version
            return env.cure("reinstall" if same else "pin_version", package=item.name, version=item.version)
        # The mark belongs to the version: without it pip is content with the build that is there.
        mark = f"+{index}" if MARKED.fullmatch(index) and "+" not in item.version else ""
        params = {"package": item.name, "version": f"{item.version}{mark}", "index": index}
        if self.index_url is not None:
            params["index_url"] = self.index_url
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
        # PyPI's own build differs from the installed one in nothing that pip sees, so an index by name comes first.
        plain = build.index == "pypi" and framework == "pytorch"
        key = (checked.changes, RANK[checked.fit], not build.stable, not same, _Reversed(newest), plain, place)
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
