"""Golden advice: what a user reads for machines and scenarios of our own, kept as text and reviewed line by line.

After a wanted change write the files anew with `STACKFIT_GOLDEN=write pytest tests/knowledge/test_golden_advice.py`
and read the difference.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest
import yaml

from knowledge import advise, documents, loader
from knowledge.answers import Answers
from knowledge.plan import Note
from knowledge.verdicts import Assessment, Recommendation

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
TODAY = datetime.date(2026, 12, 1)
CATALOG = loader.load_catalog()
MACHINES = yaml.safe_load((GOLDEN / "machines.yaml").read_text(encoding="utf-8"))

PROJECTS: dict[str, dict] = {
    "prototype": {"scenario": "rapid-prototyping", "task": "vision"},
    "teaching": {"scenario": "classic-teaching", "team": {"experience": "beginner"}},
    "teaching-zh": {"scenario": "classic-teaching", "team": {"experience": "beginner", "language": "zh"}},
    "qlora-7b": {"scenario": "llm-finetuning", "model": {"params": "7B"}, "training": {"method": "qlora"}},
    "serve-8b": {
        "scenario": "llm-serving", "model": {"params": "8B"},
        "serving": {"concurrency": 4, "context_length": 8192, "weight_bits": 4},
    },
    "serve-70b": {
        "scenario": "llm-serving", "model": {"params": "70B"},
        "serving": {"concurrency": 8, "context_length": 8192, "weight_bits": 16},
    },
    "edge": {"scenario": "edge-inference", "task": "vision"},
    "edge-android": {"scenario": "edge-inference", "task": "vision", "target": {"kind": "android"}},
    "train-serve": {"scenario": "unified-train-serve", "task": "vision"},
    "tensorflow-team": {"scenario": "rapid-prototyping", "task": "vision", "team": {"existing": ["tensorflow"]}},
    "research": {"scenario": "research", "needs": {"reproducible": True, "tracking": "mlflow"}},
    "cluster-70b": {
        "scenario": "distributed-training", "model": {"params": "70B"}, "training": {"method": "full"},
        "cluster": {"nodes": 8, "gpus_per_node": 8, "interconnect": "infiniband", "scheduler": "slurm"},
    },
    "rl": {"scenario": "reinforcement-learning", "task": "rl"},
    "production": {"scenario": "production-serving", "task": "vision"},
    "long-context": {"scenario": "multimodal-long-context", "model": {"params": "7B"}},
    "tabular": {"scenario": "rapid-prototyping", "task": "tabular"},
}  # fmt: skip

PAIRS = [
    ("rtx4090-linux", ("prototype", "qlora-7b", "serve-8b", "edge", "train-serve", "long-context", "rl", "serve-70b")),
    ("rtx5090-windows", ("prototype", "qlora-7b", "serve-8b", "tensorflow-team", "teaching")),
    ("gtx1080-linux", ("prototype", "qlora-7b", "serve-8b")),
    ("laptop-nogpu-windows", ("teaching", "prototype", "edge", "tabular", "serve-8b")),
    ("macbook-m3", ("prototype", "qlora-7b", "serve-8b", "edge")),
    ("rx7900xtx-linux", ("prototype", "qlora-7b", "serve-8b")),
    ("rx9070xt-windows", ("prototype", "serve-8b", "edge")),
    ("arc-b580-linux", ("prototype", "edge")),
    ("h100x8-cluster", ("cluster-70b", "serve-70b", "research", "production")),
    ("ascend-910b", ("prototype", "serve-8b", "teaching-zh")),
    ("alpine-container", ("prototype", "production")),
    ("old-xeon-noavx", ("prototype", "tensorflow-team")),
    ("jetson-orin-jp6", ("prototype", "edge")),
    ("wsl2-3060", ("prototype", "tensorflow-team")),
    ("driverless-3070", ("prototype", "serve-8b")),
    ("snapdragon-x", ("edge", "prototype")),
    ("gb10-spark", ("prototype", "serve-70b")),
    ("intel-mac", ("prototype", "qlora-7b")),
    ("unknown-everything", ("prototype", "edge-android")),
]  # fmt: skip
CASES = [(machine, project) for machine, projects in PAIRS for project in projects]


def recommend(machine: str, project: str) -> Recommendation:
    profile = documents.machine(yaml.safe_dump(MACHINES[machine]), machine)
    answers = documents.convert(PROJECTS[project], Answers, project)
    return advise.advise(CATALOG, profile, answers, today=TODAY)


def text(found: Recommendation, language: str, windows: bool) -> str:
    """FOUND as plain lines, in the order in which a person wants to know."""
    lines: list[str] = []
    if found.chosen is None:
        lines.append("nothing fits")
    else:
        lines += _one(found.chosen, language, windows)
    lines.append("")
    for item in found.findings:
        lines.append(f"finding {item.severity} {item.code}: {item.because.said(language)}")
    for item in found.others:
        lines.append(f"other {item.framework} {item.fit}: {item.why[0].said(language)}")
    for item in found.unsuitable:
        lines.append(f"out {item.framework}: {item.why[0].said(language)}")
    return "\n".join(lines) + "\n"


def _one(chosen: Assessment, language: str, windows: bool) -> list[str]:
    lines = [f"{chosen.framework}: {chosen.fit}", *(f"  {why.said(language)}" for why in chosen.why)]
    lines += [f"  {c.role}: {c.framework} {c.version or ''} {c.device or ''}".rstrip() for c in chosen.stack.components]
    for verdict in chosen.verdicts:
        if verdict.outcome in ("unmet", "unknown"):
            lines.append(f"  {verdict.outcome} {verdict.code}: {verdict.because.said(language)}")
            lines += [f"    {cure.code}: {cure.text.said(language)}" for cure in verdict.remedies]
    if chosen.memory is not None:
        memory = chosen.memory
        gib = [round((size or 0) / 2**30, 1) for size in (memory.low_bytes, memory.total_bytes, memory.high_bytes)]
        have = "?" if memory.available_bytes is None else f"{memory.available_bytes / 2**30:.1f}"
        lines.append(f"  memory {memory.method}: {gib[1]} GiB ({gib[0]} to {gib[2]}) of {have}: {memory.verdict}")
    for note in chosen.assumptions:
        lines.append(f"  assumed {note.fact}: {note.because.said(language)}")
    if chosen.install is not None:
        shell = "powershell" if windows else "bash"
        lines += [f"  $ {line}" for line in chosen.install.commands.get("pip", {}).get(shell, ())]
        lines += [f"  note: {step.text.said(language)}" for step in chosen.install.steps if isinstance(step, Note)]
    return lines


@pytest.mark.parametrize(("machine", "project"), CASES, ids=[f"{m}--{p}" for m, p in CASES])
def test_advice_reads_as_it_was_reviewed(machine, project):
    found = recommend(machine, project)
    windows = (MACHINES[machine].get("system") or {}).get("os") == "windows"
    whole = text(found, "en", windows) + "\n---- zh\n\n" + text(found, "zh", windows)
    place = GOLDEN / "advice" / f"{machine}--{project}.txt"
    if os.environ.get("STACKFIT_GOLDEN") == "write":
        place.parent.mkdir(exist_ok=True)
        place.write_text(whole, encoding="utf-8")
    assert place.read_text(encoding="utf-8") == whole


def test_there_are_enough_pairs():
    assert len(CASES) >= 40
    assert {m for m, _ in PAIRS} == set(MACHINES)
