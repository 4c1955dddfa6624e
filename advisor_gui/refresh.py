"""Re-reads release facts of the catalogue's packages from the user's own index and says what differs, for review."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from advisor_gui import session
from knowledge.facts import Base
from knowledge.text import Text
from probes.progress import Progress

if TYPE_CHECKING:
    from knowledge.catalog import Catalog
    from probes.proof.releases import Release

WORKERS = 4


class Difference(Base, frozen=True, kw_only=True):
    """One fact of the catalogue beside what the index says now."""

    framework: str
    package: str
    fact: str  # version | pythons | platforms
    stored: str
    found: str


class Refresh(Base, frozen=True, kw_only=True):
    schema: int = 1
    asked: int
    differences: tuple[Difference, ...]
    unanswered: tuple[str, ...] = ()


def stored(knowledge: Catalog) -> dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """Package name to framework, newest stored version, and the Pythons and platforms of the builds that hold it.

    Only packages that come from the default index: others cannot be asked for by name alone.
    """
    found: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]] = {}
    for framework in knowledge.frameworks.values():
        for build in framework.builds:
            for package in build.packages:
                if (package.index or build.index) != "pypi" or framework.packages[:1] != (package.name,):
                    continue
                have = found.get(package.name)
                if have is None or version(package.version) > version(have[1]):
                    found[package.name] = (framework.id, package.version, build.pythons, build.platforms)
    return found


def version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def compare(knowledge: Catalog, progress: Progress) -> Refresh:
    """Ask for every package that can be asked for; at most four questions at a time."""
    from probes.proof import releases

    settings = session.package_settings(progress)
    wanted = stored(knowledge)
    names = sorted(wanted)

    def ask(name: str) -> Release | str:
        progress.check()
        # The lowest Python that is stored: the answer then holds the wheels of all newer ones too.
        lowest = min((int(p.split(".")[1].rstrip("t")) for p in wanted[name][2]), default=12)
        return releases.newest(name, settings, progress, python=f"3.{lowest}")

    differences, unanswered = [], []
    with ThreadPoolExecutor(WORKERS) as pool:
        for number, (name, answer) in enumerate(zip(names, pool.map(ask, names), strict=True), start=1):
            progress.step(Text(f"Asking for {name}", f"正在查询 {name}"), number / len(names))
            if isinstance(answer, str):
                unanswered.append(answer)
            else:
                differences += differing(name, wanted[name], answer)
    return Refresh(asked=len(names), differences=tuple(differences), unanswered=tuple(unanswered))


def differing(name: str, have: tuple[str, str, tuple[str, ...], tuple[str, ...]], found: Release) -> list[Difference]:
    framework, stored_version, pythons, platforms = have
    rows = []
    if version(found.version) != version(stored_version):
        rows.append(Difference(framework=framework, package=name, fact="version", stored=stored_version, found=found.version))
    elif found.pythons and pythons and set(pythons) - set(found.pythons):
        rows.append(Difference(framework=framework, package=name, fact="pythons", stored=", ".join(pythons), found=", ".join(found.pythons)))
    elif found.platforms and set(platforms) - set(found.platforms):
        rows.append(
            Difference(framework=framework, package=name, fact="platforms", stored=", ".join(platforms), found=", ".join(found.platforms))
        )
    return rows


def diff_text(value: Refresh) -> str:
    """The differences as lines to review beside the files they belong to."""
    lines = []
    for one in value.differences:
        lines += [f"--- knowledge/data/frameworks/{one.framework}.yaml  {one.package}", f"-{one.fact}: {one.stored}", f"+{one.fact}: {one.found}"]
    return "\n".join(lines) + ("\n" if lines else "")


def run(options: argparse.Namespace) -> int:
    """`stackfit knowledge refresh`: 0 where nothing differs, 1 where something does, 3 where nobody answered."""
    from advisor_gui import cli_commands, cli_text

    cli_commands.only_here(options, "it asks this computer's own package index")
    found = compare(session.catalog(session.folders()), cli_commands.progress(options))
    if options.out:
        session.write_whole(Path(options.out), diff_text(found).encode())
    cli_commands.show(options, found, cli_text.refresh)
    if found.asked and len(found.unanswered) == found.asked:
        return 3
    return 1 if found.differences else 0
