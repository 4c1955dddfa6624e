"""What `probes.model_files` read from a model's file, as a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from knowledge.answers import Model
from knowledge.documents import BadInput
from knowledge.sizing import config, formats, shape
from knowledge.sizing.description import ModelDescription
from knowledge.text import Text

FROM_NAMES = Text(
    "No config.json lies beside the weights; the shape was read from the names and sizes of the tensors.",
    "权重旁边没有 config.json；模型结构由张量的名称和尺寸推断。",
)
BARE = Text(
    "The file tells the number of weights, not what the model is; activations are estimated from its size.",
    "文件只说明权重数量，没有说明模型结构；激活值按规模估算。",
)


def described(reading: Mapping[str, Any]) -> ModelDescription:
    """READING (builtins of a ModelFileReading) as a description. Raises BadInput where it names no usable model."""
    kind = reading["format"]
    if kind == "config":
        return config.described(reading.get("config") or {})
    if kind == "gguf":
        return _gguf(reading)
    if kind == "safetensors":
        return _safetensors(reading)
    return _bare(reading)


def _gguf(reading: Mapping[str, Any]) -> ModelDescription:
    metadata: Mapping[str, Any] = reading.get("metadata") or {}
    name = metadata.get("general.architecture")
    if not isinstance(name, str) or not name:
        raise BadInput(Text(
            f"{reading['path']}: the GGUF header does not name an architecture.",
            f"{reading['path']}：GGUF 文件头没有写明架构。",
        ))  # fmt: skip

    def value(key: str) -> int | None:
        found = metadata.get(f"{name}.{key}")
        if isinstance(found, Mapping):  # one number per layer
            numbers = [n for n in found.get("numbers", ()) if isinstance(n, int) and not isinstance(n, bool)]
            return max(numbers) if numbers else None
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    tokens = metadata.get("tokenizer.ggml.tokens")
    vocab = value("vocab_size") or (tokens.get("length") if isinstance(tokens, Mapping) else None)
    settings: dict[str, Any] = {
        "model_type": _family(name), "hidden_size": value("embedding_length"),
        "num_hidden_layers": value("block_count"),
        "num_attention_heads": value("attention.head_count"), "num_key_value_heads": value("attention.head_count_kv"),
        "head_dim": value("attention.key_length"), "intermediate_size": value("feed_forward_length"),
        "vocab_size": vocab, "max_position_embeddings": value("context_length"), "num_experts": value("expert_count"),
        "num_experts_per_tok": value("expert_used_count"),
        "moe_intermediate_size": value("expert_feed_forward_length"),
        "sliding_window": value("attention.sliding_window"),
        "kv_lora_rank": value("attention.kv_lora_rank"), "q_lora_rank": value("attention.q_lora_rank"),
        "first_k_dense_replace": value("leading_dense_block_count"),
    }  # fmt: skip
    settings = {k: v for k, v in settings.items() if v is not None}
    found = config.described(settings)
    form = metadata.get("stackfit.format")
    title = metadata.get("general.name")
    counted = int(reading["parameters"] or 0)
    if counted < 1:
        raise BadInput(Text(f"{reading['path']}: holds no weights.", f"{reading['path']}：不含权重。"))
    return _with_total(
        msgspec.structs.replace(
            found, name=str(title)[:200] if isinstance(title, str) and title else None, architecture=name[:100],
            weights_bytes=reading.get("weights_bytes"),
            weight_format=f"gguf:{form}" if form in formats.GGUF_BITS else None,
        ),
        counted,
    )  # fmt: skip


def _family(name: str) -> str:
    """The configuration's word for a GGUF architecture."""
    return {
        "gptneox": "gpt_neox", "qwen2moe": "qwen2_moe", "qwen3moe": "qwen3_moe", "deepseek2": "deepseek_v2",
        "gpt-oss": "gpt_oss", "command-r": "cohere", "gemma3": "gemma3_text", "phi2": "phi", "glm4moe": "glm4_moe",
    }.get(name, name)  # fmt: skip


def _with_total(found: ModelDescription, counted: int) -> ModelDescription:
    """FOUND with COUNTED as its total: what the tensors say stands, a difference goes to the other parameters."""
    gap = counted - found.parameters
    if gap == 0:
        return found
    if -gap > found.other_parameters + found.head_parameters:
        share = counted / found.parameters
        names = [n for n in found.__struct_fields__ if n.endswith("_parameters")]
        values = {n: round(getattr(found, n) * share) for n in names}
        values["active_parameters"] = max(1, values["active_parameters"])
        return msgspec.structs.replace(found, parameters=counted, **values)
    other = found.other_parameters + gap
    head = found.head_parameters
    if other < 0:
        head, other = head + other, 0
    active = max(1, min(counted, found.active_parameters + gap))
    return msgspec.structs.replace(
        found, parameters=counted, active_parameters=active, other_parameters=other, head_parameters=head
    )


def _safetensors(reading: Mapping[str, Any]) -> ModelDescription:
    counted = int(reading.get("parameters") or 0)
    if counted < 1:
        raise BadInput(Text(f"{reading['path']}: holds no weights.", f"{reading['path']}：不含权重。"))
    types: Mapping[str, int] = reading.get("types") or {}
    widest = max(types, key=lambda k: types[k]) if types else ""
    form = {"F32": "fp32", "BF16": "bf16", "F16": "fp16", "F8_E4M3": "fp8", "F8_E5M2": "fp8"}.get(widest)
    settings = reading.get("config")
    if isinstance(settings, Mapping):
        found = config.described(settings)
        packed = any(word in types for word in ("I32", "U8", "I8", "F4"))
        found = msgspec.structs.replace(
            found, weights_bytes=reading.get("weights_bytes"), weight_format=found.weight_format if packed else form
        )
        return found if packed else _with_total(found, counted)
    found_by_names = _by_names(reading.get("shapes") or {}, counted)
    if found_by_names is None:
        return _bare(reading)
    return msgspec.structs.replace(found_by_names, weights_bytes=reading.get("weights_bytes"), weight_format=form)


def _by_names(shapes: Mapping[str, list[int]], counted: int) -> ModelDescription | None:
    """Layers, widths and heads from tensor names of the usual kind; None where they tell too little."""
    import re

    layers = 0
    hidden = vocab = feed = key_width = 0
    for name, size in shapes.items():
        number = re.search(r"\.(?:layers|h|blocks|layer)\.(\d{1,5})\.", f".{name}")
        if number is not None:
            layers = max(layers, int(number.group(1)) + 1)
        if len(size) != 2 or min(size) < 1:
            continue
        if ("embed_tokens" in name or "wte" in name or "word_embeddings" in name) and not vocab:
            vocab, hidden = size[0], size[1]
        elif "gate_proj" in name or "up_proj" in name or "fc1" in name:
            feed = max(feed, size[0])
        elif "k_proj" in name:
            key_width = max(key_width, size[0])
    if not layers or not hidden or layers > shape.LIMITS["layers"] or hidden > shape.LIMITS["hidden"]:
        return None
    head_dim = 128 if hidden % 128 == 0 and hidden >= 2048 else 64
    heads = max(1, hidden // head_dim)
    found = shape.described(
        Model(
            file="weights",
            params=counted, layers=layers, hidden=hidden, heads=heads,
            kv_heads=min(heads, max(1, key_width // head_dim)) if key_width else None,
            vocab=min(max(1, vocab), shape.LIMITS["vocab"]), intermediate=feed or None,
        )
    )  # fmt: skip
    return None if found is None else msgspec.structs.replace(found, exact=False, notes=(FROM_NAMES,))


def _bare(reading: Mapping[str, Any]) -> ModelDescription:
    counted = int(reading.get("parameters") or 0)
    if counted < 1:
        raise BadInput(Text(
            f"{reading['path']}: holds no weights, so there is nothing to size.",
            f"{reading['path']}：不含权重，无法估算大小。",
        ))  # fmt: skip
    found = shape.described(Model(params=counted, file="onnx"), task="vision")
    assert found is not None
    size = reading.get("weights_bytes") or counted * 4
    width = size / counted
    form = "fp32" if width >= 3.5 else "bf16" if width >= 1.5 else "int8" if width >= 0.9 else "int4"
    return msgspec.structs.replace(
        found, weights_bytes=size, weight_format=form, exact=False, notes=(BARE,), parameters=counted
    )
