"""What a rule is given: the knowledge, the machine and one environment; and how it says what it found."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from functools import cached_property

from knowledge.builds_of import Built, built, platform_of, versions_of
from knowledge.catalog import Catalog
from knowledge.catalog import Remedy as RemedyData
from knowledge.explain import remedy
from knowledge.facts import Accelerator, Evidence, Finding, MachineProfile, Python, Remedy, Severity, Source
from knowledge.predicates import evidence
from knowledge.text import Text

VENDORS = {
    "nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "huawei": "Huawei Ascend", "qualcomm": "Qualcomm",
    "moore-threads": "Moore Threads", "cambricon": "Cambricon", "hygon": "Hygon", "iluvatar": "Iluvatar", "metax": "MetaX",
    "kunlunxin": "Kunlunxin", "enflame": "Enflame", "rockchip": "Rockchip", "google": "Google", "habana": "Intel Gaudi",
}  # fmt: skip
DEVICE_OF = {
    "nvidia": "cuda", "amd": "rocm", "intel": "xpu", "apple": "metal", "huawei": "cann", "moore-threads": "musa",
    "google": "tpu", "habana": "gaudi", "qualcomm": "qnn", "rockchip": "rknn",
}  # fmt: skip


LEARNING = frozenset({
    "torch", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "jax", "paddlepaddle", "paddlepaddle-gpu", "mindspore", "mxnet", "onnxruntime",
    "onnxruntime-gpu", "vllm",
})  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """The machine with the knowledge about it."""

    catalog: Catalog
    profile: MachineProfile
    today: datetime.date

    @property
    def cards(self) -> tuple[Accelerator, ...]:
        return self.profile.accelerators or ()

    def of(self, vendor: str, kind: str | None = None) -> list[tuple[int, Accelerator]]:
        """Place and card of each device of VENDOR that works, or of whose state nothing is known."""
        return [
            (place, card)
            for place, card in enumerate(self.cards)
            if card.vendor == vendor and card.state in ("usable", "unknown") and (kind is None or card.kind == kind)
        ]

    @cached_property
    def learns(self) -> bool:
        """Whether a framework is installed in any environment."""
        return any(LEARNING & set(versions_of(python)) for python in self.profile.pythons or ())

    def fact(self, key: str, value: object) -> tuple[Evidence, ...]:
        return evidence(self.profile, key, value)


@dataclass(frozen=True)
class Environment:
    """One Python of the machine."""

    machine: Machine
    python: Python
    place: int
    memo: dict[str, Built | None] = field(default_factory=dict)

    @cached_property
    def versions(self) -> dict[str, str]:
        return versions_of(self.python)

    @property
    def name(self) -> str:
        return self.python.path or f"python {self.place}"

    @cached_property
    def platform(self) -> str | None:
        return platform_of(self.machine.profile, self.python)

    def built(self, package: str) -> Built | None:
        if package not in self.memo:
            self.memo[package] = built(self.machine.catalog, self.machine.profile, self.python, package, self.versions)
        return self.memo[package]

    def proof(self, *packages: str) -> tuple[Evidence, ...]:
        return tuple(
            Evidence(fact=f"{name} {self.versions[name]}", source=self.name) for name in packages if name in self.versions
        )

    def cure(self, code: str, **params: str) -> Remedy:
        """The remedy CODE for this environment: its commands use this very Python."""
        given = {"python": self.python.path or "", "os": self.machine.profile.system.os or "", **params}
        return remedy(code, given)

    def cures(self, items: tuple[RemedyData, ...]) -> tuple[Remedy, ...]:
        return tuple(self.cure(item.code, **item.params) for item in items)


def found(
    code: str,
    severity: Severity,
    subject: str,
    en: str,
    zh: str,
    proof: tuple[Evidence, ...] = (),
    remedies: tuple[Remedy, ...] = (),
    source: Source | None = None,
) -> Finding:
    once = tuple({(item.code, item.text.en): item for item in reversed(remedies)}.values())[::-1]
    return Finding(
        code=code, severity=severity, subject=subject, because=Text(en, zh), evidence=proof, remedies=once, source=source
    )


def title(card: Accelerator) -> str:
    """How a device is called in a sentence."""
    name = card.name or f"{VENDORS.get(card.vendor, card.vendor)} {card.kind.upper()}"
    return f"{card.count} × {name}" if card.count > 1 else name
