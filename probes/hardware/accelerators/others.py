"""Makers with a tool of their own: Moore Threads, Cambricon, Hygon, Iluvatar, MetaX, Kunlunxin, Enflame, Habana, Biren,
Google's TPU, Rockchip and Qualcomm; and devices of makers that this program does not know."""

from __future__ import annotations

import re
from collections.abc import Callable

from knowledge.text import Text
from probes.hardware.accelerators import tables, windows_adapters
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import integer, json_in, outputs, words_of
from probes.hardware.pci import VENDORS, address_of
from probes.host import Host, Reading

VENDOR = "others"
KNOWN = {"nvidia", "amd", "intel", "apple", "huawei"}
GPUS = {"moore-threads", "hygon", "iluvatar", "metax", "biren", "jingjia-micro", "denglin", "zhaoxin"}

# Program, what to ask, and a word that its answer must hold (two makers may name their program alike).
TOOLS: tuple[tuple[str, str, tuple[str, ...], str], ...] = (
    ("moore-threads", "mthreads-gmi", (), r"mthreads|MTT"), ("cambricon", "cnmon", (), r"CNMON|MLU"),
    ("iluvatar", "ixsmi", (), r"IX-ML|IXSMI|Iluvatar"), ("metax", "mx-smi", (), r"MetaX|MX-SMI"),
    ("kunlunxin", "xpu_smi", (), r"DevID|XPU"), ("kunlunxin", "xpu-smi", (), r"^\s*DEVICES|KUNLUN|\| *XPU-SMI +\d"),
    ("enflame", "efsmi", (), r"Enflame|EFSMI"), ("habana", "hl-smi", (), r"HL-SMI|HL-\d"),
    ("hygon", "hy-smi", (), r"\bDCU\b|HCU"), ("hygon", "rocm-smi", (), r"\bDCU\b"), ("biren", "brsmi", (), r"BIREN|BRSMI|Biren"),
    ("aws", "neuron-ls", ("--json-output",), r"neuron|nc_count"), ("hailo", "hailortcli", ("scan",), r"Hailo"),
)  # fmt: skip


def read(context: Context) -> list[Device]:
    """Devices of all makers without a module of their own."""
    host = context.host
    found: list[Device] = []
    by_vendor: dict[str, list[Device]] = {}
    for one in context.functions:
        if one.vendor not in KNOWN:
            kind = "gpu" if one.vendor in GPUS or one.kind[:2] == "03" else "npu"
            by_vendor.setdefault(one.vendor, []).append(of_function(one, kind))
    for vendor, program, arguments, word in TOOLS:
        # Asked where the maker's device is on the bus; some containers show the device and not the bus.
        if not host.recorded and not (by_vendor.get(vendor) or (host.which(program).ok and program not in ("xpu-smi", "rocm-smi"))):
            continue
        for reading in outputs(host, program, arguments):
            if reading.ok and re.search(word, reading.text[:6000], re.MULTILINE):
                devices = from_tool(vendor, reading)
                merge(by_vendor.setdefault(vendor, []), devices, complete=True)
    for read_one in (_rockchip, _qualcomm, _tpu):
        for device in read_one(context):
            by_vendor.setdefault(device.vendor, []).append(device)
    for vendor in dict.fromkeys((*by_vendor, "qualcomm", "moore-threads")):
        devices = windows_adapters.laid_over(by_vendor.get(vendor, []), context, vendor)
        for device in devices:
            _finish(context, device)
        found += devices
    return found


def from_tool(vendor: str, reading: Reading) -> list[Device]:
    """Devices in the text of VENDOR's tool."""
    kind = "gpu" if vendor in GPUS else "npu"
    special: dict[str, Callable[[str, str], list[Device]]] = {"kunlunxin": _kunlun, "hygon": _hygon, "aws": _neuron}
    if vendor in special:
        devices = special[vendor](reading.text, reading.source)
        if devices:
            return devices
    return tables.devices(reading.text, vendor, kind, reading.source)


def _kunlun(text: str, source: str) -> list[Device]:
    found = []
    driver = tables.driver_version(text)
    for address, name, total in re.findall(
        r"^\|\s*\d+\s*\|\s*([0-9a-fA-F:.]+)\s*\|\s*(\S+)\s*\|.*?/\s*\d+\s*MB\s*\|\s*\d+\s*/\s*(\d+)\s*MB\s*\|", text, re.MULTILINE
    ):  # fmt: skip
        device = Device("kunlunxin", "npu", address=address_of(address))
        device.say("name", words_of(name), source)
        size = integer(total, 1 << 24)
        device.say("memory_bytes", size << 20 if size else None, source)
        driver_line = re.search(r"Driver Version:\s*(\d[\w.]*)", text)
        device.say("driver_version", driver or (driver_line[1] if driver_line else None), source)
        device.say("state", "usable", source)
        found.append(device)
    return found


def _hygon(text: str, source: str) -> list[Device]:
    """Rows of hy-smi or of Hygon's rocm-smi, which names neither card nor memory."""
    found = []
    told = json_in(text)
    if isinstance(told, dict):
        for name, row in told.items():
            if re.fullmatch(r"card\d+", str(name)) and isinstance(row, dict):
                device = Device("hygon", address=address_of(str(row.get("PCI Bus") or "")))
                device.say("name", words_of(str(row.get("Card Series") or row.get("Card series") or "")), source)
                device.say("memory_bytes", integer(str(row.get("VRAM Total Memory (B)") or "")) or None, source)
                device.say("state", "usable", source)
                found.append(device)
        return found
    if re.search(r"^\s*[HD]CU\s+Temp", text, re.MULTILINE):
        for _ in re.findall(r"^\s*(\d+)\s+\d+(?:\.\d+)?[cC]\s", text, re.MULTILINE):
            found.append(Device("hygon").say("state", "usable", source))
    return found


def _neuron(text: str, source: str) -> list[Device]:
    told = json_in(text)
    found = []
    for row in told if isinstance(told, list) else []:
        if isinstance(row, dict):
            device = Device("aws", "npu", address=address_of(str(row.get("bdf") or "")))
            size = row.get("memory_size")
            device.say("memory_bytes", size if isinstance(size, int) and 0 < size < 1 << 50 else None, source)
            device.say("state", "usable", source)
            found.append(device)
    return found


def _compatible(host: Host) -> str:
    return host.read("/proc/device-tree/compatible").text or host.read("/sys/firmware/devicetree/base/compatible").text


def _rockchip(context: Context) -> list[Device]:
    """The NPU of a Rockchip system on chip, by its driver's files; its name by the device tree."""
    host = context.host
    if host.os != "linux":
        return []
    folder = "/sys/class/devfreq"
    source = next((f"{folder}/{name}" for name in host.list(folder).names if re.fullmatch(r"[0-9a-f]+\.npu", name)), None)
    for path in ("/sys/kernel/debug/rknpu/version", "/sys/module/rknpu"):
        if source is None and host.access(path).ok:
            source = path
    if source is None:
        return []
    compatible = _compatible(host)
    if compatible and "rockchip" not in compatible:
        return []
    device = Device("rockchip", "npu")
    chip = re.search(r"rockchip,(rk\d{4}\w?|rv\d{4}\w?)", compatible)
    device.say("name", chip[1].upper() if chip else None, "/proc/device-tree/compatible")
    version = re.search(r"v?(\d+\.\d+\.\d+)", host.read("/sys/kernel/debug/rknpu/version").text)
    device.say("driver_version", version[1] if version else None, "/sys/kernel/debug/rknpu/version")
    device.say("integrated", True, source).say("memory_kind", "shared", source)
    render = [f"/dev/dri/{name}" for name in host.list("/dev/dri").names if name.startswith("renderD")]
    nodes = render or (["/dev/rknpu"] if host.access("/dev/rknpu").ok else [])
    if nodes and any({"r", "w"} <= set(host.access(node).text) for node in nodes):
        device.say("state", "usable", nodes[0])
    elif nodes and context.complete:
        device.say("state", "permission_denied", nodes[0])
    else:
        device.say("state", "usable" if not context.complete else "unknown", source)
    return [device]


def _qualcomm(context: Context) -> list[Device]:
    """The Hexagon processor of a Snapdragon under Linux: the fastrpc devices of its compute core."""
    host = context.host
    if host.os != "linux":
        return []
    nodes = [f"/dev/{name}" for name in host.list("/dev").names if re.fullmatch(r"fastrpc-(cdsp|nsp)\d*", name)]
    if not nodes:
        return []
    device = Device("qualcomm", "npu")
    chip = re.search(r"qcom,([a-z]+\d{3,5}\w*)", _compatible(host))
    device.say("name", f"Hexagon ({chip[1]})" if chip else "Hexagon", nodes[0])
    device.say("integrated", True, nodes[0])
    device.say("state", "usable" if {"r", "w"} <= set(host.access(nodes[0]).text) else "permission_denied", nodes[0])
    return [device]


def _tpu(context: Context) -> list[Device]:
    """Google's TPU, where its device files are there and the bus is not shown; Coral's stick on USB."""
    host = context.host
    if host.os != "linux":
        return []
    found: list[Device] = []
    if not any(one.vendor == "google" for one in context.functions):
        nodes = [name for name in host.list("/dev").names if re.fullmatch(r"accel\d+", name)]
        kind = host.env("TPU_ACCELERATOR_TYPE")
        if nodes and (kind.ok or host.env("TPU_WORKER_ID").ok):
            for name in nodes:
                device = Device("google", "npu")
                device.say("name", f"TPU {kind.text}" if kind.ok and kind.text else "TPU", kind.source)
                device.say("state", "usable" if "r" in host.access(f"/dev/{name}").text else "permission_denied", f"/dev/{name}")
                found.append(device)
    for name in host.list("/sys/bus/usb/devices").names if not host.recorded or context.complete else ():
        folder = f"/sys/bus/usb/devices/{name}"
        ids = (host.read(f"{folder}/idVendor").text.strip(), host.read(f"{folder}/idProduct").text.strip())
        if ids in (("18d1", "9302"), ("1a6e", "089a")):
            found.append(Device("google", "npu").say("name", "Coral USB Accelerator", folder).say("state", "usable", folder))
    return found


def _finish(context: Context, device: Device) -> None:
    function = device.function
    if function is not None and device.get("name") is None:
        named = context.name_of(function)
        if named:
            device.say("name", named[0], named[1])
    if device.get("memory_bytes") is not None and function is not None and function.kind[:2] != "03":
        device.say("memory_kind", "dedicated", device.sources["memory_bytes"])
    if function is None or device.vendor in VENDORS.values():
        device.say("state", "unknown", "")
        return
    context.notes.find(
        "accel.vendor_unsupported", "info", device.vendor,
        Text(f"A device is present that is not known to this program (PCI {function.pci_id}).",
             f"检测到一台本程序不认识的设备（PCI {function.pci_id}）。"),
        (f"PCI class {function.kind}", function.source),
    )  # fmt: skip
    device.say("state", "unknown", "")


