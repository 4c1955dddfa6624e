"""How a model is laid over several devices: which ways a tool offers, and which are possible for this model."""

from __future__ import annotations

from typing import Literal

import msgspec

from knowledge.facts import Base
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.work import REPLICATING, SHARDING, ZERO_ONLY, Work

Sharding = Literal["zero1", "zero2", "zero3", "fsdp"]


class Layout(Base, frozen=True, kw_only=True):
    """`tensor` * `pipeline` devices hold one copy of the model; `data` copies share the batch or the requests."""

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    sharding: Sharding | None = None
    offload: Literal["optimizer", "parameters"] | None = None
    per_node: int = 1

    @property
    def devices(self) -> int:
        return self.tensor * self.pipeline * self.data


def divides(model: ModelDescription, tensor: int) -> bool:
    """Whether TENSOR devices can split the attention: query heads evenly, and key-value heads evenly or copied."""
    if tensor == 1:
        return True
    return model.heads % tensor == 0 and (model.kv_heads % tensor == 0 or tensor % model.kv_heads == 0)


def for_inference(model: ModelDescription, work: Work, devices: int, per_node: int) -> list[Layout]:
    """Layouts for DEVICES, the one that spreads least first."""
    found: list[Layout] = []
    if work.engine in ("llama.cpp", "eager"):  # whole layers on each device, in any number
        for number in range(1, min(devices, model.layers) + 1):
            found.append(Layout(pipeline=number, data=devices // number, per_node=per_node))
        return found
    for tensor in range(1, min(devices, per_node) + 1):
        if divides(model, tensor):
            found.append(Layout(tensor=tensor, data=devices // tensor, per_node=per_node))
    widest = found[-1].tensor
    for pipeline in range(2, min(devices // widest, model.layers) + 1):
        found.append(Layout(tensor=widest, pipeline=pipeline, data=devices // (widest * pipeline), per_node=per_node))
    if not divides(model, min(devices, per_node)) and devices <= per_node:  # an odd number: layers instead of heads
        found += [
            Layout(tensor=1, pipeline=n, data=devices // n, per_node=per_node)
            for n in range(widest + 1, min(devices, model.layers) + 1)
            if n > widest
        ]
    return found


def for_training(work: Work, devices: int, per_node: int) -> list[Layout]:
    """Layouts for DEVICES: a whole copy on each, then spread as far as the tool can."""
    whole = Layout(data=devices, per_node=per_node)
    if devices == 1 or work.framework in REPLICATING:
        return [whole]
    if work.framework in SHARDING and work.method != "qlora":
        stages: tuple[Sharding, ...] = ("zero2", "zero3") if work.framework == "deepspeed" else ("fsdp",)
        return [msgspec.structs.replace(whole, sharding=stage) for stage in stages]
    if work.method == "qlora":
        # Data parallelism and ZeRO keep the whole 4-bit base on each device; FSDP spreads it.
        return [whole] if work.framework in ZERO_ONLY else [whole, msgspec.structs.replace(whole, sharding="fsdp")]
    full: Sharding = "zero3" if work.framework in ("llama-factory", "axolotl", "openrlhf") else "fsdp"
    return [whole, msgspec.structs.replace(whole, sharding=full)]


def offloaded(layout: Layout) -> list[Layout]:
    """LAYOUT with states moved to the computer's own memory, the lesser step first."""
    stage: Sharding = layout.sharding if layout.sharding in ("zero2", "zero3", "fsdp") else "zero3"
    base = msgspec.structs.replace(layout, sharding=stage)
    return [msgspec.structs.replace(base, offload="optimizer"), msgspec.structs.replace(base, offload="parameters")]
