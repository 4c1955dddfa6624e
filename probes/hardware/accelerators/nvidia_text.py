"""What nvidia-smi and deviceQuery print, in every form: XML, the long list, CSV, -L, the table, versions, links."""

from __future__ import annotations

import csv
import re
from collections import Counter

from probes.hardware.accelerators.device import Device
from probes.hardware.notes import integer, size_bytes, words_of
from probes.hardware.pci import address_of

MIB = 1 << 20


class Answer:
    """One command's text as devices, with what it says of the driver and the errors it prints."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.devices: list[Device] = []
        self.driver: str | None = None
        self.cuda: str | None = None
        self.attached: int | None = None
        self.error: str | None = None
        self.links: dict[int, tuple[str, ...]] = {}


def version_of(text: str | None) -> str | None:
    match = re.match(r"\s*(\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)\b", text or "")
    return match[1] if match else None


def cuda_of(text: str | None) -> str | None:
    match = re.match(r"\s*(\d{1,2}\.\d{1,2})\b", text or "")
    return match[1] if match else None


def read(text: str, source: str, failed: bool = False) -> Answer:
    """TEXT of any nvidia-smi command, recognised by its form."""
    answer = Answer(source)
    errors = re.search(
        r"(Driver/library version mismatch|couldn't communicate with the NVIDIA driver|No devices were found"
        r"|Failed to initialize NVML: [^\n]{1,80}|NVIDIA-SMI has failed[^\n]{0,120}|Insufficient Permissions"
        r"|Unable to determine the device handle[^\n]{0,120}|GPU is lost[^\n]{0,60})",
        text[:4000],
    )
    if errors:
        answer.error = errors[1]
        match = re.search(r"NVML library version: (\d+\.\d+(?:\.\d+)?)", text)
        if match:
            answer.error = f"{errors[1]} (NVML library version: {match[1]})"
    if failed and not re.search(r"<gpu |^GPU [0-9A-F]{8}:|^\d+, ", text, re.MULTILINE):
        return answer
    if "<nvidia_smi_log" in text:
        _xml(text, answer)
    elif "NVSMI LOG" in text or re.search(r"^GPU [0-9a-fA-F]{8}:[0-9a-fA-F]{2}:", text, re.MULTILINE):
        _long(text, answer)
    elif "CUDA Device Query" in text or "CUDA Capable device(s)" in text:
        _device_query(text, answer)
    elif re.search(r"^\|\s*NVIDIA-SMI ", text, re.MULTILINE):
        _table(text, answer)
    elif re.match(r"\s*GPU \d+: ", text):
        _names(text, answer)
    elif re.search(r"^NVIDIA-SMI version", text, re.MULTILINE):
        told = dict(re.findall(r"^([A-Za-z -]+?)\s*: (.*)$", text, re.MULTILINE))
        answer.driver = version_of(told.get("DRIVER version")) or version_of(told.get("KMD version"))
        answer.cuda = cuda_of(told.get("CUDA Version")) or cuda_of(told.get("CUDA version")) or cuda_of(told.get("CUDA UMD version"))
    elif re.search(r"^\s*GPU0\s", text, re.MULTILINE) and "topo" in source:
        if "p2p" not in source:
            answer.links = links(text)
    elif "--query-gpu" in source:
        _csv(text, answer)
    return answer


def _common(answer: Answer) -> None:
    for device in answer.devices:
        device.say("driver_version", answer.driver, answer.source)
        device.say("driver_api_max", answer.cuda, answer.source)


def _mode(device: Device, *, mig: str | None, profiles: list[str], addressing: str | None, source: str) -> None:
    if (mig or "").strip().lower() == "enabled":
        device.say("mig", said_profiles(profiles) or "enabled", source)
    if (addressing or "").strip().upper() == "ATS":
        device.extra["coherent"] = True


def said_profiles(profiles: list[str]) -> str | None:
    """3g.40gb, 1g.10gb x2 of the slices of one card."""
    counts = Counter(profiles)
    return ", ".join(name if number == 1 else f"{name} x{number}" for name, number in counts.items()) or None


def _memory(device: Device, total: str | None, source: str) -> None:
    """The total, where it is a number; where it is not, a marker for cards that share the system's memory."""
    bare = (total or "").strip().strip("[]").lower()
    if bare in ("n/a", "not supported"):
        device.extra["memory_not_told"] = True
        return
    size = size_bytes(total)
    device.say("memory_bytes", size if size and size >= 16 * MIB else None, source)


def _xml(text: str, answer: Answer) -> None:
    import xml.etree.ElementTree as ElementTree

    # A DTD in the file could define entities; the line is cut before parsing, and the parser expands none of its own.
    start = text.find("<nvidia_smi_log")
    end = text.rfind("</nvidia_smi_log>")
    if end < 0 or "<!ENTITY" in text:
        return
    try:
        root = ElementTree.fromstring(text[start : end + len("</nvidia_smi_log>")])  # noqa: S314 - no DTD, no entities
    except ElementTree.ParseError:
        return

    def said(parent: ElementTree.Element, path: str) -> str | None:
        return parent.findtext(path)

    answer.driver = version_of(said(root, "driver_version")) or version_of(said(root, "kmd_version"))
    answer.cuda = cuda_of(said(root, "cuda_version")) or cuda_of(said(root, "cuda_umd_version"))
    answer.attached = integer(said(root, "attached_gpus"), 1024)
    for gpu in root.findall("gpu"):
        device = Device("nvidia", address=address_of(said(gpu, "pci/pci_bus_id") or gpu.get("id")))
        source = answer.source
        device.say("name", words_of(said(gpu, "product_name")), source)
        device.say("uuid", words_of(said(gpu, "uuid")), source)
        device.say("pci_id", _pci_id(said(gpu, "pci/pci_device_id")), source)
        _memory(device, said(gpu, "fb_memory_usage/total"), source)
        names = [str(one.findtext("name") or "") for one in gpu.findall("mig_devices/mig_device") if one.findtext("name")]
        _mode(device, mig=said(gpu, "mig_mode/current_mig"), profiles=names, addressing=said(gpu, "addressing_mode"), source=source)
        device.extra["driver_model"] = words_of(said(gpu, "driver_model/current_dm"))
        device.extra["licence"] = words_of(said(gpu, "vgpu_software_licensed_product/license_status"))
        device.extra["virtual_mode"] = words_of(said(gpu, "gpu_virtualization_mode/virtualization_mode"))
        answer.devices.append(device)
    _common(answer)


def _pci_id(text: str | None) -> str | None:
    """10de:2684 of 0x268410DE, 268410DE or 0x2684."""
    match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{4})10[dD][eE]", (text or "").strip())
    return f"10de:{match[1].lower()}" if match else None


def _long(text: str, answer: Answer) -> None:
    head, *parts = re.split(r"^(?=GPU [0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:)", text, flags=re.MULTILINE)
    told = dict(re.findall(r"^([A-Za-z ]+?)\s+: (.+?)\s*$", head, re.MULTILINE))
    answer.driver = version_of(told.get("KMD Version")) or version_of(told.get("Driver Version"))
    answer.cuda = cuda_of(told.get("CUDA UMD Version")) or cuda_of(told.get("CUDA Version"))
    answer.attached = integer(told.get("Attached GPUs"), 1024)
    for part in parts:
        address = re.match(r"GPU ([0-9a-fA-F:.]+)", part)
        device = Device("nvidia", address=address_of(address[1]) if address else None)
        source = answer.source

        def value(pattern: str, part: str = part) -> str | None:
            match = re.search(rf"^\s+{pattern}\s*: (.*?)\s*$", part, re.MULTILINE)
            return words_of(match[1]) if match else None

        def inside(heading: str, key: str, part: str = part) -> str | None:
            match = re.search(rf"^( +){heading}\s*\n((?:\1 +.*\n?)+)", part, re.MULTILINE)
            found = re.search(rf"^\s+{key}\s*: (.*?)\s*$", match[2], re.MULTILINE) if match else None
            return found[1] if found else None

        device.say("name", value("Product Name"), source)
        device.say("uuid", value("GPU UUID"), source)
        device.say("pci_id", _pci_id(value("Device Id")), source)
        total = inside("FB Memory Usage", "Total")
        if re.search(r"^ +FB Memory Usage", part, re.MULTILINE):
            _memory(device, total, source)
        _mode(device, mig=inside("MIG Mode", "Current"), profiles=[], addressing=value("Addressing Mode"), source=source)
        device.extra["driver_model"] = words_of(inside("Driver Model", "Current"))
        device.extra["licence"] = value("License Status")
        device.extra["virtual_mode"] = value("Virtualization Mode")
        answer.devices.append(device)
    if not parts:
        # Cut pieces of the list still tell the licence of the one card there is.
        match = re.search(r"License Status\s*: (.+)$", text, re.MULTILINE)
        if match:
            answer.error = answer.error or None
    _common(answer)


def _csv(text: str, answer: Answer) -> None:
    match = re.search(r"--query-gpu=(\S+)", answer.source)
    lines = [line for line in text.splitlines() if (line.strip() and "," in line) or (match and "," not in match[1] and line.strip())]
    if match is None or not lines:
        return
    asked = [name.strip().lower() for name in match[1].split(",")]
    table = list(csv.reader(lines, skipinitialspace=True))
    header = [re.sub(r" \[.*?\]$", "", name.strip().lower()) for name in table[0]]
    units = {re.sub(r" \[.*?\]$", "", n.strip().lower()): n for n in table[0]}
    has_header = "noheader" not in answer.source and set(header) & set(asked) and header[0] in asked
    body = table[1:] if has_header else table
    columns = header if has_header else asked
    source = answer.source
    for row in body:
        if len(row) != len(columns):
            continue  # a warning among the rows, or a name that was cut
        told = dict(zip(columns, (value.strip() for value in row), strict=True))
        device = Device("nvidia", address=address_of(told.get("pci.bus_id") or told.get("gpu_bus_id")))
        device.say("name", words_of(told.get("name") or told.get("gpu_name")), source)
        device.say("uuid", words_of(told.get("uuid") or told.get("gpu_uuid")), source)
        device.say("target", _capability(told.get("compute_cap")), source)
        device.say("driver_version", version_of(told.get("driver_version")), source)
        device.say("pci_id", _pci_id(told.get("pci.device_id")), source)
        total = told.get("memory.total")
        if total is not None:
            bare = total if re.search(r"[A-Za-z]", total) or "mib" not in units.get("memory.total", "memory.total [mib]").lower() else f"{total} MiB"
            _memory(device, bare, source)
        _mode(device, mig=told.get("mig.mode.current"), profiles=[], addressing=told.get("addressing_mode"), source=source)
        device.extra["driver_model"] = words_of(told.get("driver_model.current"))
        if device.facts or device.address:
            answer.devices.append(device)
    answer.attached = len(answer.devices) or None


def _capability(text: str | None) -> str | None:
    bare = (text or "").strip()
    return bare if re.fullmatch(r"\d{1,2}\.\d", bare) else None


def _names(text: str, answer: Answer) -> None:
    for part in re.split(r"^(?=GPU \d+: )", text, flags=re.MULTILINE):
        match = re.match(r"GPU (\d+): (.+?)(?: \(UUID: ([^)]+)\))?\s*$", part.splitlines()[0] if part.strip() else "")
        if match is None:
            continue
        device = Device("nvidia")
        device.say("name", words_of(match[2]), answer.source)
        device.say("uuid", words_of(match[3]) if match[3] and "removed" not in match[3] else None, answer.source)
        slices = re.findall(r"^\s+MIG (\d+g\.\d+gb(?:\+\w+)?)\s", part, re.MULTILINE)
        if slices:
            device.say("mig", said_profiles(slices), answer.source)
        answer.devices.append(device)
    answer.attached = len(answer.devices) or None


def _table(text: str, answer: Answer) -> None:
    head = re.search(r"^\|\s*NVIDIA-SMI .*$", text, re.MULTILINE)
    line = head[0] if head else ""
    match = re.search(r"(?:Driver|KMD) Version: *(\S+)", line)
    answer.driver = version_of(match[1]) if match else None
    match = re.search(r"CUDA (?:UMD )?Version: *(\S+)", line)
    answer.cuda = cuda_of(match[1]) if match else None
    rows = re.findall(
        r"^\|\s+(\d+)\s+(\S.*?)\s+(?:On|Off|WDDM|TCC|MCDM|N/A|ERR!)\s*\|\s+([0-9A-Fa-f:]+\.[0-7]|N/A)[^|]*\|[^|]*\|\s*\n\|([^|]*)\|([^|]*)\|[^|]*\|(?:[^\n]*\n\|[^|]*\|[^|]*\|\s*(\S+))?",
        text, re.MULTILINE,
    )  # fmt: skip
    for _, name, bus, _, usage, mig in rows:
        device = Device("nvidia", address=address_of(bus))
        # Long names are cut with dots or with the column: no name is better than half a one.
        if "..." not in name and len(name) < 26:
            device.say("name", words_of(name), answer.source)
        match = re.search(r"/\s*(\d+) ?MiB", usage)
        if match:
            _memory(device, f"{match[1]} MiB", answer.source)
        elif "not supported" in usage.lower():
            device.extra["memory_not_told"] = True
        if mig == "Enabled":
            device.say("mig", "enabled", answer.source)
        answer.devices.append(device)
    answer.attached = len(answer.devices) or None
    _common(answer)


def _device_query(text: str, answer: Answer) -> None:
    match = re.search(r"CUDA Driver Version / Runtime Version\s+(\d+\.\d+)", text)
    answer.cuda = cuda_of(match[1]) if match else None
    for part in re.split(r"^(?=Device \d+: )", text, flags=re.MULTILINE):
        name = re.match(r'Device \d+: "(.+)"', part)
        if name is None:
            continue
        bus = re.search(r"Device PCI Domain ID / Bus ID / location ID:\s+(\d+) / (\d+) / (\d+)", part)
        address = f"{int(bus[1]):04x}:{int(bus[2]):02x}:{int(bus[3]):02x}.0" if bus else None
        device = Device("nvidia", address=address)
        capability = re.search(r"CUDA Capability Major/Minor version number:\s+(\d+\.\d)", part)
        device.say("name", words_of(name[1]), answer.source)
        device.say("target", capability[1] if capability else None, answer.source)
        integrated = re.search(r"Integrated GPU sharing Host Memory:\s+(Yes|No)", part)
        if integrated:
            device.say("integrated", integrated[1] == "Yes", answer.source)
        answer.devices.append(device)
    # The driver shows these to a program in its own order and hides what it may not use: no proof of the count.


def links(text: str) -> dict[int, tuple[str, ...]]:
    """For each GPU of `nvidia-smi topo -m`, its links to the others: {0: ("1:NV4",)}."""
    found: dict[int, tuple[str, ...]] = {}
    header: list[str] = []
    for line in text.splitlines():
        cells = line.replace("\x1b[4m", "").replace("\x1b[0m", "").split("\t") if "\t" in line else line.split()
        words = [cell.strip() for cell in cells]
        if not header and "GPU0" in words and words[0] in ("", "GPU0"):
            header = [word for word in words if re.fullmatch(r"GPU\d+", word)]
            continue
        match = re.fullmatch(r"GPU(\d+)", words[0]) if words else None
        if header and match and len(words) > len(header):
            cells_of_row = enumerate(words[1 : len(header) + 1])
            own = [f"{header[n][3:]}:{word}" for n, word in cells_of_row if re.fullmatch(r"NV\d+|PIX|PXB|PHB|NODE|SYS", word)]
            found[int(match[1])] = tuple(own)
    return found
