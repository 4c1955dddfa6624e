"""AMD's NPU (XDNA, sold as Ryzen AI): its PCI function, the amdxdna driver, and XRT's own list."""

from __future__ import annotations

import re

from knowledge.text import Text
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import outputs, words_of
from probes.hardware.pci import Function, address_of

VENDOR = "amd"


def read(context: Context, functions: list[Function]) -> list[Device]:
    """NPUs among FUNCTIONS (AMD's), completed by xrt-smi."""
    host = context.host
    npus = [of_function(one, "npu") for one in functions if one.vendor_id == "1022"]
    error: tuple[str, str] | None = None
    readings = outputs(host, "xrt-smi", ("examine",)) if host.recorded or (npus and host.which("xrt-smi").ok) else []
    for reading in readings:
        found = []
        for address, name in re.findall(r"^\|\s*\[([0-9a-fA-F:.]+)\]\s*\|\s*(\S[^|]*?)\s*\|", reading.text, re.MULTILINE):
            device = Device(VENDOR, "npu", address=address_of(address))
            device.say("name", words_of(name), reading.source)
            version = re.search(r"amdxdna Version\s*:\s*(\S+)", reading.text)
            device.say("driver_version", version[1] if version else None, reading.source)
            device.say("state", "usable", reading.source)
            found.append(device)
        merge(npus, found)
        match = re.search(r"ERROR: ([^\n]+)", reading.text)
        if match:
            error = (match[1].strip(), reading.source)
    for device in npus:
        if device.function is not None and device.get("name") is None:
            named = context.name_of(device.function)
            if named:
                device.say("name", named[0], named[1])
        _state(context, device, error)
    return npus


def _state(context: Context, device: Device, error: tuple[str, str] | None) -> None:
    host, notes = context.host, context.notes
    if device.get("state") is not None:
        return
    driver = device.function.driver if device.function is not None else None
    if error is not None and "mmap" in error[0]:
        device.say("state", "permission_denied", error[1])
        notes.find(
            "accel.permission", "warning", "amd npu",
            Text("The NPU is there, but this user may not lock enough memory for it (ulimit -l); raise the limit memlock.",
                 "检测到 NPU，但当前用户可锁定的内存不足（ulimit -l）；请提高 memlock 限制。"), error,
        )  # fmt: skip
    elif error is not None:
        device.say("state", "unknown", error[1])
        notes.find("probe.failed", "info", "amd npu", Text(f"xrt-smi says: {error[0]}.", f"xrt-smi 提示：{error[0]}。"), error)
    elif host.os != "linux" or not context.complete:
        device.say("state", "unknown", "")
    elif driver is None:
        device.say("state", "no_driver", "PCI driver")
        notes.find(
            "driver.missing", "info", "amd npu",
            Text("The NPU has no driver: amdxdna (Linux 6.14 or newer) is not loaded.", "NPU 没有驱动：未加载 amdxdna（Linux 6.14 及以上）。"),
            ("no driver", str(device.address)),
        )  # fmt: skip
    else:
        node = next((name for name in host.list("/dev/accel").names if name.startswith("accel")), None)
        access = host.access(f"/dev/accel/{node}") if node else None
        if access is not None and {"r", "w"} <= set(access.text):
            # The kernel's driver is there; programs also need XRT, which only its own tool proves.
            device.say("state", "usable" if host.which("xrt-smi").ok else "unknown", access.source)
        elif access is not None and access.ok:
            device.say("state", "permission_denied", access.source)
            notes.find(
                "accel.permission", "warning", "amd npu",
                Text(f"This user may not open {access.source}; join the group render.", f"当前用户无权打开 {access.source}；请加入 render 用户组。"),
                ("no read and write access", access.source),
            )  # fmt: skip
        else:
            device.say("state", "unknown", "")
