"""Memory and disk: what there is, what is free, what this process may use, and where environments and caches go."""

from __future__ import annotations

import re

from knowledge.text import Text
from probes.hardware import cgroups
from probes.hardware.notes import LIMIT_BYTES, Notes, outputs
from probes.host import Host


def read(host: Host) -> Notes:
    """Facts of Memory. Linux: /proc/meminfo, cgroup limits, /dev/shm; macOS: sysctl; Windows: the system call or CIM."""
    notes = Notes("memory")
    if host.os == "windows":
        from probes.hardware import windows

        windows.memory(host, notes)
        return notes
    if host.os == "macos":
        from probes.hardware import macos

        macos.memory(host, notes)
        return notes
    source = "/proc/meminfo"
    values = meminfo(host.read(source).text)
    total = values.get("MemTotal")
    notes.say("total_bytes", total, source)
    if host.os != "linux":
        for reading in outputs(host, "sysctl", ("hw.physmem",)):
            match = re.search(r"^hw\.physmem\s*[:=]\s*(\d{6,17})$", reading.text, re.MULTILINE)
            notes.say("total_bytes", int(match[1]) if match else None, reading.source)
    available = values.get("MemAvailable")
    if available is not None and (total is None or available <= total):
        notes.say("available_bytes", available, source)
    notes.say("swap_bytes", values.get("SwapTotal"), source)
    limit = cgroups.memory_limit(host)
    if limit is not None and (total is None or limit[0] < total):
        notes.say("limit_bytes", limit[0], limit[1])
    shared = host.disk("/dev/shm")  # noqa: S108 - the size of a mount, no file of ours
    if (shared.ok and host.list("/dev/shm").ok) or (host.recorded and shared.ok):  # noqa: S108
        notes.say("shm_bytes", shared.numbers[0], "/dev/shm")  # noqa: S108
    else:
        for path in ("/proc/self/mounts", "/proc/mounts"):
            match = re.search(r"^\S+ /dev/shm \w+ \S*\bsize=(\d{1,15})([kmg]?)\b", host.read(path).text, re.MULTILINE)
            if match:
                notes.say("shm_bytes", int(match[1]) * 1024 ** " kmg".index(match[2] or " "), path)
    _small_shared(host, notes)
    return notes


def meminfo(text: str) -> dict[str, int]:
    """Bytes of each line of /proc/meminfo; a line without its unit was cut short and tells nothing."""
    found: dict[str, int] = {}
    for match in re.finditer(r"^(\w+(?:\(\w+\))?):[ \t]+(\d{1,15}) kB[ \t]*$", text.replace("\r\n", "\n"), re.MULTILINE):
        if (size := int(match[2]) * 1024) <= LIMIT_BYTES:
            found.setdefault(match[1], size)
    if "MemTotal" not in found:
        # Kernels before 2.6 head the file with a table in bytes.
        table = re.search(r"^Mem:\s+(\d{6,18})\s", text, re.MULTILINE)
        if table is not None:
            found["MemTotal"] = int(table[1])
    return found


def _small_shared(host: Host, notes: Notes) -> None:
    size = notes.get("shm_bytes")
    if size is None or size >= 1 << 30 or not (host.access("/.dockerenv").ok or host.access("/run/.containerenv").ok):
        return
    mib = size >> 20
    notes.find(
        "system.shm_small", "info", "memory",
        Text(f"Shared memory (/dev/shm) is {mib} MiB, the default of containers. Several GPUs or data-loader processes "
             "need more: start the container with --shm-size=8g or --ipc=host.",
             f"共享内存（/dev/shm）只有 {mib} MiB，是容器的默认值。多 GPU 或多个数据加载进程需要更多：请用 --shm-size=8g 或 "
             "--ipc=host 启动容器。"),
        (f"{size} bytes", "/dev/shm"),  # noqa: S108
    )  # fmt: skip


def disk(host: Host) -> Notes:
    """Facts of Disk: free space where environments and caches go (the user's cache folder), and of the temporary folder."""
    notes = Notes("disk")
    for path, said in _cache_folders(host):
        reading = host.disk(path)
        if reading.ok and len(reading.numbers) == 2:
            notes.say("free_bytes", reading.numbers[1], said)
            break
    variables = ("TEMP", "TMP") if host.os == "windows" else ("TMPDIR",)
    folder = next((r.text for name in variables if (r := host.env(name)).ok and r.text), None)
    if folder is None and host.os != "windows":
        folder = "/tmp"  # noqa: S108 - its size is asked, nothing is written
    if folder is not None:
        reading = host.disk(folder)
        if reading.ok and len(reading.numbers) == 2:
            notes.say("temporary_free_bytes", reading.numbers[1], "the folder for temporary files")
    free, temporary = notes.get("free_bytes"), notes.get("temporary_free_bytes")
    if free is not None and temporary is not None and temporary < 6_000_000_000 <= free and host.os != "windows":
        gigabytes = temporary / 1e9
        notes.find(
            "disk.exceeds", "warning", "disk",
            Text(f"The folder for temporary files has only {gigabytes:.1f} GB free, although the disk has "
                 f"{free / 1e9:.0f} GB. pip unpacks large wheels there; set TMPDIR to a folder on the disk.",
                 f"临时文件夹只剩 {gigabytes:.1f} GB，而磁盘还有 {free / 1e9:.0f} GB。pip 会在临时文件夹中解压大型 wheel；"
                 "请将 TMPDIR 设为磁盘上的文件夹。"),
            (f"{temporary} bytes free", folder or ""), (f"{free} bytes free", "the user's cache folder"),
        )  # fmt: skip
    return notes


def _cache_folders(host: Host) -> list[tuple[str, str]]:
    """Folders to ask, best first, with what the profile calls them (no user's name in it)."""
    found = []
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "USERPROFILE"):
        reading = host.env(variable)
        if reading.ok and reading.text:
            found.append((reading.text, f"disk of {variable}"))
    found.append(("C:\\" if host.os == "windows" else "/", "disk of the system"))
    return found
