"""The devices of a machine with the kinds of builds that can use them, best first."""

from __future__ import annotations

from typing import NamedTuple

from knowledge.facts import Accelerator
from knowledge.judged import Situation

VENDORS = {
    "nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "huawei": "Huawei Ascend",
    "qualcomm": "Qualcomm", "moore-threads": "Moore Threads",
}  # fmt: skip
# Which kind of build can use a device of a vendor, the best first.
SERVES = {
    ("nvidia", "gpu"): ("cuda", "vulkan", "directml", "webgpu"),
    ("amd", "gpu"): ("rocm", "vulkan", "directml", "webgpu"),
    ("amd", "npu"): ("xdna",),
    ("intel", "gpu"): ("xpu", "openvino", "vulkan", "directml", "webgpu"),
    ("intel", "npu"): ("openvino",),
    ("apple", "gpu"): ("metal", "coreml", "webgpu"),
    ("apple", "npu"): ("coreml",),
    ("huawei", "npu"): ("cann",),
    ("huawei", "gpu"): ("cann",),
    ("qualcomm", "npu"): ("qnn",),
    ("qualcomm", "gpu"): ("vulkan", "directml", "webgpu"),
    ("rockchip", "npu"): ("rknn",),
    ("moore-threads", "gpu"): ("musa",),
    ("google", "npu"): ("tpu",),
    ("habana", "npu"): ("gaudi",),
}


def platform_of(situation: Situation) -> str | None:
    system = situation.machine.system
    return f"{system.os}-{system.arch}" if system.os and system.arch else None


def integrated(card: Accelerator) -> bool:
    """A GPU or NPU inside the processor; Apple's and NVIDIA's unified chips are the machine's main accelerator."""
    if card.vendor in ("apple", "nvidia") or card.memory_kind == "dedicated":
        return False
    if card.integrated is True or card.memory_kind in ("shared", "unified"):
        return True
    if card.integrated is False or card.memory_kind is not None:
        return False
    if card.kind == "npu":
        return card.vendor in ("intel", "amd", "qualcomm")
    # Intel's cards are called Arc, Flex, Max or DG; all its other graphics are part of a processor.
    words = (card.name or "").lower()
    return card.vendor == "intel" and bool(words) and not any(word in words for word in ("arc", "flex", "max", "dg1", "dg2"))


class Route(NamedTuple):
    """One kind of device that a plan may be made for; no cards: the processor."""

    device: str
    cards: tuple[Accelerator, ...]
    places: tuple[int, ...] = ()  # of the cards in the profile, for evidence


def routes(situation: Situation) -> tuple[Route, ...]:
    """The devices of this machine with the kinds of builds that can use them, best first, the processor last."""
    found: tuple[Route, ...] | None = situation.memo.get("routes")
    if found is not None:
        return found
    groups: dict[tuple[str, str, bool], list[int]] = {}
    cards = situation.machine.accelerators or ()
    for place, card in enumerate(cards):
        if (card.vendor, card.kind) in SERVES:
            groups.setdefault((card.vendor, card.kind, integrated(card)), []).append(place)

    def rank(item: tuple[tuple[str, str, bool], list[int]]) -> tuple[bool, bool, int, int]:
        (_, kind, inside), places = item
        size = sum((cards[p].memory_bytes or 0) * cards[p].count for p in places)
        # An Ascend card is an NPU by name and the main accelerator in fact.
        return inside, kind == "npu" and cards[places[0]].vendor != "huawei", -size, places[0]

    result: list[Route] = []
    for (vendor, kind, _), places in sorted(groups.items(), key=rank):
        group = tuple(cards[p] for p in places)
        result.extend(Route(device, group, tuple(places)) for device in SERVES[vendor, kind])
    found = (*result, Route("cpu", ()))
    situation.memo["routes"] = found
    return found
