"""What advice starts from: the machine completed from its device names, and answers with the scenario's defaults."""

from __future__ import annotations

from typing import Any

import msgspec

from knowledge.answers import Answers, Cluster
from knowledge.catalog import Catalog
from knowledge.facts import Accelerator, MachineProfile
from knowledge.predicates import value_of
from knowledge.versions import capability


def completed(catalog: Catalog, machine: MachineProfile) -> MachineProfile:
    """MACHINE with what follows from its devices' names and PCI ids."""
    from knowledge import devices

    return devices.complete(catalog, machine)


def capability_of(card: Accelerator) -> tuple[int, int] | None:
    """The compute capability of an NVIDIA card."""
    return capability(card.target) if card.vendor == "nvidia" else None


def known(catalog: Catalog, name: str) -> str | None:
    """The id of the framework called NAME (id, alias or name, in any case), or None."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted in catalog.frameworks:
        return wanted
    for framework in catalog.frameworks.values():
        for word in (framework.name, *framework.aliases):
            if word.lower().replace("_", "-").replace(" ", "-") == wanted:
                return framework.id
    return None


def named(catalog: Catalog, answers: Answers) -> Answers:
    """ANSWERS with frameworks by their ids, however they were written; a name that is not known stays as it is."""
    if answers.framework is not None:
        answers = msgspec.structs.replace(answers, framework=known(catalog, answers.framework) or answers.framework)
    if answers.team.existing:
        existing = tuple(known(catalog, name) or name for name in answers.team.existing)
        answers = msgspec.structs.replace(answers, team=msgspec.structs.replace(answers.team, existing=existing))
    return answers


def with_defaults(answers: Answers, defaults: dict[str, Any]) -> tuple[Answers, frozenset[str]]:
    """ANSWERS with DEFAULTS (dotted keys) where nothing was answered, and the keys that were filled in."""
    filled = set()
    for key, value in defaults.items():
        if value_of(answers, key) is not None:
            continue
        if key.startswith("cluster.") and answers.cluster is None:
            answers = msgspec.structs.replace(answers, cluster=Cluster())
        answers = _set(answers, key.split("."), value)
        filled.add(key)
    return answers, frozenset(filled)


def _set(value: Any, path: list[str], leaf: Any) -> Any:
    name, *rest = path
    inner = leaf if not rest else _set(getattr(value, name), rest, leaf)
    if isinstance(inner, list):
        inner = tuple(inner)
    return msgspec.structs.replace(value, **{name: inner})
