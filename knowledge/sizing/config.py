"""A Hugging Face `config.json` as a model description: counts by component from the shapes that it states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from knowledge.documents import BadInput
from knowledge.sizing import blocks, towers
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.keys import number
from knowledge.text import Text

TEXT_KEYS = ("text_config", "llm_config", "language_config", "thinker_config")
ENCODER_DECODER = ("t5", "mt5", "umt5", "longt5", "bart", "mbart", "pegasus", "marian", "m2m_100", "whisper", "nllb")
ENCODERS = ("bert", "roberta", "xlm-roberta", "camembert", "electra", "distilbert", "deberta", "deberta-v2", "mpnet",
            "albert", "ernie", "modernbert", "nomic_bert")  # fmt: skip
IMAGE = ("vit", "deit", "beit", "dinov2", "siglip_vision_model", "clip_vision_model", "vit_mae")
STATE_SPACE = ("mamba", "mamba2", "falcon_mamba", "rwkv", "jamba", "zamba", "zamba2", "bamba", "nemotron_h")

UNKNOWN = Text(
    "The architecture {name} is not known here; it is counted as a usual decoder of the stated sizes.",
    "此处不认识架构 {name}；按所给尺寸的常见解码器结构计算。",
)
TOWERS = Text(
    "The vision or audio part is counted as a plain transformer of its stated sizes; its connectors are approximate.",
    "视觉或音频部分按所给尺寸的普通 Transformer 计算；连接层为近似值。",
)
STATE = Text(
    "Layers with a running state instead of attention are counted approximately and keep no cache that grows.",
    "以状态代替注意力的层按近似值计算，且没有随长度增长的缓存。",
)


def described(config: Mapping[str, Any]) -> ModelDescription:
    """CONFIG (the parsed file) as a description. Raises BadInput where sizes are missing or absurd."""
    name = config.get("_name_or_path") or config.get("name")
    kind = str(config.get("model_type") or "").lower()
    inner = next((config[k] for k in TEXT_KEYS if isinstance(config.get(k), Mapping)), None)
    found: ModelDescription
    if isinstance(inner, Mapping):
        found = _multimodal(config, inner, kind)
    elif kind in ENCODER_DECODER or (config.get("is_encoder_decoder") and number(config, "hidden") is not None):
        found = towers.encoder_decoder(config, kind)
    elif kind in ENCODERS:
        found = towers.encoder(config, kind)
    elif kind in IMAGE:
        found = towers.image_encoder(config)
    else:
        found = blocks.decoder(config, kind)
        if kind in STATE_SPACE:
            found = msgspec.structs.replace(found, exact=False, notes=(*found.notes, STATE))
        elif kind not in blocks.KNOWN:
            word = kind or "?"
            found = msgspec.structs.replace(found, exact=False, notes=(*found.notes, UNKNOWN.filled(name=word[:40])))
    weight = _weight_format(config)
    architecture = config.get("architectures")
    shown = architecture[0] if isinstance(architecture, list) and architecture else kind or None
    if found.parameters > 1e15:
        raise BadInput(Text(
            "model configuration: these sizes make more than 10^15 parameters, which no model has.",
            "模型配置：这些尺寸得出的参数超过 10^15 个，没有模型会这样。",
        ))  # fmt: skip
    return msgspec.structs.replace(
        found, name=str(name)[:200] if name else None, architecture=str(shown)[:100] if shown else None,
        weight_format=weight,
    )  # fmt: skip


def _multimodal(config: Mapping[str, Any], inner: Mapping[str, Any], kind: str) -> ModelDescription:
    if isinstance(inner.get("text_config"), Mapping):  # thinker_config holds the parts once more
        config, inner = inner, inner["text_config"]
    text_kind = str(inner.get("model_type") or kind).lower()
    merged = {"tie_word_embeddings": config.get("tie_word_embeddings"), **inner}
    found = blocks.decoder({k: v for k, v in merged.items() if v is not None}, text_kind)
    notes = found.notes
    exact = found.exact and text_kind in blocks.KNOWN
    vision = audio = other = 0
    picture, sound = config.get("vision_config"), config.get("audio_config")
    if isinstance(picture, Mapping):
        vision, width = towers.vision_parameters(picture)
        other += width * found.hidden + found.hidden * found.hidden + 2 * found.hidden
        notes, exact = (*notes, TOWERS), False
    if isinstance(sound, Mapping):
        audio, width = towers.audio_parameters(sound)
        other += width * found.hidden + found.hidden
        notes, exact = ((*notes, TOWERS) if TOWERS not in notes else notes), False
    more = vision + audio + other
    return msgspec.structs.replace(
        found, parameters=found.parameters + more, active_parameters=found.active_parameters + more,
        vision_parameters=vision, audio_parameters=audio, other_parameters=found.other_parameters + other,
        notes=notes, exact=exact,
    )  # fmt: skip


def _weight_format(config: Mapping[str, Any]) -> str | None:
    """Format of the published weights, from `quantization_config` or the number type."""
    quantised = config.get("quantization_config")
    if isinstance(quantised, Mapping):
        method = str(quantised.get("quant_method") or quantised.get("quant_algo") or "").lower()
        if method == "bitsandbytes":
            return "nf4" if quantised.get("load_in_4bit") else "int8"
        if method in ("gptq", "awq", "mxfp4", "fp8", "nvfp4", "hqq"):
            if quantised.get("bits") == 8:
                return "int8"
            return method
        if method in ("fbgemm_fp8", "modelopt_fp8"):
            return "fp8"
        if method == "compressed-tensors":
            return "int4" if "int4" in str(quantised)[:4000] or "'num_bits': 4" in str(quantised)[:4000] else "fp8"
    kind = config.get("torch_dtype") or config.get("dtype")
    if kind is None:
        for key in TEXT_KEYS:
            inner = config.get(key)
            if isinstance(inner, Mapping):
                kind = kind or inner.get("torch_dtype") or inner.get("dtype")
    known = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
    return known.get(str(kind).removeprefix("torch."))
