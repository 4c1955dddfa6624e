"""The arrays of our own digits.onnx, read without the onnx package."""

import pathlib


def weights(path):
    """The four arrays of our own ONNX file, read without the onnx package (fields 1 dims, 8 name, 9 raw data)."""
    import numpy as np

    def fields(raw):
        place = 0
        while place < len(raw):
            key, place = number(raw, place)
            if key & 7 == 0:
                value, place = number(raw, place)
            else:
                size, place = number(raw, place)
                value, place = raw[place : place + size], place + size
            yield key >> 3, value

    def number(raw, place):
        value = shift = 0
        while True:
            byte = raw[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, place

    graph = next(value for key, value in fields(pathlib.Path(path).read_bytes()) if key == 7)
    found = {}
    for key, value in fields(graph):
        if key == 5:
            parts = list(fields(value))
            shape = [v for k, v in parts if k == 1]
            told = {k: v for k, v in parts if k in (8, 9)}
            found[told[8].decode()] = np.frombuffer(told[9], "<f4").reshape(shape)
    return found
