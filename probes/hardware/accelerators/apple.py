"""Apple's GPUs and Neural Engine: the chip's name, Metal's working set, and the cards of Intel Macs."""

from __future__ import annotations

import json
import re

from probes.hardware import macos
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device
from probes.hardware.notes import integer, size_bytes, words_of

VENDOR = "apple"
_MAKERS = (("apple", "apple"), ("amd", "amd"), ("ati", "amd"), ("intel", "intel"), ("nvidia", "nvidia"))


def read(context: Context) -> list[Device]:
    """GPUs of a Mac of every maker, and the Neural Engine of Apple's own chips."""
    host = context.host
    if host.os != "macos":
        return []
    told, source = macos.values(host)
    brand = words_of(told.get("machdep.cpu.brand_string"))
    silicon = context.system.get("arch") == "aarch64"
    devices = []
    if not silicon or host.recorded:
        devices = _listed(context)
    chip = brand if brand and re.match(r"Apple M\d", brand) else None
    if silicon and not any(device.vendor == VENDOR for device in devices):
        rows, text_source = macos.report(host)
        named = next((words_of(v) for k, v in rows if k == "Chip"), None)
        name, where = (chip, source) if chip else (named, text_source)
        if name and name.startswith("Apple"):
            device = Device(VENDOR)
            device.say("name", name, where)
            devices.append(device)
    for device in devices:
        if device.vendor == VENDOR and device.kind == "gpu":
            _unified(context, device, told, source)
    if silicon and devices and context.system.get("virtual") is None and any(d.vendor == VENDOR for d in devices):
        engine = Device(VENDOR, "npu")
        # Every chip of Apple's for the Mac has one; nothing of it can be read.
        engine.say("name", "Apple Neural Engine", devices[0].sources.get("name", source))
        engine.say("integrated", True, devices[0].sources.get("name", source))
        engine.say("memory_kind", "unified", devices[0].sources.get("name", source))
        engine.say("state", "usable", devices[0].sources.get("name", source))
        devices.append(engine)
    return devices


def _listed(context: Context) -> list[Device]:
    host = context.host
    devices = []
    rows, source = macos.profiler(host, "SPDisplaysDataType")
    for row in rows:
        name = words_of(str(row.get("sppci_model") or row.get("_name") or ""))
        if name is None:
            continue
        device = Device(_maker(str(row.get("spdisplays_vendor") or "") + " " + name))
        device.say("name", name, source)
        if device.vendor != VENDOR:
            size = size_bytes(str(row.get("spdisplays_vram") or ""))
            device.say("memory_bytes", size or None, source)
            shared = size_bytes(str(row.get("spdisplays_vram_shared") or ""))
            if shared:
                device.say("shared_bytes", shared, source).say("integrated", True, source).say("memory_kind", "shared", source)
            elif size:
                device.say("memory_kind", "dedicated", source)
        identifier = re.fullmatch(r"0x([0-9a-f]{4})", str(row.get("spdisplays_device-id") or "").lower())
        number = re.search(r"\(0x([0-9a-f]{4})\)", str(row.get("spdisplays_vendor") or "").lower())
        if identifier and number:
            device.say("pci_id", f"{number[1]}:{identifier[1]}", source)
        device.say("state", "usable", source)
        devices.append(device)
    if devices:
        return devices
    text, where = _text(context)
    section = re.search(r"^Graphics/Displays:\s*$(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    for part in re.split(r"^(?= *Chipset Model:)", section[1] if section else "", flags=re.MULTILINE)[1:]:
        fields = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in part.splitlines())}
        name = words_of(fields.get("Chipset Model"))
        if name is None:
            continue
        device = Device(_maker(fields.get("Vendor", "") + " " + name))
        device.say("name", name, where)
        if device.vendor != VENDOR:
            device.say("memory_bytes", size_bytes(fields.get("VRAM (Total)")) or None, where)
        device.say("state", "usable", where)
        devices.append(device)
    return devices


def _text(context: Context) -> tuple[str, str]:
    from probes.hardware.notes import outputs

    for reading in outputs(context.host, "system_profiler") if context.host.recorded else ():
        if reading.ok and not reading.text.lstrip().startswith(("{", "[")):
            return reading.text, reading.source
    return "", "system_profiler"


def _maker(text: str) -> str:
    low = text.lower()
    return next((vendor for word, vendor in _MAKERS if re.search(rf"\b{word}\b|_{word}", low)), "unknown")


def _unified(context: Context, device: Device, told: dict[str, str], source: str) -> None:
    """One memory for all; how much of it Metal may use is a limit of the system, which the user can raise."""
    device.say("integrated", True, device.sources.get("name", source))
    device.say("memory_kind", "unified", device.sources.get("name", source))
    limit = integer(told.get("iogpu.wired_limit_mb"), 1 << 24)
    if limit:
        device.say("usable_bytes", limit << 20, "sysctl iogpu.wired_limit_mb")
    reading = context.host.call("metal")
    if reading.ok:
        try:
            rows = json.loads(reading.text)
        except ValueError:
            rows = []
        row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        size = row.get("working_set_bytes")
        device.say("usable_bytes", size if isinstance(size, int) and 0 < size < 1 << 50 else None, "MTLDevice.recommendedMaxWorkingSetSize")
        device.say("name", words_of(str(row.get("name") or "")), "MTLDevice.name")
    device.say("state", "usable", device.sources.get("name", source))
