"""Reads forward through a file of a stranger, in pieces, and never past its end."""

from __future__ import annotations

import struct
from typing import IO, Any

from knowledge.documents import BadInput
from knowledge.text import Text

LIMIT_STRINGS = 1_000_000


class Cursor:
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
                f"{self._name}: says that {length} more bytes follow at {self.position}, but has {self._size} in all."
            )

    def _need(self, length: int) -> None:
        self._holds(length)
        if self._at + length > len(self._buffer):
            rest = self._buffer[self._at :]
            self._base += self._at
            self._at = 0
            self._buffer = rest + self._stream.read(max(length - len(rest), 1 << 20))
            if len(self._buffer) < length:
                raise BadInput(Text(
                    f"{self._name}: ended in the middle of its header.",
                    f"{self._name}：文件头不完整，读到一半就结束了。",
                ))  # fmt: skip

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
            raise BadInput(Text(
                f"{self._name}: holds more than {LIMIT_STRINGS} strings, which no model's header has.",
                f"{self._name}：字符串超过 {LIMIT_STRINGS} 个，模型文件头不会有这么多。",
            ))  # fmt: skip
        if length > keep:
            self.skip(length)
            return ""
        return self.take(length).decode("utf-8", "replace")

    def skip_strings(self, number: int) -> None:
        """Passes NUMBER strings; the same as `string` for each, but quick enough for a vocabulary."""
        self.strings += number
        if self.strings > LIMIT_STRINGS:
            raise BadInput(Text(
                f"{self._name}: holds more than {LIMIT_STRINGS} strings, which no model's header has.",
                f"{self._name}：字符串超过 {LIMIT_STRINGS} 个，模型文件头不会有这么多。",
            ))  # fmt: skip
        length_of = struct.Struct("<Q").unpack_from
        for _ in range(number):
            at = self._at + 8
            if at <= len(self._buffer):
                end = at + length_of(self._buffer, self._at)[0]
                if end <= len(self._buffer):
                    self._at = end
                    continue
            self.skip(self.number("Q"))
