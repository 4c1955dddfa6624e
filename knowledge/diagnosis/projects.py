"""Installed packages whose project ended, moved or is kept alive alone."""

from __future__ import annotations

from collections.abc import Iterator

from knowledge.builds_of import name_key
from knowledge.diagnosis.situation import Environment, found
from knowledge.facts import Finding, Remedy, Severity
from knowledge.versions import within

SEVERITIES: dict[str, Severity] = {
    "project.archived": "warning", "project.superseded": "warning", "project.renamed": "info", "project.maintenance": "info",
    "project.unverified": "info",
}  # fmt: skip


# Parts of another package's own release, which pip brings with it.
BROUGHT = {"tensorflow-macos": "tensorflow"}


def projects(env: Environment) -> Iterator[Finding]:
    told: set[str] = set()
    for facts in env.machine.catalog.packages.values():
        for row in facts.retired:
            have = env.versions.get(row.package)
            if have is None or (row.versions and within(have, row.versions) is not True):
                continue
            told.add(row.package)
            if env.versions.get(BROUGHT.get(row.package, "")) == have:
                continue
            cures: list[Remedy] = []
            if row.instead is not None:
                cures.append(env.cure("use_instead", name=row.instead))
            cures.append(env.cure("uninstall", package=row.package))
            yield found(row.code, SEVERITIES[row.code], row.package, row.because.en, row.because.zh, env.proof(row.package),
                        tuple(cures), row.source)  # fmt: skip
    for framework in env.machine.catalog.frameworks.values():
        state = framework.status.state
        if state == "active" or not framework.packages:
            continue
        package = name_key(framework.packages[0])
        if package not in env.versions or package in told:
            continue
        told.add(package)
        names = [env.machine.catalog.frameworks[item].name for item in framework.status.successors if item in env.machine.catalog.frameworks]
        cures = [env.cure("use_instead", name=name) for name in names] or [env.cure("uninstall", package=package)]
        code = f"project.{state}"
        note = framework.status.note
        yield found(code, SEVERITIES[code], package, note.en, note.zh, env.proof(package), tuple(cures), framework.status.source)
