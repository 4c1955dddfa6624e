"""Tables that many makers' tools print after nvidia-smi's example: a row with number, name and bus address, a row below
with used and total memory."""

from __future__ import annotations

import re

from probes.hardware.accelerators.device import Device
from probes.hardware.notes import size_bytes, words_of
from probes.hardware.pci import address_of

_BUS = re.compile(
    r"(?<![0-9A-Fa-f:.])"
    r"((?:[0-9A-Fa-f]{2,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})"
    r"(?![0-9A-Fa-f:])"
)
_TOTAL = (
    r"\d+\s*(?:[MG]i?B)?\s*/\s*(\d+(?:\.\d+)?)\s*([MG])i?B", r"\d+\s*[MG]i?B\s*\(\s*(\d+)\s*([MG])i?B\s*\)",
    r"\b\d+\s*/\s*(\d{3,7})()(?=\s*(?:\||$))", r"^\s*\|?[^|]*\|\s*(\d{4,7})\s*([MG])iB\b",
)  # fmt: skip


def devices(text: str, vendor: str, kind: str, source: str) -> list[Device]:
    """One device for each row with a bus address. Words between number and address are the name."""
    found: list[Device] = []
    lines = text.splitlines()
    driver = driver_version(text)
    for place, line in enumerate(lines):
        bus = _BUS.search(line)
        row = re.match(r"^[|\s]*(\d{1,4})\b[\s|/]+(\S.*)$", line[: bus.start()] if bus else "")
        if bus is None or row is None:
            continue
        device = Device(vendor, kind, address=address_of(bus[1]))
        device.say("name", _name(row[2]), source)
        below = lines[place + 1] if place + 1 < len(lines) else ""
        for part in (line[bus.end() :], below):
            size = _total(part)
            if size:
                device.say("memory_bytes", size, source)
                break
        device.say("driver_version", driver, source)
        device.say("state", "usable", source)
        found.append(device)
    return found


def _name(text: str) -> str | None:
    cell = re.split(r"\s*\||\s{2,}", text.strip())[0]
    name = words_of(re.sub(r"\s+(?:N/A|On|Off|Enabled?|Disabled?)$", "", cell))
    return name if name and re.search(r"[A-Za-z]", name) else None


def _total(text: str) -> int | None:
    for pattern in _TOTAL:
        match = re.search(pattern, text)
        if match:
            return size_bytes(f"{match[1]} {match[2] or 'M'}B") or None
    return None


def driver_version(text: str) -> str | None:
    """What follows "Driver Version:", "Driver Ver:", "Kernel Mode Driver Version:" or cnmon's "Driver v"."""
    match = re.search(r"Driver(?:\s+Ver(?:sion)?)?\s*:?\s*v?(\d+(?:\.\d+)+[\w.-]*)", text[:4000])
    return match[1] if match else None
