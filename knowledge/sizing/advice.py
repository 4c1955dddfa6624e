"""What to do where memory is short: each offer is tried by sizing it, so none is made that would not help."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from knowledge.facts import Remedy
from knowledge.remedies import remedy
from knowledge.sizing import formats, parts, verdict
from knowledge.sizing.layout import Layout, offloaded
from knowledge.sizing.parts import Parts

if TYPE_CHECKING:
    from knowledge.sizing.estimates import Case


def changed(found: Case, **values: object) -> Case:
    return msgspec.structs.replace(found, work=msgspec.structs.replace(found.work, **values))


def remedies(found: Case, chosen: Layout, needed: Parts) -> tuple[Remedy, ...]:
    """Offers in the order of what they cost the user least; those that make it fit come before those that only help."""
    from knowledge.sizing import inverse

    offers: list[Remedy] = []
    what = found.work
    if what.trains:
        offers += _training(found, chosen)
    else:
        context = inverse.largest_context(found, chosen)
        if context and context < what.context_length:
            offers.append(remedy("reduce_context", {"tokens": str(context)}))
        alone = inverse.largest_concurrency(found, chosen)
        if alone and alone < what.concurrency:
            offers.append(remedy("reduce_batch", {"concurrency": str(alone)}))
        offers += _quantised(found)
        if what.kv_bits > 8 and needed.cache > 0.2 * needed.total and _holds(changed(found, kv_bits=8)):
            offers.append(remedy("enable_setting", {"setting": "fp8 KV cache"}))
        if what.engine != "server" and _host_holds(found, needed):
            offers.append(remedy("offload", {"part": "layers"}))
    number = inverse.devices_needed(found)
    spread: list[Remedy] = []
    if number is not None and number > found.devices:
        method = "FSDP" if what.method == "qlora" else "FSDP / ZeRO-3" if what.trains else ""
        spread.append(remedy("shard", {"devices": str(number), "method": method}))
    # Nobody buys a rack for want of one larger card: many more devices than there are is the last offer.
    rack = number is not None and number > max(4, 2 * found.devices)
    if not rack:
        offers += spread
    # An upper end that stems from an unknown shape would send the user after a card that is needlessly large.
    gib = math.ceil(min(needed.high, 1.15 * needed.total) / 2**30)
    if found.budget.where in ("cpu", "shared", "unified"):
        gib = math.ceil(gib * 1.1)
    offers.append(remedy("more_memory", {"gib": str(gib)}))
    if rack:
        offers += spread
    seen: set[tuple[str, str]] = set()
    unique = []
    for one in offers:
        key = (one.code, one.text.en)
        if key not in seen:
            seen.add(key)
            unique.append(one)
    return tuple(unique)


def _training(found: Case, chosen: Layout) -> list[Remedy]:
    from knowledge.sizing import inverse

    offers: list[Remedy] = []
    what = found.work
    batch = inverse.largest_batch(found, chosen)
    if batch and batch < what.batch_size:
        offers.append(remedy("reduce_batch", {"size": str(batch)}))
    if not what.checkpointing and _holds(changed(found, checkpointing=True)):
        offers.append(remedy("enable_setting", {"setting": "gradient_checkpointing"}))
    length = inverse.largest_length(found, chosen)
    if length and length < what.sequence_length:
        offers.append(remedy("reduce_context", {"tokens": str(length)}))
    if what.method == "full":
        for method, name in (("lora", "LoRA"), ("qlora", "QLoRA")):
            if _holds(changed(found, method=method)):
                offers.append(remedy("use_adapters", {"method": name}))
                break
        if what.optimizer_bytes > 2.1 and _holds(changed(found, optimizer="adamw_8bit", optimizer_bytes=2.03)):
            offers.append(remedy("enable_setting", {"setting": "8-bit AdamW"}))
    if what.method == "lora" and _holds(changed(found, method="qlora")):
        offers.append(remedy("use_adapters", {"method": "QLoRA"}))
        offers.append(remedy("quantize", {"bits": "4"}))
    moved = offload_layout(found, chosen)
    if moved is not None:
        offers.append(remedy("offload", {"part": moved.offload or "optimizer"}))
    return offers


def offload_layout(found: Case, chosen: Layout) -> Layout | None:
    """The layout with offload that fits both the devices and the computer's own memory, if there is one."""
    host = found.budget.host_bytes
    if host is None or found.work.method == "qlora" or found.budget.where != "dedicated":
        return None
    for one in offloaded(chosen):
        sized = parts.parts(found.model, found.work, one, found.budget.where)
        room = sized.host is not None and sized.host <= host
        if room and verdict.verdict(sized, found.budget) in ("fits", "tight"):
            return one
    return None


def offload_host(found: Case, chosen: Layout) -> float | None:
    """Host bytes per node of the offload that the findings offer; None where none is needed or possible."""
    if not found.work.trains or chosen.offload is None:
        return None
    return parts.parts(found.model, found.work, chosen, found.budget.where).host


def _quantised(found: Case) -> list[Remedy]:
    """The widest quantised format that fits."""
    name = found.work.weight_format
    light = found.work.engine == "llama.cpp" or found.budget.where != "dedicated" or name.startswith("gguf:")
    bits = 16 if formats.is_full(name) else 8 if name in ("fp8", "int8", "w8a8", "gguf:Q8_0", "w8a16") else 4
    for width in (8, 4, 3, 2):
        form = formats.GGUF_BY_BITS[width] if light or width < 4 else formats.NAME_BY_BITS[width]
        if width < bits and _holds(changed(found, weight_format=form)):
            return [remedy("quantize", {"bits": str(width)})]
    return []


def _host_holds(found: Case, needed: Parts) -> bool:
    """Whether what the device cannot hold goes into the computer's own memory (llama.cpp and accelerate do that)."""
    host, have = found.budget.host_bytes, found.budget.available_bytes
    if host is None or have is None or found.budget.where != "dedicated":
        return False
    return needed.total - have < host * 0.9


def _holds(found: Case) -> bool:
    from knowledge.sizing import estimates

    return estimates.fits(found)
