"""Which x86 instruction sets follow from others: a short list of flags says more than it names."""

from __future__ import annotations

from collections.abc import Iterable

# Each flag and what every processor that has it also has (Intel's and AMD's manuals; x86-64 micro-architecture levels).
IMPLIES: dict[str, tuple[str, ...]] = {
    "amx_tile": ("avx512f",), "avx512_bf16": ("avx512f",), "avx512_fp16": ("avx512f",), "avx512_vnni": ("avx512f",),
    "avx512bw": ("avx512f",), "avx512vl": ("avx512f",), "avx512dq": ("avx512f",), "avx512f": ("avx2", "fma", "f16c"),
    "avx_vnni": ("avx2",), "avx2": ("avx",), "fma": ("avx",), "f16c": ("avx",), "avx": ("sse4_2", "popcnt"),
    "sse4_2": ("sse4_1",), "sse4_1": ("ssse3",), "ssse3": ("pni",), "pni": ("sse2",), "sse2": ("sse",),
}  # fmt: skip


def with_implied(flags: Iterable[str]) -> frozenset[str]:
    """FLAGS (Linux spelling) and all that follow from them."""
    found: set[str] = set()
    ahead = list(flags)
    while ahead:
        flag = ahead.pop()
        if flag not in found:
            found.add(flag)
            ahead += IMPLIES.get(flag, ())
    return frozenset(found)
