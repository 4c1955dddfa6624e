"""A measured run narrows the estimate for its machine: what was uncertain is scaled by what was seen."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from knowledge.documents import BadInput
from knowledge.facts import Base
from knowledge.sizing import verdict
from knowledge.sizing.budget import Budget
from knowledge.sizing.parts import Parts
from knowledge.text import Text
from knowledge.verdicts import Assumption, MemoryEstimate

LEAST_SPREAD = 0.03  # of the total: a second run of the same step differs by about that


class Measured(Base, frozen=True, kw_only=True):
    """A run on this machine: what was predicted for it, and the peak that the framework saw."""

    predicted: MemoryEstimate
    peak_bytes: int


def ratio(run: Measured) -> float:
    """Measured activations and overhead over predicted ones; weights, states and cache are known. Within 0.25 to 4."""
    parts = run.predicted.components
    known = parts.weights_bytes + parts.gradients_bytes + parts.optimizer_bytes + parts.kv_cache_bytes
    guessed = max(1, parts.activations_bytes + parts.overhead_bytes)
    return min(4.0, max(0.25, (run.peak_bytes - known) / guessed))


def calibrated(estimate: MemoryEstimate, runs: Sequence[Measured]) -> MemoryEstimate:
    """ESTIMATE with its uncertain part scaled as RUNS of this machine showed, and a range no wider than before.

    Without runs, or without a total, the estimate comes back as it is. Raises BadInput for a peak of zero or less.
    """
    if any(run.peak_bytes <= 0 for run in runs):
        raise BadInput(Text("a measured peak of memory is a positive number of bytes.", "实测的内存峰值应为正的字节数。"))
    total, low, high = estimate.total_bytes, estimate.low_bytes, estimate.high_bytes
    if not runs or total is None or low is None or high is None:
        return estimate
    seen = [ratio(run) for run in runs]
    middle = statistics.median(seen)
    old = estimate.components
    new = msgspec.structs.replace(
        old, activations_bytes=round(old.activations_bytes * middle), overhead_bytes=round(old.overhead_bytes * middle)
    )
    guessed = old.activations_bytes + old.overhead_bytes
    expected = sum(msgspec.structs.astuple(new))
    spread = max(LEAST_SPREAD * expected, guessed * max(abs(r - middle) for r in seen))
    spread = min(spread, max(1.0, (high - low) / 2))
    note = Assumption(
        fact="calibration", assumed=f"{middle:.2f}",
        because=Text(
            f"Narrowed by {len(runs)} measured run(s) on this machine: activations and overhead were {middle:.2f} "
            "times the prediction.",
            f"已用本机 {len(runs)} 次实测收窄范围：激活值和固定开销是预测的 {middle:.2f} 倍。",
        ),
    )  # fmt: skip
    least, most = round(expected - spread), round(expected + spread)
    shown = Parts(weights=expected, low=least, high=most)
    outcome = verdict.verdict(shown, Budget(where="unknown", available_bytes=estimate.available_bytes))
    findings = [one for one in estimate.findings if one.code not in ("memory.exceeds", "memory.tight")]
    known = next((one for one in estimate.findings if one.code in ("memory.exceeds", "memory.tight")), None)
    said = verdict.finding(
        outcome, shown, Budget(where="unknown", available_bytes=estimate.available_bytes),
        known.subject if known is not None else "model", known.remedies if known is not None else (),
    )  # fmt: skip
    if said is not None:
        findings.insert(0, said)
    return msgspec.structs.replace(
        estimate, components=new, total_bytes=expected, low_bytes=least, high_bytes=most, verdict=outcome,
        assumptions=(*estimate.assumptions, note), findings=tuple(findings),
    )  # fmt: skip
