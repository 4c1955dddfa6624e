"""Well-known open models by name, from data/models.yaml."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from knowledge.answers import Model
from knowledge.documents import parse
from knowledge.facts import Base, Source
from knowledge.sizing import config, shape
from knowledge.sizing.description import ModelDescription

# Words at the end of a repository's name that say how the model was tuned or stored, not what it is.
ENDINGS = re.compile(
    r"-(instruct|chat|it|pt|base|hf|gguf|awq|gptq|fp8|bf16|bnb-4bit|4bit|8bit|int4|int8|text|thinking|unsloth|v0\.\d"
    r"|\d{4}|mlx|nvfp4|mxfp4|onnx|quantized|q4-k-m|q8-0)$"
)


class Preset(Base, frozen=True, kw_only=True):
    """One model of the data file: a configuration, or a bare shape; `published` is its publisher's count."""

    id: str
    aliases: tuple[str, ...] = ()
    source: Source
    published: int | None = None
    config: dict[str, Any] | None = None
    shape: Model | None = None


class _File(Base, frozen=True, kw_only=True):
    checked: str
    models: tuple[Preset, ...]


@cache
def presets() -> dict[str, Preset]:
    """All presets by id. Raises BadInput naming the file where the data is malformed."""
    text = resources.files("knowledge").joinpath("data/models.yaml").read_text(encoding="utf-8")
    found = msgspec.convert(parse(text, "data/models.yaml"), _File, strict=True)
    return {one.id: one for one in found.models}


@cache
def description(identifier: str) -> ModelDescription:
    """The preset IDENTIFIER as a description. Raises KeyError where there is none."""
    one = presets()[identifier]
    if one.config is not None:
        return msgspec.structs.replace(config.described(one.config), name=identifier)
    found = shape.described(one.shape or Model(), task="vision")
    assert found is not None
    return msgspec.structs.replace(found, name=identifier, kind="diffusion")


def plain(name: str) -> str:
    """NAME without its owner, in lower case, words joined by hyphens."""
    return re.sub(r"[\s_:/]+", "-", name.strip().lower().rsplit("/", 1)[-1])[:200]


def identified(name: str) -> str | None:
    """Id of the preset that NAME means, with or without owner and ending words; None where none is known."""
    word = plain(name)
    known = {spelled(alias): one.id for one in presets().values() for alias in (one.id, *one.aliases)}
    while True:
        if spelled(word) in known:
            return known[spelled(word)]
        shorter = ENDINGS.sub("", word)
        if shorter == word:
            return None
        word = shorter


def spelled(word: str) -> str:
    return word.replace("-", "").replace(".", "")


def named(name: str) -> ModelDescription | None:
    """The description of the preset that NAME means, or None."""
    identifier = identified(name)
    return None if identifier is None else description(identifier)
