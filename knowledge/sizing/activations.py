"""What a transformer keeps between forward and backward, tensor by tensor, and what an inference step holds at once.

The terms follow the tensors that automatic differentiation keeps in the usual eager implementations; they are checked
against measured steps (docs/sizing.md). For 4h-wide blocks with fused kernels they stand above the 34 bytes per
token and width of arXiv 2205.05198, since unfused norms and activations keep more.
"""

from __future__ import annotations

from knowledge.facts import Base
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.work import Work

# Copies of the widest values that an activation function and what follows it keep; gating adds two.
KEPT = {"silu": 2, "gelu": 2, "gelu_steps": 5, "relu": 1}


def layer_bytes(model: ModelDescription, work: Work, tokens: int, length: int) -> float:
    """Bytes that one layer keeps for its backward pass, for TOKENS in all in sequences of LENGTH."""
    h = model.hidden
    q = model.heads * model.head_dim
    k = model.kv_heads * model.head_dim
    f = feed_width(model)
    e = work.element_bytes
    adapters = work.method in ("lora", "qlora")
    attention = e * (2 * q + 2 * k)  # rotated query and key, value, output
    if model.qk_norm:
        attention += (2 if e == 4 else 3) * e * (q + k)
    if work.eager_attention or model.eager_attention or model.softcap_attention:
        attention += model.heads * length * ((4 if e == 4 else 6) + (e if model.softcap_attention else 0))
    else:
        attention += 4 * model.heads  # log-sum-exp of the fused kernel
    crossed = model.cross_layers / model.layers
    feed = e * f * (KEPT[model.activation] + (2 if model.gated else 0))
    # Masks take a byte each in fused kernels; the processor keeps them as numbers and gives up fused attention.
    if model.dropout:
        attention += 8 * h if work.cpu else 2 * h
    if model.attention_dropout and work.cpu:
        attention += 12 * model.heads * length
    per_token = _norms(model, work, h) + attention * (1 + crossed) + crossed * 3 * h * e + feed
    per_token += model.extra_norms * h * e * (1 if adapters else 2)
    if adapters:
        per_token += e * work.rank * (7 if model.gated else 4)
    if model.is_mixture:  # routed copies of the input, and scores
        per_token += e * h * model.experts_per_token * 2 + 4 * model.experts * 3
    return per_token * tokens


def _norms(model: ModelDescription, work: Work, h: int) -> float:
    """Two norms with the residual stream that enters them and the copies that the linear layers keep."""
    adapters = work.method in ("lora", "qlora")
    copies = 5  # query, key, value, gate, up each keep an input of their own where it has to be converted
    if work.precision == "fp32":
        if model.norm == "layer":
            return 4 * h * 4
        return 4 * h * (4 if adapters else 6)
    if work.mixed:  # residual stream and norms in 32 bits, converted inputs in 16
        inner = 8 if model.norm == "rms" else 4
        return h * (2 * inner + 2 * copies)
    if model.norm == "layer":
        return h * (2 * 2 + 2 * 2) if not adapters else h * (2 * 2 + 2 * copies)
    return h * (2 * 4 + 2 * copies) if adapters else h * 16


def feed_width(model: ModelDescription) -> float:
    """Numbers per token in the widest part of a block's feed-forward; for a mixture, over the experts of one token."""
    if not model.is_mixture:
        return model.intermediate
    share = model.moe_layers / model.layers if model.layers else 1.0
    routed = model.intermediate * max(1, model.experts_per_token) + model.shared_intermediate
    return share * routed + (1 - share) * max(model.intermediate, 4 * model.hidden)


class Backward(Base, frozen=True, kw_only=True):
    """Bytes on top of weights and states while the backward pass runs.

    start: its first moment, when the loss's gradients lie beside all that the blocks keep. middle: the first
    recomputed block beside what is kept of the others (the same as `start` without recomputation). block: one block.
    """

    start: float
    middle: float
    block: float
    together: float  # all of it at once, as an upper end


def backward(model: ModelDescription, work: Work) -> Backward:
    tokens = work.sequence_length * work.batch_size
    block = layer_bytes(model, work, tokens, work.sequence_length)
    stream = 4 if work.precision == "fp32" or work.mixed else 2
    kept = model.layers * (tokens * model.hidden * stream if work.checkpointing else block)
    # Output layer: scores, their log-softmax and its gradient (12 bytes per score, measured in 32 and 16 bits).
    scores = tokens * model.vocab
    final = tokens * model.hidden * (12 if work.precision == "fp32" else 10)
    middle = kept + 4 * scores + block if work.checkpointing else 0.0
    if model.softcap_scores:
        final += 4 * scores
    merged = 0.0
    if model.is_mixture and work.method in ("lora", "qlora"):
        # Adapters on stacked experts may be added up to a second set of expert weights, kept for the backward pass.
        merged = model.expert_parameters * work.element_bytes / (model.moe_layers if work.checkpointing else 1)
    return Backward(
        start=kept + final + 12 * scores, middle=middle, block=block,
        together=kept + final + 16 * scores + (block if work.checkpointing else 0.0) + merged,
    )  # fmt: skip


def in_flight(model: ModelDescription, work: Work) -> int:
    """Tokens of one forward pass: servers and llama.cpp cut a long prompt into pieces, eager code takes it whole."""
    if not model.cache_layers:
        return work.sequence_length * max(work.batch_size, work.concurrency)
    prompt = work.context_length * work.concurrency
    most = {"server": 8192, "llama.cpp": 512, "eager": prompt, "unknown": 2048}[work.engine]
    return min(prompt, most)


def inference_bytes(model: ModelDescription, work: Work, tokens: int) -> float:
    """Bytes of the intermediate values of one forward pass over TOKENS, at the widest place."""
    e = 4 if work.weight_format == "fp32" else 2
    q = model.heads * model.head_dim
    k = model.kv_heads * model.head_dim
    norm = model.hidden * (4 * e + (4 if e == 2 and model.norm == "rms" else 0))
    feed = (3 if model.gated else 4 if model.activation == "gelu_steps" else 2) * e * feed_width(model)
    attention = e * (3 * q + 3 * k) + 4 * model.heads
    if work.eager_attention or (model.softcap_attention and work.engine == "eager"):
        attention += model.heads * work.context_length * 8
    if model.is_mixture:
        feed += 3 * e * model.hidden * model.experts_per_token  # routed copies in and out
    scores = work.concurrency * model.vocab * (e + 4)
    return tokens * (norm + max(feed, attention)) + scores


def cache_bytes(model: ModelDescription, work: Work, *, high: bool = False) -> float:
    """Key-value cache: 2 * layers * kv_heads * head_dim * bytes per token; a window caps its layers (paged by 16)."""
    width = model.cache_width_high if high and model.cache_width_high is not None else model.cache_width
    number = work.kv_bits / 8 if work.kv_bits >= 8 else work.kv_bits / 8 + 0.0625
    if work.kv_bits == 16 and work.weight_format == "fp32" and work.engine == "eager":
        number = 4
    page = 16
    whole = -(-work.context_length // page) * page
    seen = whole if model.window is None else min(whole, -(-model.window // page) * page)
    return work.concurrency * width * number * (model.cache_layers * whole + model.window_layers * seen)
