"""What every vendor's module is handed: the machine, its PCI functions, and what was learnt on the way."""

from __future__ import annotations

import json
from typing import Any

from probes.hardware import pci, system
from probes.hardware.notes import Notes
from probes.host import Host


class Context:
    """One look at the accelerators of HOST. `memory` holds what one module learnt for itself."""

    def __init__(self, host: Host, operating_system: Notes, functions: list[pci.Function]) -> None:
        self.host = host
        self.system = operating_system
        self.functions = functions
        self.notes = Notes("accelerators")
        self.memory: dict[str, Any] = {}
        self.wsl = operating_system.get("wsl") is not None
        self.container = operating_system.get("container") is not None
        self.container_source = operating_system.sources.get("system.container", "")
        # A recording of our own holds the answers that every probe gets; others hold only some, where absent tells nothing.
        self.complete = not host.recorded or host.call("uname").ok or host.call("windows_system").ok
        self._names: dict[str, tuple[str, str] | None] = {}
        self._attributes: list[dict[str, Any]] | None = None

    def jetson(self) -> str | None:
        return system.jetson(self.host)

    def name_of(self, one: pci.Function) -> tuple[str, str] | None:
        """The device's name with its source: as lspci or udev printed it, else of the machine's own pci.ids."""
        if one.name:
            return pci.readable_name(one.name), one.source
        key = one.pci_id
        if key is None:
            return None
        if key not in self._names:
            found = pci.database_name(self.host, one.vendor_id, one.device_id)
            self._names[key] = (pci.readable_name(found[0]), found[1]) if found else None
        return self._names[key]

    def cuda_attributes(self) -> list[dict[str, Any]]:
        """Devices as the CUDA driver itself describes them; asked live only on Arm, where shared memory occurs."""
        if self._attributes is None:
            self._attributes = []
            if self.host.recorded or self.system.get("arch") == "aarch64":
                reading = self.host.call("cuda_attributes")
                if reading.ok:
                    try:
                        rows = json.loads(reading.text)
                    except ValueError:
                        rows = []
                    self._attributes = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return self._attributes
