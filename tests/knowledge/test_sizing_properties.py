"""What must hold for every model and machine: order of methods, growth with each number, sharding, refusals."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge import sizing
from knowledge.answers import Answers, Cluster, Model, Serving, Training
from knowledge.documents import BadInput
from knowledge.facts import Accelerator, MachineProfile, Memory
from knowledge.sizing import activations, layout, parts, presets
from knowledge.sizing.layout import Layout
from knowledge.sizing.parts import Parts
from knowledge.sizing.work import Work

NAMES = sorted(name for name in presets.presets() if presets.description(name).kind == "decoder")
MODELS = st.one_of(
    st.sampled_from(NAMES).map(presets.description),
    st.integers(2_000_000, 10**12).map(lambda n: sizing.describe(Model(params=n))),
)
LENGTHS = st.integers(1, 200_000)
SMALL = st.integers(1, 64)
PRECISIONS: st.SearchStrategy[Literal["bf16", "fp32"]] = st.sampled_from(["bf16", "fp32"])
WHERE: Literal["dedicated"] = "dedicated"


def training(method: str, precision: str, length: int, batch: int, checkpointing: bool, rank: int = 8) -> Work:
    return Work(method=method, precision=precision, sequence_length=length, batch_size=batch,  # type: ignore[arg-type]
                checkpointing=checkpointing, rank=rank)  # fmt: skip


def ranges(found: Parts) -> tuple[float, float, float]:
    return found.low, found.total, found.high


@settings(max_examples=60, deadline=None)
@given(MODELS, PRECISIONS, LENGTHS, SMALL, st.booleans())
def test_lora_needs_no_more_than_full_and_qlora_no_more_than_lora(
    model: sizing.ModelDescription, precision: str, length: int, batch: int, checkpointing: bool
) -> None:
    one = Layout()
    needs = [
        parts.training(model, training(method, precision, length, batch, checkpointing, rank=4), one, WHERE).total
        for method in ("qlora", "lora", "full")
    ]
    assert needs == sorted(needs)


@settings(max_examples=60, deadline=None)
@given(MODELS, st.sampled_from(["full", "lora", "qlora"]), PRECISIONS, LENGTHS, SMALL, st.booleans(), st.integers(1, 256))
def test_training_grows_with_length_batch_and_rank(
    model: sizing.ModelDescription, method: str, precision: str, length: int, batch: int, checkpointing: bool, rank: int
) -> None:
    work = training(method, precision, length, batch, checkpointing, rank)
    base = parts.training(model, work, Layout(), WHERE)
    assert 0 < base.low <= base.total <= base.high
    for change in ({"sequence_length": length * 2}, {"batch_size": batch + 1}, {"rank": rank + 1}):
        more = parts.training(model, msgspec.structs.replace(work, **change), Layout(), WHERE)
        for small, large in zip(ranges(base), ranges(more), strict=True):
            assert small <= large * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(MODELS, LENGTHS, SMALL, st.sampled_from(["fp32", "bf16", "int8", "int4", "gguf:Q4_K_M"]), st.integers(0, 3))
def test_inference_grows_with_context_and_concurrency(
    model: sizing.ModelDescription, context: int, concurrency: int, form: str, engine: int
) -> None:
    kind = ("server", "llama.cpp", "eager", "unknown")[engine]
    work = Work(method="infer", context_length=context, concurrency=concurrency, weight_format=form, engine=kind)  # type: ignore[arg-type]
    base = parts.inference(model, work, Layout(), WHERE)
    assert 0 < base.low <= base.total <= base.high
    for change in ({"context_length": context + 1000}, {"concurrency": concurrency + 1}):
        more = parts.inference(model, msgspec.structs.replace(work, **change), Layout(), WHERE)
        for small, large in zip(ranges(base), ranges(more), strict=True):
            assert small <= large * (1 + 1e-9)
    fewer = activations.cache_bytes(model, msgspec.structs.replace(work, kv_bits=8, weight_format="bf16"))
    assert fewer <= activations.cache_bytes(model, msgspec.structs.replace(work, weight_format="bf16"))


@settings(max_examples=60, deadline=None)
@given(MODELS, st.sampled_from(["full", "lora", "qlora"]), LENGTHS, st.integers(2, 512), st.sampled_from(["fsdp", "zero3"]))
def test_more_devices_never_need_more_each_under_sharding(
    model: sizing.ModelDescription, method: str, length: int, devices: int, sharding: str
) -> None:
    work = training(method, "bf16", length, 1, True)
    few = Layout(data=devices, per_node=8, sharding=sharding)  # type: ignore[arg-type]
    many = msgspec.structs.replace(few, data=devices + 1)
    first, second = parts.training(model, work, few, WHERE), parts.training(model, work, many, WHERE)
    assert second.total <= first.total * (1 + 1e-9)
    assert second.high <= first.high * (1 + 1e-9)


def machine(gib: float, count: int = 1) -> MachineProfile:
    card = Accelerator(vendor="nvidia", name="GPU", count=count, memory_bytes=round(gib * 2**30), memory_kind="dedicated",
                       state="usable")  # fmt: skip
    return MachineProfile(accelerators=(card,), memory=Memory(total_bytes=256 * 2**30))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.sampled_from(["full", "lora", "qlora", "infer"]), st.integers(1, 24), st.integers(4, 200))
def test_more_devices_never_make_it_worse(name: str, method: str, devices: int, gib: int) -> None:
    """Through the door: a verdict with one device more is at least as good, and no device needs more where it is short."""
    rank = {"fits": 2, "tight": 1, "exceeds": 0}
    answers = Answers(
        scenario="llm-serving" if method == "infer" else "llm-finetuning", framework=None, model=Model(name=name),
        training=Training(method=method, sequence_length=2048, batch_size=1),  # type: ignore[arg-type]
        serving=Serving(context_length=8192, concurrency=4),
    )  # fmt: skip
    found = []
    for number in (devices, devices * 2):
        spread = msgspec.structs.replace(answers, cluster=Cluster(nodes=1, gpus_per_node=number))
        one = sizing.estimate(machine(gib), spread)
        assert one is not None and one.total_bytes is not None
        assert one.total_bytes == sum(msgspec.structs.astuple(one.components))
        assert one.low_bytes is not None and one.high_bytes is not None
        assert one.low_bytes <= one.total_bytes + 5 and one.total_bytes <= one.high_bytes + 5
        found.append(one)
    assert rank[found[1].verdict] >= rank[found[0].verdict]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NAMES), st.integers(4, 200), st.sampled_from(["full", "lora", "qlora", "infer"]))
def test_the_largest_fits_and_the_next_does_not(name: str, gib: int, method: str) -> None:
    answers = Answers(scenario="research", model=Model(name=name), training=Training(method=method))  # type: ignore[arg-type]
    found = sizing.case(machine(gib), answers)
    assert found is not None
    most = sizing.largest(found)
    for key, field in (("batch", "batch_size"), ("concurrency", "concurrency")):
        number = getattr(most, key)
        if number is None:
            continue
        from knowledge.sizing import estimates, inverse

        chosen, _ = estimates.choose(found)
        assert number == 0 or inverse.holds(found, chosen, **{field: number})
        if number < 60_000:
            assert not inverse.holds(found, chosen, **{field: number + 1})


def test_heads_decide_how_far_tensor_parallel_goes() -> None:
    model = presets.description("llama-2-13b")  # 40 heads
    assert [n for n in range(1, 9) if layout.divides(model, n)] == [1, 2, 4, 5, 8]
    grouped = presets.description("llama-3.1-8b")  # 32 heads, 8 for keys and values
    assert [n for n in (1, 2, 3, 4, 8, 16, 32) if layout.divides(grouped, n)] == [1, 2, 4, 8, 16, 32]


ABSURD: list[dict[str, Any]] = [
    {"training": Training(method="full", sequence_length=0)}, {"training": Training(method="full", batch_size=0)},
    {"training": Training(method="lora", rank=-1)}, {"training": Training(method="full", sequence_length=10**15)},
    {"serving": Serving(concurrency=0)}, {"serving": Serving(context_length=10**12)},
    {"serving": Serving(weight_bits=0)}, {"serving": Serving(weight_bits=77)}, {"serving": Serving(kv_bits=0)},
    {"serving": Serving(kv_bits=1)}, {"serving": Serving(weight_format="gguf:Q99")},
    {"serving": Serving(weight_format="; rm -rf")}, {"model": Model(params="7B", heads=0)},
    {"model": Model(params=float("nan"))}, {"model": Model(params=float("inf"))}, {"model": Model(params="")},
]  # fmt: skip


@pytest.mark.parametrize("change", ABSURD)
def test_absurd_numbers_are_refused_with_a_sentence(change: dict[str, Any]) -> None:
    answers = Answers(**{"scenario": "llm-serving", "model": Model(params="7B"), **change})
    with pytest.raises(BadInput) as refused:
        sizing.estimate(machine(24), answers)
    assert len(str(refused.value)) > 20
