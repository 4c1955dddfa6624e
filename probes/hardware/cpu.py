"""The processor: what it is, what it can do, and how much of it this process may use."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from knowledge.text import Text
from probes.hardware import cgroups, topology
from probes.hardware.notes import Notes, cpu_list, cpuinfo_blocks, integer, json_in, outputs, pairs, words_of
from probes.host import Host, Reading

VENDORS = {
    "genuineintel": "intel", "authenticamd": "amd", "hygongenuine": "hygon", "centaurhauls": "centaurhauls",
    "ibm/s390": "ibm", "apple": "apple", "amdisbetter!": "amd", "genuinetmx86": "transmeta",
}  # fmt: skip


def read(host: Host) -> Notes:
    """Facts of Cpu. Linux: /proc/cpuinfo, /sys/devices/system/cpu, affinity, cgroups; lscpu's text where recorded."""
    notes = Notes("cpu")
    if host.os == "windows":
        from probes.hardware import windows

        windows.cpu(host, notes)
    elif host.os == "macos":
        from probes.hardware import macos

        macos.cpu(host, notes)
    else:
        reading = host.read("/proc/cpuinfo")
        groups = cpuinfo_blocks(reading.text)
        told = _lscpu(host)
        topology.read(host, notes)
        _count(host, notes, groups, reading, told)
        _named(notes, groups, reading, told)
        _flags(notes, groups, reading, told)
        _from_lscpu(notes, told)
        _from_rocm(host, notes)
        if host.os != "linux":
            _bsd(host, notes)
        _cores(notes, groups, reading)
        _hidden_topology(host, notes)
    _usable(host, notes)
    return notes


def _lscpu(host: Host) -> tuple[list[tuple[str, str]], str]:
    """Keys and values of lscpu's text; asked only of recordings, since it reads the same files as we do."""
    for reading in outputs(host, "lscpu") if host.recorded else ():
        if reading.ok and reading.text.lstrip().startswith("{"):
            return _fields(json_in(reading.text)), reading.source
        if reading.ok:
            return list(pairs(reading.text)), reading.source
    return [], "lscpu"


def _fields(told: Any) -> list[tuple[str, str]]:
    """lscpu -J as keys and values; newer versions nest groups of fields."""
    found: list[tuple[str, str]] = []
    waiting = list(told.get("lscpu") or ()) if isinstance(told, dict) and isinstance(told.get("lscpu"), list) else []
    while waiting and len(found) < 1000:
        one = waiting.pop(0)
        if isinstance(one, dict):
            found.append((str(one.get("field") or "").rstrip(":"), str(one.get("data") or "")))
            children = one.get("children")
            waiting = (list(children) if isinstance(children, list) else []) + waiting
    return found


def _value(told: list[tuple[str, str]], *names: str) -> str | None:
    return next((words_of(value) for name in names for key, value in told if key == name), None)


def processors(groups: list[dict[str, str]]) -> list[dict[str, str]]:
    """Blocks of /proc/cpuinfo that stand for one CPU each; old and other kernels write blocks of another kind too."""
    return [group for group in groups if integer(group.get("processor")) is not None]


def _count(
    host: Host, notes: Notes, groups: list[dict[str, str]], reading: Reading, told: tuple[list[tuple[str, str]], str]
) -> None:
    online = cpu_list(_value(told[0], "On-line CPU(s) list"))
    notes.say("logical_cpus", len(online) if online else None, told[1])
    number = integer(_value(told[0], "CPU(s)"), 65_536)
    notes.say("logical_cpus", number or None, told[1])
    listed = processors(groups)
    if notes.get("logical_cpus") is None and not listed:
        # s390: "processor 0: version = …"; alpha and sparc: "cpus detected : 2", "ncpus active : 24".
        lines = re.findall(r"^processor \d+:", reading.text, re.MULTILINE)
        named = next(
            (integer(g[k], 65_536) for g in groups for k in ("ncpus active", "cpus active", "cpus detected", "# processors") if k in g),
            None,
        )
        announced = next((integer(g[k], 65_536) for g in groups for k in ("# processors",) if k in g), None)
        notes.say("logical_cpus", named or announced or len(lines) or None, reading.source)
    if notes.get("logical_cpus") is None and listed:
        # A file that was cut short holds fewer CPUs than one socket has threads: then the number is not known.
        siblings = max((integer(g.get("siblings"), 65_536) or 0 for g in listed), default=0)
        hidden = host.recorded and len(listed) < siblings and len({g.get("processor") for g in listed}) == 1
        called = host.call("cpu_count")
        notes.say("logical_cpus", integer(called.text, 65_536) if called.ok else None, called.source)
        if not hidden:
            notes.say("logical_cpus", len({g["processor"] for g in listed}), reading.source)
    if notes.get("logical_cpus") is None:
        called = host.call("cpu_count")
        notes.say("logical_cpus", integer(called.text, 65_536) if called.ok else None, called.source)
    if host.read("/proc/stat").status == "denied":
        notes.find(
            "probe.denied", "info", "cpu",
            Text("The load of the processor cannot be read: /proc/stat is closed to this user.",
                 "无法读取处理器负载：当前用户无权访问 /proc/stat。"),
            ("denied", "/proc/stat"),
        )  # fmt: skip


def _named(
    notes: Notes, groups: list[dict[str, str]], reading: Reading, told: tuple[list[tuple[str, str]], str]
) -> None:
    listed = processors(groups) or groups
    first: dict[str, str] = {}
    for group in groups:
        for key, value in group.items():
            first.setdefault(key, value)
    arms = _arm_parts(listed) or _arm_parts(groups)
    vendor = first.get("vendor_id") or first.get("vendor")
    if not arms:
        maker = words_of(vendor)
        if maker is not None and not re.fullmatch(r"\d+", maker):
            notes.say("vendor", VENDORS.get(maker.lower(), maker.lower()), reading.source)
        if "mvendorid" in first:
            notes.say("vendor", first["mvendorid"].lower(), reading.source)
    else:
        from probes.hardware import arm_cores

        implementer = Counter(i for i, _ in arms).most_common(1)[0][0]
        notes.say("vendor", arm_cores.IMPLEMENTERS.get(implementer, f"{implementer:#04x}"), reading.source)
    for key in ("model name", "Model Name", "cpu model", "cpu"):
        text = first.get(key)
        if text and not re.fullmatch(r"[\d\s]*", text) and not (arms and key == "cpu"):
            notes.say("model", words_of(text), reading.source)
    if arms:
        from probes.hardware import arm_cores

        names = [arm_cores.core_name(*one) for one in dict.fromkeys(arms)]
        old = first.get("model name") or first.get("Processor")
        if all(names) and not (old and old.lower().startswith("arm")):
            notes.say("model", " + ".join(str(name) for name in names), reading.source)
        old = first.get("Processor")
        notes.say("model", words_of(old) if old and not re.fullmatch(r"\d+", old) else None, reading.source)
    for key in ("uarch", "isa"):
        if key in first and "hart" in first:
            notes.say("model", words_of(first[key]) if key == "uarch" else None, reading.source)
    machine = re.search(r"^processor \d+:.*machine = (\w+)", reading.text, re.MULTILINE)
    notes.say("model", f"IBM machine {machine[1]}" if machine else None, reading.source)
    listed_maker = _value(told[0], "Vendor ID")
    notes.say("vendor", VENDORS.get(listed_maker.lower(), listed_maker.lower()) if listed_maker else None, told[1])
    names_told = [words_of(value) for key, value in told[0] if key == "Model name"]
    told_models = [name for name in names_told if name]
    notes.say("model", " + ".join(dict.fromkeys(told_models)) or None, told[1])
    notes.say("model", _value(told[0], "BIOS Model name"), told[1])


def _arm_parts(listed: list[dict[str, str]]) -> list[tuple[int, int]]:
    """Implementer and part number of each CPU; blocks that only repeat common facts have none."""
    parts = []
    for group in listed:
        implementer, part = integer(group.get("CPU implementer")), integer(group.get("CPU part"))
        if implementer is not None and part is not None:
            parts.append((implementer, part))
    return parts


def _flags(
    notes: Notes, groups: list[dict[str, str]], reading: Reading, told: tuple[list[tuple[str, str]], str]
) -> None:
    """What every CPU can do: code may run on any of them."""
    sets: list[list[str]] = []
    for group in groups:
        text = next((group[k] for k in ("flags", "Features", "features", "ASEs implemented") if group.get(k)), None)
        if text is not None:
            sets.append(text.split())
        elif group.get("isa") and re.match(r"rv\d", group["isa"]):
            from probes.hardware import riscv

            sets.append(riscv.extensions(group["isa"]))
    if not sets:
        listed = re.search(r"^features\s*:\s*(.+)$", reading.text, re.MULTILINE)
        sets = [listed[1].split()] if listed else []
    if sets:
        common = set(sets[0]).intersection(*map(set, sets[1:]))
        notes.say("flags", tuple(flag for flag in sets[0] if flag in common), reading.source)
    text = _value(told[0], "Flags")
    notes.say("flags", tuple(text.split()) if text else None, told[1])


def _from_lscpu(notes: Notes, told: tuple[list[tuple[str, str]], str]) -> None:
    rows, source = told
    # Clusters of different cores are listed one after the other; their sockets and cores are then not told as one.
    several = sum(key in ("Model name", "Core(s) per socket", "Core(s) per cluster") for key, _ in rows)
    sockets = integer(_value(rows, "Socket(s)"), 4096)
    per_socket = integer(_value(rows, "Core(s) per socket"), 65_536)
    clusters, per_cluster = integer(_value(rows, "Cluster(s)"), 65_536), integer(_value(rows, "Core(s) per cluster"), 65_536)
    if several <= 3:
        notes.say("sockets", sockets or None, source)
        if sockets and per_socket:
            notes.say("physical_cores", sockets * per_socket, source)
        elif clusters and per_cluster and not sockets:
            notes.say("physical_cores", clusters * per_cluster, source)
    nodes = integer(_value(rows, "NUMA node(s)"), 65_536)
    notes.say("numa_nodes", nodes or None, source)
    fastest = _value(rows, "CPU max MHz")
    if fastest and re.fullmatch(r"\d{2,5}([.,]\d+)?", fastest):
        notes.say("max_mhz", float(fastest.replace(",", ".")), source)
    caches: dict[str, int] = {}
    for key, value in rows:
        match = re.fullmatch(r"(L1d|L1i|L2|L3|L4)(?: cache)?", key)
        size = re.match(r"(\d+(?:\.\d+)?)\s*([KMG])i?B?\b(?:.*\((\d+) instances?\))?", value)
        # Without "instances" old versions tell the size of one cache; the sum is then not known.
        if match and size and size[3]:
            caches[match[1]] = round(float(size[1]) * 1024 ** " KMG".index(size[2]))
    notes.say("cache_bytes", caches or None, source)


def _bsd(host: Host, notes: Notes) -> None:
    """FreeBSD and its relatives have no /proc; sysctl names the processor and counts its CPUs."""
    for reading in outputs(host, "sysctl", ("hw.model", "hw.ncpu", "kern.smp.cores")):
        told = dict(pairs(reading.text)) or dict(pairs(reading.text, "="))
        notes.say("model", words_of(told.get("hw.model")), reading.source)
        notes.say("logical_cpus", integer(told.get("hw.ncpu"), 65_536) or None, reading.source)
        notes.say("physical_cores", integer(told.get("kern.smp.cores"), 65_536) or None, reading.source)
    low = str(notes.get("model") or "").lower()
    notes.say("vendor", "intel" if "intel" in low else "amd" if "amd" in low else None, notes.sources.get("cpu.model", ""))


def _from_rocm(host: Host, notes: Notes) -> None:
    """What AMD's compute driver and its tool tell of the processors beside the GPUs, where nothing else was recorded."""
    if not host.recorded:
        return
    if notes.get("logical_cpus") is None:
        counts = []
        for name in host.list("/sys/class/kfd/kfd/topology/nodes").names:
            text = host.read(f"/sys/class/kfd/kfd/topology/nodes/{name}/properties").text
            match = re.search(r"^cpu_cores_count (\d{1,5})$", text, re.MULTILINE)
            counts.append(int(match[1]) if match else 0)
        notes.say("logical_cpus", sum(counts) or None, "/sys/class/kfd/kfd/topology/nodes")
    if notes.get("model") is None:
        for reading in outputs(host, "rocminfo"):
            match = re.search(r"Marketing Name:\s+(\S.*?)\s*\n\s+Vendor Name:\s+CPU", reading.text)
            notes.say("model", words_of(match[1]) if match else None, reading.source)


def _cores(notes: Notes, groups: list[dict[str, str]], reading: Reading) -> None:
    """Sockets and cores of /proc/cpuinfo, where sysfs was silent and the file holds every CPU."""
    listed = processors(groups)
    if not listed or len(listed) != notes.get("logical_cpus"):
        return
    ids = [(g.get("physical id"), g.get("core id")) for g in listed]
    if all(package is not None and core is not None for package, core in ids):
        packages = {package for package, _ in ids}
        cores = len(set(ids))
        told = {integer(g.get("cpu cores"), 65_536) for g in listed}
        if len(told) == 1 and (one := told.pop()) and one * len(packages) < cores:
            return  # a virtual machine's numbers that contradict each other
        # A socket without a sibling in a machine of many: ids that a hypervisor made up.
        siblings = {integer(g.get("siblings"), 65_536) for g in listed}
        if siblings == {1} and len(packages) == len(listed) and len(listed) > 8:
            notes.say("physical_cores", cores, reading.source)
            return
        notes.say("sockets", len(packages), reading.source)
        notes.say("physical_cores", cores, reading.source)


def _hidden_topology(host: Host, notes: Notes) -> None:
    """WSL's hypervisor makes up cores and sockets: a hybrid processor shows none of its efficiency cores."""
    version = host.read("/proc/version").text or host.read("/proc/sys/kernel/osrelease").text
    if "microsoft" not in version.lower():
        return
    seen = notes.get("physical_cores")
    for name in ("physical_cores", "performance_cores", "efficiency_cores"):
        notes.drop(name)
    if seen is not None:
        notes.find(
            "probe.topology_virtual", "info", "cpu",
            Text("The number of physical, performance and efficiency cores is not known here: WSL shows cores that its "
                 "hypervisor makes up.",
                 "此处无法得知物理核心、性能核心和能效核心的数量：WSL 显示的核心拓扑由其虚拟机监控程序虚构。"),
            (f"{seen} cores shown", "/sys/devices/system/cpu"),
        )  # fmt: skip


def _usable(host: Host, notes: Notes) -> None:
    """CPUs on line that affinity and cpusets allow, or the quota of CPU time where that is less."""
    logical = notes.get("logical_cpus")
    linux = host.os not in ("windows", "macos")
    online = cpu_list(host.read(f"{topology.ROOT}/online").text) if linux else None
    online = online or topology.online(host) if linux else None
    affinity = host.call("affinity")
    allowed = cpu_list(affinity.text) if affinity.ok else None
    source = affinity.source
    if not allowed and linux:
        reading = host.read("/proc/self/status")
        match = re.search(r"^Cpus_allowed_list:\s*(\S+)", reading.text, re.MULTILINE)
        allowed, source = (cpu_list(match[1]) if match else None), reading.source
    limits: list[tuple[float, str]] = []
    sets = [(allowed, source)] if allowed else []
    if linux:
        sets += cgroups.cpu_sets(host)
        limits += cgroups.cpu_quotas(host)
    for cpus, where in sets:
        here = cpus & online if online and cpus & online else cpus
        limits.append((float(len(here)), where))
    if not limits and (host.recorded or logical is None):
        return  # a recording that holds neither affinity nor groups says nothing about what may be used
    if logical is not None:
        limits.append((float(logical), notes.sources.get("cpu.logical_cpus", "/proc/cpuinfo")))
    value, where = min(limits, key=lambda pair: pair[0])
    notes.say("usable_cpus", value, where)
    if logical is not None and value < logical:
        notes.find(
            "cpu.limited", "info", "cpu",
            Text(f"{value:g} of {logical} CPUs may be used here.", f"此处可使用 {logical} 个 CPU 中的 {value:g} 个。"),
            (f"{value:g} CPUs", where),
        )  # fmt: skip
