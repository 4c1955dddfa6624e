"""One accelerator as it is put together from several sources, and how readings of the same card find each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from knowledge.facts import Accelerator
from probes.hardware.notes import believable
from probes.hardware.pci import Function

FACTS = frozenset(Accelerator.__struct_fields__)


class Device:
    """Facts of one accelerator by the names of `knowledge.facts.Accelerator`, each with its source; the first stands."""

    def __init__(self, vendor: str, kind: str = "gpu", *, address: str | None = None, chip: str | None = None) -> None:
        self.vendor = vendor
        self.kind = kind
        self.address = address
        self.chip = chip  # tells apart the chips of one card that share an address
        self.facts: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.function: Function | None = None
        self.extra: dict[str, Any] = {}  # what only the vendor's own module needs

    def say(self, name: str, value: Any, source: str) -> Device:
        assert name in FACTS, name
        if value is not None and name not in self.facts and believable(value):
            self.facts[name] = value
            self.sources[name] = source
        return self

    def force(self, name: str, value: Any, source: str) -> None:
        self.facts[name] = value
        self.sources[name] = source

    def get(self, name: str) -> Any:
        return self.facts.get(name)

    def take(self, other: Device) -> None:
        """Facts of OTHER, another reading of this device, where none is known yet."""
        for name, value in other.facts.items():
            self.say(name, value, other.sources[name])
        self.address = self.address or other.address
        self.function = self.function or other.function
        for name, value in other.extra.items():
            self.extra.setdefault(name, value)

    def accelerator(self) -> Accelerator:
        told = {"vendor": self.vendor, "kind": self.kind, **self.facts}
        if self.address is not None:
            told.setdefault("pci_address", self.address)
        return msgspec.convert(told, Accelerator)


def of_function(one: Function, kind: str = "gpu") -> Device:
    device = Device(one.vendor, kind, address=one.address)
    device.function = one
    device.say("pci_address", one.address, one.source)
    device.say("pci_id", one.pci_id, one.source)
    return device


def merge(known: list[Device], readings: Sequence[Device], *, complete: bool = True) -> None:
    """Lay READINGS of one source over KNOWN: by PCI address and chip, then by UUID, then, where as many are left on both
    sides, by order. What matches nothing is a device of its own if the source is COMPLETE enough to prove one."""
    left: list[Device] = []
    free = list(known)
    for reading in readings:
        match = None
        if reading.address is not None:
            match = next((d for d in free if d.address == reading.address and (d.chip or reading.chip) == (reading.chip or d.chip)), None)
        if match is None and reading.get("uuid") is not None:
            match = next((d for d in free if d.get("uuid") == reading.get("uuid")), None)
        if match is None:
            left.append(reading)
        else:
            free.remove(match)
            match.take(reading)
    if not left:
        return
    if not known:
        known.extend(left)
        return
    apart = [r for r in left if r.address is not None and any(d.address is not None for d in free)]
    loose = [r for r in left if r not in apart]
    if loose and len(loose) == len(free):
        for device, reading in zip(free, loose, strict=True):
            device.take(reading)
        loose = []
    elif loose and free and all(r.facts == loose[0].facts for r in loose):
        for device in free:  # equal readings: whichever card it was, the same is true
            if all(d.get("name") == loose[0].get("name") or d.get("name") is None for d in free):
                device.take(loose[0])
    if complete:
        known.extend(apart)
        if not free:
            known.extend(loose)
