"""A short list of processor flags says more than it names."""

from __future__ import annotations

from knowledge.instruction_sets import with_implied


def test_what_follows() -> None:
    assert {"avx", "sse4_2", "ssse3", "sse2"} <= with_implied(["avx2"])
    assert "avx2" in with_implied(["avx512f"])
    assert with_implied(["sse4_2"]) >= {"sse4_1"}
    assert "avx" not in with_implied(["sse4_2"])
    assert with_implied([]) == frozenset()
