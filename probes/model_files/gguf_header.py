"""The header of a GGUF file: its numbers and short words, and the sizes of its tensors."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

from knowledge.documents import BadInput
from knowledge.text import Text
from probes.model_files.cursor import LIMIT_STRINGS, Cursor
from probes.model_files.reading import LIMIT_PARAMETERS, LIMIT_TENSORS, ModelFileReading

LIMIT_KEYS = 20_000

# GGML tensor types: weights in a block, bytes of a block (https://github.com/ggml-org/ggml, gguf-py constants).
GGML_BLOCKS = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 9: (32, 40),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66),
    17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54),
    35: (256, 66), 39: (32, 17),
}  # fmt: skip
GGUF_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
GGUF_STRING, GGUF_ARRAY = 8, 9
# general.file_type of llama.cpp, by number.
GGUF_FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 38: "MXFP4",
}  # fmt: skip


def header(place: Path) -> ModelFileReading:
    """What the GGUF file at PLACE says of itself. Raises BadInput where its counts cannot be."""
    size = place.stat().st_size
    with place.open("rb") as stream:
        at = Cursor(stream, size, str(place))
        at.take(4)
        version = at.number("I")
        if version not in (2, 3):
            raise BadInput(Text(
                f"{place}: is GGUF version {version}; versions 2 and 3 are read.",
                f"{place}：GGUF 版本为 {version}；本程序读取版本 2 和 3。",
            ))  # fmt: skip
        tensors, keys = at.number("Q"), at.number("Q")
        # The smallest entries: a tensor takes 24 bytes and more, a key 13.
        if tensors > LIMIT_TENSORS or tensors * 24 > size:
            raise BadInput(Text(
                f"{place}: says that it holds {tensors} tensors, which its {size} bytes cannot.",
                f"{place}：声称含有 {tensors} 个张量，而文件只有 {size} 字节，不可能容纳。",
            ))  # fmt: skip
        if keys > LIMIT_KEYS or keys * 13 > size:
            raise BadInput(Text(
                f"{place}: says that it holds {keys} keys, which no model has.",
                f"{place}：声称含有 {keys} 个键，没有模型会这样。",
            ))  # fmt: skip
        metadata: dict[str, Any] = {}
        for _ in range(keys):
            name = at.string()
            value = _value(at, at.number("I"), str(place))
            if value is not None and len(name) < 200:
                metadata[name] = value
        types: dict[str, int] = {}
        weights = count = 0
        for _ in range(tensors):
            at.string()
            dimensions = at.number("I")
            if not 0 <= dimensions <= 8:
                raise BadInput(Text(
                    f"{place}: a tensor is said to have {dimensions} dimensions.",
                    f"{place}：某个张量声称有 {dimensions} 个维度。",
                ))  # fmt: skip
            number = math.prod(at.number("Q") for _ in range(dimensions))
            kind, _offset = at.number("I"), at.number("Q")
            block = GGML_BLOCKS.get(kind)
            if block is None:
                raise BadInput(Text(
                    f"{place}: holds a tensor of type {kind}, which is not known here.",
                    f"{place}：含有类型为 {kind} 的张量，此处未知。",
                ))  # fmt: skip
            bytes_here = -(-number // block[0]) * block[1]
            if number > LIMIT_PARAMETERS:
                raise BadInput(Text(
                    f"{place}: a tensor is said to have {number} weights, which no model has.",
                    f"{place}：某个张量声称有 {number} 个权重，没有模型会这样。",
                ))  # fmt: skip
            weights += bytes_here
            count += number
            types[str(kind)] = types.get(str(kind), 0) + number
        if weights > size and not metadata.get("split.count"):
            raise BadInput(Text(
                f"{place}: its tensors need {weights} bytes, but the file has {size}; it is cut short.",
                f"{place}：张量需要 {weights} 字节，而文件只有 {size} 字节，文件不完整。",
            ))  # fmt: skip
    file_type = metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type in GGUF_FILE_TYPES:
        metadata["stackfit.format"] = GGUF_FILE_TYPES[file_type]
    return ModelFileReading(
        format="gguf", path=str(place), parameters=count, weights_bytes=weights, tensors=tensors, types=types,
        metadata=metadata,
    )  # fmt: skip


def _value(at: Cursor, kind: int, name: str, depth: int = 0) -> Any:
    """A value of a GGUF header: numbers and short words as they are, a list as its length and largest number."""
    if kind in GGUF_FIXED:
        return at.number(GGUF_FIXED[kind])
    if kind == GGUF_STRING:
        return at.string()
    if kind != GGUF_ARRAY or depth > 2:
        raise BadInput(Text(
            f"{name}: holds a value of type {kind}, which GGUF does not know.",
            f"{name}：含有类型为 {kind} 的值，GGUF 没有这种类型。",
        ))  # fmt: skip
    inner, length = at.number("I"), at.number("Q")
    if inner in GGUF_FIXED:
        width = struct.calcsize("<" + GGUF_FIXED[inner])
        if length <= 4096:
            numbers = [at.number(GGUF_FIXED[inner]) for _ in range(length)]
            return {"length": length, "numbers": numbers}
        at.skip(length * width)
        return {"length": length}
    if length > LIMIT_STRINGS:
        raise BadInput(Text(
            f"{name}: holds a list of {length} entries in its header, which no model has.",
            f"{name}：文件头中有一个 {length} 项的列表，没有模型会这样。",
        ))  # fmt: skip
    if inner == GGUF_STRING:
        at.skip_strings(length)
    else:
        for _ in range(min(length, LIMIT_KEYS)):
            _value(at, inner, name, depth + 1)
    return {"length": length}
