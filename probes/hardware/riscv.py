"""RISC-V instruction sets: the letters and words of an `isa` line."""

from __future__ import annotations

import re


def extensions(isa: str) -> list[str]:
    """rv64imafdcv_zba_zbb as base and extensions: rv64, i, m, a, f, d, c, v, zba, zbb."""
    first, *words = isa.strip().lower().split("_")
    match = re.match(r"(rv\d+)([a-z]*)", first)
    if match is None:
        return []
    letters = re.sub(r"[zsx][a-z]{2,}.*", "", match[2])
    return [match[1], *letters, *(word for word in words if re.fullmatch(r"[a-z][a-z0-9]*", word))]
