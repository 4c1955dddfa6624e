"""Model files are read by their headers: what true ones say, and how quickly false ones are refused."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from knowledge import sizing
from knowledge.documents import BadInput
from probes import model_files
from probes.model_files import gguf_header

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip


def safetensors(path: Path, tensors: dict[str, tuple[str, list[int]]], metadata: bool = True) -> int:
    """A file of zeros with TENSORS (type and shape by name); returns the number of values."""
    sizes = {"F32": 4, "BF16": 2, "I32": 4}
    header: dict[str, object] = {"__metadata__": {"format": "pt"}} if metadata else {}
    at = total = 0
    for name, (kind, shape) in tensors.items():
        number = int(numpy.prod(shape))
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + number * sizes[kind]]}
        at += number * sizes[kind]
        total += number
    raw = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + b"\0" * at)
    return total


def llama_tensors(layers: int, h: int, f: int, k: int, vocab: int) -> dict[str, tuple[str, list[int]]]:
    found: dict[str, tuple[str, list[int]]] = {"model.embed_tokens.weight": ("BF16", [vocab, h])}
    for n in range(layers):
        at = f"model.layers.{n}"
        found |= {
            f"{at}.self_attn.q_proj.weight": ("BF16", [h, h]), f"{at}.self_attn.k_proj.weight": ("BF16", [k, h]),
            f"{at}.self_attn.v_proj.weight": ("BF16", [k, h]), f"{at}.self_attn.o_proj.weight": ("BF16", [h, h]),
            f"{at}.mlp.gate_proj.weight": ("BF16", [f, h]), f"{at}.mlp.up_proj.weight": ("BF16", [f, h]),
            f"{at}.mlp.down_proj.weight": ("BF16", [h, f]), f"{at}.input_layernorm.weight": ("BF16", [h]),
            f"{at}.post_attention_layernorm.weight": ("BF16", [h]),
        }  # fmt: skip
    return found | {"model.norm.weight": ("BF16", [h]), "lm_head.weight": ("BF16", [vocab, h])}


def test_a_configuration_is_described_exactly(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    reading = model_files.read(path)
    assert reading.format == "config"
    found = sizing.describe(reading)
    # 2 tables of 100 x 64; per layer 2 x 64² + 2 x 64 x 32 attention, 3 x 64 x 128 feed-forward, 2 x 64 norms; one norm.
    assert found.parameters == 2 * 6400 + 2 * (2 * 4096 + 2 * 2048 + 24576 + 128) + 64
    assert found.architecture == "LlamaForCausalLM"
    assert found.exact


def test_safetensors_agree_with_the_configuration_beside_them(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    total = safetensors(tmp_path / "model.safetensors", llama_tensors(2, 64, 128, 32, 100))
    reading = model_files.read(tmp_path)
    assert (reading.parameters, reading.weights_bytes) == (total, 2 * total)
    assert sizing.describe(reading).parameters == total == sizing.describe(LLAMA).parameters


def test_safetensors_alone_tell_their_shape(tmp_path: Path) -> None:
    path = tmp_path / "some.safetensors"
    total = safetensors(path, llama_tensors(3, 256, 512, 128, 1000))
    found = sizing.describe(model_files.read(path))
    assert (found.parameters, found.layers, found.hidden, found.kv_heads, found.vocab) == (total, 3, 256, 2, 1000)
    assert not found.exact
    assert found.notes


def test_an_index_adds_its_files_up(tmp_path: Path) -> None:
    first = safetensors(tmp_path / "model-1.safetensors", {"a.weight": ("F32", [10, 10])})
    second = safetensors(tmp_path / "model-2.safetensors", {"b.weight": ("F32", [7])})
    index = tmp_path / "model.safetensors.index.json"
    names = {"a.weight": "model-1.safetensors", "b.weight": "model-2.safetensors"}
    index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
    assert model_files.read(index).parameters == first + second


def test_an_index_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../secret.safetensors"}}))
    with pytest.raises(BadInput, match="plain name"):
        model_files.read(index)


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    import gguf

    path = tmp_path / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Small One")
    writer.add_block_count(2)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(128)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(2048)
    writer.add_file_type(7)
    writer.add_token_list([f"t{n}" for n in range(100)])
    for name, (_, shape) in llama_tensors(2, 64, 128, 32, 100).items():
        data = numpy.zeros(shape, dtype=numpy.float32)
        if len(shape) == 2:
            packed = gguf.quants.quantize(data, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_gguf_agrees_with_the_library(gguf_file: Path) -> None:
    import gguf

    theirs = gguf.GGUFReader(gguf_file)
    reading = model_files.read(gguf_file)
    assert reading.tensors == len(theirs.tensors)
    assert reading.parameters == sum(int(t.n_elements) for t in theirs.tensors)
    assert reading.weights_bytes == sum(int(t.n_bytes) for t in theirs.tensors)
    theirs.data._mmap.close()
    found = sizing.describe(reading)
    assert (found.name, found.layers, found.kv_heads, found.vocab, found.max_context) == ("Small One", 2, 2, 100, 2048)
    assert found.parameters == sizing.describe(LLAMA).parameters
    assert found.weight_format == "gguf:Q8_0"


def test_block_sizes_are_those_of_the_library() -> None:
    from gguf.constants import GGML_QUANT_SIZES

    theirs = {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
    for kind, sizes in gguf_header.GGML_BLOCKS.items():
        assert theirs.get(kind, sizes) == sizes, kind


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def test_onnx_weights_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    one = field(1, 3) + field(1, 5) + field(2, 1) + field(8, b"w") + field(9, b"\0" * 60)
    two = field(1, varint(4)) + field(2, 10) + field(9, b"\0" * 8)  # packed dimensions, 16-bit
    path.write_bytes(field(1, 8) + field(2, b"maker") + field(7, field(1, b"node") + field(5, one) + field(5, two)))
    reading = model_files.read(path)
    assert (reading.parameters, reading.weights_bytes, reading.tensors) == (19, 68, 2)
    assert sizing.describe(reading).parameters == 19


def test_onnx_of_the_runtime_agrees(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weights = onnx.numpy_helper.from_array(numpy.zeros((8, 4), dtype=numpy.float32), "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    take = onnx.helper.make_tensor_value_info("x", 1, [1, 8])
    give = onnx.helper.make_tensor_value_info("y", 1, [1, 4])
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", [take], [give], [weights])), path)
    assert model_files.read(path).parameters == 32


def gguf_start(tensors: int, keys: int) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys)


def gguf_key(name: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value


HOSTILE: dict[str, Callable[[], bytes]] = {
    "claims-2-to-60-tensors.gguf": lambda: gguf_start(2**60, 0) + b"\0" * 64,
    "claims-2-to-60-keys.gguf": lambda: gguf_start(1, 2**60) + b"\0" * 64,
    "long-string.gguf": lambda: gguf_start(0, 1) + struct.pack("<Q", 2**62) + b"\0" * 64,
    "long-list.gguf": lambda: gguf_start(0, 1) + gguf_key(b"k", 9, struct.pack("<IQ", 8, 2**61)) + b"\0" * 64,
    "long-numbers.gguf": lambda: gguf_start(0, 1) + gguf_key(b"k", 9, struct.pack("<IQ", 10, 2**61)) + b"\0" * 64,
    "nested-lists.gguf": lambda: gguf_start(0, 1) + gguf_key(b"k", 9, struct.pack("<IQ", 9, 1) * 40) + b"\0" * 64,
    "many-strings.gguf": lambda: gguf_start(0, 1) + gguf_key(b"k", 9, struct.pack("<IQ", 8, 990_000)) + b"\0" * 8_000_000,
    "large-tensor.gguf": lambda: gguf_start(1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<I4QIQ", 4, 2**63, 2**63, 2**63, 2**63, 0, 0),
    "many-dimensions.gguf": lambda: gguf_start(1, 0) + struct.pack("<Q", 1) + b"t" + struct.pack("<I", 2**31) + b"\0" * 64,
    "unknown-type.gguf": lambda: gguf_start(0, 1) + gguf_key(b"k", 99, b"\0" * 16),
    "cut-short.gguf": lambda: gguf_start(3, 4)[:12],
    "version.gguf": lambda: b"GGUF" + struct.pack("<IQQ", 77, 0, 0),
    "no-architecture.gguf": lambda: gguf_start(0, 0),
    "header-1-gb.safetensors": lambda: struct.pack("<Q", 10**9) + b"{" + b" " * 1000,
    "header-beyond.safetensors": lambda: struct.pack("<Q", 2**63) + b"{}",
    "empty.safetensors": lambda: b"",
    "outside.safetensors": lambda: tensor({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}, 0),
    "shape-lies.safetensors": lambda: tensor({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 16]}}, 16),
    "many-axes.safetensors": lambda: tensor({"a": {"dtype": "F32", "shape": [2**62] * 900, "data_offsets": [0, 0]}}, 0),
    "negative.safetensors": lambda: tensor({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 0]}}, 0),
    "not-json.safetensors": lambda: struct.pack("<Q", 8) + b"\xff" * 8,
    "deep.safetensors": lambda: struct.pack("<Q", 400_000) + b'{"a":' * 80_000,
    "deep/config.json": lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep-list/config.json": lambda: b"[" * 900_000,
    "wide/config.json": lambda: b'{"a":[' + b"[]," * 600_000 + b"[]]}",
    "large/config.json": lambda: b'{"a":"' + b"x" * 3_000_000 + b'"}',
    "list/config.json": lambda: b"[1, 2]",
    "empty/config.json": lambda: b"{}",
    "negative-layers/config.json": lambda: json.dumps({**LLAMA, "num_hidden_layers": -3}).encode(),
    "10-to-12-layers/config.json": lambda: json.dumps({**LLAMA, "num_hidden_layers": 10**12}).encode(),
    "10-to-300-wide/config.json": lambda: json.dumps({**LLAMA, "hidden_size": 10**300}).encode(),
    "words/config.json": lambda: json.dumps({**LLAMA, "hidden_size": "wide"}).encode(),
    "zero-heads/config.json": lambda: json.dumps({**LLAMA, "num_attention_heads": 0}).encode(),
    "infinite/config.json": lambda: b'{"model_type":"llama","hidden_size":1e999,"num_hidden_layers":2}',
    "too-many-kv/config.json": lambda: json.dumps({**LLAMA, "num_key_value_heads": 64}).encode(),
    "too-many-weights/config.json": lambda: json.dumps({**LLAMA, "hidden_size": 10**6, "num_hidden_layers": 9999}).encode(),
    "deep-index.index.json": lambda: b'{"weight_map":' * 50_000,
    "fields.onnx": lambda: field(7, b"\x08\x01" * 2_000_000),
    "dimensions.onnx": lambda: field(7, field(5, field(1, 2**62) * 1000)),
    "beyond.onnx": lambda: varint(7 << 3 | 2) + varint(2**60),
    "long-number.onnx": lambda: b"\xff" * 4000,
    "words.onnx": lambda: b"hello, this is no model at all",
    "pickle.bin": lambda: b"\x80\x04\x95" + b"\0" * 50,
    "archive.pt": lambda: b"PK\x03\x04" + b"\0" * 50,
    "text.txt": lambda: b"hello",
}  # fmt: skip


def tensor(header: dict[str, object], rest: int) -> bytes:
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + b"\0" * rest


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_within_a_second_and_200_mb(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(HOSTILE[name]())
    began = time.process_time()
    with pytest.raises(BadInput) as refused:
        sizing.describe(model_files.read(path))
    elapsed = time.process_time() - began
    assert elapsed < 1.0, elapsed
    assert 20 < len(str(refused.value)) < 500


READS = """
import sys
from knowledge import sizing
from knowledge.documents import BadInput
from probes import model_files
try:
    sizing.describe(model_files.read(sys.argv[1]))
except BadInput:
    # Not getrusage: its peak begins with that of the process that started this one.
    status = open("/proc/self/status", encoding="ascii").read()
    print(status.split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a child is read as Linux counts it")
@pytest.mark.parametrize("name", ["many-strings.gguf", "wide/config.json", "fields.onnx", "deep.safetensors"])
def test_hostile_files_take_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(HOSTILE[name]())
    command = [sys.executable, "-c", READS, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert 0 < int(done.stdout) * 1024 < 200_000_000


def test_absent_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no such file"):
        model_files.read(tmp_path / "none.gguf")
    with pytest.raises(BadInput, match=r"no config\.json"):
        model_files.read(tmp_path)


def test_a_large_honest_header_is_read(tmp_path: Path) -> None:
    """262 144 tokens, as large vocabularies have: read, not refused, within two seconds."""
    tokens = struct.pack("<Q", 6) + b"tokens"
    body = gguf_key(b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 262_144) + tokens * 262_144)
    words = {"embedding_length": 64, "block_count": 1, "attention.head_count": 4, "feed_forward_length": 128}
    keys = [gguf_key(b"general.architecture", 8, struct.pack("<Q", 5) + b"llama"), body]
    keys += [gguf_key(f"llama.{name}".encode(), 4, struct.pack("<I", value)) for name, value in words.items()]
    info = struct.pack("<Q", 1) + b"t" + struct.pack("<I2QIQ", 2, 64, 262_144, 1, 0)
    path = tmp_path / "honest.gguf"
    with path.open("wb") as stream:
        stream.write(gguf_start(1, len(keys)) + b"".join(keys) + info)
        stream.truncate(stream.tell() + 64 * 262_144 * 2 + 64)
    began = time.process_time()
    found = sizing.describe(model_files.read(path))
    assert time.process_time() - began < 2.0
    assert (found.vocab, found.parameters) == (262_144, 64 * 262_144)
