"""What a report says: one value that every format renders and that a .stackfit document keeps."""

from __future__ import annotations

from advisor_gui.fleet import Fleet
from knowledge.answers import Answers
from knowledge.facts import Base, Finding, MachineProfile
from knowledge.plan import ResolveResult, SmokeResult
from knowledge.text import Text
from knowledge.verdicts import Assessment, Recommendation


class PolicyNote(Base, frozen=True, kw_only=True):
    """The team policy in force, as far as a reader of the report needs it."""

    name: str
    path: str
    contact: str | None = None
    rules: tuple[Text, ...] = ()


class FrameworkNote(Base, frozen=True, kw_only=True):
    """What the catalogue said of one framework on the day of the report, so that the report stands alone."""

    name: str
    summary: Text
    strengths: tuple[Text, ...] = ()
    weaknesses: tuple[Text, ...] = ()
    licence: str = ""
    state: str = ""
    checked: str = ""
    packages: tuple[str, ...] = ()


class Report(Base, frozen=True, kw_only=True):
    """One assessment as a whole. Texts keep both languages, so it can be shown in either later.

    `compared`: frameworks that were asked for beside the recommended stack. `fleet`: many machines side by side; where
    it is set, the report is one about them, and `machine` is the first of them. `frameworks`, `scenario_title` and
    `questions` hold the catalogue's words for the ids used.
    """

    schema: int = 1
    title: str | None = None
    created: str  # ISO 8601, UTC
    program_version: str
    knowledge_checked: str | None = None
    machine: MachineProfile
    answers: Answers
    recommendation: Recommendation
    findings: tuple[Finding, ...] = ()
    resolve: ResolveResult | None = None
    smoke: tuple[SmokeResult, ...] = ()
    policy: PolicyNote | None = None
    compared: tuple[Assessment, ...] = ()
    fleet: Fleet | None = None
    frameworks: dict[str, FrameworkNote] = {}
    scenario_title: Text | None = None
    questions: dict[str, Text] = {}
