"""Accelerators: one module a vendor, each putting its devices together from several sources."""

from __future__ import annotations

from knowledge.facts import Accelerator, Finding
from knowledge.text import Text
from probes.hardware import pci
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device
from probes.hardware.notes import Notes
from probes.host import Host


def read(host: Host, system: Notes) -> tuple[tuple[Accelerator, ...] | None, tuple[Finding, ...], dict[str, str]]:
    """Every accelerator of HOST with findings and sources ("accelerators.0.name").

    None: nothing could be looked at, as in a recording without any list of devices. An empty tuple: looked, none there.
    """
    from probes.hardware.accelerators import modules

    functions = pci.functions(host)
    context = Context(host, system, functions)
    devices: list[Device] = []
    for module in modules.vendors(context):
        try:
            found = module.read(context)
        except Exception as error:  # noqa: BLE001 - one vendor's surprise must not hide the others; it is told
            context.notes.find(
                "probe.failed", "warning", module.VENDOR,
                Text(f"The devices of {module.VENDOR} could not be read: {type(error).__name__}.",
                     f"无法读取 {module.VENDOR} 的设备：{type(error).__name__}。"),
                (str(error), module.__name__),
            )  # fmt: skip
            continue
        devices += found
    sources: dict[str, str] = {}
    for number, device in enumerate(devices):
        sources.update({f"accelerators.{number}.{name}": source for name, source in device.sources.items() if source})
    looked = bool(devices) or not host.recorded or context.complete or host.list(pci.DEVICES).ok
    said = tuple(device.accelerator() for device in devices) if looked else None
    return said, tuple(context.notes.findings), sources
