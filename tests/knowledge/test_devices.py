"""Devices by name and PCI id: what a listed one tells, and that an unlisted one tells nothing."""

from __future__ import annotations

import itertools

import pytest

from knowledge import devices
from knowledge.catalog import Catalog
from knowledge.facts import Accelerator, MachineProfile

GIB = 2**30


def made(catalog: Catalog, vendor: str, name: str | None = None, **facts: object) -> Accelerator:
    return devices.device_complete(catalog, Accelerator(vendor=vendor, name=name, **facts))[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("vendor", "name", "target"),
    [
        ("nvidia", "NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"),
        ("nvidia", "AD102 [GeForce RTX 4090]", "8.9"),
        ("nvidia", "NVIDIA GeForce RTX4070Ti", "8.9"),
        ("nvidia", "NVIDIA RTX 5000 Ada Generation", "8.9"),
        ("nvidia", "Quadro RTX 5000", "7.5"),
        ("nvidia", "NVIDIA RTX PRO 5000 Blackwell", "12.0"),
        ("nvidia", "NVIDIA RTX A5000", "8.6"),
        ("nvidia", "NVIDIA GeForce GTX TITAN X", "5.2"),
        ("nvidia", "NVIDIA TITAN X (Pascal)", "6.1"),
        ("nvidia", "NVIDIA GeForce RTX 2050", "8.6"),
        ("nvidia", "NVIDIA GeForce GTX 960M", "5.0"),
        ("nvidia", "NVIDIA GeForce GTX 960", "5.2"),
        ("nvidia", "NVIDIA B300 SXM6 AC", "10.3"),
        ("amd", "AMD Radeon RX 6700 XT", "gfx1031"),
        ("amd", "AMD Radeon(TM) 890M Graphics", "gfx1150"),
        ("amd", "AMD Instinct MI300X", "gfx942"),
        ("intel", "Intel(R) Arc(TM) B580 Graphics", "bmg"),
        ("intel", "Intel(R) Arc(TM) 140V GPU (16GB)", "lnl"),
        ("intel", "Intel(R) UHD Graphics 770", "xe-lp"),
        ("apple", "Apple M4 Pro", "apple9"),
        ("moore-threads", "MTT S4000", "mp_22"),
    ],
)
def test_names_tell_the_architecture(catalog: Catalog, vendor: str, name: str, target: str) -> None:
    assert made(catalog, vendor, name).target == target


@pytest.mark.parametrize(
    ("vendor", "name"),
    [
        ("nvidia", "NVIDIA GPU"), ("nvidia", "NVIDIA GeForce RTX 9090"), ("nvidia", "TITAN X"), ("amd", "AMD Radeon Graphics"),
        ("intel", "Intel(R) UHD Graphics"), ("huawei", "Ascend NPU"), ("nobody", "Fastest Card 1"),
    ],
)  # fmt: skip
def test_an_unlisted_name_stays_unknown(catalog: Catalog, vendor: str, name: str) -> None:
    card = made(catalog, vendor, name)
    assert card.target is None
    assert card.memory_bytes is None


def test_a_pci_id_tells_where_the_name_does_not(catalog: Catalog) -> None:
    assert made(catalog, "nvidia", pci_id="10de:2684").target == "8.9"
    assert made(catalog, "amd", "AMD Radeon Graphics", pci_id="1002:164e").target == "gfx1036"
    assert made(catalog, "intel", "Intel NPU", kind="npu", pci_id="8086:643e").target == "npu4000"
    assert made(catalog, "nvidia", pci_id="10de:ffff").target is None
    found = devices.family_of_id(catalog, "1002:744c")
    assert found is not None and found[0] == "amd" and found[1].target == "gfx1100"


@pytest.mark.parametrize(
    ("vendor", "name", "kind"),
    [
        ("nvidia", "NVIDIA GB10", "unified"), ("nvidia", "Orin (nvgpu)", "unified"), ("nvidia", "NVIDIA Thor", "unified"),
        ("apple", "Apple M1", "unified"), ("amd", "Radeon 8060S Graphics", "unified"), ("amd", "AMD Radeon 780M", "shared"),
        ("nvidia", "NVIDIA H100 80GB HBM3", "dedicated"), ("intel", "Intel Arc A770 Graphics", "dedicated"),
    ],
)  # fmt: skip
def test_parts_that_share_the_computers_memory_are_told_apart(catalog: Catalog, vendor: str, name: str, kind: str) -> None:
    card = made(catalog, vendor, name)
    assert card.memory_kind == kind
    assert card.integrated is (None if kind == "dedicated" else True)


def test_memory_comes_from_the_name_only_where_it_is_certain(catalog: Catalog) -> None:
    assert made(catalog, "nvidia", "Tesla V100-SXM2-16GB").memory_bytes == 16 * GIB
    assert made(catalog, "nvidia", "NVIDIA GeForce RTX 4090").memory_bytes == 24 * GIB
    assert made(catalog, "nvidia", "GRID T4-4Q").memory_bytes == 4 * GIB
    # Sold with different sizes, in a laptop, one of several on a chip, or with the processor's memory in the name.
    for name in ("NVIDIA GeForce RTX 3060", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA A100-PCIE"):
        assert made(catalog, "nvidia", name).memory_bytes is None
    assert made(catalog, "amd", "Navi 31 [Radeon RX 7900 XT/7900 XTX]").memory_bytes is None
    assert made(catalog, "nvidia", "NVIDIA GH200 480GB").memory_bytes == 96 * GIB
    assert made(catalog, "nvidia", "NVIDIA A100-SXM4-80GB", mig="1g.10gb").memory_bytes is None


def test_what_was_read_is_never_replaced_and_additions_name_their_source(catalog: Catalog) -> None:
    card = Accelerator(vendor="nvidia", name="NVIDIA GeForce RTX 4090", target="8.9", memory_bytes=25_757_220_864)
    machine = devices.complete(catalog, MachineProfile(accelerators=(card,)))
    assert machine.accelerators is not None
    assert machine.accelerators[0].memory_bytes == 25_757_220_864
    assert "accelerators.0.target" not in machine.sources
    assert "device table" in machine.sources["accelerators.0.memory_kind"]


def test_a_machine_without_devices_is_returned_as_it_is(catalog: Catalog) -> None:
    for machine in (MachineProfile(), MachineProfile(accelerators=())):
        assert devices.complete(catalog, machine) is machine


def test_formats_follow_the_capability(catalog: Catalog) -> None:
    def formats(target: str) -> tuple[bool | None, bool | None, bool | None]:
        card = Accelerator(vendor="nvidia", target=target)
        return devices.bf16(card), devices.fp8(card), devices.int8(card)

    assert formats("7.0") == (False, False, False)
    assert formats("7.5") == (False, False, True)
    assert formats("8.6") == (True, False, True)
    assert formats("8.9") == (True, True, True)
    assert devices.bf16(Accelerator(vendor="nvidia")) is None
    assert devices.bf16(Accelerator(vendor="amd", target="gfx1030"), catalog) is False
    assert devices.fp8(Accelerator(vendor="amd", target="gfx942"), catalog) is True


def test_bandwidth_of_the_longest_name_and_none_for_laptops(catalog: Catalog) -> None:
    def bandwidth(name: str) -> float | None:
        return devices.bandwidth_gbs(catalog, Accelerator(vendor="nvidia", name=name))

    assert bandwidth("NVIDIA GeForce RTX 4070 Ti SUPER") == 672
    assert bandwidth("NVIDIA A100-SXM4-80GB") == 2039
    assert bandwidth("NVIDIA GeForce RTX 4090 Laptop GPU") is None
    assert bandwidth("NVIDIA GPU") is None
    assert devices.matrix_tflops(catalog, Accelerator(vendor="nvidia", name="NVIDIA H100 80GB HBM3")) == 989


def test_no_two_rows_of_a_vendor_claim_one_pci_id(catalog: Catalog) -> None:
    for table in catalog.devices.values():
        ranges = []
        for row in table.families:
            for entry in row.pci_ids:
                vendor, _, numbers = entry.partition(":")
                first, _, last = numbers.partition("-")
                assert len(first) == 4 and first <= (last or first), entry
                ranges.append((vendor, first, last or first, row.family))
        ranges.sort()
        for before, after in itertools.pairwise(ranges):
            assert before[0] != after[0] or before[2] < after[1], (before, after)


def test_values_of_a_row_are_for_names_that_reach_it(catalog: Catalog) -> None:
    """A bandwidth under a name that leads to another row would never be found."""
    for table in catalog.devices.values():
        for row in table.families:
            for name in (*row.names, *row.memory_gib, *row.bandwidth_gbs, *row.matrix_tflops):
                card = Accelerator(vendor=table.vendor, name=name, kind=row.kind)
                found = devices.family(catalog, card)
                assert found is not None and found.target == row.target, (table.vendor, name)
