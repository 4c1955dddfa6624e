"""AMD GPUs and NPUs: amdgpu's and KFD's files, rocm-smi, amd-smi and rocminfo, the permission on /dev/kfd."""

from __future__ import annotations

import csv
import re
from typing import Any

from knowledge.facts import Remedy
from knowledge.text import Text
from probes.hardware.accelerators import windows_adapters, xdna
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import integer, json_in, outputs, pairs, size_bytes, words_of
from probes.hardware.pci import DEVICES, address_of
from probes.host import Host, Reading

VENDOR = "amd"
NODES = "/sys/class/kfd/kfd/topology/nodes"
MIB = 1 << 20


def read(context: Context) -> list[Device]:
    """AMD's GPUs, then its NPUs."""
    host = context.host
    functions = [one for one in context.functions if one.vendor == VENDOR]
    gpus = [of_function(one) for one in functions if one.kind[:2] == "03" or (one.kind[:4] == "1200" and one.vendor_id == "1002")]
    if host.os == "linux":
        for device in gpus:
            _sysfs(host, device)
        merge(gpus, _kfd(host), complete=True)
    seen = False
    if host.os != "macos" and (gpus or host.recorded or host.access("/dev/kfd").ok or (context.wsl and host.which("rocminfo").ok)):
        for devices in _tools(context, gpus):
            if devices:
                merge(gpus, devices, complete=not gpus)
                seen = True
    gpus = windows_adapters.laid_over(gpus, context, VENDOR)
    gpus = [device for device in gpus if device.kind == "gpu"] + [device for device in gpus if device.kind != "gpu"]
    for device in gpus:
        _kind_of_memory(host, device)
        if device.function is not None and device.get("name") is None:
            found = context.name_of(device.function)
            if found:
                device.say("name", found[0] if "AMD" in found[0] or "Radeon" not in found[0] else f"AMD {found[0]}", found[1])
        if device.kind == "gpu":
            _state(context, device, seen)
    return gpus + xdna.read(context, functions)


def _sysfs(host: Host, device: Device) -> None:
    """amdgpu's own files: carve-out or VRAM, the pool of borrowed system memory, the product's name."""
    assert device.function is not None
    folder = f"{DEVICES}/{device.address}"
    if not host.access(f"{folder}/mem_info_vram_total").ok:
        folder = _card(host, device.address) or folder
    total = integer(host.read(f"{folder}/mem_info_vram_total").text)
    borrowed = integer(host.read(f"{folder}/mem_info_gtt_total").text)
    device.say("memory_bytes", total if total else None, f"{folder}/mem_info_vram_total")
    if borrowed:
        device.extra["borrowed"] = (borrowed, f"{folder}/mem_info_gtt_total")
    if host.read(f"{folder}/mem_info_vram_vendor").text.strip() not in ("", "unknown"):
        device.extra["own_memory"] = True
    device.say("name", words_of(host.read(f"{folder}/product_name").text), f"{folder}/product_name")
    version = host.read("/sys/module/amdgpu/version").text.strip()
    if re.fullmatch(r"\d+(\.\d+)+", version):
        device.say("driver_version", version, "/sys/module/amdgpu/version")


def _card(host: Host, address: str | None) -> str | None:
    for name in host.list("/sys/class/drm").names:
        folder = f"/sys/class/drm/{name}/device"
        if not address or not re.fullmatch(r"card\d+", name):
            continue
        if f"PCI_SLOT_NAME={address}" in host.read(f"{folder}/uevent").text or host.link(folder).text.endswith(address):
            return folder
    return None


def gfx_of(version: int | None) -> str | None:
    """gfx90a of 90010, gfx1103 of 110003: decimal pairs, of which the last two are hexadecimal digits."""
    if version is None or not 60000 <= version < 200000:
        return None
    major, minor, step = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{step:x}" if minor < 16 and step < 16 else None


def gfx_name(text: str | None) -> str | None:
    """A target's name in a tool's text; some versions of rocm-smi print gfx9008 for gfx908 and gfx9010 for gfx90a."""
    match = re.search(r"\bgfx(\d{1,2}[0-9a-f]{2,4})\b", text or "")
    if match is None:
        return None
    if re.fullmatch(r"9\d\d\d", match[1]):
        return gfx_of(90000 + int(match[1][1:2]) * 100 + int(match[1][2:]))
    return f"gfx{match[1]}" if re.fullmatch(r"[6-9][0-9a-f]{2}|1[0-9][0-9a-f]{2}", match[1]) else None


def _kfd(host: Host) -> list[Device]:
    """GPU nodes of the compute driver; one card may be several (partitions), which are several devices to a program."""
    found: list[Device] = []
    for name in sorted(host.list(NODES).names, key=lambda n: integer(n) or 0):
        folder = f"{NODES}/{name}"
        properties = dict(line.split(" ", 1) for line in host.read(f"{folder}/properties").text.splitlines() if " " in line)
        if not integer(properties.get("simd_count")):
            continue
        location, domain = integer(properties.get("location_id"), 1 << 32), integer(properties.get("domain"), 1 << 16) or 0
        address = None
        if location:
            address = f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"
        device = Device(VENDOR, address=address, chip=None)
        if any(one.address == address and address for one in found):
            device.chip = name
        source = f"{folder}/properties"
        device.say("target", gfx_of(integer(properties.get("gfx_target_version"))), source)
        vendor_id, device_id = integer(properties.get("vendor_id"), 0xFFFF), integer(properties.get("device_id"), 0xFFFF)
        if vendor_id == 0x1002 and device_id:
            device.say("pci_id", f"1002:{device_id:04x}", source)
        size = 0
        for bank in host.list(f"{folder}/mem_banks").names:
            text = host.read(f"{folder}/mem_banks/{bank}/properties").text
            told = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
            if told.get("heap_type", "").strip() in ("1", "2"):
                size += integer(told.get("size_in_bytes")) or 0
        if size:
            device.extra["node_memory"] = (size, f"{folder}/mem_banks")
        found.append(device)
    return found


_QUESTIONS = (
    ["rocminfo"], ["amd-smi", "static", "--json"],
    ["rocm-smi", "--showproductname", "--showbus", "--showmeminfo", "vram", "--json"],
)  # fmt: skip


def _tools(context: Context, gpus: list[Device]) -> list[list[Device]]:
    """Devices of each tool's answer. Live, a tool is asked only for what the files left open."""
    host = context.host
    readings: list[Reading] = []
    if host.recorded:
        for program in ("amd-smi", "rocm-smi", "rocminfo", "clinfo"):
            readings += outputs(host, program)
    elif not gpus or any(d.get("target") is None or d.get("memory_bytes") is None for d in gpus):
        for argv in _QUESTIONS:
            if host.which(argv[0]).ok:
                reading = host.run(argv)
                if reading.status == "timed_out":
                    context.notes.find(
                        "probe.timed_out", "warning", VENDOR,
                        Text(f"{argv[0]} did not answer within three seconds.", f"{argv[0]} 在三秒内没有回应。"),
                        ("no answer", reading.source),
                    )  # fmt: skip
                readings.append(reading)
                if reading.ok:
                    break
    return [from_tool(reading) for reading in readings if reading.ok and reading.rc != 127]


def from_tool(reading: Reading) -> list[Device]:
    """Devices in the text of amd-smi, rocm-smi or rocminfo, recognised by its form. Hygon's rocm-smi is not AMD's."""
    text, source = reading.text, reading.source
    if re.search(r"\bDCU\b", text[:2000]):
        return []
    if "HSA Agents" in text:
        return _rocminfo(text, source)
    told = json_in(text)
    if isinstance(told, dict) and "platforms" in told:
        return _clinfo(told, source)
    if isinstance(told, dict) and "gpu_data" in told:
        told = told["gpu_data"]
    if isinstance(told, list) or (isinstance(told, dict) and "asic" in told):
        return _amd_smi(told if isinstance(told, list) else [told], source)
    if isinstance(told, dict):
        return _rocm_smi_json(told, source)
    if re.search(r"^GPU: \d+\s*$", text, re.MULTILINE):
        return _amd_smi_text(text, source)
    if re.search(r"^device,", text, re.MULTILINE):
        return _rocm_smi_csv(text, source)
    if re.search(r"^GPU\[\d+\]\s*:", text, re.MULTILINE):
        return _rocm_smi_lines(text, source)
    if re.search(r"ROCm System Management Interface", text):
        return _rocm_smi_table(text, source)
    return []


def _plausible(size: int | None) -> int | None:
    return size if size and size >= 64 * MIB else None


def _fields(row: dict[str, Any], source: str, driver: str | None = None) -> Device:
    """One card of rocm-smi, whose key names changed in case and words over the years."""
    low = {re.sub(r"[^a-z0-9]+", " ", str(k).lower()).strip(): str(v).strip() for k, v in row.items()}
    device = Device(VENDOR, address=address_of(low.get("pci bus")))
    for key in ("card series", "card model", "marketing name"):
        name = words_of(low.get(key))
        if name and not re.fullmatch(r"0x[0-9a-f]+", name.lower()):
            device.say("name", name, source)
    for key in ("gpu id", "device id", "card model", "device name"):
        match = re.fullmatch(r"0x([0-9a-f]{4})", low.get(key, "").lower())
        if match:
            device.say("pci_id", f"1002:{match[1]}", source)
    device.say("memory_bytes", _plausible(integer(low.get("vram total memory b"))), source)
    borrowed = integer(low.get("gtt total memory b"))
    if borrowed:
        device.extra["borrowed"] = (borrowed, source)
    device.say("target", gfx_name(low.get("gfx version")), source)
    device.say("driver_version", driver, source)
    return device


def _driver_version(text: str | None) -> str | None:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)+\S*)\s*", text or "")
    return match[1] if match else None


def _rocm_smi_json(told: dict[str, Any], source: str) -> list[Device]:
    system = told.get("system")
    driver = _driver_version(str(system.get("Driver version"))) if isinstance(system, dict) else None
    return [_fields(row, source, driver) for name, row in told.items() if re.fullmatch(r"card\d+", name) and isinstance(row, dict)]


def _rocm_smi_csv(text: str, source: str) -> list[Device]:
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("device,"))
    table = list(csv.reader(lines[start:]))
    return [_fields(dict(zip(table[0], row, strict=False)), source) for row in table[1:] if row and re.fullmatch(r"card\d+", row[0])]


def _rocm_smi_lines(text: str, source: str) -> list[Device]:
    cards: dict[int, dict[str, str]] = {}
    for number, key, value in re.findall(r"^GPU\[(\d+)\]\s*:\s*([^:\n]+?)\s*:\s*(.*?)\s*$", text, re.MULTILINE):
        cards.setdefault(int(number), {}).setdefault(key, value)
    match = re.search(r"^Driver version:\s*(\S+)", text, re.MULTILINE)
    driver = _driver_version(match[1]) if match else None
    return [_fields(row, source, driver) for _, row in sorted(cards.items())]


def _rocm_smi_table(text: str, source: str) -> list[Device]:
    found = []
    for match in re.finditer(r"^(\d+)\s+(?:\d+\s+)?(?:\[?(0x[0-9a-f]{4})\b.*?|\d+(?:\.\d+)?(?:c|°C)\s.*)$", text, re.MULTILINE):
        device = Device(VENDOR)
        device.say("pci_id", f"1002:{match[2][2:]}" if match[2] else None, source)
        device.extra["listed"] = True
        found.append(device)
    return found


def _amd_smi(rows: list[Any], source: str) -> list[Device]:
    found = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("asic"), dict):
            continue
        parts: list[dict[str, Any]] = [row[key] if isinstance(row.get(key), dict) else {} for key in ("asic", "bus", "vram", "driver")]
        asic, bus, memory, driver = parts
        device = Device(VENDOR, address=address_of(str(bus.get("bdf") or "")))
        device.say("name", words_of(str(asic.get("market_name") or "")), source)
        match = re.fullmatch(r"0x([0-9a-f]{4})", str(asic.get("device_id") or "").lower())
        device.say("pci_id", f"1002:{match[1]}" if match else None, source)
        device.say("target", gfx_name(str(asic.get("target_graphics_version") or "")), source)
        size = memory.get("size")
        if isinstance(size, dict):
            device.say("memory_bytes", _plausible(size_bytes(f"{size.get('value')} {size.get('unit')}")), source)
        device.say("driver_version", _driver_version(str(driver.get("version") or "")), source)
        found.append(device)
    return found


def _amd_smi_text(text: str, source: str) -> list[Device]:
    """The indented form of `amd-smi static` and `amd-smi list`."""
    found = []
    for part in re.split(r"^(?=GPU: \d+\s*$)", text, flags=re.MULTILINE)[1:]:
        told: dict[str, str] = {}
        for key, value in pairs(part):
            told.setdefault(key, value)
        device = Device(VENDOR, address=address_of(told.get("BDF")))
        device.say("name", words_of(told.get("MARKET_NAME")), source)
        match = re.fullmatch(r"0x([0-9a-f]{4})", told.get("DEVICE_ID", "").lower())
        device.say("pci_id", f"1002:{match[1]}" if match else None, source)
        device.say("target", gfx_name(told.get("TARGET_GRAPHICS_VERSION")), source)
        memory = re.search(r"^\s+VRAM:\s*$.*?^\s+SIZE: ([^\n]+)$", part, re.MULTILINE | re.DOTALL)
        device.say("memory_bytes", _plausible(size_bytes(memory[1])) if memory else None, source)
        device.extra["listed"] = True
        found.append(device)
    return found


def _rocminfo(text: str, source: str) -> list[Device]:
    found = []
    for part in re.split(r"^\*+\s*\nAgent \d+\s*\n\*+", text, flags=re.MULTILINE)[1:]:
        told: dict[str, str] = {}
        for key, value in pairs(part):
            told.setdefault(key, value)
        if told.get("Device Type") != "GPU":
            continue
        location, domain = integer(told.get("BDFID"), 1 << 32), integer(told.get("Domain"), 1 << 16) or 0
        address = f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}" if location else None
        device = Device(VENDOR, address=address)
        device.say("name", words_of(told.get("Marketing Name")), source)
        device.say("target", gfx_name(told.get("Name")), source)
        match = re.match(r"(\d+)\(", told.get("Chip ID", ""))
        device.say("pci_id", f"1002:{int(match[1]):04x}" if match and int(match[1]) < 65536 else None, source)
        pools = re.findall(r"Segment:\s+GLOBAL; FLAGS: COARSE GRAINED\s+Size:\s+(\d+)\(", part)
        device.say("memory_bytes", _plausible(int(pools[0]) * 1024) if pools else None, source)
        device.extra["listed"] = True
        found.append(device)
    return found


def _clinfo(told: dict[str, Any], source: str) -> list[Device]:
    """OpenCL sees these cards too; it only names them, since its memory may be the system's."""
    return []


def _kind_of_memory(host: Host, device: Device) -> None:
    """Carve-out and borrowed pool of a GPU inside the processor; a card's own memory otherwise; unknown where neither shows."""
    borrowed = device.extra.get("borrowed")
    node = device.extra.get("node_memory")
    own = device.get("memory_bytes")
    integrated = device.get("integrated")
    source = device.sources.get("memory_bytes", "")
    if integrated is None and device.address and device.function is not None:
        # Processors put their GPU beside their own encryption engine and USB, at one address on the bus.
        slot = device.address.rsplit(".", 1)[0]
        if any(host.read(f"{DEVICES}/{slot}.{n}/vendor").text.strip() == "0x1022" for n in range(1, 6)):
            integrated, source = True, f"{DEVICES}/{slot}.*"
    if integrated is None and device.extra.get("own_memory"):
        integrated = False
    if integrated is None and borrowed and node and abs(node[0] - borrowed[0]) < 64 * MIB and node[0] != own:
        integrated, source = True, node[1]
    if integrated is None and borrowed and own and own <= 2 << 30 and borrowed[0] >= 4 * own:
        integrated, source = True, borrowed[1]
    if own is None and node is not None and integrated is not True:
        device.say("memory_bytes", *node)
    device.say("integrated", integrated, source)
    if integrated:
        device.say("memory_kind", "shared", source)
        if borrowed:
            device.say("shared_bytes", *borrowed)
    elif integrated is False:
        device.say("memory_kind", "dedicated", source)


def _state(context: Context, device: Device, seen: bool) -> None:
    host, notes = context.host, context.notes
    if device.get("state") is not None:
        return
    driver = device.function.driver if device.function is not None else None
    name, name_zh = str(device.get("name") or "the AMD GPU"), str(device.get("name") or "AMD 显卡")
    if driver in ("vfio-pci", "pci-stub"):
        device.say("state", "disabled", "PCI driver")
        return
    if seen and (device.extra.get("listed") or device.function is None):
        device.say("state", "usable", device.sources.get("target", "rocm-smi"))
        return
    if host.os != "linux" or not context.complete:
        device.say("state", "unknown", "")
        return
    if driver == "radeon":
        device.say("state", "no_driver", "PCI driver")
        return
    kfd = host.access("/dev/kfd")
    if not kfd.ok and context.container:
        device.say("state", "hidden", context.container_source)
        notes.find(
            "accel.hidden", "error", VENDOR,
            Text(f"{name} is in this computer, but the container was started without it.", f"本机有 {name_zh}，但启动容器时没有传入。"),
            ("missing", "/dev/kfd"),
            remedies=(Remedy(code="container_gpu_flag", text=Text(
                "Start the container with --device=/dev/kfd --device=/dev/dri.", "启动容器时加上 --device=/dev/kfd --device=/dev/dri。")),),
        )  # fmt: skip
    elif driver is None:
        device.say("state", "no_driver", "PCI driver")
        notes.find(
            "driver.missing", "error", VENDOR,
            Text(f"{name} has no driver: the kernel module amdgpu is not loaded for it.", f"{name_zh} 没有驱动：未为其加载内核模块 amdgpu。"),
            ("no driver", str(device.address)),
        )  # fmt: skip
    elif not kfd.ok:
        device.say("state", "module_missing", "/dev/kfd")
        notes.find(
            "driver.module_missing", "warning", VENDOR,
            Text(f"{name} draws the screen, but /dev/kfd, which ROCm needs, is not there.", f"{name_zh} 可用于显示，但没有 ROCm 所需的 /dev/kfd。"),
            ("missing", "/dev/kfd"),
        )  # fmt: skip
    elif not {"r", "w"} <= set(kfd.text):
        device.say("state", "permission_denied", "/dev/kfd")
        notes.find(
            "accel.permission", "error", VENDOR,
            Text(f"{name}: this user may not open /dev/kfd. Join the groups render and video, then log in again.",
                 f"{name_zh}：当前用户无权打开 /dev/kfd。请加入 render 和 video 用户组，然后重新登录。"),
            ("no read and write access", "/dev/kfd"),
            remedies=(Remedy(code="join_group", text=Text("Join the groups render and video.", "加入 render 和 video 用户组。"),
                             commands=("sudo usermod -aG render,video $USER",)),),
        )  # fmt: skip
    else:
        device.say("state", "usable", "/dev/kfd")
