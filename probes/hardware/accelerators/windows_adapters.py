"""Display adapters and compute accelerators as Windows lists them: CIM, registry, dxdiag, msinfo32, joined by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from probes.hardware import pci, windows
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge
from probes.hardware.notes import integer, outputs, words_of
from probes.host import Host

MIB = 1 << 20
NPU_CLASS = "{f01a9d53-3ff6-48d2-9f97-c8a7004be10c}"
# AdapterRAM is a 32-bit number: from here on it only says "4 GB or more", and below it often lies too.
SATURATED = 4_293_918_720


class Adapter:
    def __init__(self, name: str | None, source: str) -> None:
        self.name = name
        self.source = source
        self.vendor_id = ""
        self.device_id = ""
        self.address: str | None = None
        self.driver: str | None = None
        self.dedicated: tuple[int, str] | None = None
        self.shared: tuple[int, str] | None = None
        self.integrated: bool | None = None
        self.npu = False
        self.problem: int | None = None

    def identify(self, text: str | None) -> None:
        match = re.search(r"VEN_([0-9A-F]{4})(?:&|&amp;)DEV_([0-9A-F]{4})", text or "", re.IGNORECASE)
        if match:
            self.vendor_id, self.device_id = match[1].lower(), match[2].lower()
        elif re.search(r"VEN_QCOM|ACPI\\QCOM|QCOM", text or "", re.IGNORECASE):
            self.vendor_id = "17cb"

    @property
    def vendor(self) -> str | None:
        if self.vendor_id:
            return pci.VENDORS.get(self.vendor_id, f"pci:{self.vendor_id}")
        low = (self.name or "").lower()
        for words, vendor in ((("nvidia", "geforce", "quadro", "tesla"), "nvidia"), (("radeon", "amd ", "firepro", "ati "), "amd"),
                              (("intel",), "intel"), (("adreno", "qualcomm", "hexagon", "snapdragon"), "qualcomm"),
                              (("moore threads", "mtt "), "moore-threads")):  # fmt: skip
            if any(word in low for word in words):
                return vendor
        return None


def adapters(host: Host) -> list[Adapter]:
    """Adapters that are present. Where CIM lists them, registry entries only complete those; old ones stay in the registry."""
    if host.os != "windows":
        return []
    entries = _registry(host)
    present: list[Adapter] = []
    for row, source in windows.instances(host, "Win32_VideoController"):
        name = words_of(row.get("Name") or row.get("Caption") or row.get("Description"))
        if name is None or re.search(r"Remote Display|Basic Display|Basic Render|Mirror|Hyper-V Video", name):
            continue
        one = Adapter(name, source)
        one.identify(row.get("PNPDeviceID"))
        one.driver = words_of(row.get("DriverVersion"))
        code = integer(row.get("ConfigManagerErrorCode"), 1000)
        one.problem = code or None
        present.append(one)
    _msinfo(host, present)
    _dxdiag(host, present)
    if not present:
        # One entry for each card that the registry tells apart; the same card may be listed under several numbers.
        seen: set[tuple[str | None, str, str, str | None]] = set()
        for entry in entries:
            key = (entry.name, entry.vendor_id, entry.device_id, entry.address)
            if key not in seen:
                seen.add(key)
                present.append(entry)
        return present
    for one in present:
        match = next((e for e in entries if _same(one, e) and e.dedicated is not None), None)
        match = match or next((e for e in entries if _same(one, e)), None)
        if match is not None:
            one.dedicated = one.dedicated or match.dedicated
            one.driver = one.driver or match.driver
            one.address = one.address or match.address
            if not one.vendor_id:
                one.vendor_id, one.device_id = match.vendor_id, match.device_id
    for entry in entries:
        if entry.npu:
            present.append(entry)
    return present


def _same(one: Adapter, other: Adapter) -> bool:
    if one.device_id and other.device_id:
        return (one.vendor_id, one.device_id) == (other.vendor_id, other.device_id) and one.npu == other.npu
    return one.name is not None and one.name == other.name


def _registry(host: Host) -> list[Adapter]:
    found = []
    told, source = windows.call(host, "windows_adapters")
    rows: list[tuple[dict[str, Any], str]] = []
    if isinstance(told, list):
        rows += [(row, source) for row in told if isinstance(row, dict)]
    if host.recorded:
        for reading in outputs(host, "reg"):
            rows += [(row, reading.source) for row in exported(reading.text)]
    for row, where in rows:
        name = words_of(str(row.get("DriverDesc") or ""))
        if name is None or re.search(r"Remote Display|Basic Display|Basic Render|Mirror|Hyper-V Video", name):
            continue
        one = Adapter(name, where)
        one.identify(str(row.get("MatchingDeviceId") or ""))
        one.driver = words_of(str(row.get("DriverVersion") or ""))
        size = row.get("HardwareInformation.qwMemorySize")
        if isinstance(size, int) and 16 * MIB <= size < 1 << 44:
            one.dedicated = (size, f"{where} HardwareInformation.qwMemorySize")
        one.npu = str(row.get("class") or "").lower() == NPU_CLASS
        one.address = pci.address_of(str(row.get("address") or ""))
        problem = row.get("problem")
        one.problem = problem if isinstance(problem, int) and problem else None
        found.append(one)
    return found


def exported(text: str) -> list[dict[str, Any]]:
    """Values of each key in the text of `reg export` or `reg query /s`, numbers as numbers."""
    rows: list[dict[str, Any]] = []
    current: dict[str, Any] | None = None
    for line in re.sub(r"\\\r?\n\s*", "", text).splitlines():
        head = re.match(r"\[?(HKEY_[^\]]+?|\d{4})\]?\s*$", line.strip())
        if head and (line.startswith("[") or line.startswith("HKEY")):
            current = {"class": next(iter(re.findall(r"\{[0-9a-fA-F-]{36}\}", head[1])), None)}
            rows.append(current)
            continue
        if current is None:
            continue
        match = re.match(r'"([^"]+)"=(.*)$', line)
        if match:
            current[match[1]] = _exported_value(match[2].strip())
            continue
        match = re.match(r"\s*(\S.*?)\s+(REG_\w+)\s+(.*)$", line)
        if match:
            value = match[3].strip()
            number = match[2] in ("REG_DWORD", "REG_QWORD")
            current[match[1]] = integer(value, 1 << 62) if number else value
    return [row for row in rows if len(row) > 1]


def _exported_value(text: str) -> Any:
    if text.startswith('"'):
        return text.strip('"').replace("\\\\", "\\")
    match = re.match(r"dword:([0-9a-f]{8})$", text, re.IGNORECASE)
    if match:
        return int(match[1], 16)
    match = re.match(r"hex(\([0-9a-f]+\))?:([0-9a-f]{2}(?:,[0-9a-f]{2})*)$", text, re.IGNORECASE)
    if match is None:
        return None
    raw = bytes.fromhex(match[2].replace(",", ""))
    if match[1] == "(b)" or (len(raw) in (4, 8) and match[1] is None):
        return int.from_bytes(raw, "little")
    if len(raw) >= 4 and raw[1::2].count(0) > len(raw) // 3:
        return raw.decode("utf-16-le", "replace").rstrip("\x00")
    return None


def _msinfo(host: Host, present: list[Adapter]) -> None:
    text, source = windows.msinfo(host)
    section = re.search(r"^\[Display\]\s*$(.*?)(?=^\[|\Z)", text, re.MULTILINE | re.DOTALL)
    for part in re.split(r"^(?=Name\t)", section[1] if section else "", flags=re.MULTILINE):
        told = dict(re.findall(r"^([^\t\n]+)\t([^\t\n]*)", part, re.MULTILINE))
        name = words_of(told.get("Name"))
        one = Adapter(name, source)
        one.identify(told.get("PNP Device ID"))
        if name is None or one.vendor_id in pci._SCREENS or one.vendor is None or any(_same(one, p) for p in present):
            continue
        one.driver = words_of(told.get("Driver Version"))
        present.append(one)


def _dxdiag(host: Host, present: list[Adapter]) -> None:
    text, source = windows.dxdiag(host)
    known = bool(present)
    for part in re.split(r"^(?=\s*Card name:)", text, flags=re.MULTILINE)[1:]:
        told: dict[str, str] = {}
        for line in part.splitlines():
            key, mark, value = line.partition(":")
            if mark:
                told.setdefault(key.strip(), value.strip())
        name = words_of(told.get("Card name"))
        one = Adapter(name, source)
        one.identify(told.get("Device Key"))
        if name is None:
            continue
        # One block for each monitor: equal blocks are one card.
        match = next((p for p in present if _same(one, p)), None)
        if match is None:
            if known:
                continue
            present.append(one)
            match = one
        match.driver = match.driver or words_of(told.get("Driver Version"))
        for label, attribute in (("Dedicated Memory", "dedicated"), ("Shared Memory", "shared")):
            size = re.match(r"(\d+) MB", told.get(label, ""))
            if size and getattr(match, attribute) is None:
                setattr(match, attribute, (int(size[1]) * MIB, source))
        hybrid = told.get("Hybrid Graphics GPU", "")
        match.integrated = {"Integrated": True, "Discrete": False}.get(hybrid, match.integrated)


def laid_over(devices: list[Device], context: Context, vendor: str) -> list[Device]:
    """DEVICES of VENDOR with what Windows itself knows of them; its own list where no tool listed any."""
    if context.host.os != "windows":
        return devices
    if "windows_adapters" not in context.memory:
        context.memory["windows_adapters"] = adapters(context.host)
    own: Sequence[Adapter] = [one for one in context.memory["windows_adapters"] if one.vendor == vendor]
    readings = []
    for one in own:
        device = Device(vendor, "npu" if one.npu else "gpu", address=one.address)
        device.say("name", one.name, one.source)
        if one.vendor_id and one.device_id:
            device.say("pci_id", f"{one.vendor_id}:{one.device_id}", one.source)
        device.say("integrated", one.integrated, one.source)
        if one.dedicated is not None:
            device.say("memory_bytes", *one.dedicated)
        if one.shared is not None and one.integrated:
            device.say("shared_bytes", *one.shared)
        if vendor != "nvidia":
            device.say("driver_version", one.driver, one.source)
        elif one.driver:
            device.say("driver_version", nvidia_version(one.driver), one.source)
        if one.problem == 22:
            device.say("state", "disabled", one.source)
        elif one.problem in (28, 1, 3, 10, 31, 43):
            device.say("state", "no_driver", one.source)
        elif vendor != "nvidia" or not devices:
            device.say("state", "usable" if one.driver and context.complete else "unknown", one.source)
        readings.append(device)
    merge(devices, readings, complete=not devices)
    return devices


def nvidia_version(text: str) -> str | None:
    """546.80 of Windows' 31.0.15.4680: the last five digits are NVIDIA's own number."""
    digits = re.sub(r"\D", "", text)
    match = re.fullmatch(r"\d+\.\d+\.\d+\.\d+", text)
    if match is None or len(digits) < 7:
        return None
    third, fourth = text.split(".")[2:]
    own = third[-1] + fourth.zfill(4)
    return f"{int(own[:3])}.{own[3:]}" if own[:3] != "000" else None
