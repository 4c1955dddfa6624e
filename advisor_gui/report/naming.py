"""The catalogue's words that a report takes along, so that it can be read without the catalogue."""

from __future__ import annotations

import msgspec

from advisor_gui.report import names
from advisor_gui.report.value import FrameworkNote, PolicyNote, Report
from knowledge.catalog import Catalog
from knowledge.policy import Policy
from knowledge.text import Text


def with_words(value: Report, knowledge: Catalog) -> Report:
    """VALUE with names and notes of every framework in it, the scenario's title and the questions' labels."""
    ids = names.mentioned(value.recommendation) | {a.framework for a in value.compared}
    ids |= {c.framework for a in value.compared for c in a.stack.components}
    for row in value.fleet.rows if value.fleet is not None else ():
        ids |= {*row.fits, *((c.framework for c in row.chosen.stack.components) if row.chosen is not None else ())}
    frameworks = {}
    for id_ in sorted(ids & set(knowledge.frameworks)):
        one = knowledge.frameworks[id_]
        frameworks[id_] = FrameworkNote(
            name=one.name, summary=one.summary, strengths=one.strengths, weaknesses=one.weaknesses, licence=one.licence.id,
            state=one.status.state, checked=one.checked, packages=one.packages,
        )  # fmt: skip
    scenario = knowledge.scenarios.get(value.answers.scenario)
    labels = names.labels(knowledge)
    return msgspec.structs.replace(
        value, frameworks=frameworks, scenario_title=scenario.title if scenario is not None else None, questions=labels
    )


def policy_note(policy: Policy) -> PolicyNote:
    """What a reader must know of the team's policy."""
    rules = [Text(f"Packages of {index} come from {url}.", f"{index} 的软件包取自 {url}。") for index, url in policy.indexes.items()]
    rules += [Text(f"{name} {bound}".strip(), f"{name} {bound}".strip()) for name, bound in policy.approved.items()]
    if policy.denied:
        rules.append(Text(f"Not used: {', '.join(policy.denied)}.", f"不使用：{'、'.join(policy.denied)}。"))
    if policy.licence == "permissive":
        rules.append(Text("Only permissive licences.", "只使用宽松许可证。"))
    if policy.reason:
        rules.append(Text(policy.reason, policy.reason))
    return PolicyNote(name=policy.name, path="", rules=tuple(rules))
