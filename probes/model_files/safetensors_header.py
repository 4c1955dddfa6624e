"""The headers of safetensors files, alone or behind an index; no weight is read."""

from __future__ import annotations

import contextlib
import math
import struct
from pathlib import Path

import msgspec

from knowledge.documents import BadInput
from knowledge.text import Text
from probes.model_files.json_config import beside, whole
from probes.model_files.reading import LIMIT_PARAMETERS, LIMIT_TENSORS, ModelFileReading

INDEX_LIMIT_BYTES = 32_000_000
HEADER_LIMIT_BYTES = 32_000_000
LIMIT_SHARDS = 4_000
SAFETENSORS_BITS = {
    "F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U8": 8, "BOOL": 8,
    "U16": 16, "U32": 32, "U64": 64, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Index(msgspec.Struct):
    weight_map: dict[str, str]


def index(place: Path) -> ModelFileReading:
    """All files that the index at PLACE names, which lie beside it."""
    try:
        found = msgspec.json.decode(whole(place, INDEX_LIMIT_BYTES), type=_Index)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(Text(
            f"{place}: is not an index of safetensors files: {str(error)[:120]}.",
            f"{place}：不是 safetensors 索引文件：{str(error)[:120]}。",
        )) from None  # fmt: skip
    names = sorted(set(found.weight_map.values()))
    if not names or len(names) > LIMIT_SHARDS:
        raise BadInput(Text(
            f"{place}: names {len(names)} files, allowed are 1 to {LIMIT_SHARDS}.",
            f"{place}：列出了 {len(names)} 个文件，允许 1 到 {LIMIT_SHARDS} 个。",
        ))  # fmt: skip
    for name in names:
        if Path(name).name != name or name.startswith(".") or "\\" in name:
            raise BadInput(Text(
                f"{place}: names the file {name[:60]!r}, which is not a plain name in its own folder.",
                f"{place}：列出的文件 {name[:60]!r} 不是同一文件夹内的普通文件名。",
            ))  # fmt: skip
    missing = [name for name in names if not (place.parent / name).is_file()]
    if missing:
        raise BadInput(Text(
            f"{place}: {len(missing)} of its {len(names)} files are not there, such as {missing[0][:60]}.",
            f"{place}：{len(names)} 个文件中缺少 {len(missing)} 个，例如 {missing[0][:60]}。",
        ))  # fmt: skip
    return headers([place.parent / name for name in names], place)


def headers(files: list[Path], named: Path) -> ModelFileReading:
    """FILES as one model; NAMED is the path that the user gave."""
    types: dict[str, int] = {}
    shapes: dict[str, list[int]] = {}
    size = count = read_bytes = 0
    for file in files:
        length = file.stat().st_size
        with file.open("rb") as stream:
            start = stream.read(8)
            (header,) = struct.unpack("<Q", start) if len(start) == 8 else (0,)
            if not 2 <= header <= length - 8:
                raise BadInput(Text(
                    f"{file}: its header is said to be {header} bytes, but the file has {length}.",
                    f"{file}：文件头声称有 {header} 字节，而文件只有 {length} 字节。",
                ))  # fmt: skip
            read_bytes += header
            if header > HEADER_LIMIT_BYTES or read_bytes > 4 * HEADER_LIMIT_BYTES:
                most = HEADER_LIMIT_BYTES // 10**6
                raise BadInput(Text(
                    f"{file}: its header is {header / 1e6:.0f} MB; at most {most} MB are read.",
                    f"{file}：文件头有 {header / 1e6:.0f} MB；最多读取 {most} MB。",
                ))  # fmt: skip
            raw = stream.read(header)
        if raw.startswith(b'{"__metadata__"'):
            raw = _without_metadata(raw)
        try:
            tensors = msgspec.json.decode(raw, type=dict[str, _Tensor])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadInput(Text(
                f"{file}: its header is not that of safetensors: {str(error)[:120]}.",
                f"{file}：文件头不是 safetensors 格式：{str(error)[:120]}。",
            )) from None  # fmt: skip
        count += len(tensors)
        if count > LIMIT_TENSORS:
            raise BadInput(Text(
                f"{named}: holds {count} tensors, allowed are {LIMIT_TENSORS}.",
                f"{named}：含有 {count} 个张量，最多允许 {LIMIT_TENSORS} 个。",
            ))  # fmt: skip
        for name, tensor in tensors.items():
            begin, end = tensor.data_offsets
            if not 0 <= begin <= end <= length - 8 - header or any(n < 0 for n in tensor.shape):
                raise BadInput(Text(
                    f"{file}: the tensor {name[:60]!r} lies outside the file.",
                    f"{file}：张量 {name[:60]!r} 超出了文件范围。",
                ))  # fmt: skip
            number = math.prod(tensor.shape) if len(tensor.shape) <= 16 else LIMIT_PARAMETERS + 1
            bits = SAFETENSORS_BITS.get(tensor.dtype)
            if number > LIMIT_PARAMETERS or (bits is not None and -(-number * bits // 8) != end - begin):
                stated = str(tensor.shape)[:40]
                raise BadInput(Text(
                    f"{file}: the tensor {name[:60]!r} is not as large as its shape {stated} says.",
                    f"{file}：张量 {name[:60]!r} 的大小与其形状 {stated} 不符。",
                ))  # fmt: skip
            types[tensor.dtype] = types.get(tensor.dtype, 0) + number
            size += end - begin
            if _tells(name):
                shapes[name] = tensor.shape
    return ModelFileReading(
        format="safetensors", path=str(named), parameters=sum(types.values()), weights_bytes=size, tensors=count,
        types=types, config=beside(named), shapes=dict(sorted(shapes.items())[:4000]),
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
