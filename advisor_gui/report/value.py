"""What a report says: one value that every format renders and that a .stackfit document keeps."""

from __future__ import annotations

from knowledge.answers import Answers
from knowledge.facts import Base, Finding, MachineProfile
from knowledge.plan import ResolveResult, SmokeResult
from knowledge.text import Text
from knowledge.verdicts import Recommendation


class PolicyNote(Base, frozen=True, kw_only=True):
    """The team policy in force, as far as a reader of the report needs it."""

    name: str
    path: str
    contact: str | None = None
    rules: tuple[Text, ...] = ()


class Report(Base, frozen=True, kw_only=True):
    """One assessment as a whole. Texts keep both languages, so it can be shown in either later."""

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
