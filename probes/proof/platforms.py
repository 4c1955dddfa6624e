"""uv's names of platforms, for questions about another machine."""

from __future__ import annotations

from knowledge.facts import MachineProfile

GLIBC_KNOWN_TO_UV = (17, 40)  # manylinux_2_17 … manylinux_2_40 are platform names of uv


def of(machine: MachineProfile) -> str | None:
    """uv's name of MACHINE's platform; None where it has none."""
    system, arch = machine.system, machine.system.arch
    if arch not in ("x86_64", "aarch64"):
        return None
    if system.os == "linux" and system.libc == "musl":
        return f"{arch}-unknown-linux-musl"
    if system.os == "linux":
        minor = 28
        if system.libc_version and system.libc_version.startswith("2."):
            minor = int("".join(c for c in system.libc_version.split(".")[1] if c.isdigit()) or 28)
        low, high = GLIBC_KNOWN_TO_UV
        return f"{arch}-manylinux_2_{min(max(minor, low), high)}"
    return {"windows": f"{arch}-pc-windows-msvc", "macos": f"{arch}-apple-darwin"}.get(system.os or "")
