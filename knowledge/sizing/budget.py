"""How much memory a device really offers a model: card, slice, unified or shared memory, container limit, processor."""

from __future__ import annotations

from typing import Literal

from knowledge.facts import Accelerator, Base, MachineProfile
from knowledge.text import Text
from knowledge.verdicts import Assumption

GIB = 2**30
Where = Literal["dedicated", "shared", "unified", "cpu", "unknown"]

# Bytes that a device offers, bytes free now, kind of memory, and what was assumed.
Offer = tuple[int | None, int | None, Where, tuple[Assumption, ...]]

# Chances that a device can be made to work; a disabled or unlicensed one is left out.
STATES = ("usable", "unknown", "no_driver", "module_missing", "driver_mismatch", "permission_denied", "hidden")


class Budget(Base, frozen=True, kw_only=True):
    """What one device offers. `now_bytes` is what was free at the time of reading, where that is less."""

    where: Where
    devices: int = 1
    device: Accelerator | None = None
    available_bytes: int | None = None
    now_bytes: int | None = None
    host_bytes: int | None = None  # the computer's own memory, for offload; None where the device uses that itself
    usual_share: float = 1.0  # of `available_bytes` that a server takes unless it is told otherwise
    other_devices: int = 0  # accelerators of another kind that the plan leaves aside
    assumptions: tuple[Assumption, ...] = ()


def groups(machine: MachineProfile) -> list[tuple[Accelerator, int]]:
    """Accelerators of one kind with their number, the most useful first: usable before not, then by memory in all."""
    found: dict[tuple[object, ...], tuple[Accelerator, int]] = {}
    for device in machine.accelerators or ():
        if device.state not in STATES or (device.kind == "npu" and offered(device, machine)[0] is None):
            continue
        key = (device.vendor, device.name, device.memory_bytes, device.memory_kind, device.mig, device.kind)
        known = found.get(key)
        if known is None:
            found[key] = (device, device.count)
        else:
            better = device if device.state == "usable" else known[0]
            found[key] = (better, known[1] + device.count)

    def rank(item: tuple[Accelerator, int]) -> tuple[int, ...]:
        device, number = item
        one = offered(device, machine)[0]
        return (
            1 if device.state == "usable" else 0,
            1 if device.kind == "gpu" or device.memory_kind == "dedicated" else 0,
            0 if device.integrated or device.memory_kind == "shared" else 1,
            (one or 0) * number,
            one or 0,
        )

    return sorted(found.values(), key=rank, reverse=True)


def budget(machine: MachineProfile, device: Accelerator | Literal["cpu"] | None = None) -> Budget:
    """Budget per device on MACHINE; DEVICE pins the choice, else the best kind of accelerator, or the processor."""
    found = groups(machine)
    if device == "cpu" or (device is None and machine.accelerators is not None and not found):
        return processor(machine)
    if isinstance(device, Accelerator):
        same = (device.vendor, device.name, device.mig)
        number = next((n for d, n in found if (d.vendor, d.name, d.mig) == same), 0)
        chosen, devices = device, number or device.count
    elif found:
        chosen, devices = found[0]
    else:
        unknown = Assumption(
            fact="accelerators", assumed="unknown",
            because=Text("It is not known which accelerator there is, so nothing can be compared with its memory.",
                         "不知道有什么加速器，因此无法与其内存比较。"),
        )  # fmt: skip
        return Budget(where="unknown", host_bytes=host_memory(machine), assumptions=(unknown,))
    size, now, where, assumptions = _offer(chosen, machine)
    others = sum(n for d, n in found if d is not chosen and d.memory_kind == "dedicated" and d.kind == chosen.kind)
    return Budget(
        where=where, devices=devices, device=chosen, available_bytes=size, now_bytes=now,
        host_bytes=host_memory(machine) if where == "dedicated" else None,
        other_devices=max(0, others - (devices if isinstance(device, Accelerator) and not number else 0)),
        assumptions=assumptions,
    )  # fmt: skip


def offered(device: Accelerator, machine: MachineProfile) -> tuple[int | None, Where]:
    size, _, where, _ = _offer(device, machine)
    return size, where


def processor(machine: MachineProfile) -> Budget:
    """The computer's own memory, for work on the processor."""
    size = host_memory(machine)
    now = _now(machine)
    return Budget(where="cpu", available_bytes=size, now_bytes=None if size is None else _less(now, size))


def host_memory(machine: MachineProfile) -> int | None:
    """Memory that programs may use: the whole less what the system needs, or the container's limit if that is lower."""
    memory = machine.memory
    total = memory.total_bytes
    if total is None and memory.limit_bytes is None:
        return None
    parts = []
    if total is not None:
        parts.append(total - min(max(GIB // 2, total // 12), 8 * GIB))
    if memory.limit_bytes is not None:
        parts.append(round(memory.limit_bytes * 0.97))
    return max(0, min(parts))


def _now(machine: MachineProfile) -> int | None:
    return machine.memory.available_bytes


def _offer(device: Accelerator, machine: MachineProfile) -> Offer:
    kind = device.memory_kind or ("dedicated" if device.memory_bytes else None)
    if kind is None and device.vendor == "apple":
        kind = "unified"
    if kind is None and device.integrated:
        kind = "shared"
    if kind == "dedicated":
        size = device.memory_bytes
        if device.usable_bytes is not None:
            size = device.usable_bytes if size is None else min(size, device.usable_bytes)
        return size, None, "dedicated", ()
    host = host_memory(machine)
    now = _now(machine)
    if kind == "unified" and device.vendor == "amd" and device.memory_bytes:
        kind = "shared"  # a carve-out beside what it may map, whatever the machine calls it
    if kind == "unified":
        return _unified(device, machine, host, now)
    if kind == "shared":
        return _shared(device, machine, host, now)
    return None, None, "unknown", ()


def _unified(
    device: Accelerator, machine: MachineProfile, host: int | None, now: int | None
) -> Offer:
    if device.usable_bytes is not None:
        size = device.usable_bytes if host is None else min(host, device.usable_bytes)
        return size, _less(now, size), "unified", ()
    total = machine.memory.total_bytes or device.memory_bytes
    if device.vendor == "apple" and total is not None:
        # What Metal recommends as working set: 11.8 of 16 GiB, 36 of 48 GiB on current systems.
        share = 0.75 if total >= 34 * GIB else 0.74
        size = round(total * share)
        note = Assumption(
            fact="accelerators.usable_bytes", assumed=str(size),
            because=Text("macOS lets Metal use about three quarters of the memory; the exact figure was not read.",
                         "macOS 允许 Metal 使用约四分之三的内存；未读到确切数值。"),
        )  # fmt: skip
        return size, _less(now, size), "unified", (note,)
    size_or_none = host if host is not None else device.memory_bytes
    if size_or_none is None:
        return None, None, "unified", ()
    note = Assumption(
        fact="accelerators.memory_bytes", assumed=str(size_or_none),
        because=Text("The GPU uses the computer's own memory, so the budget is that memory less what the system needs.",
                     "GPU 使用系统内存，因此预算是系统内存减去系统自身所需。"),
    )  # fmt: skip
    return size_or_none, _less(now, size_or_none), "unified", (note,)


def _shared(
    device: Accelerator, machine: MachineProfile, host: int | None, now: int | None
) -> Offer:
    carved = device.memory_bytes or 0
    notes: tuple[Assumption, ...] = ()
    pool = device.shared_bytes
    if device.usable_bytes is not None:
        return device.usable_bytes, None, "shared", ()
    if pool is None and machine.memory.total_bytes is not None:
        # Linux (amdgpu's GTT) and Windows both let an integrated GPU map half of the memory unless told otherwise.
        pool = machine.memory.total_bytes // 2
        note = Assumption(
            fact="accelerators.shared_bytes", assumed=str(pool),
            because=Text("An integrated GPU may map half of the system memory unless it was set otherwise.",
                         "除非另行设置，集成 GPU 可使用一半的系统内存。"),
        )  # fmt: skip
        notes = (note,)
    if pool is None:
        return (carved or None), None, "shared", notes
    if host is not None:
        pool = min(pool, host)
    free = None if now is None else min(pool, now) + carved
    return carved + pool, _less(free, carved + pool), "shared", notes


def _less(now: int | None, size: int) -> int | None:
    return now if now is not None and now < size else None


def elsewhere(machine: MachineProfile) -> Budget:
    """The budget where the work is meant for devices that the machine file does not describe."""
    note = Assumption(
        fact="accelerators", assumed="unknown",
        because=Text("The work is meant for another device, whose memory is not described.",
                     "该任务面向另一设备，而其内存未作描述。"),
    )  # fmt: skip
    return Budget(where="unknown", host_bytes=host_memory(machine), assumptions=(note,))
