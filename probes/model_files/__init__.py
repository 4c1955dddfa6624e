"""What a model's file says of the model without reading its weights: config.json, GGUF, safetensors, ONNX.

Such files come from strangers. Each reader looks at no more than a header, checks every count and length against the
size of the file before it believes them, and stops with a sentence; nothing is unpickled, mapped or run.
"""

from __future__ import annotations

from pathlib import Path

from knowledge.documents import BadInput
from knowledge.text import Text
from probes.model_files import gguf_header, json_config, onnx_graph, safetensors_header
from probes.model_files.reading import ModelFileReading

__all__ = ["ModelFileReading", "read"]


def read(path: str | Path) -> ModelFileReading:
    """The model file (or the folder of one) at PATH. Raises BadInput with one sentence for anything else."""
    place = Path(path)
    try:
        if place.is_dir():
            return _folder(place)
        if not place.exists():
            raise BadInput(Text(
                f"{path}: there is no such file; a config.json, GGUF, safetensors or ONNX file is meant.",
                f"{path}：没有这个文件；需要 config.json、GGUF、safetensors 或 ONNX 文件。",
            ))  # fmt: skip
        if not place.is_file():
            raise BadInput(Text(f"{path}: is not a regular file.", f"{path}：不是普通文件。"))
        with place.open("rb") as stream:
            start = stream.read(16)
        name = place.name.lower()
        if start[:4] == b"GGUF":
            return gguf_header.header(place)
        if name.endswith(".safetensors"):
            return safetensors_header.headers([place], place)
        if name.endswith(".index.json"):
            return safetensors_header.index(place)
        if name.endswith(".json"):
            return ModelFileReading(format="config", path=str(path), config=json_config.config(place))
        if name.endswith(".onnx"):
            return onnx_graph.graph(place)
        if name.endswith(".gguf"):
            raise BadInput(Text(
                f"{path}: does not begin with GGUF, so it is no GGUF file (found {start[:4]!r}).",
                f"{path}：开头不是 GGUF，因此不是 GGUF 文件（读到 {start[:4]!r}）。",
            ))  # fmt: skip
    except OSError as error:
        why = error.strerror or error
        raise BadInput(Text(f"{path}: cannot be read: {why}.", f"{path}：无法读取：{why}。")) from None
    if start[:2] == b"PK" or start[:1] == b"\x80" or name.endswith((".bin", ".pt", ".pth", ".ckpt")):
        raise BadInput(Text(
            f"{path}: is a pickle, which could run code when opened; give the config.json beside it.",
            f"{path}：是 pickle 文件，打开时可能执行代码；请改用它旁边的 config.json。",
        ))  # fmt: skip
    raise BadInput(Text(
        f"{path}: is none of config.json, GGUF, safetensors (or its index) and ONNX.",
        f"{path}：不是 config.json、GGUF、safetensors（或其索引）或 ONNX 文件。",
    ))  # fmt: skip


def _folder(place: Path) -> ModelFileReading:
    index = place / "model.safetensors.index.json"
    one = place / "model.safetensors"
    if index.is_file():
        return safetensors_header.index(index)
    if one.is_file():
        return safetensors_header.headers([one], one)
    if (place / "config.json").is_file():
        return read(place / "config.json")
    raise BadInput(Text(
        f"{place}: no config.json and no model.safetensors is in this folder.",
        f"{place}：此文件夹中没有 config.json，也没有 model.safetensors。",
    ))  # fmt: skip
