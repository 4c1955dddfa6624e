"""What the first bytes of a program tell."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.host import LocalHost
from probes.software import binary
from tests.probes.software.memory_host import elf, mach, pe


@pytest.mark.parametrize(
    ("digits", "bits", "archs"),
    [
        (elf(), 64, ("x86_64",)),
        (elf(0xB7), 64, ("aarch64",)),
        (elf(0x03, 1), 32, ("x86",)),
        (elf(0x15), 64, ("ppc64le",)),
        (elf(0xF3), 64, ("riscv64",)),
        (elf(0x9999), 64, ()),
        (pe(), 64, ("x86_64",)),
        (pe(0x14C, 0x10B), 32, ("x86",)),
        (pe(0xAA64), 64, ("aarch64",)),
        (mach(0x0100000C), 64, ("aarch64",)),
        (mach(0x01000007), 64, ("x86_64",)),
        (mach(0x01000007, 0x0100000C), 64, ("x86_64", "aarch64")),
    ],
)
def test_header_names_the_processor(digits: str, bits: int, archs: tuple[str, ...]) -> None:
    assert binary.header(digits) == binary.Header(bits, archs)


@pytest.mark.parametrize("digits", ["", "zz", b"#!/bin/sh\n".hex(), "4d5a", "7f454c46", "cafebabe0000003d00"])
def test_what_is_no_program_has_no_header(digits: str) -> None:
    assert binary.header(digits) is None


@given(st.binary(max_size=300), st.sampled_from([b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe"]))
def test_no_bytes_raise(tail: bytes, magic: bytes) -> None:
    found = binary.header((magic + tail).hex())
    assert found is None or found.bits in (None, 32, 64)


def test_our_own_program_is_told_as_the_interpreter_tells_itself() -> None:
    import os
    import platform
    import struct

    program = os.path.realpath(sys.executable)
    head = LocalHost().call("file_head", program)
    found = binary.header(head.text)
    assert found is not None
    assert found.bits == struct.calcsize("P") * 8
    assert {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine()) in found.archs


def test_a_missing_program_is_missing() -> None:
    assert LocalHost().call("file_head", "/no/such/program").status == "missing"
    assert LocalHost().call("python_version", "3.12 /no/such/program").status == "missing"
