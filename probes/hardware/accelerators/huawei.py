"""Huawei Ascend NPUs: npu-smi's table of cards and chips, the driver's device files, PCI."""

from __future__ import annotations

import re
from itertools import pairwise

from knowledge.text import Text
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import integer, outputs, words_of
from probes.hardware.pci import address_of

VENDOR = "huawei"
PLACES = ("/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi")
MIB = 1 << 20


def read(context: Context) -> list[Device]:
    """One device for each chip: a card of two chips is two devices to a program."""
    host = context.host
    known = [of_function(one, "npu") for one in context.functions if one.vendor == VENDOR and one.kind[:2] == "12"]
    if host.os != "linux":
        return known
    chips: list[Device] = []
    program = "npu-smi" if host.which("npu-smi").ok else next((path for path in PLACES if host.access(path).ok), None)
    errors: list[tuple[str, str]] = []
    if host.recorded or program:
        for reading in outputs(host, "npu-smi", ("info",)) if host.recorded or program == "npu-smi" else [host.run([str(program), "info"])]:
            if reading.ok and not chips:
                chips = table(reading.text, reading.source)
            elif reading.status == "failed" and reading.rc != 127 and reading.text.strip():
                errors.append((reading.text.strip().splitlines()[0][:200], reading.source))
    if chips:
        for chip in chips:
            match = next((d for d in known if d.address == chip.address), None)
            if match is not None:
                chip.take(match)
        version = host.read("/usr/local/Ascend/driver/version.info")
        found = re.search(r"^Version\s*=\s*(\S+)", version.text, re.MULTILINE)
        for chip in chips:
            if found:
                chip.force("driver_version", found[1], version.source)
        return chips
    merge(known, [])
    for device in known:
        if device.function is not None:
            name = context.name_of(device.function)
            device.say("name", name[0] if name else None, name[1] if name else "")
        nodes = [name for name in host.list("/dev").names if re.fullmatch(r"davinci\d+", name)]
        if nodes and not {"r", "w"} <= set(host.access(f"/dev/{nodes[0]}").text):
            device.say("state", "permission_denied", f"/dev/{nodes[0]}")
            context.notes.find(
                "accel.permission", "error", VENDOR,
                Text("This user may not open the Ascend device; join the group HwHiAiUser.", "当前用户无权打开昇腾设备；请加入 HwHiAiUser 用户组。"),
                ("no read and write access", f"/dev/{nodes[0]}"),
            )  # fmt: skip
        elif context.container and not nodes:
            device.say("state", "hidden", context.container_source)
            context.notes.find(
                "accel.hidden", "error", VENDOR,
                Text("An Ascend NPU is in this computer, but the container was started without /dev/davinci0.",
                     "本机有昇腾 NPU，但启动容器时没有传入 /dev/davinci0。"),
                ("missing", "/dev/davinci0"),
            )  # fmt: skip
        elif errors:
            device.say("state", "unknown", errors[0][1])
            context.notes.find("probe.failed", "warning", VENDOR, Text(f"npu-smi says: {errors[0][0]}", f"npu-smi 提示：{errors[0][0]}"), errors[0])
        elif context.complete and not nodes:
            device.say("state", "no_driver", "/dev/davinci0")
            context.notes.find(
                "driver.missing", "error", VENDOR,
                Text("An Ascend NPU is present, but its driver is not installed.", "检测到昇腾 NPU，但未安装其驱动。"),
                ("missing", "/dev/davinci0"),
            )  # fmt: skip
        else:
            device.say("state", "unknown", "")
    return known


def table(text: str, source: str) -> list[Device]:
    """Chips of `npu-smi info`: two rows each, name and health above, bus address and memory below.

    Memory is the column HBM-Usage where there is one; cards without HBM tell it as Memory-Usage.
    """
    version = re.search(r"Version:\s*(\S+)", text[:2000])
    columns = re.search(r"^\|\s*Chip\b.*$", text, re.MULTILINE)
    hbm = columns is not None and "HBM-Usage" in columns[0]
    found: list[Device] = []
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for above, below in pairwise(rows):
        first, second = above.strip("|").split("|"), below.strip("|").split("|")
        if len(first) < 3 or len(second) < 3:
            continue
        address = address_of(second[1].strip())
        # Some boards print no bus address but NA; the health above still tells a row of chips.
        head = re.match(r"\s*(\d+)\s+(\S+)", first[0])
        chip = re.match(r"\s*(\d+)", second[0])
        health = first[1].strip()
        if head is None or chip is None or not re.fullmatch(r"OK|Warning|Alarm|Critical|UNKNOWN|Offline", health, re.IGNORECASE):
            continue
        device = Device(VENDOR, "npu", address=address, chip=f"{head[1]}.{chip[1]}")
        name = words_of(head[2])
        device.say("name", name, source)
        usage = re.findall(r"(\d+)\s*/\s*(\d+)", second[2])
        if usage:
            total = integer(usage[-1][1] if hbm else usage[0][1], 1 << 24)
            device.say("memory_bytes", total * MIB if total else None, source)
        device.say("driver_version", version[1] if version else None, source)
        device.say("state", "usable" if health.upper() in ("OK", "WARNING", "ALARM") else "unknown", source)
        found.append(device)
    return found
