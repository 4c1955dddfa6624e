"""No sentence shows a missing value as None or True, or leaves a gap where a name should be."""

from __future__ import annotations

import datetime
import re

from knowledge import diagnose, documents, loader
from knowledge.advise import assess
from knowledge.answer_words import shown
from knowledge.answers import Answers
from knowledge.facts import Finding, MachineProfile
from knowledge.hardware_words import toolkit
from knowledge.judged import Situation
from knowledge.verdicts import Assessment

TODAY = datetime.date(2026, 12, 1)
GAP = re.compile(r"\bNone\b|\bTrue\b|\bFalse\b|\S  +\S")


def _machine(text: str) -> MachineProfile:
    return documents.machine(text, "m.yaml")


def _faultless(found: Assessment | tuple[Finding, ...]) -> None:
    parts = [*found.verdicts, *found.assumptions] if isinstance(found, Assessment) else list(found)
    assert parts
    for part in parts:
        for sentence in (part.because.en, part.because.zh):
            assert GAP.search(sentence) is None, sentence
        for remedy in getattr(part, "remedies", ()):
            assert GAP.search(remedy.text.en) is None, remedy.text.en


def test_an_answer_that_is_open_is_called_open() -> None:
    found = assess(loader.load_catalog(), _machine("{system: {os: linux, arch: x86_64}}"), "rknn",
                   documents.answers("{scenario: edge-inference}", "a"), today=TODAY)  # fmt: skip
    _faultless(found)


def test_a_toolkit_without_version_is_undecided() -> None:
    have = Situation(machine=_machine("{software: {cuda_toolkit: true}}"), answers=Answers())
    judged = toolkit({"name": "cuda_toolkit", "spec": ">=12"}, have)
    assert judged.outcome == "unknown"
    assert judged.because.en == "cuda_toolkit is installed in a version that is not known; needed is >=12."


def test_a_device_without_known_module_leaves_no_gap() -> None:
    for box in ("", ", container: docker"):
        machine = _machine(f"{{system: {{os: linux{box}}}, accelerators: [{{vendor: apex, name: A1, state: module_missing}}]}}")
        _faultless(diagnose.diagnose(loader.load_catalog(), machine, TODAY))


def test_answers_are_shown_as_they_are_written() -> None:
    assert shown(True) == "true"
    assert shown(("pytorch", "jax")) == "pytorch, jax"


def test_a_python_of_no_readable_version_is_not_offered() -> None:
    machine = _machine(
        "{system: {os: linux, arch: x86_64}, pythons: [{path: /a/python, version: 3.13.1, free_threaded: true,"
        " packages: [{name: torch, version: 2.1.0}]}, {path: /usr/bin/python3, version: junk, bits: 64}]}"
    )
    found = diagnose.diagnose(loader.load_catalog(), machine, TODAY)
    assert not any("None" in remedy.text.en for finding in found for remedy in finding.remedies)
