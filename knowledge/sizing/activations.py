"""What a transformer keeps between forward and backward, tensor by tensor, and what an inference step holds at once.

The terms follow the tensors that automatic differentiation keeps in the usual eager implementations; they are checked
against measured steps (docs/sizing.md). For 4h-wide blocks with fused kernels they stand above the 34 bytes per
token and width of arXiv 2205.05198, since unfused norms and activations keep more.
"""

from __future__ import annotations

from knowledge.sizing.description import ModelDescription
from knowledge.sizing.work import Work


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
    if work.eager_attention:
        attention += model.heads * length * (4 if e == 4 else 6)
    else:
        attention += 4 * model.heads  # log-sum-exp of the fused kernel
    feed = e * f * ((4 if model.gated else 2) + (3 if model.gelu_steps else 0))
    if model.dropout:
        attention += 2 * h
    per_token = _norms(model, work, h) + attention + feed
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


def training_bytes(model: ModelDescription, work: Work) -> tuple[float, float]:
    """Bytes at the start of the backward pass: kept by the blocks, and by the output layer with its loss."""
    tokens = work.sequence_length * work.batch_size
    one = layer_bytes(model, work, tokens, work.sequence_length)
    stream = 4 if work.precision == "fp32" or work.mixed else 2
    if work.checkpointing:
        blocks = model.layers * tokens * model.hidden * stream + one
    else:
        blocks = model.layers * one
    # Output layer: scores in the computing precision, their log-softmax and two gradients in 32 bits.
    scores = (16 if work.precision == "fp32" else 14) * tokens * model.vocab
    final = tokens * model.hidden * (12 if work.precision == "fp32" else 10)
    return blocks, scores + final


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
    norm = model.hidden * (2 * e + (4 if e == 2 and model.norm == "rms" else 0))
    feed = 3 * e * feed_width(model) if model.gated else 2 * e * feed_width(model)
    attention = e * (3 * q + 3 * k) + 4 * model.heads
    if work.eager_attention:
        attention += model.heads * work.context_length * (4 if e == 4 else 8)
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
