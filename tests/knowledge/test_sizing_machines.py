"""What a device offers, which layout is taken, what is said where memory is short, and what is offered instead."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from knowledge import sizing
from knowledge.answers import Answers, Cluster, Model, Serving, Target, Training
from knowledge.facts import Accelerator, MachineProfile, Memory, System
from knowledge.sizing import budget
from knowledge.verdicts import MemoryEstimate

GIB = 2**30


def machine(*accelerators: Accelerator, total_gib: float | None = 64, **memory: Any) -> MachineProfile:
    total = None if total_gib is None else round(total_gib * GIB)
    return MachineProfile(
        system=System(os="linux", arch="x86_64"), memory=Memory(total_bytes=total, **memory), accelerators=accelerators
    )


def gpu(gib: float | None, count: int = 1, **more: Any) -> Accelerator:
    size = None if gib is None else round(gib * GIB)
    fields = {"vendor": "nvidia", "name": "Card", "memory_kind": "dedicated", "state": "usable", **more}
    return Accelerator(count=count, memory_bytes=size, **fields)


def serve(params: str = "8B", bits: int = 16, context: int = 4096, **more: Any) -> Answers:
    return Answers(
        scenario="llm-serving", task="llm", model=Model(params=params),
        serving=Serving(context_length=context, concurrency=1, weight_bits=bits), **more,
    )  # fmt: skip


def tune(params: str = "8B", method: str = "lora", **more: Any) -> Answers:
    training = Training(method=method, sequence_length=1024, batch_size=1)  # type: ignore[arg-type]
    return Answers(scenario="llm-finetuning", task="llm", model=Model(params=params), training=training, **more)


def sized(where: MachineProfile, answers: Answers) -> MemoryEstimate:
    found = sizing.estimate(where, answers)
    assert found is not None
    return found


def codes(found: MemoryEstimate) -> set[str]:
    return {one.code for one in found.findings}


def offers(found: MemoryEstimate, code: str = "memory.exceeds") -> dict[str, dict[str, str]]:
    return {r.code: r.params for one in found.findings if one.code == code for r in one.remedies}


def test_no_model_no_estimate() -> None:
    assert sizing.estimate(machine(gpu(24)), Answers(scenario="llm-serving")) is None


def test_a_slice_has_its_own_memory() -> None:
    found = sized(machine(gpu(19.5, name="NVIDIA H100 80GB HBM3", mig="2g.20gb")), serve("14B"))
    assert found.available_bytes == round(19.5 * GIB)
    assert found.verdict == "exceeds"


@pytest.mark.parametrize(("device", "total_gib", "low", "high"), [
    (Accelerator(vendor="apple", memory_kind="unified", state="usable"), 16, 11.5, 12.0),
    (Accelerator(vendor="apple", memory_kind="unified", state="usable"), 48, 35.5, 36.5),
    (Accelerator(vendor="apple", state="usable", usable_bytes=11 * GIB), 16, 11.0, 11.0),
    (gpu(None, memory_kind="unified", name="NVIDIA GB10"), 119.2, 105, 116),
    (gpu(2, vendor="amd", memory_kind="shared"), 32, 17.5, 18.5),
    (gpu(2, vendor="amd", memory_kind="shared", shared_bytes=24 * GIB), 32, 25.5, 26.5),
    (gpu(96, vendor="amd", memory_kind="unified"), 32, 110, 113),
    (gpu(None, vendor="intel", integrated=True, memory_kind=None), 16, 7.5, 8.5),
    (gpu(24), 64, 24, 24),
    (gpu(24, usable_bytes=20 * GIB), 64, 20, 20),
])  # fmt: skip
def test_what_a_device_offers(device: Accelerator, total_gib: float, low: float, high: float) -> None:
    found = budget.budget(machine(device, total_gib=total_gib))
    assert found.available_bytes is not None
    assert low <= found.available_bytes / GIB <= high


def test_unknown_memory_stays_unknown() -> None:
    for where in (machine(gpu(None)), MachineProfile(), machine(gpu(None, memory_kind="unified"), total_gib=None)):
        found = sized(where, serve())
        assert (found.verdict, found.available_bytes) == ("unknown", None)
        assert found.total_bytes is not None and found.total_bytes > 15 * GIB
        assert not codes(found) & {"memory.exceeds", "memory.tight"}


def test_no_accelerator_means_the_processor_and_its_limit() -> None:
    free = sized(machine(), serve("7B", bits=4))
    assert free.verdict == "fits"
    boxed = sized(machine(limit_bytes=4 * GIB), serve("7B", bits=4))
    assert boxed.verdict == "exceeds"
    assert boxed.available_bytes is not None and boxed.available_bytes < 4 * GIB


def test_an_npu_without_memory_of_its_own_does_not_hide_the_processor() -> None:
    npu = Accelerator(kind="npu", vendor="intel", name="AI Boost", state="usable")
    assert budget.budget(machine(npu)).where == "cpu"
    ascend = Accelerator(kind="npu", vendor="huawei", name="Ascend 910B", count=8, memory_bytes=64 * GIB,
                         memory_kind="dedicated", state="usable")  # fmt: skip
    assert budget.budget(machine(ascend)).devices == 8


def test_memory_that_is_taken_now_makes_it_tight() -> None:
    found = sized(machine(available_bytes=3 * GIB), serve("8B", bits=4))
    assert found.verdict == "tight"
    assert "close" in found.findings[0].because.en


def test_the_best_kind_of_card_is_taken_and_others_are_named() -> None:
    found = sized(machine(gpu(12, name="Small", count=1), gpu(24, name="Large")), serve("8B"))
    assert found.available_bytes == 24 * GIB
    assert "accel.mixed" in codes(found)
    usable = sized(machine(gpu(48, name="Off", state="no_driver"), gpu(24, name="On")), serve("8B"))
    assert usable.available_bytes == 24 * GIB
    internal = gpu(2, vendor="amd", name="iGPU", memory_kind="shared", integrated=True)
    assert sized(machine(internal, gpu(8, name="Card")), serve("3B")).available_bytes == 8 * GIB


def test_equal_cards_listed_apart_are_one_kind() -> None:
    assert budget.budget(machine(gpu(24), gpu(24))).devices == 2


def test_the_device_can_be_pinned() -> None:
    small, large = gpu(12, name="Small"), gpu(24, name="Large")
    where = machine(small, large)
    found = sizing.estimate(where, serve("8B", bits=4), device=small)
    assert found is not None and found.available_bytes == 12 * GIB
    processor = sizing.estimate(where, serve("8B", bits=4), device="cpu")
    assert processor is not None and processor.available_bytes is not None
    assert processor.available_bytes > 50 * GIB


def test_heads_that_do_not_divide_are_named_and_a_smaller_number_is_used() -> None:
    model = Model(params="13B", layers=40, hidden=5120, heads=40, kv_heads=40, vocab=32000)
    answers = msgspec.structs.replace(serve("13B", framework="vllm"), model=model)
    found = sized(machine(gpu(24, count=3)), answers)
    assert (found.verdict, found.plan.tensor_parallel) == ("fits", 2)
    assert "accel.count_mismatch" in codes(found)
    even = sized(machine(gpu(24, count=2)), answers)
    assert "accel.count_mismatch" not in codes(even)


def test_layers_are_spread_where_the_tool_does_so() -> None:
    found = sized(machine(gpu(24, count=3)), serve("30B", framework="llama-cpp"))
    assert (found.plan.tensor_parallel, found.plan.pipeline_parallel) == (1, 3)
    assert "accel.count_mismatch" not in codes(found)


def test_a_small_model_is_not_spread() -> None:
    found = sized(machine(gpu(80, count=8)), serve("8B", framework="vllm"))
    assert (found.plan.tensor_parallel, found.plan.data_parallel) == (1, 8)


@pytest.mark.parametrize(("method", "framework", "sharding"), [
    ("qlora", None, "fsdp"), ("full", "llama-factory", "zero3"), ("full", "ddp", None), ("qlora", "deepspeed", None),
    ("lora", "unsloth", None),
])  # fmt: skip
def test_how_training_is_spread(method: str, framework: str | None, sharding: str | None) -> None:
    found = sized(machine(gpu(24, count=4)), tune("70B", method, framework=framework))
    assert found.plan.sharding == sharding
    assert "memory.not_sharded" in codes(found)
    if sharding is None:
        assert found.verdict == "exceeds"


@pytest.mark.parametrize(("framework", "params", "sharding"), [
    ("fsdp", "1B", "fsdp"), ("fsdp", "70B", "fsdp"), ("deepspeed", "3B", "zero2"), ("deepspeed", "8B", "zero3"),
])  # fmt: skip
def test_a_tool_that_is_there_to_shard_does_so(framework: str, params: str, sharding: str) -> None:
    found = sized(machine(gpu(40, count=8)), tune(params, "full", framework=framework))
    assert found.plan.sharding == sharding
    assert "memory.not_sharded" not in codes(found)


def test_slices_of_a_card_are_not_joined() -> None:
    slices = gpu(20, count=3, name="NVIDIA A100", mig="3g.20gb")
    found = sized(machine(slices), serve("14B", framework="vllm"))
    assert (found.verdict, found.plan.tensor_parallel) == ("exceeds", 1)
    assert "shard" not in offers(found)
    assert "accel.partitioned" in codes(found)
    assert "accel.count_mismatch" not in codes(found)


def test_a_format_that_is_not_known_falls_back_to_its_bits() -> None:
    serving = Serving(weight_format="something-new", weight_bits=4, context_length=4096)
    answers = msgspec.structs.replace(serve(), serving=serving)
    found = sized(machine(gpu(24)), answers)
    assert found.plan.weight_format == "int4"
    assert any("something-new" in note.because.en for note in found.assumptions)


def test_one_copy_on_each_device_where_it_fits() -> None:
    found = sized(machine(gpu(80, count=8)), tune("8B", "lora"))
    assert (found.plan.sharding, found.plan.data_parallel, found.verdict) == (None, 8, "fits")
    assert not codes(found)


def test_the_cluster_states_the_devices() -> None:
    answers = tune("8B", "full", cluster=Cluster(nodes=4, gpus_per_node=8))
    assert sized(machine(gpu(80)), answers).plan.data_parallel == 32
    laptop = sized(machine(), answers)
    assert (laptop.verdict, laptop.available_bytes) == ("unknown", None)


def test_a_phone_is_not_this_machine() -> None:
    answers = msgspec.structs.replace(serve("1B", bits=4), target=Target(kind="android"))
    assert sized(machine(gpu(24)), answers).verdict == "unknown"


def test_offers_where_serving_does_not_fit() -> None:
    long = sized(machine(gpu(24)), serve("8B", context=131_072, framework="vllm"))
    given = offers(long)
    assert set(given) >= {"reduce_context", "quantize", "shard", "more_memory"}
    tokens = int(given["reduce_context"]["tokens"])
    assert sized(machine(gpu(24)), serve("8B", context=tokens, framework="vllm")).verdict in ("fits", "tight")
    assert sized(machine(gpu(24)), serve("8B", bits=int(given["quantize"]["bits"]), context=131_072, framework="vllm")).verdict != "exceeds"
    number = int(given["shard"]["devices"])
    assert sized(machine(gpu(24, count=number)), serve("8B", context=131_072, framework="vllm")).verdict != "exceeds"


def test_offers_where_training_does_not_fit() -> None:
    given = offers(sized(machine(gpu(24)), tune("8B", "full")))
    assert given["use_adapters"] == {"method": "LoRA"}
    assert "QLoRA" in offers(sized(machine(gpu(12)), tune("8B", "lora")))["use_adapters"]["method"]


@pytest.mark.parametrize(("host_gib", "offered"), [(256, False), (512, True), (None, False)])
def test_offload_is_offered_only_where_the_host_holds_it(host_gib: float | None, offered: bool) -> None:
    """15B in full needs 360 GB of host memory by DeepSpeed's own formula."""
    answers = tune("15B", "full", framework="deepspeed")
    assert ("offload" in offers(sized(machine(gpu(24, count=8), total_gib=host_gib), answers))) is offered


def test_a_mac_is_not_told_to_buy_more_cards() -> None:
    mac = machine(Accelerator(vendor="apple", memory_kind="unified", state="usable"), total_gib=16)
    found = sized(mac, serve("7B"))
    assert found.verdict == "exceeds"
    assert "shard" not in offers(found)


def test_a_mixture_is_sized_by_all_its_experts() -> None:
    answers = msgspec.structs.replace(serve("122B", bits=4), model=Model(params="122B", active_params="10B"))
    assert sized(machine(gpu(48)), answers).components.weights_bytes > 60e9


def test_a_server_keeps_a_share_free() -> None:
    """What lies between the share that a server takes and the whole card is tight."""
    fitting = [sized(machine(gpu(gib / 10)), serve("8B", framework="vllm")).verdict for gib in range(170, 240, 2)]
    assert fitting == sorted(fitting, key=["exceeds", "tight", "fits"].index)
    assert fitting.count("tight") >= 5


def test_sentences_are_in_both_languages() -> None:
    where = machine(gpu(24, count=3, name="A"), gpu(12, name="B"))
    for answers in (serve("70B", framework="vllm"), tune("70B", "qlora"), tune("70B", "full")):
        for one in sized(where, answers).findings:
            for text in (one.because, *(r.text for r in one.remedies)):
                assert any("\u4e00" <= c <= "\u9fff" for c in text.zh), text
                assert not any("\u4e00" <= c <= "\u9fff" for c in text.en), text


def test_reinforcement_learning_keeps_a_reference_copy() -> None:
    plain = tune("8B", "full")
    learned = msgspec.structs.replace(plain, scenario="reinforcement-learning")
    first, second = sized(machine(gpu(400)), plain), sized(machine(gpu(400)), learned)
    assert second.components.weights_bytes - first.components.weights_bytes == 16_000_000_000
    assert any("reference" in note.fact for note in second.assumptions)
