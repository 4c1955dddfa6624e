"""The other way round: the largest batch, length, context, concurrency or model, the method, the number of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from knowledge.sizing import parts, verdict
from knowledge.sizing.layout import Layout
from knowledge.sizing.work import LIMIT_TOKENS
from knowledge.verdicts import MemoryLimits

if TYPE_CHECKING:
    from knowledge.sizing.estimates import Case
    from knowledge.sizing.work import Work

MOST_DEVICES = 4096
METHODS = ("full", "lora", "qlora")


def most(holds: Callable[[int], bool], limit: int) -> int:
    """The largest number up to LIMIT for which HOLDS, which must be monotone; 0 where not even one does."""
    if not holds(1):
        return 0
    low, high = 1, 2
    while high <= limit and holds(high):
        low, high = high, high * 2
    high = min(high, limit + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def holds(found: Case, layout: Layout, **values: object) -> bool:
    work: Work = msgspec.structs.replace(found.work, **values)
    needed = parts.parts(found.model, work, layout, found.budget.where)
    if verdict.verdict(needed, found.budget) not in ("fits", "tight"):
        return False
    return needed.total <= (found.budget.available_bytes or 0) * found.budget.usual_share


def largest_batch(found: Case, layout: Layout) -> int:
    top = max(1, min(1 << 20, LIMIT_TOKENS // found.work.sequence_length))
    return most(lambda n: holds(found, layout, batch_size=n), top)


def largest_length(found: Case, layout: Layout) -> int:
    top = max(1, LIMIT_TOKENS // found.work.batch_size)
    top = min(top, found.model.max_context or top)
    return _rounded(most(lambda n: holds(found, layout, sequence_length=n), top))


def largest_context(found: Case, layout: Layout) -> int:
    """Never more than the model's own context, where that is known."""
    top = max(1, LIMIT_TOKENS // found.work.concurrency)
    top = min(top, found.model.max_context or top)
    return _rounded(most(lambda n: holds(found, layout, context_length=n), top))


def largest_concurrency(found: Case, layout: Layout) -> int:
    """Requests of one copy of the model; several copies serve as many times more."""
    top = max(1, min(1 << 16, LIMIT_TOKENS // found.work.context_length))
    return most(lambda n: holds(found, layout, concurrency=n), top)


def _rounded(tokens: int) -> int:
    """Down to a round number of tokens, so that it can be said and typed."""
    step = 1024 if tokens >= 8192 else 256 if tokens >= 1024 else 16 if tokens >= 16 else 1
    return tokens // step * step


def devices_needed(found: Case) -> int | None:
    """Fewest devices like the present one that hold the work, or None where no number does."""
    from knowledge.sizing import estimates

    if found.budget.available_bytes is None or found.budget.where != "dedicated":
        return None
    if found.budget.device is not None and found.budget.device.mig:
        return 1 if estimates.fits(found) else None
    number = 1
    while number <= MOST_DEVICES:
        node = min(number, max(8, found.per_node))
        if estimates.fits(msgspec.structs.replace(found, devices=number, per_node=node)):
            return number
        number = number + 1 if number < 8 else number + 8 if number < 64 else number * 2
    return None


def largest(found: Case) -> MemoryLimits:
    """The most of everything for the case FOUND; nothing where its memory is not known."""
    from knowledge.sizing import advice, estimates

    if found.budget.available_bytes is None:
        return MemoryLimits()
    chosen, _ = estimates.choose(found)
    work, model = found.work, found.model
    number = devices_needed(found)
    nodes = None if number is None else -(-number // max(1, found.per_node))
    method = bits = batch = length = context = concurrency = None
    if work.trains:
        batch, length = largest_batch(found, chosen), largest_length(found, chosen)
        method = next((m for m in METHODS if estimates.fits(advice.changed(found, method=m))), None)
    else:
        named = {16: "bf16", 8: "int8", 4: "int4"}
        bits = next((b for b, f in named.items() if estimates.fits(advice.changed(found, weight_format=f))), None)
        if model.cache_layers:
            context, concurrency = largest_context(found, chosen), largest_concurrency(found, chosen)
    return MemoryLimits(
        batch=batch, sequence_length=length, context=context, concurrency=concurrency,
        parameters=largest_model(found), method=method, weight_bits=bits, devices=number, nodes=nodes,
    )  # fmt: skip


def largest_model(found: Case) -> int:
    """Parameters of the largest usual model that this work fits with, to two digits."""
    from knowledge.answers import Model
    from knowledge.sizing import estimates, shape

    def fits(tenths: int) -> bool:
        described = shape.described(Model(params=tenths * 100_000_000))
        assert described is not None
        return estimates.fits(msgspec.structs.replace(found, model=described))

    # Shapes change in steps between sizes, so the search goes over a grid and not by halves.
    grid = [1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 70, 80, 90, 100, 120, 140, 160, 200, 240, 270, 300, 320, 400,
            500, 600, 700, 800, 1000, 1200, 1500, 2000, 2400, 3000, 4000, 5000, 6700, 8000, 10_000, 15_000,
            20_000]  # fmt: skip
    return max((n * 100_000_000 for n in grid if fits(n)), default=0)
