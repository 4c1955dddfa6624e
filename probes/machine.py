"""The profile of one machine: every probe asked through the Host door, side by side, faults kept as findings."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from knowledge.facts import Cpu, Disk, Evidence, Finding, MachineProfile, Memory, Network, Software, System
from knowledge.text import Text
from probes.hardware.notes import Notes
from probes.host import Host
from probes.progress import Cancelled, Progress

T = TypeVar("T", bound=msgspec.Struct)


def probe(host: Host, *, environments: bool = True, progress: Progress | None = None) -> MachineProfile:
    """All that HOST tells of its hardware and software. Never raises for what it meets there; only `Cancelled`.

    `sources` says for a dotted fact where it was read. Without ENVIRONMENTS the Pythons are left out (None), which is
    what takes time. A probe that fails is a finding `probe.failed`, and its facts are None.
    """
    work = progress or Progress()
    faults: list[Finding] = []

    def guarded(name: str, read: Callable[[], Any], otherwise: Any) -> Any:
        work.check()
        try:
            return read()
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - a probe that meets something new must not stop the others; it is told
            faults.append(failed(name, error))
            return otherwise

    work.step(Text("Reading processor and memory", "正在读取处理器和内存"), 0.1)
    with ThreadPoolExecutor(3, thread_name_prefix="probe") as pool:
        system = guarded("system", lambda: _system(host), Notes("system"))
        waiting = pool.submit(guarded, "accelerators", lambda: _accelerators(host, system), (None, (), {}))
        programs = pool.submit(guarded, "software", lambda: _software(host), (Software(), (), {}))
        pythons = (
            pool.submit(guarded, "pythons", lambda: _pythons(host), (None, (), {})) if environments else None
        )
        cpu = guarded("cpu", lambda: _cpu(host), Notes("cpu"))
        memory = guarded("memory", lambda: _memory(host), Notes("memory"))
        disk = guarded("disk", lambda: _disk(host), Notes("disk"))
        libraries = guarded("library path", lambda: _libraries(host), Notes("software"))
        network, network_sources = guarded("network", lambda: _network(host), (Network(), {}))
        work.step(Text("Asking graphics cards and drivers", "正在查询显卡和驱动"), 0.4)
        accelerators, accelerator_findings, accelerator_sources = waiting.result()
        software, software_findings, software_sources = programs.result()
        if pythons is not None:
            work.step(Text("Looking for Python environments", "正在查找 Python 环境"), 0.7)
        found, python_findings, python_sources = pythons.result() if pythons is not None else (None, (), {})
    work.check()
    parts = (system, cpu, memory, disk, libraries)
    sources = {key: value for part in parts for key, value in part.sources.items()}
    findings = [finding for part in parts for finding in part.findings]
    profile = MachineProfile(
        system=_built(System, system, faults), cpu=_built(Cpu, cpu, faults), memory=_built(Memory, memory, faults),
        disk=_built(Disk, disk, faults), accelerators=accelerators, software=software,
        pythons=found, network=network,
        sources={**sources, **accelerator_sources, **software_sources, **network_sources, **python_sources},
        findings=(*findings, *accelerator_findings, *software_findings, *python_findings, *faults),
        recorded=host.recorded,
    )  # fmt: skip
    work.step(Text("The machine is read", "本机信息读取完成"), 1.0)
    return profile


def failed(name: str, error: Exception) -> Finding:
    """A probe that met something it does not know."""
    what = f"{type(error).__name__}: {error}"[:300]
    return Finding(
        code="probe.failed", severity="warning", subject=name,
        because=Text(f"The part \"{name}\" of this computer could not be read ({type(error).__name__}).",
                     f"无法读取本机的“{name}”部分（{type(error).__name__}）。"),
        evidence=(Evidence(fact=what, source=f"probe {name}"),),
    )  # fmt: skip


def _built(kind: type[T], notes: Notes, faults: list[Finding]) -> T:
    """Facts as the vocabulary's struct; one of a wrong type is left out and told, the others stay."""
    try:
        return msgspec.convert(notes.facts, kind)
    except msgspec.ValidationError as error:
        faults.append(failed(notes.part, error))
        good: dict[str, Any] = {}
        for name, value in notes.facts.items():
            try:
                msgspec.convert({name: value}, kind)
            except msgspec.ValidationError:
                notes.sources.pop(f"{notes.part}.{name}", None)
                continue
            good[name] = value
        return msgspec.convert(good, kind)


# Imported where they are used: a probe of the hardware alone starts without the others.


def _system(host: Host) -> Notes:
    from probes.hardware import system

    return system.read(host)


def _cpu(host: Host) -> Notes:
    from probes.hardware import cpu

    return cpu.read(host)


def _memory(host: Host) -> Notes:
    from probes.hardware import memory

    return memory.read(host)


def _disk(host: Host) -> Notes:
    from probes.hardware import memory

    return memory.disk(host)


def _libraries(host: Host) -> Notes:
    from probes.hardware import library_path

    return library_path.read(host)


def _accelerators(host: Host, system: Notes) -> Any:
    from probes.hardware import accelerators

    return accelerators.read(host, system)


def _software(host: Host) -> Any:
    from probes.software import toolchain

    return toolchain.software(host)


def _pythons(host: Host) -> Any:
    from probes.software import environments

    return environments.pythons(host)


def _network(host: Host) -> tuple[Network, dict[str, str]]:
    from probes.software import package_index

    settings = package_index.settings(host)
    return package_index.network(settings), {f"network.{key}": value for key, value in settings.sources.items()}
