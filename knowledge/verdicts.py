"""What the reasoning says: verdicts, memory, assessments of one framework, and the recommendation."""

from __future__ import annotations

from typing import Literal

from knowledge.facts import Base, Evidence, Finding, Remedy, Source
from knowledge.plan import InstallPlan
from knowledge.text import Text

Outcome = Literal["met", "unmet", "unknown", "not_applicable"]
Fit = Literal["ready", "after_changes", "undetermined", "unsuitable"]
MemoryVerdict = Literal["fits", "tight", "exceeds", "unknown"]


class Verdict(Base, frozen=True, kw_only=True):
    """One requirement against one machine."""

    code: str
    outcome: Outcome
    subject: str
    because: Text
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    source: Source | None = None


class Assumption(Base, frozen=True, kw_only=True):
    fact: str
    assumed: str
    because: Text


class MemoryComponents(Base, frozen=True, kw_only=True):
    weights_bytes: int = 0
    gradients_bytes: int = 0
    optimizer_bytes: int = 0
    activations_bytes: int = 0
    kv_cache_bytes: int = 0
    overhead_bytes: int = 0


class MemoryPlan(Base, frozen=True, kw_only=True):
    tensor_parallel: int = 1
    data_parallel: int = 1
    pipeline_parallel: int = 1
    sharding: str | None = None  # zero1 | zero2 | zero3 | fsdp | None
    offload: str | None = None  # optimizer | parameters | None
    max_batch: int | None = None
    max_context: int | None = None
    max_concurrency: int | None = None
    weight_format: str | None = None


class MemoryLimits(Base, frozen=True, kw_only=True):
    """The most that fits, each with all else as stated; None where it does not apply, 0 where not even one does."""

    batch: int | None = None
    sequence_length: int | None = None
    context: int | None = None
    concurrency: int | None = None
    parameters: int | None = None  # of a usual model
    method: str | None = None  # of full, lora, qlora: the first that fits
    weight_bits: int | None = None  # of 16, 8, 4: the most that fits
    devices: int | None = None  # fewest that hold the work as stated
    nodes: int | None = None


class TimeBound(Base, frozen=True, kw_only=True):
    """How long it takes, from the speed of the device; None where that is not known. `basis` says what it rests on."""

    first_token_s: float | None = None
    tokens_per_s: float | None = None  # of all requests together
    best_tokens_per_s: float | None = None  # at the device's full bandwidth
    step_s: float | None = None  # of training
    training_tokens_per_s: float | None = None
    basis: tuple[Text, ...] = ()


class MemoryEstimate(Base, frozen=True, kw_only=True):
    """All bytes are per device of the stated plan; `host_bytes` is the computer's own memory."""

    schema: int = 1
    method: str
    components: MemoryComponents = MemoryComponents()
    host_bytes: int | None = None
    total_bytes: int | None = None
    low_bytes: int | None = None
    high_bytes: int | None = None
    available_bytes: int | None = None
    verdict: MemoryVerdict = "unknown"
    plan: MemoryPlan = MemoryPlan()
    assumptions: tuple[Assumption, ...] = ()
    findings: tuple[Finding, ...] = ()
    limits: MemoryLimits | None = None
    time: TimeBound | None = None


class Component(Base, frozen=True, kw_only=True):
    role: str
    framework: str
    version: str | None = None
    build: str | None = None
    device: str | None = None


class Stack(Base, frozen=True, kw_only=True):
    components: tuple[Component, ...] = ()
    python: str | None = None


class RuledOut(Base, frozen=True, kw_only=True):
    build: str
    index_id: str | None = None
    verdicts: tuple[Verdict, ...] = ()


class Assessment(Base, frozen=True, kw_only=True):
    """One framework on one machine; `verdicts` are those of the chosen build alone."""

    framework: str
    fit: Fit
    stack: Stack = Stack()
    verdicts: tuple[Verdict, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    memory: MemoryEstimate | None = None
    install: InstallPlan | None = None
    why: tuple[Text, ...] = ()  # the position in a sentence or three
    checked: str | None = None  # date on which the oldest knowledge used was read
    sources: tuple[Source, ...] = ()


class AssessmentAnswer(Assessment, frozen=True, kw_only=True):
    """`stackfit assess`: the assessment, and what is worth knowing about the machine."""

    schema: int = 1
    findings: tuple[Finding, ...] = ()


class Change(Base, frozen=True, kw_only=True):
    """One fact or answer changed, and what it unlocks."""

    fact: str
    becomes: str
    text: Text
    framework: str | None = None
    fit: Fit | None = None
    unlocks: tuple[str, ...] = ()


class Recommendation(Base, frozen=True, kw_only=True):
    schema: int = 1
    scenario: str
    chosen: Assessment | None = None
    others: tuple[Assessment, ...] = ()
    unsuitable: tuple[Assessment, ...] = ()
    findings: tuple[Finding, ...] = ()
    what_would_change: tuple[Change, ...] = ()
    open_questions: tuple[str, ...] = ()
    knowledge_checked: str | None = None
    knowledge_age_days: int | None = None


class DoctorAnswer(Base, frozen=True, kw_only=True):
    schema: int = 1
    findings: tuple[Finding, ...] = ()
    machine_remedies: tuple[Remedy, ...] = ()
