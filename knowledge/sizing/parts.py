"""Memory of one device by component, for given work in a given layout: expected, lowest and highest."""

from __future__ import annotations

from knowledge.facts import Base
from knowledge.sizing import activations, formats
from knowledge.sizing.budget import GIB, Where
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.layout import Layout
from knowledge.sizing.work import Work
from knowledge.verdicts import MemoryComponents

# Fixed cost of a process on a device: context and kernels (lowest, expected, highest). NVIDIA: 1343 MB measured on a
# V100 (huggingface/transformers model_memory_anatomy), 1.4 GiB on an RTX 5070 Ti (unsloth VRAM_ESTIMATION); lean
# programs stay near half. Metal and the processor need a runtime alone.
CONTEXT = {
    "dedicated": (0.5e9, 1.4 * GIB, 2.0e9), "unified": (0.3e9, 0.8 * GIB, 1.6e9), "shared": (0.3e9, 0.5 * GIB, 1.2e9),
    "cpu": (0.2e9, 0.4e9, 0.8e9), "unknown": (0.5e9, 1.4 * GIB, 2.0e9),
}  # fmt: skip
LEAN_CONTEXT = (0.3e9, 0.5 * GIB, 1.0e9)  # llama.cpp and its kin
LINK_BYTES = 0.3 * GIB  # buffers of the collective library where several devices work as one


class Parts(Base, frozen=True, kw_only=True):
    weights: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    activations: float = 0.0
    cache: float = 0.0
    overhead: float = 0.0
    low: float = 0.0
    high: float = 0.0
    host: float | None = None

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations + self.cache + self.overhead

    def components(self) -> MemoryComponents:
        return MemoryComponents(
            weights_bytes=round(self.weights), gradients_bytes=round(self.gradients),
            optimizer_bytes=round(self.optimizer), activations_bytes=round(self.activations),
            kv_cache_bytes=round(self.cache), overhead_bytes=round(self.overhead),
        )  # fmt: skip


def parts(model: ModelDescription, work: Work, layout: Layout, where: Where) -> Parts:
    return training(model, work, layout, where) if work.trains else inference(model, work, layout, where)


def inference(model: ModelDescription, work: Work, layout: Layout, where: Where) -> Parts:
    """One device of TENSOR * PIPELINE that hold a copy; each copy is sized for all requests at once."""
    spread = layout.tensor * layout.pipeline
    weights, least, most = formats.weight_bytes(model, work.weight_format)
    if model.weights_bytes is not None and work.weight_format == model.weight_format:
        weights = least = most = model.weights_bytes
    # Heads are split; more devices than key-value heads keep copies; a latent cache is kept whole by each.
    split = 1 if model.latent_cache else min(layout.tensor, model.kv_heads)
    cache = activations.cache_bytes(model, work) / split / layout.pipeline
    cache_high = activations.cache_bytes(model, work, high=True) / layout.tensor / layout.pipeline
    tokens = activations.in_flight(model, work)
    acts = activations.inference_bytes(model, work, tokens) / layout.tensor
    wide = acts * 1.3
    if work.engine == "unknown":
        wide = max(wide, acts * min(4.0, work.context_length * work.concurrency / max(1, tokens)))
    lowest, fixed, highest = LEAN_CONTEXT if work.engine == "llama.cpp" and where != "cpu" else CONTEXT[where]
    link = LINK_BYTES if spread > 1 else 0.0
    last = embedding_share(model, layout) * (weights / model.parameters)
    uneven = 1.0 if layout.pipeline == 1 else 1.0 + 0.5 * layout.pipeline / max(model.layers, layout.pipeline)
    shown = Parts(
        weights=weights / spread * uneven + last, activations=acts, cache=cache * uneven, overhead=fixed + link
    )
    low = least / spread + cache + acts * 0.7 + lowest
    high = most / spread * uneven + last + max(cache_high, cache) * uneven * 1.02 + wide + highest + link * 1.5
    return _ranged(shown, low, high)


def embedding_share(model: ModelDescription, layout: Layout) -> float:
    """Parameters that the fullest stage of a pipeline has above its even share: one embedding table is not spread."""
    if layout.pipeline == 1:
        return 0.0
    table = max(model.embedding_parameters, model.head_parameters)
    return table * (1 - 1 / layout.pipeline) / layout.tensor * 0.5


def adapter_parameters(model: ModelDescription, rank: int) -> int:
    """LoRA on all linear layers: rank * (inputs + outputs) of each.

    The experts of a mixture are stacked in one tensor, no linear layer, which adapters leave alone unless they are told to
    (`target_parameters` of PEFT): those are `expert_adapters`. Source: PEFT, developer guide on LoRA; Unsloth's published
    17.5 GB for QLoRA of Qwen3-30B-A3B and 14 GB for gpt-oss-20b.
    """
    h, q, k = model.hidden, model.heads * model.head_dim, model.kv_heads * model.head_dim
    f = model.intermediate
    attention = (h + q) + 2 * (h + k) + (q + h)
    feed = (3 if model.gated else 2) * (h + f)
    dense = model.layers - model.moe_layers
    mixed = attention + (3 * (h + model.shared_intermediate) if model.shared_intermediate else 0)
    return max(1, rank * (dense * (attention + feed) + model.moe_layers * mixed))


def expert_adapters(model: ModelDescription, rank: int) -> int:
    """What adapters on every expert of a mixture add."""
    return rank * model.moe_layers * 3 * model.experts * (model.hidden + model.intermediate) if model.is_mixture else 0


def training(model: ModelDescription, work: Work, layout: Layout, where: Where) -> Parts:
    state = states(model, work)
    back = activations.backward(model, work)
    lowest, fixed, highest = CONTEXT[where]
    devices = layout.data
    link = LINK_BYTES if layout.devices > 1 else 0.0
    weights, gradients, optimizer = state.weights, state.gradients, state.optimizer
    low_state, gathered, host = state.low, 0.0, None
    sharding = layout.sharding if devices > 1 or layout.offload else None
    p = model.parameters
    largest = model.largest_layer_parameters or p / max(1, model.layers)
    trained = state.trained
    if sharding in ("zero3", "fsdp"):
        gathered = 2 * largest * (2 if work.precision != "fp32" else 4)
        if work.method != "full":
            gathered = 2 * largest * (state.base / p)
        weights, gradients, optimizer = weights / devices, gradients / devices, optimizer / devices
        low_state = low_state / devices + gathered
    elif sharding == "zero2" and work.method == "full":
        # As DeepSpeed's estimator reports it, 4 P + 16 P / N; the paper's 2 P + 14 P / N is the lower end.
        weights, gradients, optimizer = 2 * p + 4 * p / devices, 2 * p + 4 * p / devices, optimizer / devices
        low_state = 2 * p + (6 + work.optimizer_bytes) * p / devices
    elif sharding == "zero1" and work.method == "full":
        # Megatron's distributed optimizer, 6 P + 12 P / N; the paper's 4 P + 12 P / N is the lower end.
        weights, gradients, optimizer = 2 * p + 4 * p / devices, 4 * p, optimizer / devices
        low_state = 4 * p + (4 + work.optimizer_bytes) * p / devices
    elif sharding in ("zero1", "zero2"):
        gradients, optimizer = gradients / (devices if sharding == "zero2" else 1), optimizer / devices
        low_state = weights + gradients + optimizer
    if layout.offload is not None and sharding is not None:
        weights, gradients, optimizer, gathered, low_state, host = _offload(model, work, layout, state, largest)
    # The backward pass frees activations while gradients come, so the peak is at its start, at its end, or in the
    # optimizer's step, which needs room for two copies of the largest tensor.
    split = devices if sharding in ("zero3", "fsdp") else 1
    head = head_gradients(model, trained)
    step = gradients + 8.0 * largest_tensor(model, work) / split
    peak = max(back.start, back.middle + head, gradients + back.block, step)
    above = max(0.0, peak - gradients)
    shown_gradients = min(gradients, peak)
    shown = Parts(
        weights=weights, gradients=shown_gradients, optimizer=optimizer, activations=above,
        overhead=fixed + link + gathered, host=host,
    )  # fmt: skip
    base_low, base_high = state.base_low, state.base_high
    if sharding in ("zero3", "fsdp"):
        base_low, base_high = base_low / devices, base_high / devices
    low = low_state + base_low + max(0.0, above * 0.6) + lowest
    bucket = gradients if layout.devices > 1 and sharding is None else 0.0
    most = max(gradients + back.together * 1.2, peak * 1.1)
    high = weights + base_high + bucket + optimizer + gathered * 1.5 + most + highest + link * 1.5
    return _ranged(shown, low, high)


def largest_tensor(model: ModelDescription, work: Work) -> float:
    """Parameters of the largest trained tensor: the embedding, a projection, or the stacked experts of a layer."""
    if work.method != "full":
        return work.rank * max(model.hidden, model.intermediate)
    experts = 2 * model.experts * model.intermediate * model.hidden if model.is_mixture else 0
    return max(model.vocab * model.hidden, model.hidden * model.intermediate, experts)


class States(Base, frozen=True, kw_only=True):
    """Weights, gradients and optimizer states of one whole copy, in bytes. `base` is the part that is not trained."""

    weights: float
    gradients: float
    optimizer: float
    low: float
    trained: float
    base: float = 0.0
    base_low: float = 0.0  # what the base may be less or more than expected
    base_high: float = 0.0


def states(model: ModelDescription, work: Work) -> States:
    p = model.parameters
    if work.method == "full":
        o = work.optimizer_bytes
        beside = 2.0 * p if work.reference else 0.0
        if work.precision == "fp32":
            return States(weights=4 * p + beside, gradients=4 * p, optimizer=o * p, low=(8 + o) * p + beside, trained=p)
        if work.pure:
            return States(weights=2 * p, gradients=2 * p, optimizer=o / 2 * p, low=(4 + o / 2) * p, trained=p)
        # 32-bit weights and their 16-bit copy, 32-bit gradients; 16-bit gradients are the lower end (16 P in all).
        copy = 7 if work.precision == "fp8" else 6
        return States(
            weights=copy * p + beside, gradients=4 * p, optimizer=o * p, low=(8 + o) * p + beside, trained=p
        )
    trained = adapter_parameters(model, work.rank)
    if work.method == "lora":
        base = p * (4.0 if work.precision == "fp32" else 2.0)
        spread = (0.0, 0.0)
    else:
        base, least, most = qlora_base(model)
        spread = (least - base, most - base)
    # Adapters are kept in 32 bits by the usual library, with 32-bit gradients.
    o = work.optimizer_bytes
    return States(
        weights=base + 4 * trained, gradients=4 * trained, optimizer=o * trained, low=base + (4 + o) * trained,
        trained=trained, base=base, base_low=spread[0], base_high=spread[1] + (8 + o) * expert_adapters(model, work.rank),
    )  # fmt: skip


def qlora_base(model: ModelDescription) -> tuple[float, float, float]:
    """4-bit base: linear layers at 4.5 bits (4.13 with double quantisation, 5 as loaded by some tools), rest in 16."""
    linear = model.linear_parameters or model.parameters * 0.95
    rest = (model.parameters - linear) * 2
    return linear * 4.5 / 8 + rest, linear * 4.127 / 8 + rest, linear * 5.0 / 8 + rest


def head_gradients(model: ModelDescription, trained: float) -> float:
    """Gradient of the output layer, which comes first; none where it is not trained."""
    if trained < model.parameters:
        return 0.0
    return 4.0 * (model.head_parameters or (model.embedding_parameters if model.tied else 0))


def _offload(
    model: ModelDescription, work: Work, layout: Layout, state: States, largest: float
) -> tuple[float, float, float, float, float, float]:
    """States left on the device and host bytes per node, by the formulas of DeepSpeed's memory page (factor 1.5)."""
    p, n, node = model.parameters, layout.data, min(layout.per_node, layout.data)
    gathered = 4.0 * largest
    if work.method != "full":
        base = state.base if layout.offload == "optimizer" else 0.0
        host = (state.optimizer if layout.offload == "optimizer" else state.optimizer + state.base) * 1.5
        return base / n, state.gradients / n, 0.0, gathered, base / n + gathered, host
    if layout.sharding == "zero2":
        return 2.0 * p, 0.0, 0.0, 0.0, 2.0 * p, p * max(4 * node, 16) * 1.5
    if layout.offload == "optimizer":
        return 2.0 * p / n, 0.0, 0.0, gathered, 2.0 * p / n + gathered, p * 16 * node / n * 1.5
    return 0.0, 0.0, 0.0, gathered, gathered, p * 18 * node / n * 1.5


def _ranged(shown: Parts, low: float, high: float) -> Parts:
    import msgspec

    total = shown.total
    return msgspec.structs.replace(shown, low=min(low, total), high=max(high, total))
