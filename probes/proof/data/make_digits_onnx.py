"""How digits.onnx was made: a network trained with numpy, written as an ONNX file byte by byte (no torch, no onnx).

Run by hand: python make_digits_onnx.py
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

FLOAT, INT64 = 1, 7  # TensorProto.DataType


def varint(number: int) -> bytes:
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def field(number: int, value: int | bytes | str) -> bytes:
    """One protobuf field: a varint for an int, a length-delimited one for bytes and text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def tensor(name: str, values: np.ndarray) -> bytes:
    dims = b"".join(field(1, int(n)) for n in values.shape)
    return dims + field(2, FLOAT) + field(8, name) + field(9, values.astype("<f4").tobytes())


def value_info(name: str, columns: int) -> bytes:
    batch, width = field(2, "batch"), field(1, columns)
    shape = field(1, batch) + field(1, width)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def node(kind: str, inputs: list[str], output: str, **axis: int) -> bytes:
    attributes = b"".join(field(5, field(1, name) + field(3, number) + field(20, 2)) for name, number in axis.items())
    return b"".join(field(1, i) for i in inputs) + field(2, output) + field(4, kind) + attributes


def model(w1: np.ndarray, b1: np.ndarray, w2: np.ndarray, b2: np.ndarray) -> bytes:
    nodes = [
        node("MatMul", ["pixels", "w1"], "m1"), node("Add", ["m1", "b1"], "a1"), node("Relu", ["a1"], "h"),
        node("MatMul", ["h", "w2"], "m2"), node("Add", ["m2", "b2"], "scores"),
    ]  # fmt: skip
    graph = b"".join(field(1, n) for n in nodes) + field(2, "digits")
    graph += b"".join(field(5, tensor(n, v)) for n, v in (("w1", w1), ("b1", b1), ("w2", w2), ("b2", b2)))
    graph += field(11, value_info("pixels", 64)) + field(12, value_info("scores", 10))
    return field(1, 8) + field(2, "stackfit") + field(7, graph) + field(8, field(1, "") + field(2, 17))


def rows_to_learn() -> tuple[np.ndarray, np.ndarray]:
    """Pixels in 0..1 and labels; every fifth row is held out, as in the checks."""
    folder = Path(__file__).parent
    rows = np.frombuffer(gzip.decompress((folder / "digits.u8.gz").read_bytes()), np.uint8).reshape(-1, 65)
    learn = rows[np.arange(len(rows)) % 5 != 4]
    return learn[:, 1:].astype(np.float32) / 16, learn[:, 0]


def train() -> tuple[np.ndarray, ...]:
    x, y = rows_to_learn()
    random = np.random.default_rng(7)
    w1, b1 = random.normal(0, 64**-0.5, (64, 128)).astype(np.float32), np.zeros(128, np.float32)
    w2, b2 = random.normal(0, 128**-0.5, (128, 10)).astype(np.float32), np.zeros(10, np.float32)
    weights = [w1, b1, w2, b2]
    speed = [np.zeros_like(w) for w in weights]
    for _ in range(60):
        order = random.permutation(len(x))
        for start in range(0, len(x), 32):
            batch = order[start : start + 32]
            xb, yb = x[batch] + random.normal(0, 0.08, (len(batch), 64)).astype(np.float32), y[batch]
            h = np.maximum(xb @ weights[0] + weights[1], 0)
            s = h @ weights[2] + weights[3]
            p = np.exp(s - s.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(batch)), yb] -= 1
            p /= len(batch)
            gh = (p @ weights[2].T) * (h > 0)
            gradients = [xb.T @ gh, gh.sum(0), h.T @ p, p.sum(0)]
            for i, g in enumerate(gradients):
                speed[i] = 0.9 * speed[i] - 0.1 * (g + 1e-4 * weights[i])
                weights[i] = (weights[i] + speed[i]).astype(np.float32)
    return tuple(weights)


if __name__ == "__main__":
    Path(__file__).with_name("digits.onnx").write_bytes(model(*train()))
