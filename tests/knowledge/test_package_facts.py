"""The facts on installed packages: a row that could never be found, or that nobody can read, is refused with its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from knowledge.catalog import Catalog, DeviceFamily, DeviceTable, PackageFacts
from knowledge.consistency import problems

SOURCE = {"url": "https://example.org", "date": "2026"}


def faults(catalog: Catalog, **rows: Any) -> list[str]:
    facts = msgspec.convert({"checked": "2026-11-30", **rows}, PackageFacts)
    return problems(msgspec.structs.replace(catalog, packages={**catalog.packages, "own": facts}))


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ({"together": [{"package": "a", "versions": "newest", "with": {"b": ">=1"}, "source": SOURCE}]}, "newest"),
        ({"together": [{"package": "a", "with": {"b": "about 1"}, "source": SOURCE}]}, "about 1"),
        ({"together": [{"package": "Torch_NPU", "with": {"b": ">=1"}, "source": SOURCE}]}, "Torch_NPU"),
        ({"variants": [{"module": "m", "packages": ["a", "b"], "keep": {"nvidia": "c"}, "source": SOURCE}]}, "'c'"),
        ({"contents": [{"package": "a", "remedies": [{"code": "run_this"}], "source": SOURCE}]}, "run_this"),
        (
            {"broken": [{"package": "a", "versions": ">1", "when": [{"word": "moon"}], "because": {"en": "a", "zh": "b"}, "source": SOURCE}]},
            "moon",
        ),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_is_named(catalog: Catalog, rows: dict[str, Any], word: str) -> None:
    found = faults(catalog, **rows)
    assert found and all("packages/own.yaml" in line for line in found)
    assert any(word in line for line in found)


def test_a_remedy_in_the_data_can_hold_no_command() -> None:
    row = {"package": "a", "remedies": [{"code": "uninstall", "commands": ["rm"]}], "source": SOURCE}
    with pytest.raises(msgspec.ValidationError, match="commands"):
        msgspec.convert({"checked": "2026-11-30", "contents": [row]}, PackageFacts)


def test_pci_ids_have_one_form(catalog: Catalog) -> None:
    row = msgspec.convert({"family": "f", "pci_ids": ["10DE:2684"], "source": SOURCE}, DeviceFamily)
    table = DeviceTable(vendor="own", checked="2026-11-30", families=(row,))
    found = problems(msgspec.structs.replace(catalog, devices={**catalog.devices, "own": table}))
    assert len(found) == 1 and "10DE:2684" in found[0]


def test_the_shipped_facts_keep_every_rule(catalog: Catalog) -> None:
    assert problems(catalog) == []
    assert all(facts.checked for facts in catalog.packages.values())


def test_each_default_build_of_torch_has_its_contents(catalog: Catalog) -> None:
    """A build whose code is not known can never be said to miss a card."""
    torch = catalog.packages["torch"]
    known = {tag for row in torch.contents for tag in row.tags}
    assert {row.tag for row in torch.defaults} - {"cpu", "metal"} <= known
