"""Sockets, cores, kinds of cores, caches and memory nodes as Linux shows them below /sys/devices/system."""

from __future__ import annotations

import re
from collections import Counter

from probes.hardware.notes import Notes, cpu_list, cpu_mask, integer, size_bytes
from probes.host import Host

ROOT = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"


def read(host: Host, notes: Notes) -> None:
    """Facts of Cpu that sysfs holds. Links between CPUs are read once per group of threads, to stay quick on large machines."""
    numbers = _listed(host)
    online_now = online(host)
    if online_now:
        notes.say("logical_cpus", len(online_now), f"{ROOT}/online")
    _nodes(host, notes)
    if not online_now or not numbers:
        return
    present = online_now & frozenset(numbers)
    if len(present) == len(online_now):
        _cores(host, notes, present)
        _kinds(host, notes, present)
        _caches(host, notes, present)
    _fastest(host, notes, sorted(present))


def _listed(host: Host) -> list[int]:
    return sorted(int(name[3:]) for name in host.list(ROOT).names if re.fullmatch(r"cpu\d{1,5}", name))


def online(host: Host) -> frozenset[int] | None:
    """CPUs that are on line, or None where sysfs does not tell."""
    told = cpu_list(host.read(f"{ROOT}/online").text)
    if told:
        return told
    numbers = _listed(host)
    # Old kernels have a file for each CPU that can be taken off line; one without the file cannot.
    states = {number: host.read(f"{ROOT}/cpu{number}/online").text.strip() for number in numbers}
    with_threads = [number for number in numbers if host.access(f"{ROOT}/cpu{number}/topology").ok]
    if not (any(states.values()) or with_threads):
        return None
    kept = frozenset(n for n in numbers if states[n] != "0" and (not with_threads or n in with_threads))
    return kept or None


def _siblings(host: Host, number: int, names: tuple[tuple[str, bool], ...]) -> frozenset[int] | None:
    for name, listed in names:
        reading = host.read(f"{ROOT}/cpu{number}/topology/{name}")
        found = (cpu_list(reading.text) if listed else cpu_mask(reading.text)) if reading.ok else None
        if found:
            return found
    return None


_THREADS = (("core_cpus_list", True), ("thread_siblings_list", True), ("core_cpus", False), ("thread_siblings", False))
_PACKAGE = (("package_cpus_list", True), ("core_siblings_list", True), ("package_cpus", False), ("core_siblings", False))


def _cores(host: Host, notes: Notes, online: frozenset[int]) -> None:
    cores, left = 0, set(online)
    while left:
        number = min(left)
        group = _siblings(host, number, _THREADS)
        if group is None or number not in group:
            return
        cores += 1
        left -= group | {number}
    notes.say("physical_cores", cores, f"{ROOT}/cpu*/topology")
    sockets, left = 0, set(online)
    while left:
        number = min(left)
        group = _siblings(host, number, _PACKAGE)
        if group is None or number not in group:
            return
        sockets += 1
        left -= group | {number}
    ids = {host.read(f"{ROOT}/cpu{n}/topology/physical_package_id").text.strip() for n in sorted(online)[:4096]}
    named = {integer(one) for one in ids}
    # Arm kernels without firmware tables give every cluster a socket of its own, or call all of them -1.
    if "-1" not in ids and None not in named and len(named) < sockets:
        sockets = len(named)
    notes.say("sockets", sockets, f"{ROOT}/cpu*/topology")


def _kinds(host: Host, notes: Notes, online: frozenset[int]) -> None:
    """Performance and efficiency cores: Intel names them; Arm gives each CPU a capacity."""
    performance = cpu_list(host.read("/sys/devices/cpu_core/cpus").text) or frozenset()
    efficient = cpu_list(host.read("/sys/devices/cpu_atom/cpus").text) or frozenset()
    efficient |= cpu_list(host.read("/sys/devices/cpu_lowpower/cpus").text) or frozenset()
    source = "/sys/devices/cpu_core/cpus"
    if not (performance and efficient):
        kinds = f"{ROOT}/types"
        for name in host.list(kinds).names:
            cpus = cpu_list(host.read(f"{kinds}/{name}/cpulist").text) or frozenset()
            if "core" in name.replace("intel_", ""):
                performance, source = performance | cpus, kinds
            elif "atom" in name:
                efficient |= cpus
    if not (performance and efficient):
        performance, efficient = _by_threads(host, online)
        source = f"{ROOT}/cpu*/topology"
    if not (performance and efficient):
        capacities: dict[int, int] = {}
        for number in sorted(online):
            value = integer(host.read(f"{ROOT}/cpu{number}/cpu_capacity").text, 1 << 20)
            if value is None:
                return
            capacities[number] = value
        if len(set(capacities.values())) < 2:
            return
        # The least capable are the efficiency cores, as the scheduler sees it; middle ones count as performance.
        least = min(capacities.values())
        efficient = frozenset(n for n, value in capacities.items() if value <= least * 1.05)
        performance = frozenset(capacities) - efficient
        source = f"{ROOT}/cpu*/cpu_capacity"
    for name, cpus in (("performance_cores", performance & online), ("efficiency_cores", efficient & online)):
        groups = {_siblings(host, number, _THREADS) for number in cpus}
        if cpus and None not in groups:
            notes.say(name, len(groups), source)


def _by_threads(host: Host, online: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Kernels before 5.13 do not name the kinds: performance cores have two threads and run faster than all others."""
    speeds = {n: integer(host.read(f"{ROOT}/cpu{n}/cpufreq/cpuinfo_max_freq").text, 20_000_000) or
              integer(host.read(f"{ROOT}/cpufreq/policy{n}/cpuinfo_max_freq").text, 20_000_000) for n in sorted(online)[:1024]}  # fmt: skip
    if len(set(speeds.values())) < 2 or None in speeds.values() or len(speeds) != len(online):
        return frozenset(), frozenset()
    double = frozenset(n for n in online if len(_siblings(host, n, _THREADS) or ()) == 2)
    single = online - double
    if not double or not single or max(speeds[n] or 0 for n in single) >= min(speeds[n] or 0 for n in double):
        return frozenset(), frozenset()
    return double, single


def _caches(host: Host, notes: Notes, online: frozenset[int]) -> None:
    sizes: Counter[str] = Counter()
    seen: set[tuple[str, frozenset[int]]] = set()
    covered: dict[str, set[int]] = {}
    for number in sorted(online):
        if number and covered and all(number in cpus for cpus in covered.values()):
            continue  # its caches are shared with CPUs that were read
        folder = f"{ROOT}/cpu{number}/cache"
        for name in host.list(folder).names:
            if not name.startswith("index"):
                continue
            level = host.read(f"{folder}/{name}/level").text.strip()
            kind = host.read(f"{folder}/{name}/type").text.strip()
            size = size_bytes(host.read(f"{folder}/{name}/size").text.strip())
            shared = cpu_list(host.read(f"{folder}/{name}/shared_cpu_list").text)
            shared = shared or cpu_mask(host.read(f"{folder}/{name}/shared_cpu_map").text)
            if not re.fullmatch(r"[1-4]", level) or size is None or not shared:
                return
            label = f"L{level}" + {"Data": "d", "Instruction": "i"}.get(kind, "")
            covered.setdefault(label, set()).update(shared)
            if (label, shared) not in seen:
                seen.add((label, shared))
                sizes[label] += size
    notes.say("cache_bytes", dict(sorted(sizes.items())) or None, f"{ROOT}/cpu*/cache")


def _nodes(host: Host, notes: Notes) -> None:
    listing = host.list(NODES)
    names = [name for name in listing.names if re.fullmatch(r"node\d{1,5}", name)]
    notes.say("numa_nodes", len(names) or None, NODES)


def _fastest(host: Host, notes: Notes, numbers: list[int]) -> None:
    best = 0
    step = max(1, len(numbers) // 32)  # large machines have many equal CPUs
    for number in numbers[::step]:
        best = max(best, integer(host.read(f"{ROOT}/cpu{number}/cpufreq/cpuinfo_max_freq").text, 20_000_000) or 0)
    notes.say("max_mhz", best / 1000 if best >= 10_000 else None, f"{ROOT}/cpu*/cpufreq/cpuinfo_max_freq")
