"""Intel GPUs and NPUs: i915's and xe's files, xpu-smi, the render device, the NPU's driver and its library."""

from __future__ import annotations

import re
from typing import Any

from knowledge.facts import Remedy
from knowledge.text import Text
from probes.hardware.accelerators import windows_adapters
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import integer, json_in, outputs, size_bytes, words_of
from probes.hardware.pci import DEVICES, address_of
from probes.host import Host, Reading

VENDOR = "intel"
LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib", "/lib/x86_64-linux-gnu", "/lib64")


def read(context: Context) -> list[Device]:
    """Intel's GPUs, then its NPUs."""
    host = context.host
    functions = [one for one in context.functions if one.vendor == VENDOR]
    gpus = [of_function(one) for one in functions if one.kind[:2] in ("03", "0b")]
    for device in gpus:
        _sysfs(host, device)
    discrete = any(device.address != "0000:00:02.0" for device in gpus)
    if host.recorded or (discrete and any(host.which(name).ok for name in ("xpu-smi", "xpumcli"))):
        for devices in _tools(host):
            merge(gpus, devices, complete=True)
    gpus = windows_adapters.laid_over(gpus, context, VENDOR)
    for device in gpus:
        if device.kind != "gpu":
            continue
        if device.address == "0000:00:02.0":  # where every Intel processor has its own GPU
            device.say("integrated", True, "PCI address 00:02.0")
        elif device.function is not None or ("Arc" in str(device.get("name")) and device.get("memory_bytes")):
            device.say("integrated", False, device.sources.get("pci_address", device.sources.get("name", "")))
        if device.get("integrated"):
            device.say("memory_kind", "shared", device.sources["integrated"])
        elif device.get("integrated") is False:
            device.say("memory_kind", "dedicated", device.sources["integrated"])
        _named(context, device)
        _state(context, device)
    npus = [of_function(one, "npu") for one in functions if one.kind[:2] == "12"]
    for device in npus:
        _named(context, device)
        generation = _NPUS.get(device.function.device_id) if device.function is not None else None
        device.say("name", f"Intel {generation} NPU" if generation else None, device.sources.get("pci_id", "PCI id"))
        _npu_state(context, device)
    return gpus + npus


# Generations of the NPU by device number, as the kernel's driver intel_vpu lists them (drivers/accel/ivpu/ivpu_drv.h).
_NPUS = {"7d1d": "Meteor Lake", "ad1d": "Arrow Lake", "643e": "Lunar Lake", "b03e": "Panther Lake", "fd3e": "Wildcat Lake"}


def _named(context: Context, device: Device) -> None:
    if device.function is not None and device.get("name") is None:
        found = context.name_of(device.function)
        if found:
            device.say("name", found[0] if "Intel" in found[0] else f"Intel {found[0]}", found[1])


def _sysfs(host: Host, device: Device) -> None:
    """Memory of a card, where the driver tells it."""
    folder = f"{DEVICES}/{device.address}"
    total, source = 0, ""
    for name in ("lmem_total_bytes", "tile0/physical_vram_size_bytes", "tile1/physical_vram_size_bytes"):
        size = integer(host.read(f"{folder}/{name}").text)
        if size:
            total, source = total + size, f"{folder}/{name}"
    for card in host.list(f"{folder}/drm").names:
        size = integer(host.read(f"{folder}/drm/{card}/lmem_total_bytes").text)
        if size and not total:
            total, source = size, f"{folder}/drm/{card}/lmem_total_bytes"
    device.say("memory_bytes", total or None, source)


def _tools(host: Host) -> list[list[Device]]:
    readings: list[Reading] = []
    if host.recorded:
        readings = [*outputs(host, "xpu-smi"), *outputs(host, "xpumcli")]
    else:
        program = next(name for name in ("xpu-smi", "xpumcli") if host.which(name).ok)
        listing = host.run([program, "discovery", "-j"])
        readings.append(listing)
        for device in from_tool(listing)[:8]:
            number = device.extra.get("number")
            if number is not None:
                readings.append(host.run([program, "discovery", "-d", str(number), "-j"]))
    # A list of all first, then the pages on one card each, which then find it.
    found = sorted((from_tool(reading) for reading in readings if reading.ok), key=len, reverse=True)
    return [devices for devices in found if devices]


def from_tool(reading: Reading) -> list[Device]:
    """Devices in the text of Intel's xpu-smi: JSON, its boxes, or the table of version 2."""
    text, source = reading.text, reading.source
    told = json_in(text)
    if isinstance(told, dict):
        listed = told.get("device_list")
        rows: list[Any] = listed if isinstance(listed, list) else [told]
        return [_of_json(row, source) for row in rows if isinstance(row, dict) and row.get("device_type", "GPU") == "GPU" and "device_id" in row]
    if re.search(r"^\|\s*Device ID\s*\|", text, re.MULTILINE):
        return _boxes(text, source)
    if "XPU-SMI v" in text or "Intel XPU-SMI" in text:
        return _table(text, source)
    return []


def _pci_id(value: Any) -> str | None:
    number = integer(str(value or ""), 0xFFFF)
    return f"8086:{number:04x}" if number else None


def _of_json(row: dict[str, Any], source: str) -> Device:
    device = Device(VENDOR, address=address_of(str(row.get("pci_bdf_address") or "")))
    device.say("name", words_of(str(row.get("device_name") or "")), source)
    device.say("pci_id", _pci_id(row.get("pci_device_id")), source)
    size = integer(str(row.get("memory_physical_size_byte") or ""))
    device.say("memory_bytes", size or None, source)
    device.say("driver_version", words_of(str(row.get("driver_version") or "")), source)
    device.say("uuid", words_of(str(row.get("uuid") or "")), source)
    device.extra["number"] = integer(str(row.get("device_id")), 4096)
    device.extra["listed"] = True
    return device


def _boxes(text: str, source: str) -> list[Device]:
    found: list[dict[str, str]] = []
    for number, key, value in re.findall(r"^\|\s*(\d*)\s*\|\s*([A-Za-z][A-Za-z0-9 ]*?): (.*?)\s*\|$", text, re.MULTILINE):
        if number:
            found.append({"number": number})
        if found:
            found[-1].setdefault(key, value.strip())
    devices = []
    for row in found:
        device = Device(VENDOR, address=address_of(row.get("PCI BDF Address")))
        device.say("name", words_of(row.get("Device Name")), source)
        device.say("pci_id", _pci_id(row.get("PCI Device ID")), source)
        device.say("memory_bytes", size_bytes(row.get("Memory Physical Size")) or None, source)
        device.say("driver_version", words_of(row.get("Driver Version")), source)
        device.extra["listed"] = True
        devices.append(device)
    return devices


def _table(text: str, source: str) -> list[Device]:
    driver = re.search(r"Driver: (\S+)", text)
    devices = []
    for name, address, size in re.findall(
        r"^\|\s+\d+\s+(\S.*?)\s{2,}\S+\s*\|\s*([0-9a-fA-F:]+\.[0-7])[^|]*\|[^|]*\|\s*\n\|[^|]*\|[^|/]*/\s*(\d+ ?MiB)", text, re.MULTILINE
    ):  # fmt: skip
        device = Device(VENDOR, address=address_of(address))
        device.extra["short_name"] = (words_of(name), source)
        device.say("memory_bytes", size_bytes(size) or None, source)
        device.say("driver_version", driver[1] if driver else None, source)
        device.extra["listed"] = True
        devices.append(device)
    return devices


def _state(context: Context, device: Device) -> None:
    host, notes = context.host, context.notes
    short = device.extra.get("short_name")
    if short is not None and device.get("name") is None:
        device.say("name", *short)
    if device.get("state") is not None:
        return
    driver = device.function.driver if device.function is not None else None
    name, name_zh = str(device.get("name") or "the Intel GPU"), str(device.get("name") or "Intel 显卡")
    if device.extra.get("listed"):
        device.say("state", "usable", device.sources.get("driver_version", "xpu-smi"))
    elif driver in ("vfio-pci", "pci-stub"):
        device.say("state", "disabled", "PCI driver")
    elif host.os != "linux" or not context.complete:
        device.say("state", "usable" if driver in ("i915", "xe") and not context.complete else "unknown", "PCI driver" if driver else "")
    elif driver is None:
        device.say("state", "no_driver", "PCI driver")
        notes.find(
            "driver.missing", "warning", VENDOR,
            Text(f"{name} has no driver: neither i915 nor xe is loaded for it.", f"{name_zh} 没有驱动：未加载 i915 或 xe。"),
            ("no driver", str(device.address)),
        )  # fmt: skip
    else:
        nodes = [node for node in host.list("/dev/dri").names if node.startswith("renderD")]
        if not nodes and context.container:
            device.say("state", "hidden", context.container_source)
            notes.find(
                "accel.hidden", "warning", VENDOR,
                Text(f"{name} is in this computer, but the container was started without /dev/dri.",
                     f"本机有 {name_zh}，但启动容器时没有传入 /dev/dri。"),
                ("missing", "/dev/dri"),
                remedies=(Remedy(code="container_gpu_flag", text=Text(
                    "Start the container with --device=/dev/dri.", "启动容器时加上 --device=/dev/dri。")),),
            )  # fmt: skip
        elif nodes and not any({"r", "w"} <= set(host.access(f"/dev/dri/{node}").text) for node in nodes):
            device.say("state", "permission_denied", "/dev/dri")
            notes.find(
                "accel.permission", "warning", VENDOR,
                Text(f"{name}: this user may not open /dev/dri/{nodes[0]}; join the group render.",
                     f"{name_zh}：当前用户无权打开 /dev/dri/{nodes[0]}；请加入 render 用户组。"),
                ("no read and write access", f"/dev/dri/{nodes[0]}"),
                remedies=(_join(),),
            )  # fmt: skip
        else:
            device.say("state", "usable", "PCI driver")


def _join() -> Remedy:
    return Remedy(code="join_group", text=Text("Join the group render.", "加入 render 用户组。"), commands=("sudo usermod -aG render $USER",))


def _npu_state(context: Context, device: Device) -> None:
    """The NPU needs its kernel module, the right to open its device, and a library that distributions do not bring."""
    host, notes = context.host, context.notes
    function = device.function
    node = next((name for name in host.list("/dev/accel").names if name.startswith("accel")), None)
    if function is None or host.os != "linux" or not (context.complete or node):
        device.say("state", "unknown", "")
        return
    loaded = function.driver == "intel_vpu" or host.access("/sys/module/intel_vpu").ok
    if not loaded and host.recorded:
        loaded = any("intel_vpu" in reading.text for reading in outputs(host, "lsmod"))
    if not loaded:
        device.say("state", "no_driver", "PCI driver")
        notes.find(
            "driver.missing", "info", "intel npu",
            Text("The NPU has no driver: the kernel module intel_vpu is not loaded.", "NPU 没有驱动：未加载内核模块 intel_vpu。"),
            ("not loaded", "intel_vpu"),
        )  # fmt: skip
        return
    access = host.access(f"/dev/accel/{node}") if node else None
    closed = access is not None and access.ok and not {"r", "w"} <= set(access.text)
    library = _library(host)
    if closed and access is not None:
        device.say("state", "permission_denied", access.source)
        notes.find(
            "accel.permission", "warning", "intel npu",
            Text(f"The NPU is there, but this user may not open {access.source}; join the group render.",
                 f"检测到 NPU，但当前用户无权打开 {access.source}；请加入 render 用户组。"),
            ("no read and write access", access.source),
            remedies=(_join(),),
        )  # fmt: skip
    if library is False:
        device.say("state", "no_driver", "libze_intel_npu")
        notes.find(
            "driver.missing", "warning", "intel npu",
            Text("The NPU's user-space driver (libze_intel_npu) is not installed; OpenVINO cannot use the NPU without it.",
                 "未安装 NPU 的用户态驱动（libze_intel_npu）；没有它 OpenVINO 无法使用 NPU。"),
            ("not found", "libze_intel_npu.so"),
        )  # fmt: skip
    if access is not None and access.ok and not closed and library:
        device.say("state", "usable", access.source)
    device.say("state", "unknown", "")


def _library(host: Host) -> bool | None:
    """Whether the NPU's Level Zero library is installed; None where no library folder could be listed."""
    for reading in outputs(host, "ldconfig") if host.recorded else ():
        if reading.ok and "lib" in reading.text:
            return "libze_intel_npu" in reading.text or "libze_intel_vpu" in reading.text
    looked = False
    for folder in LIBRARIES:
        listing = host.list(folder)
        looked = looked or listing.ok
        if any(name.startswith(("libze_intel_npu", "libze_intel_vpu")) for name in listing.names):
            return True
    return False if looked else None
