"""What would change the advice: it is worked out again with one fact or answer changed, and what that unlocks is told."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from knowledge import pythons
from knowledge.answers import Answers
from knowledge.catalog import Catalog
from knowledge.compatibility import FITS, VENDORS
from knowledge.documents import count
from knowledge.facts import Accelerator, MachineProfile
from knowledge.policy import Policy
from knowledge.text import Text
from knowledge.verdicts import Assessment, Change, Recommendation
from knowledge.versions import at_least

GIB = 2**30


class Trial(NamedTuple):
    """One change: the fact, its new value, the sentence, and the machine and answers that it leads to."""

    fact: str
    becomes: str
    text: Text
    machine: MachineProfile
    answers: Answers


def what_would_change(
    catalog: Catalog,
    machine: MachineProfile,
    answers: Answers,
    chosen: Assessment | None,
    *,
    today: datetime.date,
    policy: Policy | None = None,
) -> tuple[Change, ...]:
    """Each trial that makes another stack the best one, makes it fit better, or lets more frameworks run."""
    from knowledge import advise

    def again(trial_machine: MachineProfile, trial_answers: Answers) -> Recommendation:
        return advise.advise(catalog, trial_machine, trial_answers, today=today, policy=policy)

    before = again(machine, answers)
    running = _running(before)
    result = []
    for trial in trials(catalog, machine, answers, before):
        after = again(trial.machine, trial.answers)
        gained = tuple(sorted(_running(after) - running))
        found = after.chosen
        if found is None:
            continue
        better = chosen is None or FITS.index(found.fit) < FITS.index(chosen.fit)
        newer = chosen is not None and found.framework == chosen.framework and _pins(found) != _pins(chosen)
        other = chosen is not None and found.framework != chosen.framework
        memory = _memory(found) != (_memory(chosen) if chosen is not None else None) and _memory(found) in ("fits", "tight")
        if not (gained or better or newer or other or memory):
            continue
        result.append(
            Change(
                fact=trial.fact, becomes=trial.becomes, text=_told(trial.text, found, gained, other or chosen is None),
                framework=found.framework, fit=found.fit, unlocks=gained,
            )
        )  # fmt: skip
    return tuple(result)


def _told(text: Text, found: Assessment, gained: tuple[str, ...], other: bool) -> Text:
    en, zh = text.en, text.zh
    pins = _pins(found)
    if other:
        en, zh = f"{en} Then {found.framework} would be advised.", f"{zh}那时会推荐 {found.framework}。"
    elif pins:
        en, zh = f"{en} Then the plan would hold {pins[0]}.", f"{zh}那时方案中会是 {pins[0]}。"
    if gained:
        names = ", ".join(gained[:6])
        en, zh = f"{en} It also lets run: {names}.", f"{zh}还能运行：{names}。"
    return Text(en, zh)


def _running(found: Recommendation) -> frozenset[str]:
    """Frameworks that are ready."""
    every = (*((found.chosen,) if found.chosen else ()), *found.others)
    return frozenset(item.framework for item in every if item.fit == "ready")


def _pins(found: Assessment) -> tuple[str, ...]:
    return tuple(f"{p.requirement} ({p.index_id})" for p in found.install.packages) if found.install else ()


def _memory(found: Assessment) -> str | None:
    return found.memory.verdict if found.memory is not None else None


def trials(
    catalog: Catalog, machine: MachineProfile, answers: Answers, before: Recommendation
) -> Iterator[Trial]:
    """The changes that people make: device made usable, driver, system, Python, memory, model."""
    yield from _usable(catalog, machine, answers)
    yield from _driver(catalog, machine, answers)
    yield from _system(machine, answers)
    yield from _python(machine, answers, before)
    yield from _memory_trials(machine, answers)


def _with_cards(machine: MachineProfile, cards: list[Accelerator]) -> MachineProfile:
    return msgspec.structs.replace(machine, accelerators=tuple(cards))


def _usable(catalog: Catalog, machine: MachineProfile, answers: Answers) -> Iterator[Trial]:
    """A device that is there and does not work, made to work; a driver that is missing is then the newest."""
    cards = list(machine.accelerators or ())
    newest = newest_driver(catalog, machine)
    for place, card in enumerate(cards):
        if card.state in ("usable", "unknown"):
            continue
        name = card.name or VENDORS.get(card.vendor, card.vendor)
        changed = [*cards]
        fresh = card.driver_version or (newest if card.vendor == "nvidia" else None)
        changed[place] = msgspec.structs.replace(card, state="usable", driver_version=fresh)
        yield Trial(f"accelerators.{place}.state", "usable",
                    Text(f"With {name} working (driver, restart or rights):", f"如果 {name} 能正常工作（装驱动、重启或授权）："),
                    _with_cards(machine, changed), answers)  # fmt: skip


def newest_driver(catalog: Catalog, machine: MachineProfile) -> str | None:
    """The newest driver that any CUDA asks for; WSL2 shows the driver of Windows."""
    backend = catalog.backends.get("cuda")
    side = "windows" if machine.system.os == "windows" or machine.system.wsl else "linux"
    newest: str | None = None
    for toolkit in backend.toolkits if backend is not None else ():
        floor = toolkit.driver_min.get(side)
        if floor is not None and (newest is None or at_least(floor, newest)):
            newest = floor
    return newest


def _driver(catalog: Catalog, machine: MachineProfile, answers: Answers) -> Iterator[Trial]:
    cards = list(machine.accelerators or ())
    newest = newest_driver(catalog, machine)
    if newest is None or not cards:
        return
    old = [p for p, c in enumerate(cards) if c.vendor == "nvidia" and c.driver_version and at_least(c.driver_version, newest) is False]
    if not old:
        return
    changed = [
        msgspec.structs.replace(c, driver_version=newest, driver_api_max=None) if p in old else c for p, c in enumerate(cards)
    ]
    yield Trial(f"accelerators.{old[0]}.driver_version", newest,
                Text(f"With the NVIDIA driver {newest} or newer:", f"如果 NVIDIA 驱动为 {newest} 或更高版本："),
                _with_cards(machine, changed), answers)  # fmt: skip


def _system(machine: MachineProfile, answers: Answers) -> Iterator[Trial]:
    system = machine.system
    if system.os == "windows":
        linux = msgspec.structs.replace(
            system, os="linux", distribution="ubuntu", release="24.04", build=None, libc="glibc", libc_version="2.39", wsl=2,
        )  # fmt: skip
        fresh = msgspec.structs.replace(machine, system=linux, pythons=_ubuntu_python(system.arch))
        yield Trial("system.wsl", "2", Text("Inside WSL2 (Ubuntu):", "如果在 WSL2（Ubuntu）中："), fresh, answers)
    if system.libc == "musl" or (system.os == "linux" and at_least(system.libc_version, "2.28") is False):
        linux = msgspec.structs.replace(
            system, distribution="ubuntu", release="24.04", libc="glibc", libc_version="2.39", container="docker",
        )  # fmt: skip
        fresh = msgspec.structs.replace(machine, system=linux, pythons=_ubuntu_python(system.arch))
        yield Trial("system.container", "ubuntu:24.04",
                    Text("Inside a container with a newer system (ubuntu:24.04):", "如果使用较新系统的容器（ubuntu:24.04）："),
                    fresh, answers)  # fmt: skip


def _ubuntu_python(arch: str | None) -> tuple[Any, ...]:
    from knowledge.facts import Python

    return (Python(path="/usr/bin/python3", version="3.12.3", kind="system", arch=arch, bits=64, free_threaded=False),)


def _python(machine: MachineProfile, answers: Answers, before: Recommendation) -> Iterator[Trial]:
    """The Python that has the most wheels, where it is not here and something is not ready for want of it."""
    if machine.pythons is None:
        return
    every = (before.chosen, *before.others)
    wanting = [a for a in every if a and any(v.subject == "Python" and v.outcome == "unmet" for v in a.verdicts)]
    if not wanting:
        return
    best = pythons.PREFERRED[0]
    if any(pythons.tag(p) == best for p in machine.pythons):
        return
    from knowledge.facts import Python

    fresh = Python(path=None, version=f"{best}.0", kind="uv", arch=machine.system.arch, bits=64, free_threaded=False)
    changed = msgspec.structs.replace(machine, pythons=(*machine.pythons, fresh))
    yield Trial("pythons", best, Text(f"With Python {best} (uv installs it):", f"如果有 Python {best}（uv 可自动安装）："), changed, answers)


def _memory_trials(machine: MachineProfile, answers: Answers) -> Iterator[Trial]:
    """A model in 4 bits, half the model, or a device with twice the memory; only where a model is named."""
    size = count(answers.model.params)
    if size is None:
        return
    if answers.scenario in ("llm-serving", "edge-inference") and (answers.serving.weight_bits or 16) > 4:
        serving = msgspec.structs.replace(answers.serving, weight_bits=4, weight_format=None)
        yield Trial("serving.weight_bits", "4", Text("With weights in 4 bits:", "如果使用 4 位权重："),
                    machine, msgspec.structs.replace(answers, serving=serving))  # fmt: skip
    if answers.training.method in ("full", "lora"):
        training = msgspec.structs.replace(answers.training, method="qlora")
        yield Trial("training.method", "qlora", Text("With QLoRA instead:", "如果改用 QLoRA："),
                    machine, msgspec.structs.replace(answers, training=training))  # fmt: skip
    half = msgspec.structs.replace(answers.model, params=max(1, size // 2), layers=None, hidden=None, heads=None, kv_heads=None)
    shown = f"{size / 2e9:.3g}B"
    yield Trial("model.params", shown, Text(f"With a model of half the size ({shown}):", f"如果模型缩小一半（{shown}）："),
                machine, msgspec.structs.replace(answers, model=half))  # fmt: skip
    cards = list(machine.accelerators or ())
    for place, card in enumerate(cards):
        if card.memory_bytes is None or card.memory_kind != "dedicated":
            continue
        changed = [*cards]
        changed[place] = msgspec.structs.replace(card, memory_bytes=card.memory_bytes * 2)
        gib = f"{card.memory_bytes * 2 / GIB:.0f} GiB"
        yield Trial(f"accelerators.{place}.memory_bytes", gib, Text(f"With a card of {gib}:", f"如果显卡有 {gib} 显存："),
                    _with_cards(machine, changed), answers)  # fmt: skip
        break
