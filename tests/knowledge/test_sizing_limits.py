"""The other way round, the time, and what a measured run changes."""

from __future__ import annotations

import msgspec
import pytest

from knowledge import sizing
from knowledge.answers import Answers, Cluster, Model, Serving, Training
from knowledge.documents import BadInput
from knowledge.facts import Accelerator, MachineProfile, Memory, Source
from knowledge.sizing import calibration, timing
from knowledge.verdicts import MemoryEstimate

GIB = 2**30


def machine(gib: float = 24, count: int = 1, name: str = "NVIDIA GeForce RTX 3090") -> MachineProfile:
    card = Accelerator(vendor="nvidia", name=name, count=count, memory_bytes=round(gib * GIB), memory_kind="dedicated",
                       state="usable")  # fmt: skip
    return MachineProfile(accelerators=(card,), memory=Memory(total_bytes=64 * GIB))


SERVE = Answers(
    scenario="llm-serving", task="llm", model=Model(name="llama-3.1-8b"),
    serving=Serving(context_length=8192, concurrency=1, weight_bits=16),
)  # fmt: skip
TUNE = Answers(
    scenario="llm-finetuning", task="llm", model=Model(name="llama-3.1-8b"),
    training=Training(method="full", precision="bf16", sequence_length=1024, batch_size=1, gradient_checkpointing=True),
)  # fmt: skip


def case_of(where: MachineProfile, answers: Answers) -> sizing.Case:
    found = sizing.case(where, answers)
    assert found is not None
    return found


def sized(where: MachineProfile, answers: Answers) -> MemoryEstimate:
    found = sizing.estimate(where, answers, details=True)
    assert found is not None
    return found


def test_serving_limits() -> None:
    most = sized(machine(), SERVE).limits
    assert most is not None
    assert (most.weight_bits, most.devices, most.nodes) == (16, 1, 1)
    assert most.context is not None and 32_768 <= most.context <= 131_072
    assert most.parameters is not None and 8e9 <= most.parameters <= 11e9
    assert most.batch is None and most.method is None


def test_the_longest_context_is_the_models_own_where_memory_allows_more() -> None:
    most = sized(machine(gib=180), SERVE).limits
    assert most is not None and most.context == 131_072


@pytest.mark.parametrize(("gib", "method"), [(200, "full"), (24, "lora"), (14, "qlora"), (4, None)])
def test_the_first_method_that_fits(gib: int, method: str | None) -> None:
    most = sized(machine(gib), TUNE).limits
    assert most is not None and most.method == method


def test_devices_and_nodes_needed() -> None:
    """8.03B in mixed precision need 145 GB of states: six cards of 25.8 GB at the least, before activations."""
    answers = msgspec.structs.replace(TUNE, cluster=Cluster(nodes=1, gpus_per_node=8))
    most = sized(machine(), answers).limits
    assert most is not None and most.devices is not None and most.nodes is not None
    assert 6 <= most.devices <= 8
    assert most.nodes == 1
    enough = msgspec.structs.replace(TUNE, cluster=Cluster(nodes=1, gpus_per_node=most.devices))
    assert sized(machine(), enough).verdict in ("fits", "tight")
    fewer = msgspec.structs.replace(TUNE, cluster=Cluster(nodes=1, gpus_per_node=most.devices - 1))
    assert sized(machine(), fewer).verdict == "exceeds" or most.devices == 1


def test_nothing_is_the_most_where_memory_is_unknown() -> None:
    most = sized(MachineProfile(), SERVE).limits
    assert most is not None
    assert set(msgspec.structs.astuple(most)) == {None}


def test_time_from_measured_speeds() -> None:
    """8.03B in 16 bits and 1 GiB of cache read at 900 GB/s: 52 steps a second, of which 70 % are taken."""
    speeds = {"memory_bandwidth_bytes_per_s": 900e9, "matrix_flops_per_s": 70e12}
    bound = sizing.time_bound(case_of(machine(), SERVE), measured=speeds)
    read = 2 * 8_030_261_248 + 131_072 * 8192
    assert bound.best_tokens_per_s == pytest.approx(900e9 / read)
    assert bound.tokens_per_s == pytest.approx(0.7 * 900e9 / read)
    assert bound.first_token_s == pytest.approx(2 * 8_030_261_248 * 8192 / (0.4 * 70e12))
    assert bound.basis[0] == timing.MEASURED
    assert "900" in bound.basis[1].en and "70%" in bound.basis[1].en


def test_time_of_a_training_step() -> None:
    speeds = {"matrix_flops_per_s": 100e12}
    full = sizing.time_bound(case_of(machine(), TUNE), measured=speeds)
    assert full.step_s == pytest.approx(8 * 8_030_261_248 * 1024 / 40e12)
    adapters = msgspec.structs.replace(TUNE, training=msgspec.structs.replace(TUNE.training, method="lora"))
    assert sizing.time_bound(case_of(machine(), adapters), measured=speeds).step_s == pytest.approx(
        6 * 8_030_261_248 * 1024 / 40e12
    )


def test_a_mixture_reads_the_experts_in_use() -> None:
    speeds = {"memory_bandwidth_bytes_per_s": 1e12}
    answers = msgspec.structs.replace(SERVE, model=Model(name="qwen3-30b-a3b"))
    alone = sizing.time_bound(case_of(machine(80), answers), measured=speeds)
    dense = sizing.time_bound(case_of(machine(80), msgspec.structs.replace(SERVE, model=Model(name="qwen3-32b"))), measured=speeds)
    assert alone.tokens_per_s is not None and dense.tokens_per_s is not None
    assert alone.tokens_per_s > 5 * dense.tokens_per_s


def test_no_speed_no_time() -> None:
    bound = sizing.time_bound(case_of(machine(name="Some Card"), SERVE))
    assert (bound.tokens_per_s, bound.first_token_s) == (None, None)
    assert bound.basis == (timing.NOT_KNOWN,)


def test_speed_comes_from_the_table_of_devices_by_the_longest_name() -> None:
    from knowledge.catalog import Catalog, DeviceFamily, DeviceTable

    source = Source(url="https://example.org/cards", date="2026-11-30")
    family = DeviceFamily(
        family="Ampere", bandwidth_gbs={"RTX 3090": 936.0, "RTX 3090 Ti": 1008.0}, matrix_tflops={"RTX 3090": 71.0},
        source=source,
    )  # fmt: skip
    table = DeviceTable(vendor="nvidia", checked="2026-11-30", families=(family,))
    catalog = Catalog(frameworks={}, scenarios={}, backends={}, devices={"nvidia": table}, questions={}, indexes={})
    found = timing.speed(case_of(machine(), SERVE), catalog)
    assert (found.bandwidth_bytes_per_s, found.matrix_flops_per_s) == (936e9, 71e12)
    faster = timing.speed(case_of(machine(name="NVIDIA GeForce RTX 3090 Ti"), SERVE), catalog)
    assert faster.bandwidth_bytes_per_s == 1008e9
    assert source.url in faster.basis.en


def estimate_of(activations: int, overhead: int, weights: int = 10 * GIB) -> MemoryEstimate:
    from knowledge.verdicts import MemoryComponents

    parts = MemoryComponents(weights_bytes=weights, activations_bytes=activations, overhead_bytes=overhead)
    total = weights + activations + overhead
    return MemoryEstimate(method="lora", components=parts, total_bytes=total, low_bytes=round(total * 0.8),
                          high_bytes=round(total * 1.3), available_bytes=16 * GIB, verdict="tight")  # fmt: skip


def test_a_measured_run_narrows_the_range_and_says_so() -> None:
    before = estimate_of(3 * GIB, GIB)
    run = calibration.Measured(predicted=before, peak_bytes=12 * GIB)  # activations and overhead were half
    after = sizing.calibrated(before, [run])
    assert after.total_bytes == 12 * GIB
    assert after.low_bytes is not None and after.high_bytes is not None
    assert before.low_bytes is not None and before.high_bytes is not None
    assert after.low_bytes <= 12 * GIB <= after.high_bytes
    assert after.high_bytes - after.low_bytes < before.high_bytes - before.low_bytes
    assert after.verdict == "fits"
    assert after.components.weights_bytes == before.components.weights_bytes
    assert "1 measured run" in after.assumptions[-1].because.en


def test_a_measured_run_can_show_that_it_does_not_fit() -> None:
    before = estimate_of(3 * GIB, GIB)
    run = calibration.Measured(predicted=estimate_of(GIB, GIB, weights=GIB), peak_bytes=round(4.5 * GIB))
    after = sizing.calibrated(before, [run])
    assert after.verdict == "exceeds"
    assert after.findings[0].code == "memory.exceeds"


def test_runs_that_differ_leave_a_wider_range_than_runs_that_agree() -> None:
    before = estimate_of(3 * GIB, GIB)
    agree = [calibration.Measured(predicted=before, peak_bytes=13 * GIB)] * 3
    differ = [calibration.Measured(predicted=before, peak_bytes=p * GIB) for p in (12, 13, 14)]
    widths = []
    for runs in (agree, differ):
        found = sizing.calibrated(before, runs)
        assert found.high_bytes is not None and found.low_bytes is not None
        widths.append(found.high_bytes - found.low_bytes)
    assert widths[0] < widths[1]


def test_no_run_changes_nothing_and_a_false_one_is_refused() -> None:
    before = estimate_of(3 * GIB, GIB)
    assert sizing.calibrated(before, []) == before
    with pytest.raises(BadInput, match="positive"):
        sizing.calibrated(before, [calibration.Measured(predicted=before, peak_bytes=0)])
