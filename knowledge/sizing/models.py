"""The model that is meant: a preset by its name, a configuration, a file's reading, or a count and a shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from knowledge.answers import Answers, Model
from knowledge.documents import BadInput, count
from knowledge.sizing import shape
from knowledge.sizing.description import ModelDescription
from knowledge.text import Text


def of_answers(answers: Answers) -> ModelDescription | None:
    """The model of ANSWERS, or None. What the user states wins over a preset of that name."""
    return of_model(answers.model, answers.task)


def of_model(model: Model, task: str | None = None) -> ModelDescription | None:
    from knowledge.sizing import presets

    preset = presets.named(model.name) if model.name else None
    stated = any(getattr(model, n) is not None for n in (*shape.LIMITS, "active_params"))
    total = count(model.params)
    if preset is not None:
        near = total is None or abs(total / preset.parameters - 1) < 0.04
        same = all(
            value is None or value == getattr(preset, name) or name in ("intermediate", "experts")
            for name, value in ((n, getattr(model, n)) for n in shape.LIMITS)
        )
        if near and same:
            for name in shape.LIMITS:
                shape.positive(name, getattr(model, name))
            return preset
        if not stated and total is not None:
            return scaled(preset, total)
    if total is None and not stated and model.name:
        size = size_in_name(model.name)
        if size is not None:
            total, active = size
            model = msgspec.structs.replace(model, params=total, active_params=active)
    return shape.described(model, task)


def size_in_name(name: str) -> tuple[int, int | None] | None:
    """Parameters that a name such as Qwen3-30B-A3B states: in all, and used per token."""
    found = re.search(r"(?<![\w.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", name.lower().replace("_", "-"))
    if found is None:
        return None
    unit = 1e9 if found.group(3) == "b" else 1e6
    total = round(float(found.group(2)) * unit * (int(found.group(1)) * 0.83 if found.group(1) else 1))
    active = re.search(r"-a(\d+(?:\.\d+)?)b(?![a-z0-9])", name.lower())
    return max(1, total), round(float(active.group(1)) * 1e9) if active else None


def scaled(model: ModelDescription, total: int) -> ModelDescription:
    """MODEL with TOTAL parameters stated for it: the shape stays, the counts are scaled."""
    share = total / model.parameters
    names = [n for n in model.__struct_fields__ if n.endswith("_parameters")]
    values = {n: round(getattr(model, n) * share) for n in names}
    values["parameters"] = total
    return msgspec.structs.replace(model, exact=False, notes=(shape.PARTLY.filled(names="params"),), **values)


def describe(source: Any) -> ModelDescription:
    """A description of SOURCE: answers, a model of the answers, a Hugging Face configuration, or a file's reading.

    A reading is the mapping (or the struct) that `probes.model_files.read` gives. Raises BadInput where it names no
    model, or one with absurd numbers.
    """
    from knowledge.sizing import config, readings

    if isinstance(source, ModelDescription):
        return source
    if isinstance(source, Answers):
        source = source.model
    if isinstance(source, Model):
        found = of_model(source)
        if found is None:
            raise BadInput(Text(
                "key `model`: neither a size (params: 7B), a known name nor a shape is given.",
                "键 `model`：没有给出大小（params: 7B）、已知名称或形状。",
            ))  # fmt: skip
        return found
    if isinstance(source, msgspec.Struct):
        source = msgspec.to_builtins(source)
    if not isinstance(source, Mapping):
        raise BadInput(Text(
            f"a model is described by a mapping of keys, not by {type(source).__name__}.",
            f"模型应以键值映射描述，而不是 {type(source).__name__}。",
        ))  # fmt: skip
    if "format" in source and "path" in source:
        return readings.described(source)
    return config.described(source)
