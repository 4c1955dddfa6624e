"""Encoders, encoder-decoders, and the vision and audio parts of multimodal models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knowledge.sizing.description import ModelDescription
from knowledge.sizing.keys import NAMES, checked, flag, named, number, required


def encoder(config: Mapping[str, Any], kind: str) -> ModelDescription:
    """BERT and its kin: embeddings with positions and types, post-norm blocks with biases, pooler or output layer."""
    h, layers, heads = required(config, "hidden"), required(config, "layers"), required(config, "heads")
    f = number(config, "intermediate") or 4 * h
    vocab = required(config, "vocab")
    positions = number(config, "positions") or 512
    types = named(config, "type_vocab_size") or 0
    table = (vocab + positions + types) * h + 2 * h
    if kind == "distilbert":
        table = (vocab + positions) * h + 2 * h
    attention = layers * 4 * (h * h + h)
    mlp = layers * (2 * h * f + f + h)
    norms = layers * 4 * h
    wanted = str((config.get("architectures") or [""])[0]) if isinstance(config.get("architectures"), list) else ""
    if "MaskedLM" in wanted or "PreTraining" in wanted:
        other = h * h + h + 2 * h + vocab
    else:
        other = 0 if kind in ("distilbert", "electra", "deberta", "deberta-v2", "mpnet") else h * h + h
    total = table + attention + mlp + norms + other
    return ModelDescription(
        kind="encoder", parameters=total, active_parameters=total, embedding_parameters=table,
        attention_parameters=attention, mlp_parameters=mlp, norm_parameters=norms, other_parameters=other,
        layers=layers, hidden=h, heads=heads, kv_heads=heads, head_dim=max(1, h // heads), intermediate=f,
        vocab=vocab if "MaskedLM" in wanted else 0, tied=True, gated=False, norm="layer", activation="gelu", dropout=True,
        attention_dropout=True, max_context=positions, largest_layer_parameters=max(table, (attention + mlp) // layers),
        exact=kind in ("bert", "roberta", "xlm-roberta", "distilbert"),
    )  # fmt: skip


def image_encoder(config: Mapping[str, Any]) -> ModelDescription:
    total, h = vision_parameters(config)
    layers, heads = required(config, "layers"), required(config, "heads")
    f = number(config, "intermediate") or 4 * h
    attention, mlp = layers * 4 * (h * h + h), layers * (2 * h * f + f + h)
    return ModelDescription(
        kind="encoder", parameters=total, active_parameters=total, attention_parameters=attention, mlp_parameters=mlp,
        norm_parameters=layers * 4 * h,
        other_parameters=max(0, total - attention - mlp - layers * 4 * h), layers=layers,
        hidden=h, heads=heads, kv_heads=heads, head_dim=max(1, h // heads), intermediate=f, gated=False, norm="layer",
        activation="gelu", max_context=_patches(config) + 1, largest_layer_parameters=(attention + mlp) // layers, exact=False,
    )  # fmt: skip


def _patches(config: Mapping[str, Any]) -> int:
    size = named(config, "image_size", 100_000) or 224
    patch = named(config, "patch_size", 10_000) or 16
    return max(1, size // max(1, patch)) ** 2


def vision_parameters(config: Mapping[str, Any]) -> tuple[int, int]:
    """Parameters of a vision tower and its width."""
    h = number(config, "hidden") or 1024
    layers = number(config, "layers") or 24
    f = number(config, "intermediate")
    if f is None:
        ratio = config.get("mlp_ratio")
        f = round(h * ratio) if isinstance(ratio, (int, float)) and 0 < ratio < 100 else 4 * h
    patch = named(config, "patch_size", 10_000) or 14
    channels = named(config, "num_channels", 1000) or named(config, "in_channels", 1000) or 3
    block = 4 * (h * h + h) + 2 * h * f + f + h + 4 * h
    embedding = channels * patch * patch * h + (_patches(config) + 1) * h
    return layers * block + embedding + 4 * h, h


def audio_parameters(config: Mapping[str, Any]) -> tuple[int, int]:
    """Parameters of an audio tower and its width."""
    h = number(config, "hidden") or 1280
    layers = number(config, "layers") or 32
    f = number(config, "intermediate") or 4 * h
    mels = named(config, "num_mel_bins", 10_000) or 80
    positions = named(config, "max_source_positions") or 1500
    block = 4 * h * h + 3 * h + 2 * h * f + f + h + 4 * h
    return layers * block + 3 * mels * h + 3 * h * h + 2 * h + positions * h + 2 * h, h


def encoder_decoder(config: Mapping[str, Any], kind: str) -> ModelDescription:
    """T5 and BART families and Whisper: an encoder, and a decoder with attention to it as well."""
    h = required(config, "hidden")
    enc = named(config, "encoder_layers", 10_000) or required(config, "layers")
    dec = named(config, "decoder_layers", 10_000) or named(config, "num_decoder_layers", 10_000) or enc
    heads = required(config, "heads")
    vocab = required(config, "vocab")
    t5 = "t5" in kind
    head_dim = named(config, "d_kv") or max(1, h // heads)
    inner = heads * head_dim
    f = number(config, "intermediate") or 4 * h
    gated = t5 and "gated" in str(config.get("feed_forward_proj", "relu"))
    if t5:
        attention_one = 4 * h * inner
        feed = (3 if gated else 2) * h * f
        norms = enc * 2 * h + dec * 3 * h + 2 * h
        extra = 2 * 32 * heads
    else:
        attention_one = 4 * h * h + (3 if kind == "whisper" else 4) * h
        feed = 2 * h * f + f + h
        norms = enc * 4 * h + dec * 6 * h
        extra = _positions(config, kind, h)
    tied = flag(config, "tie_word_embeddings", True)
    table = vocab * h
    head = 0 if tied else vocab * h
    attention, mlp = (enc + 2 * dec) * attention_one, (enc + dec) * feed
    total = table + head + attention + mlp + norms + extra
    context = number(config, "positions") or _one(config, "max_target_positions") or 512
    return ModelDescription(
        kind="encoder-decoder", parameters=total, active_parameters=total, embedding_parameters=table,
        head_parameters=head, attention_parameters=attention, mlp_parameters=mlp, norm_parameters=norms,
        audio_parameters=0, other_parameters=extra, layers=enc + dec, hidden=h, heads=heads, kv_heads=heads,
        head_dim=head_dim, intermediate=f, vocab=vocab, tied=tied, gated=gated, norm="rms" if t5 else "layer",
        cross_layers=dec, eager_attention=t5, cache_layers=2 * dec, cache_width=2 * inner, max_context=context, dropout=True, attention_dropout=t5,
        activation="gelu" if gated or not t5 else "relu",
        largest_layer_parameters=max(table, 2 * attention_one + feed), exact=kind in ("t5", "whisper", "bart"),
    )  # fmt: skip


def _one(config: Mapping[str, Any], name: str) -> int | None:
    return checked(name, config[name], NAMES["positions"][1]) if config.get(name) is not None else None


def _positions(config: Mapping[str, Any], kind: str, h: int) -> int:
    if kind == "whisper":
        mels = named(config, "num_mel_bins", 10_000) or 80
        source = named(config, "max_source_positions") or 1500
        target = named(config, "max_target_positions") or 448
        # Two convolutions, both position tables, and the final norms of both halves.
        return 3 * mels * h + h + 3 * h * h + h + (source + target) * h + 4 * h
    positions = number(config, "positions") or 1024
    return 2 * (positions + 2) * h + 4 * h
