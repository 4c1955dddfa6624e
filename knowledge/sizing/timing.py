"""How long it takes at best: a roofline from memory bandwidth and matrix speed, with the basis of each number named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowledge.facts import Base
from knowledge.sizing import activations, formats
from knowledge.sizing.estimates import Case, choose
from knowledge.text import Text
from knowledge.verdicts import TimeBound

if TYPE_CHECKING:
    from knowledge.catalog import Catalog

# Shares of the peak that well-tuned programs reach; said with each number.
BANDWIDTH_SHARE = 0.7
TRAINING_SHARE = 0.4


class Speed(Base, frozen=True, kw_only=True):
    """Of one device, where known; `basis` says whether it was measured here or stands in the table of devices."""

    bandwidth_bytes_per_s: float | None = None
    matrix_flops_per_s: float | None = None
    basis: Text


MEASURED = Text("Measured on this machine by the smoke test.", "由本机的冒烟测试实测。")
NOT_KNOWN = Text(
    "The speed of this device is not known; a smoke test measures it.", "此设备的速度未知；运行冒烟测试可以测得。"
)


def speed(found: Case, catalog: Catalog | None = None, measured: dict[str, float] | None = None) -> Speed:
    """Speed of one device. MEASURED may hold `memory_bandwidth_bytes_per_s` and `matrix_flops_per_s` of a smoke run."""
    if measured:
        bandwidth = measured.get("memory_bandwidth_bytes_per_s")
        matrix = measured.get("matrix_flops_per_s")
        if bandwidth or matrix:
            return Speed(bandwidth_bytes_per_s=bandwidth, matrix_flops_per_s=matrix, basis=MEASURED)
    device = found.budget.device
    if catalog is not None and device is not None and device.name:
        for table in catalog.devices.values():
            if table.vendor != device.vendor:
                continue
            for family in table.families:
                bandwidth = _by_name(family.bandwidth_gbs, device.name)
                matrix = _by_name(family.matrix_tflops, device.name)
                if bandwidth is not None or matrix is not None:
                    basis = Text(
                        f"Figures of {device.name} from {family.source.url} ({family.source.date}).",
                        f"{device.name} 的数据来自 {family.source.url}（{family.source.date}）。",
                    )
                    return Speed(
                        bandwidth_bytes_per_s=None if bandwidth is None else bandwidth * 1e9,
                        matrix_flops_per_s=None if matrix is None else matrix * 1e12, basis=basis,
                    )  # fmt: skip
    return Speed(basis=NOT_KNOWN)


def _by_name(table: dict[str, float], name: str) -> float | None:
    """The value of the longest key that stands in NAME as whole words."""
    best: tuple[int, float] | None = None
    for key, value in table.items():
        if re.search(rf"(?<!\w){re.escape(key.lower())}(?!\w)", name.lower()) and (best is None or len(key) > best[0]):
            best = (len(key), value)
    return None if best is None else best[1]


def time_bound(found: Case, catalog: Catalog | None = None, measured: dict[str, float] | None = None) -> TimeBound:
    """Time for the case FOUND in its best layout; each number needs a speed that is known."""
    fast = speed(found, catalog, measured)
    chosen, _ = choose(found)
    return _training(found, fast, chosen.devices) if found.work.trains else _inference(found, fast, chosen.tensor)


def _inference(found: Case, fast: Speed, tensor: int) -> TimeBound:
    """A step of generation reads the weights in use and the cache once; a prompt needs 2 FLOP per weight and token."""
    model, work = found.model, found.work
    weights, _, _ = formats.weight_bytes(model, work.weight_format)
    used = min(model.parameters, model.active_parameters * work.concurrency) / model.parameters
    read = (weights * used + activations.cache_bytes(model, work)) / tensor
    basis = [fast.basis]
    tokens = best = first = None
    if fast.bandwidth_bytes_per_s is not None:
        best = work.concurrency / (read / fast.bandwidth_bytes_per_s)
        tokens = best * BANDWIDTH_SHARE
        basis.append(
            Text(
                f"Each step reads {read / 1e9:.2f} GB per device at {fast.bandwidth_bytes_per_s / 1e9:.0f} GB/s, of "
                f"which {BANDWIDTH_SHARE:.0%} are taken as reached.",
                f"每一步每个设备读取 {read / 1e9:.2f} GB，带宽 {fast.bandwidth_bytes_per_s / 1e9:.0f} GB/s，"
                f"按达到其 {BANDWIDTH_SHARE:.0%} 计算。",
            )
        )
    if fast.matrix_flops_per_s is not None:
        first = 2 * model.active_parameters * work.context_length / (fast.matrix_flops_per_s * tensor * TRAINING_SHARE)
        basis.append(
            Text(
                f"The prompt needs {2 * model.active_parameters * work.context_length / 1e12:.2f} TFLOP at "
                f"{TRAINING_SHARE:.0%} of {fast.matrix_flops_per_s / 1e12:.1f} TFLOP/s.",
                f"提示词需要 {2 * model.active_parameters * work.context_length / 1e12:.2f} TFLOP，"
                f"按 {fast.matrix_flops_per_s / 1e12:.1f} TFLOP/s 的 {TRAINING_SHARE:.0%} 计算。",
            )
        )
    return TimeBound(first_token_s=first, tokens_per_s=tokens, best_tokens_per_s=best, basis=tuple(basis))


def _training(found: Case, fast: Speed, devices: int) -> TimeBound:
    """6 FLOP per weight and token; 4 where the base is frozen; 2 more where the forward pass is recomputed."""
    if fast.matrix_flops_per_s is None:
        return TimeBound(basis=(fast.basis,))
    work = found.work
    per_weight = (6 if work.method == "full" else 4) + (2 if work.checkpointing else 0)
    tokens = work.sequence_length * work.batch_size
    one = per_weight * found.model.active_parameters * tokens
    step = one / (fast.matrix_flops_per_s * TRAINING_SHARE)
    peak = f"{fast.matrix_flops_per_s / 1e12:.1f} TFLOP/s"
    basis = Text(
        f"{per_weight} FLOP per weight and token at {TRAINING_SHARE:.0%} of {peak}; reading data and talking between "
        "devices are not counted.",
        f"每个权重每个词元 {per_weight} FLOP，按 {peak} 的 {TRAINING_SHARE:.0%} 计算；不含读取数据和设备间通信。",
    )
    return TimeBound(step_s=step, training_tokens_per_s=tokens * devices / step, basis=(fast.basis, basis))
