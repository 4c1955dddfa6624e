"""Native calls of Windows: what the registry and kernel32 tell of system, processor, memory and adapters, as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import Any

from probes.native import CallFailed

DISPLAY = "{4d36e968-e325-11ce-bfc1-08002be10318}"
ACCELERATOR = "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}"
# IsProcessorFeaturePresent (winnt.h) in the words of Linux.
FEATURES = {
    6: "sse", 10: "sse2", 13: "pni", 36: "ssse3", 37: "sse4_1", 38: "sse4_2", 39: "avx", 40: "avx2", 41: "avx512f",
    19: "asimd", 30: "aes", 31: "crc32", 34: "atomics", 43: "asimddp", 44: "jscvt", 45: "lrcpc", 46: "sve", 47: "sve2",
    66: "i8mm", 67: "bf16",
}  # fmt: skip
X86_FEATURES = {6, 10, 13, 36, 37, 38, 39, 40, 41}


def system(_arguments: str) -> str:
    """{name, build, arch, long_paths}."""
    version = _values(r"SOFTWARE\Microsoft\Windows NT\CurrentVersion")
    files = _values(r"SYSTEM\CurrentControlSet\Control\FileSystem")
    machine = _values(r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment").get("PROCESSOR_ARCHITECTURE")
    name = str(version.get("ProductName") or "")
    long_paths = files.get("LongPathsEnabled")
    return json.dumps({
        "name": f"Microsoft {name}" if name else None, "build": version.get("CurrentBuildNumber"),
        "arch": machine or os.environ.get("PROCESSOR_ARCHITECTURE"),
        "long_paths": None if long_paths is None else bool(long_paths),
    })  # fmt: skip


def memory(_arguments: str) -> str:
    """{total_bytes, available_bytes, swap_bytes} of GlobalMemoryStatusEx; the page file is the commit limit less memory."""

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_uint32), ("load", ctypes.c_uint32), ("total", ctypes.c_uint64), ("available", ctypes.c_uint64),
            ("commit_limit", ctypes.c_uint64), ("commit_left", ctypes.c_uint64), ("virtual", ctypes.c_uint64),
            ("virtual_left", ctypes.c_uint64), ("extended", ctypes.c_uint64),
        )  # fmt: skip

    status = Status(length=ctypes.sizeof(Status))
    if not _kernel().GlobalMemoryStatusEx(ctypes.byref(status)):
        raise CallFailed("GlobalMemoryStatusEx failed")
    return json.dumps({
        "total_bytes": status.total, "available_bytes": status.available,
        "swap_bytes": max(0, status.commit_limit - status.total),
    })  # fmt: skip


def cpu(_arguments: str) -> str:
    """{name, vendor, mhz, logical_cpus, physical_cores, sockets, numa_nodes, performance_cores, efficiency_cores, flags}."""
    first = _values(r"HARDWARE\DESCRIPTION\System\CentralProcessor\0")
    kernel = _kernel()
    found: dict[str, Any] = {
        "name": first.get("ProcessorNameString"), "vendor": first.get("VendorIdentifier"), "mhz": first.get("~MHz"),
        "logical_cpus": kernel.GetActiveProcessorCount(0xFFFF),  # over all groups: one holds at most 64
    }  # fmt: skip
    length = ctypes.c_uint32()
    kernel.GetLogicalProcessorInformationEx(0xFFFF, None, ctypes.byref(length))
    buffer = ctypes.create_string_buffer(length.value)
    if kernel.GetLogicalProcessorInformationEx(0xFFFF, buffer, ctypes.byref(length)):
        found.update(relations(buffer.raw[: length.value]))
    arm = "arm" in str(first.get("VendorIdentifier", "")).lower() or os.environ.get("PROCESSOR_ARCHITECTURE", "").upper() == "ARM64"
    # AVX-512's and AMX's parts have no number of their own here; what is not told stays unknown.
    asked = [(number, word) for number, word in FEATURES.items() if (number in X86_FEATURES) != arm]
    found["flags"] = [word for number, word in asked if kernel.IsProcessorFeaturePresent(number)]
    return json.dumps(found)


def relations(raw: bytes) -> dict[str, int]:
    """Counts of GetLogicalProcessorInformationEx's records: cores (0), NUMA nodes (1), packages (3)."""
    place, cores, nodes, packages = 0, [], 0, 0
    while place + 8 <= len(raw):
        kind, size = struct.unpack_from("<II", raw, place)
        if size < 8:
            break
        if kind == 0 and size >= 10:
            cores.append(raw[place + 9])  # EfficiencyClass; the highest is the fastest
        elif kind == 1:
            nodes += 1
        elif kind == 3:
            packages += 1
        place += size
    found = {"physical_cores": len(cores), "numa_nodes": nodes, "sockets": packages}
    if len(set(cores)) > 1:
        found["efficiency_cores"] = sum(one == min(cores) for one in cores)
        found["performance_cores"] = len(cores) - found["efficiency_cores"]
    return {name: number for name, number in found.items() if number}


def adapters(_arguments: str) -> str:
    """Values of each display adapter and compute accelerator that is present: [{class, DriverDesc, …, address, problem}]."""
    found = []
    for group in (DISPLAY, ACCELERATOR):
        base = rf"SYSTEM\CurrentControlSet\Control\Class\{group}"
        for name in _children(base):
            if name.isdigit():
                row = _values(rf"{base}\{name}")
                row["class"], row["driver_key"] = group, rf"{group}\{name}"
                found.append(row)
    devices = _present()
    rows = []
    for row in found:
        there = devices.get(str(row.pop("driver_key")).lower())
        if there is not None:
            rows.append({
                **{key: value for key, value in row.items() if key in _KEPT and isinstance(value, (str, int))}, **there
            })  # fmt: skip
    return json.dumps(rows)


_KEPT = {
    "class", "DriverDesc", "ProviderName", "DriverVersion", "MatchingDeviceId", "HardwareInformation.qwMemorySize",
}  # fmt: skip


def _present() -> dict[str, dict[str, Any]]:
    """Devices that are plugged in now, by the key of their driver: {address, problem}."""
    manager: Any = vars(ctypes)["windll"].cfgmgr32 if sys.platform == "win32" else None
    found: dict[str, dict[str, Any]] = {}
    for bus in ("PCI", "ACPI"):
        base = rf"SYSTEM\CurrentControlSet\Enum\{bus}"
        for kind in _children(base):
            for instance in _children(rf"{base}\{kind}"):
                values = _values(rf"{base}\{kind}\{instance}")
                key = str(values.get("Driver") or "").lower()
                if not key.startswith((DISPLAY, ACCELERATOR)):
                    continue
                node, status, problem = ctypes.c_uint32(), ctypes.c_ulong(), ctypes.c_ulong()
                name = rf"{bus}\{kind}\{instance}"
                if manager is None or manager.CM_Locate_DevNodeW(ctypes.byref(node), name, 0) != 0:
                    continue  # known from earlier, not there now
                manager.CM_Get_DevNode_Status(ctypes.byref(status), ctypes.byref(problem), node, 0)
                address = _bus_address(str(values.get("LocationInformation") or ""))
                found[key] = {"address": address, "problem": problem.value}
    return found


def _bus_address(text: str) -> str | None:
    """0000:01:00.0 of `@System32\\drivers\\pci.sys,#65536;PCI bus %1, device %2, function %3;(1,0,0)`."""
    import re

    match = re.search(r"\((\d+),(\d+),(\d+)\)\s*$", text)
    return f"0000:{int(match[1]):02x}:{int(match[2]):02x}.{int(match[3])}" if match else None


def _kernel() -> Any:
    if sys.platform != "win32":
        raise CallFailed("only Windows has kernel32", "missing")
    return ctypes.windll.kernel32


def _values(path: str) -> dict[str, Any]:
    """Values of a key of HKEY_LOCAL_MACHINE; empty where it cannot be opened."""
    if sys.platform != "win32":
        raise CallFailed("only Windows has a registry", "missing")
    import winreg

    found: dict[str, Any] = {}
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY) as key:
            for number in range(winreg.QueryInfoKey(key)[1]):
                name, value, kind = winreg.EnumValue(key, number)
                # A number of 64 bits; some drivers write its bytes as REG_BINARY.
                if isinstance(value, bytes) and (kind == 11 or name.endswith("qwMemorySize")) and len(value) == 8:
                    value = int.from_bytes(value, "little")
                found[name] = value
    except OSError:
        return found
    return found


def _children(path: str) -> list[str]:
    if sys.platform != "win32":
        raise CallFailed("only Windows has a registry", "missing")
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path, 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY) as key:
            return [winreg.EnumKey(key, number) for number in range(winreg.QueryInfoKey(key)[0])]
    except OSError:
        return []


def calls() -> Mapping[str, Callable[[str], str]]:
    """The calls of this module by name."""
    return {"windows_system": system, "windows_memory": memory, "windows_cpu": cpu, "windows_adapters": adapters}
