"""What follows from a device's PCI id or name: architecture, kind of memory, numeric formats, bandwidth.

The tables are data (`data/devices/<vendor>.yaml`). A name or id that no table lists stays unknown: nothing is guessed.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from knowledge.catalog import Catalog, DeviceFamily, DeviceTable
from knowledge.facts import Accelerator, MachineProfile
from knowledge.versions import capability, covers

__all__ = [
    "bandwidth_gbs", "bf16", "complete", "covers", "device_complete", "family", "family_of_id", "fp8", "int8", "matrix_tflops",
]  # fmt: skip

GIB = 2**30
# A name that tells of these parts is another card than the desktop one of the same number: its memory differs.
OTHER_MEMORY = frozenset({"laptop", "mobile", "max", "q", "m", "notebook"})
# Here "480GB" in the name is the processor's memory.
PROCESSOR_MEMORY = frozenset({"gh200", "gb200", "gb300"})


def complete(catalog: Catalog, machine: MachineProfile) -> MachineProfile:
    """MACHINE with what its devices' PCI ids and names tell, each such fact named in `sources`; nothing read is changed."""
    if not machine.accelerators:
        return machine
    sources = dict(machine.sources)
    cards = []
    seen: dict[tuple[object, ...], tuple[Accelerator, dict[str, str]]] = {}  # nodes have eight cards of one kind
    for place, card in enumerate(machine.accelerators):
        bare = msgspec.structs.replace(card, pci_address=None, uuid=None, links=())
        facts = msgspec.structs.astuple(bare)
        if facts not in seen:
            seen[facts] = device_complete(catalog, bare)
        done, why = seen[facts]
        done = msgspec.structs.replace(done, pci_address=card.pci_address, uuid=card.uuid, links=card.links)
        for key in why:
            sources.setdefault(f"accelerators.{place}.{key}", why[key])
        cards.append(done)
    if tuple(cards) == machine.accelerators:
        return machine
    return msgspec.structs.replace(machine, accelerators=tuple(cards), sources=sources)


def device_complete(catalog: Catalog, card: Accelerator) -> tuple[Accelerator, dict[str, str]]:
    """CARD with what its PCI id or name tells, and for each fact added where it comes from."""
    table = catalog.devices.get(card.vendor)
    if table is None:
        return card, {}
    row, by = _row(table, card)
    if row is None:
        return card, {}
    source = f"device table ({by}: {row.family})"
    found: dict[str, object] = {}
    if card.name is None and by.startswith("PCI id"):
        maker = card.vendor.upper() if card.vendor in ("nvidia", "amd") else card.vendor.capitalize()
        found["name"] = f"{maker} {card.kind.upper()} ({row.family})"
    if card.target is None and row.target is not None:
        found["target"] = row.target
    if card.memory_kind is None and row.memory_kind is not None:
        found["memory_kind"] = row.memory_kind
    kind = card.memory_kind or row.memory_kind
    if card.integrated is None and kind in ("shared", "unified"):
        found["integrated"] = True
    if card.memory_bytes is None and kind == "dedicated" and card.name is not None and card.mig is None:
        size = _memory_gib(row, card.name)
        if size is not None:
            found["memory_bytes"] = round(size * GIB)
    if not found:
        return card, {}
    return msgspec.structs.replace(card, **found), dict.fromkeys(found, source)


def family(catalog: Catalog, card: Accelerator) -> DeviceFamily | None:
    """The table row that CARD's PCI id or name belongs to; None where none does, or where two rows fit equally well."""
    table = catalog.devices.get(card.vendor)
    return None if table is None else _row(table, card)[0]


def family_of_id(catalog: Catalog, pci_id: str) -> tuple[str, DeviceFamily] | None:
    """Vendor and row of a PCI id such as "10de:2684", or None."""
    for vendor, table in catalog.devices.items():
        for row in table.families:
            if any(_in_range(pci_id.lower(), entry) for entry in row.pci_ids):
                return vendor, row
    return None


def _row(table: DeviceTable, card: Accelerator) -> tuple[DeviceFamily | None, str]:
    """A name says more than an id (one chip is sold as several cards), so it is tried first."""
    rows = [row for row in table.families if row.kind == card.kind] or list(table.families)
    if card.name:
        row = _by_name(rows, card.name)
        if row is not None and (row.target is not None or card.pci_id is None):
            return row, f"name {card.name!r}"
    if card.pci_id:
        for row in rows:
            if any(_in_range(card.pci_id.lower(), entry) for entry in row.pci_ids):
                return row, f"PCI id {card.pci_id}"
    if card.name:
        return _by_name(rows, card.name), f"name {card.name!r}"
    return None, ""


def _by_name(rows: list[DeviceFamily], name: str) -> DeviceFamily | None:
    """The row with the longest name (in words) inside NAME; None where rows of different targets tie."""
    words = _words(name)
    best, size = [], 0
    for row in rows:
        length = max((len(_words(entry)) for entry in row.names if _contains(words, _words(entry))), default=0)
        if length > size:
            best, size = [row], length
        elif length and length == size:
            best.append(row)
    if not best or any(row.target != best[0].target for row in best):
        return None
    return best[0]


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    """NAME in lower-case words: "RTX4070Ti" and "RTX 4070 Ti" are the same, marks such as (R) are left out."""
    text = re.sub(r"\((?:r|tm|c)\)|[®™]", " ", name.lower())
    text = re.sub(r"\b(rtx|gtx|gt|rx)(?=\d{3,4})", r"\1 ", text)
    text = re.sub(r"\b(\d{4})(ti|xtx|xt|super)\b", r"\1 \2", text)
    text = re.sub(r"\b(ti)(super)\b", r"\1 \2", text)
    return tuple(re.findall(r"[a-z0-9_+]+", text))


def _contains(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    size = len(part)
    return any(words[start : start + size] == part for start in range(len(words) - size + 1))


def _in_range(pci_id: str, entry: str) -> bool:
    """Whether PCI_ID ("10de:2684") is ENTRY, which may be a range ("10de:2680-26ff")."""
    vendor, _, numbers = entry.partition(":")
    if not pci_id.startswith(f"{vendor}:"):
        return False
    first, _, last = numbers.partition("-")
    device = pci_id.partition(":")[2][:4]
    return first <= device <= (last or first)


def _best(values: dict[str, float], name: str) -> float | None:
    """The value whose key is the longest inside NAME."""
    words = _words(name)
    fitting = [key for key in values if _contains(words, _words(key))]
    return values[max(fitting, key=lambda key: len(_words(key)))] if fitting else None


def _memory_gib(row: DeviceFamily, name: str) -> float | None:
    """Memory that the name itself states, else the table's where the name is of exactly that card."""
    words = _words(name)
    if "/" in name:
        return None  # a list of cards that share a chip
    virtual = re.search(r"-(\d{1,3})[qcab]$", name.lower())  # a profile of a virtual GPU: T4-4Q has 4 GiB
    if virtual:
        return float(virtual.group(1))
    stated = [int(match.group(1)) for word in words if (match := re.fullmatch(r"(\d{1,3})gb?", word))]
    if len(stated) == 1 and not PROCESSOR_MEMORY & set(words):
        return float(stated[0])
    if OTHER_MEMORY & set(words):
        return None
    return _best(row.memory_gib, name)


def bf16(card: Accelerator, catalog: Catalog | None = None) -> bool | None:
    """Whether CARD computes in bfloat16 by hardware; None where that is not known.

    NVIDIA: capability 8.0 and newer. Source: CUDA programming guide, arithmetic of compute capabilities.
    """
    have = capability(card.target) if card.vendor == "nvidia" else None
    if have is not None:
        return have >= (8, 0)
    row = _told(card, catalog)
    return row.bf16 if row else None


def fp8(card: Accelerator, catalog: Catalog | None = None) -> bool | None:
    """Whether CARD multiplies matrices in 8-bit floats by hardware (NVIDIA: 8.9 and newer); None where not known."""
    have = capability(card.target) if card.vendor == "nvidia" else None
    if have is not None:
        return have >= (8, 9)
    row = _told(card, catalog)
    return row.fp8 if row else None


def int8(card: Accelerator, catalog: Catalog | None = None) -> bool | None:
    """Whether CARD has 8-bit integer dot products (NVIDIA: 6.1 and newer but 6.2 and 7.0); None where not known."""
    have = capability(card.target) if card.vendor == "nvidia" else None
    if have is not None:
        return have >= (6, 1) and have not in ((6, 2), (7, 0))
    row = _told(card, catalog)
    return row.int8 if row else None


def bandwidth_gbs(catalog: Catalog, card: Accelerator) -> float | None:
    """Memory bandwidth of one CARD in GB/s (10^9), or None for a card that the table does not list."""
    row = family(catalog, card)
    if row is None or not card.name or ("laptop" in _words(card.name)):
        return None
    return _best(row.bandwidth_gbs, card.name)


def matrix_tflops(catalog: Catalog, card: Accelerator) -> float | None:
    """Peak of dense bf16 or fp16 matrix products of one CARD in TFLOPS, or None."""
    row = family(catalog, card)
    if row is None or not card.name or ("laptop" in _words(card.name)):
        return None
    return _best(row.matrix_tflops, card.name)


def _told(card: Accelerator, catalog: Catalog | None) -> DeviceFamily | None:
    """The row by architecture where it was read, else by id or name."""
    table = catalog.devices.get(card.vendor) if catalog is not None else None
    if table is None:
        return None
    if card.target is not None:
        rows = [row for row in table.families if row.target == card.target]
        if rows:
            return rows[0]
    return _row(table, card)[0]
