"""The JSON Schemas of the documents that other programs rely on."""

from __future__ import annotations

from typing import Any

import msgspec

from advisor_gui.cli import SCHEMAS


def types() -> dict[str, Any]:
    """Schema name to the type that defines it."""
    from advisor_gui.report.value import Report
    from knowledge.answers import Answers
    from knowledge.catalog import Framework, Scenario
    from knowledge.facts import MachineProfile
    from knowledge.plan import ResolveResult, SmokeResult
    from knowledge.verdicts import AssessmentAnswer, DoctorAnswer, MemoryEstimate, Recommendation

    kinds = (
        MachineProfile, Answers, Recommendation, AssessmentAnswer, MemoryEstimate, DoctorAnswer, ResolveResult, SmokeResult,
        Report, Framework, Scenario,
    )  # fmt: skip
    return dict(zip(SCHEMAS, kinds, strict=True))


def schema(name: str) -> dict[str, Any]:
    """The schema of NAME as answers are printed: each sentence is a string in the chosen language.

    A report keeps both languages, so there a sentence is {en, zh}.
    """
    made = msgspec.json.schema(types()[name])
    if name not in ("report", "framework", "scenario") and "Text" in made.get("$defs", {}):
        made["$defs"]["Text"] = {"title": "Text", "type": "string"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Stackfit {name}, schema 1", **made}


def text(name: str) -> str:
    return msgspec.json.format(msgspec.json.encode(schema(name)), indent=2).decode()
