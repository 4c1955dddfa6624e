"""An ONNX file's weights by number and type, found by walking over the fields of its message."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knowledge.documents import BadInput
from knowledge.text import Text
from probes.model_files.cursor import Cursor
from probes.model_files.reading import LIMIT_PARAMETERS, ModelFileReading

LIMIT_FIELDS = 200_000
ONNX_BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 16: 16, 17: 8, 18: 8,
             19: 8, 20: 8, 21: 4, 22: 4, 23: 4}  # fmt: skip


def graph(place: Path) -> ModelFileReading:
    """Initializers of the main graph, found by walking over the message's fields; weights are passed over."""
    size = place.stat().st_size
    types: dict[str, int] = {}
    weights = count = 0
    seen_graph = False
    with place.open("rb") as stream:
        at = Cursor(stream, size, str(place))
        budget = [LIMIT_FIELDS]
        for field, length in _fields(at, size, budget):
            if field != 7:
                at.skip(length)
                continue
            seen_graph = True
            for inner, inner_length in _fields(at, at.position + length, budget):
                if inner != 5:
                    at.skip(inner_length)
                    continue
                number, kind = _initializer(at, at.position + inner_length, budget)
                if number > LIMIT_PARAMETERS:
                    raise BadInput(Text(
                        f"{place}: a tensor is said to have {number} values, which no model has.",
                        f"{place}：某个张量声称有 {number} 个值，没有模型会这样。",
                    ))  # fmt: skip
                count += 1
                types[str(kind)] = types.get(str(kind), 0) + number
                weights += -(-number * ONNX_BITS.get(kind, 32) // 8)
    if not seen_graph:
        raise BadInput(Text(f"{place}: holds no ONNX graph.", f"{place}：不含 ONNX 图。"))
    return ModelFileReading(
        format="onnx", path=str(place), parameters=sum(types.values()), weights_bytes=weights, tensors=count,
        types=types,
    )  # fmt: skip


def _varint(at: Cursor) -> int:
    value = shift = 0
    while True:
        byte = at.take(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise BadInput(Text(
                "the ONNX file holds a number that is too long; it is damaged or no ONNX file.",
                "ONNX 文件中有过长的数字；文件已损坏或不是 ONNX 文件。",
            ))  # fmt: skip


def _fields(at: Cursor, end: int, budget: list[int]) -> Iterator[tuple[int, int]]:
    """Length-delimited fields up to END as (number, length), the cursor at their content; other fields are passed."""
    while at.position < end:
        budget[0] -= 1
        if budget[0] < 0:
            raise BadInput(Text(
                f"the ONNX file holds more than {LIMIT_FIELDS} fields, more than are looked at here.",
                f"ONNX 文件的字段超过 {LIMIT_FIELDS} 个，超出此处读取的上限。",
            ))  # fmt: skip
        key = _varint(at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            _varint(at)
        elif wire == 1:
            at.skip(8)
        elif wire == 5:
            at.skip(4)
        elif wire == 2:
            length = _varint(at)
            if field == 0 or length > end - at.position:
                raise BadInput(Text(
                    "the ONNX file is damaged: a part is longer than what holds it.",
                    "ONNX 文件已损坏：某一部分超出了它所在的范围。",
                ))  # fmt: skip
            target = at.position + length
            yield field, length
            if at.position != target:
                at.skip(target - at.position)
        else:
            raise BadInput(Text(
                "the file holds no ONNX message (a field of an unknown kind).",
                "文件不含 ONNX 消息（字段类型未知）。",
            ))  # fmt: skip


def _initializer(at: Cursor, end: int, budget: list[int]) -> tuple[int, int]:
    """Number of values and number type of a tensor; its content is passed over."""
    number, kind = 1, 1
    while at.position < end:
        budget[0] -= 1
        if budget[0] < 0:
            raise BadInput(Text(
                f"the ONNX file holds more than {LIMIT_FIELDS} fields, more than are looked at here.",
                f"ONNX 文件的字段超过 {LIMIT_FIELDS} 个，超出此处读取的上限。",
            ))  # fmt: skip
        key = _varint(at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value = _varint(at)
            if field == 1:
                number *= value
            elif field == 2:
                kind = value
        elif wire == 2:
            length = _varint(at)
            if length > end - at.position:
                raise BadInput(Text(
                    "the ONNX file is damaged: a tensor is longer than what holds it.",
                    "ONNX 文件已损坏：某个张量超出了它所在的范围。",
                ))  # fmt: skip
            stop = at.position + length
            if field == 1 and length <= 160:
                while at.position < stop:
                    number *= _varint(at)
            at.skip(stop - at.position)
        elif wire in (1, 5):
            at.skip(8 if wire == 1 else 4)
        else:
            raise BadInput(Text(
                "the file holds no ONNX message (a field of an unknown kind).",
                "文件不含 ONNX 消息（字段类型未知）。",
            ))  # fmt: skip
        if number > LIMIT_PARAMETERS:
            break
    if at.position < end:
        at.skip(end - at.position)
    return number, kind
