"""The machine in a report: in a line, as a profile that people read, and every reading with its source."""

from __future__ import annotations

from typing import Any

import msgspec

from advisor_gui import wording
from advisor_gui.report import names
from advisor_gui.report.blocks import Heading, Notice, Repair, Sayer, Table, Tone
from advisor_gui.report.value import Report
from knowledge.facts import Accelerator, Finding, MachineProfile, Python, Remedy
from knowledge.text import Text

SEVERITY_TONE: dict[str, Tone] = {"error": "bad", "warning": "warn", "info": "info"}
MEMORY_KIND = {
    "dedicated": Text("dedicated", "独立显存"), "shared": Text("shared", "共享"), "unified": Text("unified", "统一内存"),
}  # fmt: skip
SOFTWARE = {
    "cuda_toolkit": "CUDA Toolkit", "rocm": "ROCm", "cann": "CANN", "level_zero": "Level Zero", "oneapi": "oneAPI", "vc_redist": "VC++ Runtime",
    "msvc": "MSVC", "gcc": "GCC", "nvcc": "nvcc", "cmake": "CMake", "docker": "Docker", "container_toolkit": "NVIDIA Container Toolkit",
    "kubectl": "kubectl", "slurm": "Slurm", "uv": "uv", "pip": "pip", "conda": "conda",
}  # fmt: skip
PACKAGES_SHOWN = 6


def system_in_a_line(machine: MachineProfile) -> str:
    system = machine.system
    name = " ".join(w for w in (names.system(system.distribution or system.os), system.release) if w)
    inside = ["WSL2" if system.wsl == 2 else "WSL" if system.wsl else "", system.container or "", system.sandbox or ""]
    return ", ".join(w for w in (name, system.arch or "", *inside) if w)


def devices_in_a_line(machine: MachineProfile) -> str:
    every = [(d.count, d.name or names.vendor(d.vendor)) for d in machine.accelerators or ()]
    return ", ".join(f"{n} × {name}" if n > 1 else name for n, name in every)


def in_a_line(machine: MachineProfile) -> str:
    return " · ".join(w for w in (system_in_a_line(machine), machine.cpu.model, devices_in_a_line(machine)) if w)


def repairs(remedies: tuple[Remedy, ...], say: Sayer) -> tuple[Repair, ...]:
    return tuple(Repair(said=say.text(r.text), commands=r.commands) for r in remedies)


def findings(found: tuple[Finding, ...], say: Sayer) -> tuple[Any, ...]:
    return tuple(
        Notice(
            tone=SEVERITY_TONE[f.severity], word=say.text(wording.SEVERITY[f.severity]), said=say.text(f.because),
            detail=" · ".join(dict.fromkeys(w for w in (f.subject, evidence(f.evidence[:3]), f.code) if w)),
            repairs=repairs(f.remedies, say),
        )
        for f in found
    )  # fmt: skip


def evidence(found: tuple[Any, ...]) -> str:
    """Facts with the place each was read from, without saying one place twice in a row."""
    said, last = [], None
    for one in found:
        said.append(f"{one.fact} [{one.source}]" if one.source and one.source != last else one.fact)
        last = one.source
    return "; ".join(said)


def machine(value: Report, say: Sayer) -> tuple[Any, ...]:
    heads = (say("Part", "部件"), say("What it is", "情况"))
    rows = [row for row in _profile(value.machine, say) if row[1]]
    blocks: list[Any] = [Table(heads=heads, rows=tuple(rows), wide=(1, 3))] if rows else []
    if value.machine.pythons:
        blocks.append(Heading(said=say("Python environments", "Python 环境")))
        heads3 = ("Python", say("Place", "位置"), say("Packages", "软件包"))
        blocks.append(Table(heads=heads3, rows=tuple(_python(p, value, say) for p in value.machine.pythons), wide=(1, 3, 3)))
    unread = findings(value.machine.findings, say)
    if unread:
        blocks += [Heading(said=say("What could not be read", "未能读取的内容")), *unread]
    return tuple(blocks)


def _profile(machine: MachineProfile, say: Sayer) -> list[tuple[str, str]]:
    system, cpu, memory = machine.system, machine.cpu, machine.memory
    libc = " ".join(w for w in (system.libc, system.libc_version) if w)
    cores = [say(f"{cpu.physical_cores} cores", f"{cpu.physical_cores} 核")] if cpu.physical_cores else []
    cores += [say(f"{cpu.logical_cpus} threads", f"{cpu.logical_cpus} 线程")] if cpu.logical_cpus else []
    if cpu.usable_cpus is not None and cpu.logical_cpus is not None and cpu.usable_cpus < cpu.logical_cpus:
        cores.append(say(f"{cpu.usable_cpus:g} of them usable", f"其中可用 {cpu.usable_cpus:g}"))
    sizes = [say.text(wording.size(memory.total_bytes))] if memory.total_bytes else []
    if memory.available_bytes:
        sizes.append(say.text(wording.size(memory.available_bytes)) + say(" free", " 可用"))
    if memory.limit_bytes:
        sizes.append(say("limited to ", "上限 ") + say.text(wording.size(memory.limit_bytes)))
    rows = [
        (say("System", "系统"), " · ".join(w for w in (system_in_a_line(machine), system.build, libc, system.virtual) if w)),
        (say("Board", "主板"), system.board or ""),
        (say("Processor", "处理器"), " · ".join(w for w in (cpu.model or "", *cores) if w)),
        (say("Memory", "内存"), " · ".join(sizes)),
        (say("Disk", "磁盘"), say.text(wording.size(machine.disk.free_bytes)) + say(" free", " 可用") if machine.disk.free_bytes else ""),
    ]
    if machine.accelerators == ():
        rows.append((say("Accelerators", "加速器"), say("none", "无")))
    elif machine.accelerators is None:
        rows.append((say("Accelerators", "加速器"), say("not known", "未知")))
    for number, card in enumerate(machine.accelerators or (), 1):
        label = "NPU" if card.kind == "npu" else "GPU"
        several = len(machine.accelerators or ()) > 1
        rows.append((f"{label} {number}" if several else label, _card(card, say)))
    have = [f"{label} {said}" if isinstance(said, str) else label for field, label in SOFTWARE.items() if (said := getattr(machine.software, field))]
    rows.append((say("Software", "软件"), say.joined(have)))
    network = machine.network
    index = [network.index_url or "", *network.extra_index_urls]
    index += [say("proxy", "代理") if network.proxy else "", say("offline", "离线") if network.offline else ""]
    rows.append((say("Package index", "软件包源"), say.joined([w for w in index if w])))
    return rows


def _card(card: Accelerator, say: Sayer) -> str:
    words = [f"{card.count} × {card.name or names.vendor(card.vendor)}" if card.count > 1 else card.name or names.vendor(card.vendor)]
    if card.memory_bytes:
        kind = say.text(MEMORY_KIND[card.memory_kind]) if card.memory_kind else ""
        words.append(f"{say.text(wording.size(card.memory_bytes))} {kind}".strip())
    if card.target:
        words.append(say("compute capability ", "计算能力 ") + card.target if card.vendor == "nvidia" else card.target)
    if card.driver_version:
        serves = say(f" (serves up to {card.driver_api_max})", f"（最高支持 {card.driver_api_max}）") if card.driver_api_max else ""
        words.append(say("driver ", "驱动 ") + card.driver_version + serves)
    words.append(say.text(wording.STATE[card.state]))
    return " · ".join(words)


def _python(one: Python, value: Report, say: Sayer) -> tuple[str, str, str]:
    version = " ".join(w for w in (one.version or "?", one.kind or "") if w)
    if one.packages is None:
        return version, one.path or "", say("not read", "未读取")
    wanted = {p.lower().replace("_", "-") for note in value.frameworks.values() for p in note.packages} | {"torch", "tensorflow", "jax", "numpy"}
    known = [f"{p.name} {p.version or ''}".strip() for p in one.packages if p.name.lower().replace("_", "-") in wanted]
    shown = say.joined(known[:PACKAGES_SHOWN])
    total = say(f"{len(one.packages)} in all", f"共 {len(one.packages)} 个")
    return version, one.path or "", f"{shown} ({total})" if shown else total


def readings(value: Report, say: Sayer) -> tuple[Any, ...]:
    """Every known fact with its source, under the key by which evidence names it."""
    body = msgspec.to_builtins(value.machine)
    rows: list[tuple[str, str, str]] = []
    words = {"True": say("yes", "有"), "False": say("no", "无")}
    for part in ("system", "cpu", "memory", "disk", "accelerators", "software", "network"):
        rows += [(key, words.get(said, said), source(value.machine.sources, key)) for key, said in leaves(body.get(part), part)]
    if not any(r[2] for r in rows):
        short = tuple(r[:2] for r in rows)
        heads2 = (say("Fact", "事实"), say("Value", "值"))
        title = say(f"{len(rows)} facts of the machine", f"{len(rows)} 项机器事实")
        return (Table(heads=heads2, rows=short, wide=(1, 2), lead=False, title=title),) if rows else ()
    heads = (say("Fact", "事实"), say("Value", "值"), say("Read from", "读取自"))
    title = say(f"{len(rows)} facts with their sources", f"{len(rows)} 项事实及其来源")
    return (Table(heads=heads, rows=tuple(rows), wide=(2, 3, 3), lead=False, title=title),)


def given(value: Any) -> Any:
    """The builtins of a struct without what is None or empty."""
    def keep(item: Any) -> Any:
        if isinstance(item, dict):
            inner = {k: keep(v) for k, v in item.items()}
            return {k: v for k, v in inner.items() if v is not None and v != {} and v != []}
        return item

    return keep(msgspec.to_builtins(value))


def leaves(value: Any, path: str) -> list[tuple[str, str]]:
    """Dotted key and text of every known value below VALUE; sizes in bytes are said in words."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}.{key}" if path else key)]
    if isinstance(value, (list, tuple)):
        if all(not isinstance(v, (dict, list)) for v in value):
            return [(path, ", ".join(str(v) for v in value))] if value else []
        return [leaf for place, inner in enumerate(value) for leaf in leaves(inner, f"{path}.{place}")]
    if "_bytes" in path and isinstance(value, int) and value >= 1024:
        return [(path, wording.size(value).en)]
    return [(path, str(value))]


def source(sources: dict[str, str], key: str) -> str:
    """The source of KEY or of the nearest fact above it."""
    while key:
        if key in sources:
            return sources[key]
        key = key.rpartition(".")[0]
    return ""
