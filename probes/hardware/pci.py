"""Devices on the PCI bus that can compute: read from sysfs, or from the text of lspci and udevadm."""

from __future__ import annotations

import re

import msgspec

from probes.hardware.notes import blocks, outputs, pairs
from probes.host import Host

DEVICES = "/sys/bus/pci/devices"
IDS = ("/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/usr/share/pci.ids", "/var/lib/pciutils/pci.ids")

# PCI vendor numbers (public register of the PCI-SIG, as in pci.ids).
VENDORS = {
    "10de": "nvidia", "1002": "amd", "1022": "amd", "8086": "intel", "106b": "apple", "19e5": "huawei", "1d94": "hygon",
    "1ed5": "moore-threads", "cabc": "cambricon", "1e3e": "iluvatar", "9999": "metax", "1d22": "kunlunxin",
    "1e36": "enflame", "1da3": "habana", "1ae0": "google", "1ac1": "google", "17cb": "qualcomm", "1d87": "rockchip",
    "1ee0": "biren", "1e52": "tenstorrent", "1e60": "hailo", "1d0f": "aws", "1f1c": "sophgo", "1d95": "graphcore", "1d17": "zhaoxin",
    "0731": "jingjia-micro", "1ec6": "vastai", "1f9d": "axelera", "20f9": "deepx", "1fe9": "denglin",
}  # fmt: skip

# Adapters that draw a console or a remote screen and cannot compute.
_SCREENS = {"1a03", "102b", "1013", "15ad", "1234", "1af4", "1b36", "80ee", "1414", "1ab8", "126f", "5853", "18ca", "1039", "1106", "0014", "104c"}
_HUAWEI_SCREEN = {"1711"}
_OTHER_CLASSES = {"1ac1": {"089a"}, "1ae0": None, "1022": {"1502", "17f0", "1714", "17f1", "17f2", "17f3"}, "1d0f": None, "1e60": None, "1f9d": None}


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """One function of a PCI device: address 0000:01:00.0, ids in four digits, class in six (030000)."""

    address: str
    vendor_id: str
    device_id: str
    kind: str
    source: str
    driver: str | None = None
    name: str | None = None

    @property
    def vendor(self) -> str:
        return VENDORS.get(self.vendor_id, f"pci:{self.vendor_id}")

    @property
    def pci_id(self) -> str | None:
        return f"{self.vendor_id}:{self.device_id}" if self.device_id else None


def address_of(text: str | None) -> str | None:
    """0000:01:00.0 of any spelling: `00000000:01:00.0`, `01:00.0`, `0000:1E:00.0`, `0000:01:00`; None for no address."""
    match = re.fullmatch(r"\s*(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?\s*", text or "")
    if match is None:
        return None
    domain = int(match[1] or "0", 16)
    return f"{domain:04x}:{match[2].lower().zfill(2)}:{match[3].lower().zfill(2)}.{match[4] or '0'}"


def computes(one: Function) -> bool:
    """Whether a function may be an accelerator: a display adapter, a co-processor, or one known by its ids."""
    if one.vendor_id in _OTHER_CLASSES:
        ids = _OTHER_CLASSES[one.vendor_id]
        if one.vendor_id == "1d0f":
            return one.device_id.startswith("7") and one.kind[:2] not in _NO_COMPUTE  # Inferentia and Trainium
        if (ids is None or one.device_id in ids) and one.kind[:2] not in _NO_COMPUTE:
            return True
    if one.vendor_id in _SCREENS or (one.vendor_id == "19e5" and one.device_id in _HUAWEI_SCREEN):
        return False
    if one.kind[:4] == "0b40":  # also compression and encryption engines; Xeon Phi was one of the kind
        return (one.vendor not in ("intel", "amd") and one.vendor_id in VENDORS) or (one.vendor_id, one.device_id[:3]) == ("8086", "225")
    return one.kind[:2] in ("03", "12")


def functions(host: Host) -> list[Function]:
    """Functions that may compute, in the order of their addresses."""
    found: dict[str, Function] = {}
    names = host.list(DEVICES).names
    for name in names:
        address = address_of(name)
        if address is not None and len(name) <= 16:
            one = _in_folder(host, f"{DEVICES}/{name}", address)
            if one is not None and computes(one):
                found[address] = one
    if host.recorded:
        for one in _classes(host):
            found.setdefault(one.address, one)
    if host.recorded or not names:
        for one in (*_udev(host), *_lspci(host)):
            known = found.get(one.address)
            if known is None and not names and computes(one):
                found[one.address] = one
            elif known is not None and one.name and not known.name:
                found[one.address] = msgspec.structs.replace(known, name=one.name)
    return [found[address] for address in sorted(found)]


def _hex(host: Host, path: str) -> str:
    return host.read(path).text.strip().lower().removeprefix("0x")


_NO_COMPUTE = ("01", "02", "04", "05", "06", "07", "09", "0a", "0c", "0d")


def _in_folder(host: Host, folder: str, address: str) -> Function | None:
    """The function that a sysfs folder describes; None where it is one of a class that never computes."""
    kind = _hex(host, f"{folder}/class")
    if kind.zfill(6)[:2] in _NO_COMPUTE and kind:
        return None
    vendor, device = _hex(host, f"{folder}/vendor"), _hex(host, f"{folder}/device")
    if not (kind and vendor and device):
        told = dict(pairs(host.read(f"{folder}/uevent").text, "="))
        ids = told.get("PCI_ID", "").lower().partition(":")
        alias = host.read(f"{folder}/modalias").text or told.get("MODALIAS", "")
        match = re.match(r"pci:v0000([0-9A-F]{4})d0000([0-9A-F]{4})sv\w{8}sd\w{8}bc(\w\w)sc(\w\w)i(\w\w)", alias)
        if match:
            vendor, device = vendor or match[1].lower(), device or match[2].lower()
            kind = kind or (match[3] + match[4] + match[5]).lower()
        vendor, device, kind = vendor or ids[0], device or ids[2], kind or told.get("PCI_CLASS", "")
    if not re.fullmatch(r"[0-9a-f]{4}", vendor) or not re.fullmatch(r"[0-9a-f]{4}", device):
        return None
    return Function(address=address, vendor_id=vendor, device_id=device, kind=kind.zfill(6) if kind else "",
                    source=folder, driver=_driver(host, folder))  # fmt: skip


def _classes(host: Host) -> list[Function]:
    """Functions seen only through their drivers: recordings often hold /sys/class/drm and not the bus."""
    found = []
    for group, kind in (("/sys/class/drm", "030000"), ("/sys/class/accel", "120000")):
        for name in host.list(group).names:
            if not re.fullmatch(r"(card|accel)\d+", name):
                continue
            folder = f"{group}/{name}/device"
            told = dict(pairs(host.read(f"{folder}/uevent").text, "="))
            link = host.link(folder)
            address = address_of(told.get("PCI_SLOT_NAME")) or address_of(link.text.rsplit("/", 1)[-1] if link.ok else None)
            one = _in_folder(host, folder, address or "")
            if one is not None and (one.address or group.endswith("accel")):
                one = msgspec.structs.replace(one, kind=one.kind or kind)
                if computes(one):
                    found.append(one)
    for driver in ("amdxdna", "intel_vpu"):
        for name in host.list(f"/sys/bus/pci/drivers/{driver}").names:
            address = address_of(name)
            one = _in_folder(host, f"/sys/bus/pci/drivers/{driver}/{name}", address) if address else None
            if one is not None:
                found.append(msgspec.structs.replace(one, kind=one.kind or "118000", driver=driver))
    return found


def _driver(host: Host, folder: str) -> str | None:
    link = host.link(f"{folder}/driver")
    if link.ok and link.text:
        return link.text.rstrip("/").rsplit("/", 1)[-1] or None
    match = re.search(r"^DRIVER=(\S+)", host.read(f"{folder}/uevent").text, re.MULTILINE)
    return match[1] if match else None


def _udev(host: Host) -> list[Function]:
    found = []
    for reading in outputs(host, "udevadm"):
        for part in re.split(r"\n\s*\n", reading.text):
            told = dict(pairs("\n".join(line[3:] for line in part.splitlines() if line.startswith("E: ")), "="))
            ids, kind = told.get("PCI_ID", ""), told.get("PCI_CLASS", "")
            address = address_of(told.get("PCI_SLOT_NAME"))
            match = re.fullmatch(r"([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})", ids)
            if told.get("SUBSYSTEM") == "pci" and match and address and re.fullmatch(r"[0-9A-Fa-f]{1,6}", kind):
                found.append(Function(
                    address=address, vendor_id=match[1].lower(), device_id=match[2].lower(), kind=kind.lower().zfill(6),
                    source=reading.source, driver=told.get("DRIVER"), name=told.get("ID_MODEL_FROM_DATABASE"),
                ))  # fmt: skip
    return found


_MAKERS = (("nvidia", "10de"), ("advanced micro devices, inc. [amd/ati]", "1002"), ("amd/ati", "1002"), ("intel", "8086"), ("huawei", "19e5"))


def _lspci(host: Host) -> list[Function]:
    """Functions in any form of lspci: -nn with numbers, -n with numbers alone, -v and -vvv with names, -mm with fields."""
    found = []
    for reading in outputs(host, "lspci"):
        if re.search(r"^Slot:\t", reading.text, re.MULTILINE):
            for told in blocks(reading.text):
                address = address_of(told.get("Slot"))
                kind, vendor, device = (re.search(r"\[([0-9a-f]{4})\]$", told.get(k, "")) for k in ("Class", "Vendor", "Device"))
                if address and kind and vendor and device:
                    found.append(Function(
                        address=address, vendor_id=vendor[1], device_id=device[1], kind=kind[1].ljust(6, "0"),
                        source=reading.source, driver=told.get("Driver"), name=re.sub(r" \[[0-9a-f]{4}\]$", "", told["Device"]),
                    ))  # fmt: skip
            continue
        for part in re.split(r"\n(?=\S)", reading.text):
            first, *rest = part.splitlines() or [""]
            quoted = re.findall(r'"([^"]*)"', first)
            if len(quoted) >= 3:  # -mm: the same words in quotation marks
                ids = [re.search(r" \[([0-9a-f]{4})\]$", word) for word in quoted[:3]]
                numbered = f" [{ids[1][1]}:{ids[2][1]}]" if ids[1] and ids[2] else ""
                first = f"{first.split(' ', 1)[0]} {quoted[0]}: {quoted[1]} {quoted[2]}{numbered}"
            if len(quoted) >= 3 and all(re.fullmatch(r"[0-9a-f]{4}", word) for word in quoted[:3]):  # -n -mm: numbers alone
                first = f"{first.split(' ', 1)[0]} {quoted[0]}: {quoted[1]}:{quoted[2]}"
            # -n: numbers alone are written as -nn does
            first = re.sub(r"^(\S+) ([0-9a-f]{4}): ([0-9a-f]{4}:[0-9a-f]{4})\b.*", r"\1 device [\2]: Device [\3]", first)
            match = re.match(r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^\":\[]+?)(?: \[([0-9a-f]{4})\])?: (.+)$", first)
            address = address_of(match[1]) if match else None
            if match is None or address is None:
                continue
            text = match[4]
            numbers = re.search(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]", text)
            kind_text = match[2].strip().lower()
            class_id = match[3] or next(
                (number for word, number in (("vga compatible", "0300"), ("3d controller", "0302"), ("display controller", "0380"),
                                             ("processing accelerator", "1200"), ("co-processor", "0b40")) if word in kind_text), "")  # fmt: skip
            vendor_id = numbers[1] if numbers else next((number for word, number in _MAKERS if text.lower().startswith(word)), "")
            if not class_id or not vendor_id:
                continue
            driver = next((line.split(":", 1)[1].strip() for line in rest if "Kernel driver in use:" in line), None)
            bare = re.sub(r" \[[0-9a-f]{4}:[0-9a-f]{4}\].*$| \(rev \w+\).*$| \(prog-if.*$", "", text)
            name = re.sub(r"^(?:NVIDIA Corporation|Intel Corporation|Advanced Micro Devices, Inc\. \[AMD/ATI\]) ", "", bare)
            found.append(Function(
                address=address, vendor_id=vendor_id, device_id=numbers[2] if numbers else "", kind=class_id.ljust(6, "0"),
                source=reading.source, driver=driver, name=None if re.fullmatch(r"Device( [0-9a-f]{4})?", name) else name,
            ))  # fmt: skip
    return found


def database_name(host: Host, vendor_id: str, device_id: str) -> tuple[str, str] | None:
    """The device's name in the machine's own pci.ids with the file, or None. The file is large: asked only for need."""
    for path in IDS:
        reading = host.read(path)
        if not reading.ok:
            continue
        start = re.search(rf"^{vendor_id}  ", reading.text, re.MULTILINE)
        if start is None:
            return None
        end = re.compile(r"^[0-9a-f]{4}  ", re.MULTILINE).search(reading.text, start.end())
        part = reading.text[start.end() : end.start() if end else None]
        match = re.search(rf"^\t{device_id}  (.+)$", part, re.MULTILINE)
        return (match[1].strip(), path) if match else None
    return None


def readable_name(name: str) -> str:
    """GeForce RTX 3070 of `GA104 [GeForce RTX 3070]`; a name without brackets stays as it is."""
    match = re.search(r"\[([^\[\]]+)\]\s*$", name)
    return match[1] if match else name
