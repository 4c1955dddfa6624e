"""Limits that control groups set on this process: quota of CPU time, sets of CPUs, and memory, up the whole tree."""

from __future__ import annotations

import posixpath
import re

import msgspec

from probes.hardware.notes import LIMIT_BYTES, cpu_list, integer
from probes.host import Host

UNLIMITED = 1 << 60  # version 1 writes the largest multiple of a page for "no limit"
LIMIT_DEPTH = 512


class Mount(msgspec.Struct, frozen=True):
    """One mounted hierarchy: which folder of it (root) is seen at which place (point)."""

    version: int
    controllers: frozenset[str]
    root: str
    point: str


def mounts(host: Host) -> list[Mount]:
    """Mounted cgroup hierarchies of /proc/self/mountinfo, or of /proc/mounts, or the usual places."""
    found: list[Mount] = []
    for line in host.read("/proc/self/mountinfo").text.splitlines():
        left, mark, right = line.partition(" - ")
        words, kinds = left.split(), right.split()
        if mark and len(words) >= 5 and kinds and kinds[0] in ("cgroup", "cgroup2"):
            options = frozenset(kinds[2].split(",")) if len(kinds) > 2 else frozenset()
            found.append(Mount(2 if kinds[0] == "cgroup2" else 1, options, _plain(words[3]), _plain(words[4])))
    if found:
        return found
    for path in ("/proc/self/mounts", "/proc/mounts"):
        for line in host.read(path).text.splitlines():
            words = line.split()
            if len(words) >= 4 and words[2] in ("cgroup", "cgroup2", "cpuset"):
                options = frozenset(words[3].split(",")) | ({"cpuset"} if words[2] == "cpuset" else set())
                found.append(Mount(2 if words[2] == "cgroup2" else 1, options, "/", _plain(words[1])))
        if found:
            return found
    return []


def _plain(path: str) -> str:
    return re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), path)


def groups(host: Host) -> dict[str, str]:
    """The group of this process by controller ("" for version 2)."""
    found: dict[str, str] = {}
    for line in host.read("/proc/self/cgroup").text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3 and parts[2].startswith("/"):
            for controller in parts[1].split(","):
                found.setdefault(controller, parts[2])
    cpuset = host.read("/proc/self/cpuset").text.strip()
    if cpuset.startswith("/"):
        found.setdefault("cpuset", cpuset)
    return found


def folders(host: Host, controller: str) -> list[tuple[int, str]]:
    """Folders that hold CONTROLLER's limits for this process, own group first, each with its cgroup version."""
    told, mounted = groups(host), mounts(host)
    found: list[tuple[int, str]] = []
    for mount in mounted:
        if mount.version == 2:
            group = told.get("")
        else:
            group = told.get(controller) if controller in mount.controllers else None
        if mount.version == 1 and controller not in mount.controllers:
            continue
        found += [(mount.version, place) for place in _upwards(mount, group)]
    if not any(host.list(place).ok for _, place in found):
        # Mount tables may be closed, missing, or those of another file system: the usual places, where they are there at all.
        if any(host.access(f"/sys/fs/cgroup/{name}").ok for name in ("cgroup.controllers", "cpu.max", "memory.max")):
            found += [(2, place) for place in _upwards(Mount(2, frozenset(), "/", "/sys/fs/cgroup"), told.get(""))]
        for name in (controller, "cpu,cpuacct", "cpuacct,cpu"):
            point = f"/sys/fs/cgroup/{name}"
            if (name == controller or controller == "cpu") and host.list(point).ok:
                found += [(1, p) for p in _upwards(Mount(1, frozenset(), "/", point), told.get(controller))]
                break
    return found


def _upwards(mount: Mount, group: str | None) -> list[str]:
    """Folders from the process's own group up to what is mounted."""
    inside = group or "/"
    if ".." in inside.split("/"):
        # Seen from another cgroup namespace: the path leads out of what is mounted, which then is the own group.
        inside = "/"
    elif mount.root != "/" and (inside == mount.root or inside.startswith(mount.root + "/")):
        inside = inside[len(mount.root) :] or "/"
    elif mount.root != "/":
        inside = "/"
    places = []
    place = posixpath.normpath(inside)
    for _ in range(LIMIT_DEPTH):
        places.append(posixpath.normpath(mount.point + place))
        if place in ("/", ""):
            break
        place = posixpath.dirname(place)
    return places


def cpu_quotas(host: Host) -> list[tuple[float, str]]:
    """Every quota of CPU time up the tree in CPUs, with its file."""
    limits: list[tuple[float, str]] = []
    for version, place in folders(host, "cpu"):
        if version == 2:
            path = f"{place}/cpu.max"
            match = re.fullmatch(r"(\d{1,15}) (\d{1,12})", host.read(path).text.strip())
            quota, period = (int(match[1]), int(match[2])) if match else (0, 0)
        else:
            path = f"{place}/cpu.cfs_quota_us"
            quota = integer(host.read(path).text, 10**15) or 0
            period = integer(host.read(f"{place}/cpu.cfs_period_us").text, 10**12) or 0
        if quota > 0 and period > 0:
            limits.append((quota / period, path))
    return limits


def cpu_sets(host: Host) -> list[tuple[frozenset[int], str]]:
    """The sets of CPUs up the tree, each with its file."""
    found: list[tuple[frozenset[int], str]] = []
    for version, place in folders(host, "cpuset"):
        names = ("cpuset.cpus.effective",) if version == 2 else ("cpuset.effective_cpus", "cpuset.cpus", "cpus")
        for name in names:
            reading = host.read(f"{place}/{name}")
            cpus = cpu_list(reading.text) if reading.ok else None
            if cpus:
                found.append((cpus, reading.source))
                break
    return found


def memory_limit(host: Host) -> tuple[int, str] | None:
    """The smallest memory limit up the tree in bytes with its file, or None where there is none."""
    limits: list[tuple[int, str]] = []
    for version, place in folders(host, "memory"):
        names = ("memory.max",) if version == 2 else ("memory.limit_in_bytes",)
        for name in names:
            reading = host.read(f"{place}/{name}")
            value = integer(reading.text, LIMIT_BYTES)
            if reading.ok and value is not None and 0 < value < UNLIMITED:
                limits.append((value, reading.source))
        if version == 1:
            match = re.search(r"^hierarchical_memory_limit (\d{1,18})$", host.read(f"{place}/memory.stat").text, re.MULTILINE)
            if match and 0 < int(match[1]) < LIMIT_BYTES:
                limits.append((int(match[1]), f"{place}/memory.stat"))
    return min(limits, default=None)
