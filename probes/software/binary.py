"""What the first bytes of a program say: its format, word size and processor (ELF, PE and Mach-O headers)."""

from __future__ import annotations

import struct

import msgspec

# e_machine of the ELF header, Machine of the PE header, cputype of the Mach-O header; the values stand in
# elf.h, winnt.h and mach/machine.h of the systems that define them.
_ELF = {
    0x03: "x86", 0x3E: "x86_64", 0x28: "arm", 0xB7: "aarch64", 0xF3: "riscv64", 0x102: "loongarch64", 0x16: "s390x",
}  # fmt: skip
_PE = {0x014C: "x86", 0x8664: "x86_64", 0xAA64: "aarch64", 0x01C4: "arm"}
_MACH = {0x01000007: "x86_64", 0x0100000C: "aarch64", 0x00000007: "x86"}


class Header(msgspec.Struct, frozen=True):
    """`archs` holds several words for a universal Mac program; empty where the processor has no name here."""

    bits: int | None
    archs: tuple[str, ...]


def header(digits: str) -> Header | None:
    """The header in DIGITS, hexadecimal digits of a program's first bytes (512 suffice); None: none of the formats."""
    try:
        raw = bytes.fromhex(digits)
        return _elf(raw) or _mach(raw) or _pe(raw)
    except (ValueError, struct.error):
        return None


def _elf(raw: bytes) -> Header | None:
    if raw[:4] != b"\x7fELF" or len(raw) < 20:
        return None
    order = {1: "<", 2: ">"}.get(raw[5])
    if order is None:
        return None
    (machine,) = struct.unpack_from(order + "H", raw, 18)
    bits = {1: 32, 2: 64}.get(raw[4])
    name = _ELF.get(machine)
    if machine == 0x15:  # PowerPC 64: the byte order is part of the name
        name = "ppc64le" if order == "<" else "ppc64"
    if machine == 0xF3 and bits == 32:
        name = "riscv32"
    return Header(bits, (name,) if name else ())


def _pe(raw: bytes) -> Header | None:
    if raw[:2] != b"MZ":
        return None
    (place,) = struct.unpack_from("<I", raw, 0x3C)
    if raw[place : place + 4] != b"PE\0\0":
        return None
    (machine,) = struct.unpack_from("<H", raw, place + 4)
    (magic,) = struct.unpack_from("<H", raw, place + 24)
    name = _PE.get(machine)
    return Header({0x10B: 32, 0x20B: 64}.get(magic), (name,) if name else ())


def _mach(raw: bytes) -> Header | None:
    (magic,) = struct.unpack_from(">I", raw, 0)
    if magic in (0xCFFAEDFE, 0xCEFAEDFE):
        (kind,) = struct.unpack_from("<I", raw, 4)
        name = _MACH.get(kind)
        return Header(64 if magic == 0xCFFAEDFE else 32, (name,) if name else ())
    if magic in (0xCAFEBABE, 0xCAFEBABF):
        (count,) = struct.unpack_from(">I", raw, 4)
        if count > 8:  # a Java class file begins with the same four bytes
            return None
        size = 20 if magic == 0xCAFEBABE else 32
        kinds = [struct.unpack_from(">I", raw, 8 + size * number)[0] for number in range(count)]
        return Header(64, tuple(_MACH[kind] for kind in kinds if kind in _MACH))
    return None
