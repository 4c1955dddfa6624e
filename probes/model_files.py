"""What a model's file says of the model without reading its weights: config.json, GGUF, safetensors, ONNX.

Such files come from strangers. Each reader looks at no more than a header, checks every count and length against the
size of the file before it believes them, and stops with a sentence; nothing is unpickled, mapped or run.
"""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from knowledge.documents import LIMIT_DEPTH, BadInput

Format = Literal["config", "gguf", "safetensors", "onnx"]

CONFIG_LIMIT_BYTES = 2_000_000
INDEX_LIMIT_BYTES = 32_000_000
HEADER_LIMIT_BYTES = 32_000_000
LIMIT_SHARDS = 4_000
LIMIT_TENSORS = 300_000
LIMIT_STRINGS = 1_500_000
LIMIT_KEYS = 20_000
LIMIT_FIELDS = 400_000
LIMIT_PARAMETERS = 10**15
SAFETENSORS_BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U8": 8, "BOOL": 8,
    "U16": 16, "U32": 32, "U64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip

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


def read(path: str | Path) -> ModelFileReading:
    """The model file (or the folder of one) at PATH. Raises BadInput with one sentence for anything else."""
    place = Path(path)
    try:
        if place.is_dir():
            return _folder(place)
        if not place.exists():
            raise BadInput(f"{path}: there is no such file; a config.json, GGUF, safetensors or ONNX file is meant.")
        if not place.is_file():
            raise BadInput(f"{path}: is not a regular file.")
        with place.open("rb") as stream:
            start = stream.read(16)
        name = place.name.lower()
        if start[:4] == b"GGUF":
            return _gguf(place)
        if name.endswith(".safetensors"):
            return _safetensors([place], place)
        if name.endswith(".index.json"):
            return _index(place)
        if name.endswith(".json"):
            return ModelFileReading(format="config", path=str(path), config=_config(place))
        if name.endswith(".onnx"):
            return _onnx(place)
        if name.endswith(".gguf"):
            raise BadInput(f"{path}: does not begin with GGUF, so it is no GGUF file (found {start[:4]!r}).")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}.") from None
    if start[:2] == b"PK" or start[:1] == b"\x80" or name.endswith((".bin", ".pt", ".pth", ".ckpt")):
        raise BadInput(f"{path}: is a pickle, which could run code when opened; give the config.json beside it.")
    raise BadInput(f"{path}: is none of config.json, GGUF, safetensors (or its index) and ONNX.")


def _folder(place: Path) -> ModelFileReading:
    index = place / "model.safetensors.index.json"
    one = place / "model.safetensors"
    if index.is_file():
        return _index(index)
    if one.is_file():
        return _safetensors([one], one)
    if (place / "config.json").is_file():
        return read(place / "config.json")
    raise BadInput(f"{place}: no config.json and no model.safetensors is in this folder.")


def _bytes(place: Path, limit: int) -> bytes:
    size = place.stat().st_size
    if size > limit:
        raise BadInput(f"{place}: is {size / 1e6:.0f} MB; such a file is at most {limit // 1_000_000} MB.")
    return place.read_bytes()


def _config(place: Path) -> dict[str, Any]:
    raw = _bytes(place, CONFIG_LIMIT_BYTES)
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{place}: is not JSON: {str(error)[:120]}.") from None
    except RecursionError:
        raise BadInput(f"{place}: is nested deeper than any configuration ({LIMIT_DEPTH} levels).") from None
    if not isinstance(value, dict):
        raise BadInput(f"{place}: expected a mapping of keys, found {type(value).__name__}.")
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > LIMIT_DEPTH:
            raise BadInput(f"{place}: is nested deeper than any configuration ({LIMIT_DEPTH} levels).")
        if isinstance(item, dict):
            stack.extend((v, depth + 1) for v in item.values() if isinstance(v, (dict, list)))
        else:
            stack.extend((v, depth + 1) for v in item if isinstance(v, (dict, list)))
    return value


def _beside(place: Path) -> dict[str, Any] | None:
    """The configuration beside weights, where there is a readable one."""
    config = place.parent / "config.json"
    if not config.is_file():
        return None
    return _config(config)


# --- safetensors -------------------------------------------------------------------------------------------------


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def _index(place: Path) -> ModelFileReading:
    try:
        found = msgspec.json.decode(_bytes(place, INDEX_LIMIT_BYTES), type=_Index)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{place}: is not an index of safetensors files: {str(error)[:120]}.") from None
    names = sorted(set(found.weight_map.values()))
    if not names or len(names) > LIMIT_SHARDS:
        raise BadInput(f"{place}: names {len(names)} files, allowed are 1 to {LIMIT_SHARDS}.")
    for name in names:
        if Path(name).name != name or name.startswith(".") or "\\" in name:
            raise BadInput(f"{place}: names the file {name[:60]!r}, which is not a plain name in its own folder.")
    missing = [name for name in names if not (place.parent / name).is_file()]
    if missing:
        raise BadInput(f"{place}: {len(missing)} of its {len(names)} files are not there, such as {missing[0][:60]}.")
    return _safetensors([place.parent / name for name in names], place)


def _safetensors(files: list[Path], named: Path) -> ModelFileReading:
    types: dict[str, int] = {}
    shapes: dict[str, list[int]] = {}
    size = count = read_bytes = 0
    for file in files:
        length = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(8)
            (header,) = struct.unpack("<Q", start) if len(start) == 8 else (0,)
            if not 2 <= header <= length - 8:
                raise BadInput(f"{file}: its header is said to be {header} bytes, but the file has {length}.")
            read_bytes += header
            if header > HEADER_LIMIT_BYTES or read_bytes > 4 * HEADER_LIMIT_BYTES:
                most = HEADER_LIMIT_BYTES // 10**6
                raise BadInput(f"{file}: its header is {header / 1e6:.0f} MB; at most {most} MB are read.")
            raw = stream.read(header)
        if raw.startswith(b'{"__metadata__"'):
            raw = _without_metadata(raw)
        try:
            tensors = msgspec.json.decode(raw, type=dict[str, _Tensor])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(f"{file}: its header is not that of safetensors: {str(error)[:120]}.") from None
        count += len(tensors)
        if count > LIMIT_TENSORS:
            raise BadInput(f"{named}: holds {count} tensors, allowed are {LIMIT_TENSORS}.")
        for name, tensor in tensors.items():
            begin, end = tensor.data_offsets
            if not 0 <= begin <= end <= length - 8 - header or any(n < 0 for n in tensor.shape):
                raise BadInput(f"{file}: the tensor {name[:60]!r} lies outside the file.")
            number = math.prod(tensor.shape) if len(tensor.shape) <= 16 else LIMIT_PARAMETERS + 1
            bits = SAFETENSORS_BITS.get(tensor.dtype)
            if number > LIMIT_PARAMETERS or (bits is not None and -(-number * bits // 8) != end - begin):
                stated = str(tensor.shape)[:40]
                raise BadInput(f"{file}: the tensor {name[:60]!r} is not as large as its shape {stated} says.")
            types[tensor.dtype] = types.get(tensor.dtype, 0) + number
            size += end - begin
            if _tells(name):
                shapes[name] = tensor.shape
    return ModelFileReading(
        format="safetensors", path=str(named), parameters=sum(types.values()), weights_bytes=size, tensors=count,
        types=types, config=_beside(named), shapes=dict(sorted(shapes.items())[:4000]),
    )  # fmt: skip


def _without_metadata(raw: bytes) -> bytes:
    """The header without its free text, which has another shape than a tensor."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        parts = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        parts.pop("__metadata__", None)
        return msgspec.json.encode(parts)
    return raw


def _tells(name: str) -> bool:
    """Whether a tensor's shape tells the model's: embeddings, the output layer, and the projections of a block."""
    low = name.lower()
    if not low.endswith("weight") or len(name) > 200:
        return False
    words = ("embed", "wte", "lm_head", "q_proj", "k_proj", "gate_proj", "up_proj", "fc1", "c_fc", "c_attn")
    return any(word in low for word in words)


# --- GGUF --------------------------------------------------------------------------------------------------------


class _Cursor:
    """Reads forward through a file in pieces and never past its end."""

    def __init__(self, stream: IO[bytes], size: int, name: str) -> None:
        self._stream, self._size, self._name = stream, size, name
        self._buffer, self._at, self._base = b"", 0, 0
        self.strings = 0

    @property
    def position(self) -> int:
        return self._base + self._at

    def _holds(self, length: int) -> None:
        if length > self._size - self.position:
            raise BadInput(
                f"{self._name}: says that {length} more bytes follow at {self.position}, but it has {self._size} in all."
            )

    def _need(self, length: int) -> None:
        self._holds(length)
        if self._at + length > len(self._buffer):
            rest = self._buffer[self._at :]
            self._base += self._at
            self._at = 0
            self._buffer = rest + self._stream.read(max(length - len(rest), 1 << 20))
            if len(self._buffer) < length:
                raise BadInput(f"{self._name}: ended in the middle of its header.")

    def take(self, length: int) -> bytes:
        self._need(length)
        self._at += length
        return self._buffer[self._at - length : self._at]

    def number(self, code: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def skip(self, length: int) -> None:
        self._holds(length)
        if self._at + length <= len(self._buffer):
            self._at += length
        else:
            self._base, self._at, self._buffer = self.position + length, 0, b""
            self._stream.seek(self._base)

    def string(self, keep: int = 4096) -> str:
        length = self.number("Q")
        self.strings += 1
        if self.strings > LIMIT_STRINGS:
            raise BadInput(f"{self._name}: holds more than {LIMIT_STRINGS} strings, which no model's header has.")
        if length > keep:
            self.skip(length)
            return ""
        return self.take(length).decode("utf-8", "replace")


def _gguf(place: Path) -> ModelFileReading:
    size = place.stat().st_size
    with place.open("rb") as stream:
        at = _Cursor(stream, size, str(place))
        at.take(4)
        version = at.number("I")
        if version not in (2, 3):
            raise BadInput(f"{place}: is GGUF version {version}; versions 2 and 3 are read.")
        tensors, keys = at.number("Q"), at.number("Q")
        # The smallest entries: a tensor takes 24 bytes and more, a key 13.
        if tensors > LIMIT_TENSORS or tensors * 24 > size:
            raise BadInput(f"{place}: says that it holds {tensors} tensors, which its {size} bytes cannot.")
        if keys > LIMIT_KEYS or keys * 13 > size:
            raise BadInput(f"{place}: says that it holds {keys} keys, which no model has.")
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
                raise BadInput(f"{place}: a tensor is said to have {dimensions} dimensions.")
            number = math.prod(at.number("Q") for _ in range(dimensions))
            kind, _offset = at.number("I"), at.number("Q")
            block = GGML_BLOCKS.get(kind)
            if block is None:
                raise BadInput(f"{place}: holds a tensor of type {kind}, which is not known here.")
            bytes_here = -(-number // block[0]) * block[1]
            if number > LIMIT_PARAMETERS:
                raise BadInput(f"{place}: a tensor is said to have {number} weights, which no model has.")
            weights += bytes_here
            count += number
            types[str(kind)] = types.get(str(kind), 0) + number
        if weights > size and not metadata.get("split.count"):
            raise BadInput(f"{place}: its tensors need {weights} bytes, but the file has {size}; it is cut short.")
    file_type = metadata.get("general.file_type")
    if isinstance(file_type, int) and file_type in GGUF_FILE_TYPES:
        metadata["stackfit.format"] = GGUF_FILE_TYPES[file_type]
    return ModelFileReading(
        format="gguf", path=str(place), parameters=count, weights_bytes=weights, tensors=tensors, types=types,
        metadata=metadata,
    )  # fmt: skip


def _value(at: _Cursor, kind: int, name: str, depth: int = 0) -> Any:
    """A value of a GGUF header: numbers and short words as they are, a list as its length and largest number."""
    if kind in GGUF_FIXED:
        return at.number(GGUF_FIXED[kind])
    if kind == GGUF_STRING:
        return at.string()
    if kind != GGUF_ARRAY or depth > 2:
        raise BadInput(f"{name}: holds a value of type {kind}, which GGUF does not know.")
    inner, length = at.number("I"), at.number("Q")
    if inner in GGUF_FIXED:
        width = struct.calcsize("<" + GGUF_FIXED[inner])
        if length <= 4096:
            numbers = [at.number(GGUF_FIXED[inner]) for _ in range(length)]
            return {"length": length, "numbers": numbers}
        at.skip(length * width)
        return {"length": length}
    if length > LIMIT_STRINGS:
        raise BadInput(f"{name}: holds a list of {length} entries in its header, which no model has.")
    for _ in range(length):
        if inner == GGUF_STRING:
            at.string(keep=0)
        else:
            _value(at, inner, name, depth + 1)
    return {"length": length}


# --- ONNX --------------------------------------------------------------------------------------------------------

ONNX_BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 16: 16, 17: 8, 18: 8,
             19: 8, 20: 8, 21: 4, 22: 4, 23: 4}  # fmt: skip


def _onnx(place: Path) -> ModelFileReading:
    """Initializers of the main graph, found by walking over the message's fields; weights are passed over."""
    size = place.stat().st_size
    types: dict[str, int] = {}
    weights = count = 0
    seen_graph = False
    with place.open("rb") as stream:
        at = _Cursor(stream, size, str(place))
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
                    raise BadInput(f"{place}: a tensor is said to have {number} values, which no model has.")
                count += 1
                types[str(kind)] = types.get(str(kind), 0) + number
                weights += -(-number * ONNX_BITS.get(kind, 32) // 8)
    if not seen_graph:
        raise BadInput(f"{place}: holds no ONNX graph.")
    return ModelFileReading(
        format="onnx", path=str(place), parameters=sum(types.values()), weights_bytes=weights, tensors=count,
        types=types,
    )  # fmt: skip


def _varint(at: _Cursor) -> int:
    value = shift = 0
    while True:
        byte = at.take(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
        if shift > 63:
            raise BadInput("the ONNX file holds a number that is too long; it is damaged or no ONNX file.")


def _fields(at: _Cursor, end: int, budget: list[int]) -> Iterator[tuple[int, int]]:
    """Length-delimited fields up to END as (number, length), the cursor at their content; other fields are passed."""
    while at.position < end:
        budget[0] -= 1
        if budget[0] < 0:
            raise BadInput(f"the ONNX file holds more than {LIMIT_FIELDS} fields, more than are looked at here.")
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
                raise BadInput("the ONNX file is damaged: a part is longer than what holds it.")
            target = at.position + length
            yield field, length
            if at.position != target:
                at.skip(target - at.position)
        else:
            raise BadInput("the file holds no ONNX message (a field of an unknown kind).")


def _initializer(at: _Cursor, end: int, budget: list[int]) -> tuple[int, int]:
    """Number of values and number type of a tensor; its content is passed over."""
    number, kind = 1, 1
    while at.position < end:
        budget[0] -= 1
        if budget[0] < 0:
            raise BadInput(f"the ONNX file holds more than {LIMIT_FIELDS} fields, more than are looked at here.")
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
                raise BadInput("the ONNX file is damaged: a tensor is longer than what holds it.")
            stop = at.position + length
            if field == 1 and length <= 160:
                while at.position < stop:
                    number *= _varint(at)
            at.skip(stop - at.position)
        elif wire in (1, 5):
            at.skip(8 if wire == 1 else 4)
        else:
            raise BadInput("the file holds no ONNX message (a field of an unknown kind).")
        if number > LIMIT_PARAMETERS:
            break
    if at.position < end:
        at.skip(end - at.position)
    return number, kind
