"""Numbers of a configuration file: one meaning under many names, and nothing absurd let through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowledge.documents import BadInput
from knowledge.text import Text

# Meaning: names that configurations use for it, and the most that is believed.
NAMES: dict[str, tuple[tuple[str, ...], int]] = {
    "hidden": (("hidden_size", "n_embd", "d_model", "dim", "model_dim", "embed_dim"), 1_000_000),
    "layers": (("num_hidden_layers", "n_layer", "num_layers", "n_layers", "depth", "encoder_layers"), 10_000),
    "heads": (("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"), 100_000),
    "kv_heads": (("num_key_value_heads", "n_head_kv", "num_kv_heads", "n_kv_heads", "multi_query_group_num"), 100_000),
    "head_dim": (("head_dim", "attention_head_dim", "d_kv", "kv_channels", "head_size"), 100_000),
    "intermediate": (
        ("intermediate_size", "n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "encoder_ffn_dim", "hidden_dim"),
        50_000_000,
    ),
    "vocab": (("vocab_size", "padded_vocab_size", "n_vocab"), 100_000_000),
    "experts": (("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"), 100_000),
    "experts_per_token": (("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "top_k_experts"), 100_000),
    "positions": (("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len"), 1_000_000_000),
}


def number(config: Mapping[str, Any], meaning: str) -> int | None:
    """The number for MEANING under any of its names, or None. Raises BadInput for what is no sensible size."""
    names, most = NAMES[meaning]
    for name in names:
        if config.get(name) is not None:
            return checked(name, config[name], most)
    return None


def named(config: Mapping[str, Any], name: str, most: int = 100_000_000) -> int | None:
    """The number under NAME, or None where it is absent or null; 0 is let through (it means: none)."""
    value = config.get(name)
    if value is None:
        return None
    if value == 0 and not isinstance(value, bool):
        return 0
    return checked(name, value, most)


def checked(name: str, value: Any, most: int) -> int:
    if isinstance(value, list) and value and all(isinstance(v, int) and not isinstance(v, bool) for v in value):
        value = max(value)  # one number per layer; the widest stands for all
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadInput(Text(
            f"model configuration: key `{name}`: found {repr(value)[:60]}, allowed are 1 to {most}.",
            f"模型配置：键 `{name}`：读到 {repr(value)[:60]}，允许 1 到 {most}。",
        ))  # fmt: skip
    return value


def flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    value = config.get(name)
    return default if value is None else bool(value)


def required(config: Mapping[str, Any], meaning: str) -> int:
    found = number(config, meaning)
    if found is None:
        names = ", ".join(NAMES[meaning][0])
        raise BadInput(Text(
            f"model configuration: none of the keys {names} is there; no transformer is described.",
            f"模型配置：没有 {names} 中的任何一个键，描述的不是 Transformer 模型。",
        ))  # fmt: skip
    return found
