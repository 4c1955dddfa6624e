"""What a reading of a model's file holds, and the limits that no real file reaches."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Format = Literal["config", "gguf", "safetensors", "onnx"]

LIMIT_TENSORS = 300_000
LIMIT_PARAMETERS = 10**15


class ModelFileReading(msgspec.Struct, frozen=True, kw_only=True):
    """What the file states, as builtins that `knowledge.sizing.describe` understands."""

    format: Format
    path: str
    parameters: int | None = None  # counted over tensors; None for a configuration alone
    weights_bytes: int | None = None  # of all tensors
    tensors: int | None = None
    types: dict[str, int] = {}  # parameters by number type
    config: dict[str, Any] | None = None  # a config.json: the file itself, or the one beside the weights
    metadata: dict[str, Any] = {}  # GGUF: numbers and short words of its header
    shapes: dict[str, list[int]] = {}  # safetensors: the few tensors that tell the model's shape
