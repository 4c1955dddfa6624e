"""Sizes of published runs that were not calibrated on, and counts whose unit was forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge import sizing
from knowledge.answers import Answers, Model, Serving, Training
from knowledge.documents import BadInput
from knowledge.facts import Accelerator, MachineProfile, Memory, System
from knowledge.verdicts import MemoryEstimate

GIB = 2**30


def size(name: str, memory_gib: float, **more: Any) -> MemoryEstimate:
    card = Accelerator(kind="gpu", vendor="nvidia", name="NVIDIA GPU", memory_bytes=int(memory_gib * GIB), memory_kind="dedicated", state="usable")
    machine = MachineProfile(system=System(os="linux", arch="x86_64"), memory=Memory(total_bytes=256 * GIB), accelerators=(card,))
    answers = Answers(scenario="llm-finetuning", task="llm", model=Model(name=name), **more)
    found = sizing.estimate(machine, answers)
    assert found is not None and found.total_bytes is not None
    return found


def tuned(method: str, length: int = 2048) -> Training:
    return Training(method=method, precision="bf16", sequence_length=length, batch_size=1, gradient_checkpointing=True)  # type: ignore[arg-type]


def test_qlora_of_a_mixture_does_not_adapt_its_experts() -> None:
    """Unsloth's table: Qwen3-30B-A3B needs 17.5 GB; adapters on every expert are in the range, not in the expectation."""
    found = size("Qwen3-30B-A3B", 24, training=tuned("qlora"))
    assert found.verdict in ("fits", "tight")
    assert found.low_bytes is not None and found.high_bytes is not None and found.total_bytes is not None
    assert found.low_bytes < 20 * GIB and found.total_bytes < 24 * GIB < found.high_bytes


def test_qlora_of_a_mixture_still_loads_every_expert() -> None:
    assert size("Mixtral-8x7B", 24, training=tuned("qlora")).verdict == "exceeds"


@pytest.mark.parametrize(
    ("name", "serving", "memory_gib", "low", "high"),
    [
        ("Llama-3.1-8B", Serving(concurrency=1, context_length=8192, weight_bits=16), 24, 16, 20),
        ("Llama-3.1-70B", Serving(concurrency=1, context_length=8192, weight_format="fp8"), 80, 67, 79),
        ("Qwen3-32B", Serving(concurrency=1, context_length=8192, weight_format="awq"), 24, 18, 24),
        ("gpt-oss-20b", Serving(concurrency=1, context_length=8192, weight_bits=4), 16, 12, 16),
    ],
)
def test_serving_as_published(name: str, serving: Serving, memory_gib: float, low: float, high: float) -> None:
    """Memory stated by the publishers of each model or its quantised files."""
    found = size(name, memory_gib, serving=serving)
    assert found.verdict in ("fits", "tight")
    assert found.total_bytes is not None and low <= found.total_bytes / GIB <= high


@pytest.mark.parametrize("slip", [7, 70, 405])
def test_a_count_without_its_unit_is_asked_about(slip: int) -> None:
    machine = MachineProfile(system=System(os="linux", arch="x86_64"))
    with pytest.raises(BadInput, match=f"{slip}B"):
        sizing.estimate(machine, Answers(scenario="llm-serving", model=Model(params=slip), serving=Serving(concurrency=1)))
