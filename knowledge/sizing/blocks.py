"""Decoder blocks by family: attention (grouped, multi-query, latent), feed-forward and experts, norms, windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowledge.documents import BadInput
from knowledge.facts import Base
from knowledge.sizing.description import Activation, ModelDescription, Norm
from knowledge.sizing.keys import flag, named, number, required
from knowledge.text import Text


class Family(Base, frozen=True, kw_only=True):
    """What a configuration does not say, since the family's code fixes it."""

    gated: bool = True
    norm: Norm = "rms"
    norms: int = 2  # per layer
    qkv_bias: bool = False
    out_bias: bool = False
    feed_bias: bool = False
    tied: bool = False  # where the file does not say
    qk_norm: bool = False  # over the head's width
    qk_norm_wide: bool = False  # over all heads
    positions: bool = False  # a learned table
    feed_factor: int = 4
    kv_default: int | None = None  # key-value heads where the file does not say; None: as many as query heads
    activation: Activation = "silu"
    dropout: bool = False
    attention_dropout: bool = False
    head_bias: bool = False


LLAMA = Family()
GPT = Family(gated=False, norm="layer", qkv_bias=True, out_bias=True, feed_bias=True, tied=True, activation="gelu")
KNOWN: dict[str, Family] = {
    **dict.fromkeys(
        ("llama", "mistral", "mixtral", "ministral", "phi3", "phimoe", "internlm2", "internlm3", "baichuan", "deepseek",
         "deepseek_v2", "deepseek_v3", "kimi_k2", "smollm3", "granite", "granitemoe", "yi", "olmo", "olmoe", "minimax",
         "exaone", "helium", "ernie4_5", "seed_oss", "llama4", "llama4_text"), LLAMA,
    ),
    "qwen2": Family(qkv_bias=True), "qwen2_moe": Family(qkv_bias=True), "qwen": Family(qkv_bias=True),
    "qwen2_vl": Family(qkv_bias=True), "qwen2_5_vl": Family(qkv_bias=True), "qwen2_vl_text": Family(qkv_bias=True),
    "qwen2_5_vl_text": Family(qkv_bias=True), "qwen2_audio": Family(qkv_bias=True),
    "qwen3": Family(qk_norm=True), "qwen3_moe": Family(qk_norm=True), "qwen3_vl_text": Family(qk_norm=True),
    "qwen3_vl_moe_text": Family(qk_norm=True), "qwen3_omni_moe_text": Family(qk_norm=True),
    "gemma": Family(tied=True), "gemma2": Family(tied=True, norms=4),
    "gemma3": Family(tied=True, norms=4, qk_norm=True), "gemma3_text": Family(tied=True, norms=4, qk_norm=True),
    "olmo2": Family(qk_norm_wide=True), "olmo3": Family(qk_norm_wide=True),
    "glm": Family(qkv_bias=True), "glm4": Family(qkv_bias=True, norms=4), "glm4_moe": Family(qkv_bias=True),
    "chatglm": Family(qkv_bias=True), "cohere": Family(norm="rms", norms=1, tied=True),
    "cohere2": Family(norm="rms", norms=1, tied=True), "gpt_oss": Family(qkv_bias=True, out_bias=True),
    "stablelm": Family(norm="layer"), "starcoder2": Family(gated=False, norm="layer", activation="gelu", tied=True),
    "gpt2": Family(gated=False, norm="layer", qkv_bias=True, out_bias=True, feed_bias=True, tied=True, positions=True,
                   activation="gelu_steps", dropout=True, attention_dropout=True),
    "gpt_bigcode": Family(gated=False, norm="layer", qkv_bias=True, out_bias=True, feed_bias=True, tied=True,
                          positions=True, activation="gelu_steps", dropout=True, attention_dropout=True, kv_default=1),
    "gpt_neox": Family(gated=False, norm="layer", activation="gelu", qkv_bias=True, out_bias=True, feed_bias=True),
    "gptj": Family(gated=False, norm="layer", norms=1, feed_bias=True, head_bias=True, activation="gelu_steps"),
    "opt": Family(gated=False, norm="layer", qkv_bias=True, out_bias=True, feed_bias=True, tied=True, positions=True,
                  dropout=True, activation="relu"),
    "bloom": Family(gated=False, norm="layer", activation="gelu", qkv_bias=True, out_bias=True, feed_bias=True, tied=True),
    "phi": Family(gated=False, norm="layer", norms=1, qkv_bias=True, out_bias=True, feed_bias=True, head_bias=True,
                  activation="gelu_steps"),
    "falcon": Family(gated=False, norm="layer", activation="gelu", norms=1, tied=True),
    "mpt": Family(gated=False, norm="layer", activation="gelu", tied=True),
}  # fmt: skip


def decoder(config: Mapping[str, Any], kind: str) -> ModelDescription:
    """A decoder-only transformer of the sizes in CONFIG. Raises BadInput where they are missing or absurd."""
    family = KNOWN.get(kind, LLAMA if config.get("n_embd") is None else GPT)
    h, layers, heads = required(config, "hidden"), required(config, "layers"), required(config, "heads")
    vocab = number(config, "vocab") or 0
    kv = number(config, "kv_heads") or family.kv_default or heads
    if config.get("multi_query") is True and not config.get("new_decoder_architecture"):
        kv = named(config, "multi_query_group_num") or 1
    if kind == "gpt_bigcode":
        kv = 1 if flag(config, "multi_query", True) else heads
    if kv > heads:
        raise BadInput(Text(
            f"model configuration: key `num_key_value_heads`: found {kv}, more than {heads} query heads.",
            f"模型配置：键 `num_key_value_heads`：发现 {kv}，大于查询头数 {heads}。",
        ))  # fmt: skip
    head_dim = number(config, "head_dim") or max(1, h // heads)
    f = number(config, "intermediate") or family.feed_factor * h
    tied = flag(config, "tie_word_embeddings", family.tied)
    one_norm = h * (2 if family.norm == "layer" else 1)

    attention, cache_width, latent = _attention(config, family, h, heads, kv, head_dim)
    if kind == "gpt_oss":
        attention += heads  # sinks
    feed_bias = family.feed_bias or flag(config, "mlp_bias", False) or flag(config, "use_bias", False)
    dense = _feed(h, f, family.gated, feed_bias)
    experts = number(config, "experts") or 0
    mixtures = _moe_layers(config, kind, layers) if experts > 1 else 0
    expert_width = named(config, "moe_intermediate_size") or named(config, "expert_ffn_hidden_size") or f
    chosen = min(experts, number(config, "experts_per_token") or 1) if experts else 0
    shared = _shared(config, kind, expert_width, f)
    if kind.startswith("llama4"):
        dense = _feed(h, named(config, "intermediate_size_mlp") or f, True, False)
    one_expert = _feed(h, expert_width, family.gated, kind == "gpt_oss")
    router = experts * h + (experts if kind == "gpt_oss" else 0) + (h if kind == "qwen2_moe" else 0)
    shared_parameters = _feed(h, shared, True, False) if shared else 0

    expert_parameters = mixtures * experts * one_expert
    mlp = (layers - mixtures) * dense + mixtures * shared_parameters
    routers = mixtures * router
    norms = layers * one_norm * family.norms + one_norm
    if family.qk_norm or flag(config, "use_qk_norm", False):
        norms += layers * 2 * head_dim
    if family.qk_norm_wide:
        norms += layers * (heads + kv) * head_dim
    if latent:
        norms += layers * ((named(config, "q_lora_rank") or 0) + (named(config, "kv_lora_rank") or 0))
    if kind == "bloom":
        norms += one_norm
    if kind in ("falcon",) and flag(config, "new_decoder_architecture", False):
        norms += layers * one_norm
    positions = number(config, "positions") if family.positions else None
    offset = 2 if kind == "opt" else 0
    table = vocab * h + ((positions or 0) + (offset if positions else 0)) * h
    head = 0 if tied else vocab * h
    if family.head_bias:
        head += vocab
    total = table + head + layers * attention + mlp + expert_parameters + routers + norms
    idle = mixtures * max(0, experts - chosen) * one_expert
    widest = experts * one_expert + shared_parameters if mixtures else dense
    full, windowed, window = _windows(config, kind, layers)
    return ModelDescription(
        parameters=total, active_parameters=total - idle, embedding_parameters=table, head_parameters=head,
        attention_parameters=layers * attention, mlp_parameters=mlp, expert_parameters=expert_parameters,
        norm_parameters=norms, other_parameters=routers, layers=layers, hidden=h, heads=heads, kv_heads=kv,
        head_dim=head_dim, intermediate=expert_width if mixtures == layers else f, vocab=vocab, tied=tied,
        gated=family.gated, norm=family.norm, qk_norm=family.qk_norm or family.qk_norm_wide,
        extra_norms=max(0, family.norms - 2), activation=_activation(config, family), dropout=family.dropout,
        attention_dropout=family.attention_dropout and config.get("attn_pdrop", 0.1) != 0,
        softcap_attention=_softcap(config, kind, "attn_logit_softcapping"),
        softcap_scores=_softcap(config, kind, "final_logit_softcapping"), experts=experts, experts_per_token=chosen, shared_intermediate=shared,
        moe_layers=mixtures, cache_layers=full, window_layers=windowed, window=window, cache_width=cache_width,
        latent_cache=latent, max_context=number(config, "positions"),
        largest_layer_parameters=max(table, attention + widest),
    )  # fmt: skip


def _attention(
    config: Mapping[str, Any], family: Family, h: int, heads: int, kv: int, head_dim: int
) -> tuple[int, int, bool]:
    """Parameters of one layer's attention, numbers kept per token, and whether that is a latent."""
    rank = named(config, "kv_lora_rank")
    if rank:  # multi-head latent attention (DeepSeek-V2 and after)
        rope = named(config, "qk_rope_head_dim") or 64
        plain = named(config, "qk_nope_head_dim") or 128
        value = named(config, "v_head_dim") or plain
        query_rank = named(config, "q_lora_rank") or 0
        wide = heads * (plain + rope)
        query = h * query_rank + query_rank * wide if query_rank else h * wide
        rest = h * (rank + rope) + rank * heads * (plain + value) + heads * value * h
        return query + rest, rank + rope, True
    q, k = heads * head_dim, kv * head_dim
    count = h * q + 2 * h * k + q * h
    bias = flag(config, "attention_bias", False) or flag(config, "use_bias", False)
    if flag(config, "qkv_bias", family.qkv_bias) or bias:
        count += q + 2 * k
    if family.out_bias or (bias and not family.qkv_bias):
        count += h
    return count, 2 * k, False


def _activation(config: Mapping[str, Any], family: Family) -> Activation:
    """The activation that the file names; the family's own where it names none."""
    word = next((config[k] for k in ("hidden_act", "activation_function", "hidden_activation") if config.get(k)), None)
    if not isinstance(word, str):
        return family.activation
    if "relu" in word:
        return "relu"
    if word in ("gelu_new", "gelu_fast"):
        return "gelu_steps"
    return "gelu" if "gelu" in word else "silu"


def _softcap(config: Mapping[str, Any], kind: str, name: str) -> bool:
    return config.get(name, 30.0 if kind == "gemma2" else None) is not None


def _feed(h: int, f: int, gated: bool, bias: bool) -> int:
    return (3 if gated else 2) * h * f + ((2 * f if gated else f) + h if bias else 0)


def _moe_layers(config: Mapping[str, Any], kind: str, layers: int) -> int:
    """Layers that are mixtures: after the first dense ones, at every so many, without those named as dense."""
    listed = config.get("moe_layers")
    if isinstance(listed, list):
        return min(len(listed), layers)
    first = named(config, "first_k_dense_replace") or 0
    step = named(config, "decoder_sparse_step") or named(config, "interleave_moe_layer_step")
    step = step or named(config, "moe_layer_freq") or 1
    dense = config.get("mlp_only_layers")
    omitted = set(dense[:10_000]) if isinstance(dense, list) else set()
    if kind.startswith("llama4") or "decoder_sparse_step" in config:
        return sum(1 for n in range(layers) if (n + 1) % step == 0 and n not in omitted)
    return sum(1 for n in range(layers) if n >= first and n % step == 0)


def _shared(config: Mapping[str, Any], kind: str, expert_width: int, f: int) -> int:
    """Width of the experts that every token passes."""
    if kind.startswith("llama4"):
        return f
    wide = named(config, "shared_expert_intermediate_size") or named(config, "shared_intermediate_size")
    if wide:
        return wide
    return (named(config, "n_shared_experts") or named(config, "num_shared_experts") or 0) * expert_width


def _windows(config: Mapping[str, Any], kind: str, layers: int) -> tuple[int, int, int | None]:
    """Layers that keep all tokens, layers that keep a window, and its length."""
    window = named(config, "sliding_window", 1_000_000_000) or None
    types = config.get("layer_types")
    if isinstance(types, list) and types:
        words = [str(t) for t in types[:layers]]
        windowed = sum("sliding" in w or "chunked" in w for w in words) if window else 0
        stateful = sum("linear" in w or "mamba" in w or "recurrent" in w for w in words)
        return max(0, layers - windowed - stateful), windowed, window if windowed else None
    if window is None or config.get("use_sliding_window") is False:
        return layers, 0, None
    if kind == "gemma2":
        return layers - (layers + 1) // 2, (layers + 1) // 2, window
    pattern = named(config, "sliding_window_pattern") or named(config, "_sliding_window_pattern")
    if kind.startswith("gemma3") or pattern:
        whole = layers // (pattern or 6)
        return whole, layers - whole, window
    if kind == "gpt_oss":
        return layers // 2, layers - layers // 2, window
    if kind.startswith("qwen2"):
        first = named(config, "max_window_layers") or 0
        if not config.get("use_sliding_window"):
            return layers, 0, None
        return min(first, layers), max(0, layers - first), window
    if kind in ("mistral", "mixtral", "phi3", "starcoder2", "ministral", "cohere2"):
        return 0, layers, window
    return layers, 0, None
