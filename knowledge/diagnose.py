"""Faults of a machine and of its environments, in order of pain: what stops work first, each cause once."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

import msgspec

from knowledge.catalog import Catalog
from knowledge.diagnosis import builds, devices, interpreters, network, parts, projects, system
from knowledge.diagnosis.situation import Environment, Machine
from knowledge.facts import Finding, MachineProfile

SEVERITIES = ("error", "warning", "info")
# Within one severity: the device first, then the build for it, then what else is in the environment, then the rest.
PAIN = (
    "driver.", "accel.hidden", "accel.permission", "accel.disabled", "os.runtime_missing", "python.32bit", "cpu.feature_missing",
    "libc.", "package.arch_not_built", "package.driver_too_old", "package.known_broken", "package.cpu_build", "python.",
    "package.pair_mismatch", "package.numpy_abi", "package.duplicate_variant", "toolkit.", "package.", "os.", "arch.",
    "system.", "cpu.", "disk.", "memory.", "network.", "project.", "accel.",
)  # fmt: skip
MACHINE_RULES = (
    devices.states, devices.shape, devices.age, system.processors, system.shared_memory, system.system, system.space, system.toolkits,
    network.network,
)  # fmt: skip
ENVIRONMENT_RULES = (builds.processor, builds.libc, builds.devices, builds.libraries, parts.together, parts.variants, parts.broken, projects.projects)


def diagnose(
    catalog: Catalog, machine: MachineProfile, today: datetime.date, python: str | None = None
) -> tuple[Finding, ...]:
    """Findings on MACHINE and its environments; PYTHON: only on the environment whose interpreter has that path.

    What probes noted themselves (`machine.findings`) joins where no rule has said it with a repair. Nothing is read but the arguments.
    """
    facts = Machine(catalog, machine, today)
    found = _once(finding for rule in MACHINE_RULES for finding in rule(facts))
    found.extend(_environments(facts, python))
    known = {finding.code for finding in found}
    found.extend(finding for finding in machine.findings if finding.code not in known)
    return tuple(sorted(found, key=pain))


def _environments(facts: Machine, python: str | None) -> Iterator[Finding]:
    pythons = facts.profile.pythons or ()
    asked = [place for place, item in enumerate(pythons) if python is not None and item.path == python]
    for place, item in enumerate(pythons):
        if python is not None and place not in asked:
            continue
        env = Environment(facts, item, place)
        yield from interpreters.interpreter(env, only=len(pythons) == 1 or place in asked)
        emulated = item.arch is not None and facts.profile.system.arch is not None and item.arch != facts.profile.system.arch
        for rule in ENVIRONMENT_RULES:
            if emulated and rule in (builds.devices, builds.libraries):
                continue  # what it holds is for another processor: that is the one cause
            yield from rule(env)


def pain(finding: Finding) -> tuple[int, int]:
    """How early a finding is to be told."""
    place = next((place for place, start in enumerate(PAIN) if finding.code.startswith(start)), len(PAIN))
    return SEVERITIES.index(finding.severity), place


def _once(found: Iterable[Finding]) -> list[Finding]:
    """The findings without repetitions: the same fault on four cards of a kind is one finding with four proofs."""
    kept: dict[tuple[str, str, str], Finding] = {}
    for finding in found:
        key = (finding.code, finding.subject, finding.because.en)
        first = kept.get(key)
        if first is not None:
            finding = msgspec.structs.replace(first, evidence=(*first.evidence, *finding.evidence))
        kept[key] = finding
    return list(kept.values())
