"""What a model's file says of the model without reading its weights: config.json, GGUF, safetensors, ONNX.

Such files come from strangers. Each reader looks at no more than a header, checks every count and length against the
size of the file before it believes them, and stops with a sentence; nothing is unpickled, mapped or run.
"""

from __future__ import annotations

from pathlib import Path

from knowledge.documents import BadInput
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
            raise BadInput(f"{path}: there is no such file; a config.json, GGUF, safetensors or ONNX file is meant.")
        if not place.is_file():
            raise BadInput(f"{path}: is not a regular file.")
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
        return safetensors_header.index(index)
    if one.is_file():
        return safetensors_header.headers([one], one)
    if (place / "config.json").is_file():
        return read(place / "config.json")
    raise BadInput(f"{place}: no config.json and no model.safetensors is in this folder.")
