"""What Windows tells: the registry and system calls live, and the text of CIM, wmic, systeminfo, msinfo32, dxdiag and reg."""

from __future__ import annotations

import json
import re
from typing import Any

from knowledge.text import Text
from probes.hardware.notes import Notes, blocks, integer, json_in, outputs, pairs, plain_number, size_bytes, words_of
from probes.host import Host

Row = dict[str, str]


def call(host: Host, name: str) -> tuple[Any, str]:
    """The JSON answer of a native call, or None, with its source."""
    reading = host.call(name)
    if not reading.ok:
        return None, reading.source
    try:
        return json.loads(reading.text), reading.source
    except ValueError:
        return None, reading.source


def instances(host: Host, kind: str) -> list[tuple[Row, str]]:
    """Instances of a CIM class (Win32_VideoController) from any recorded wmic or PowerShell answer that names it."""
    if not host.recorded:
        return []
    aliases = {"Win32_Processor": r"\bcpu\b", "Win32_OperatingSystem": r"\bos\b", "Win32_PhysicalMemory": r"\bmemorychip\b",
               "Win32_ComputerSystem": r"\bcomputersystem\b"}  # fmt: skip
    found: list[tuple[Row, str]] = []
    for program in ("wmic", "powershell", "pwsh", "get-ciminstance", "get-wmiobject", "gwmi"):
        for reading in outputs(host, program):
            line = reading.source.lower()
            if kind.lower() in line or (program == "wmic" and re.search(aliases.get(kind, "$^"), line)):
                found += [(row, reading.source) for row in rows(reading.text)]
    return found


def rows(text: str) -> list[Row]:
    """Instances in wmic's key=value lists, PowerShell's `Name : value` lists, CSV, or JSON."""
    told = json_in(text) if text.lstrip()[:1] in ("{", "[") else None
    if told is not None:
        listed = told if isinstance(told, list) else [told]
        return [{str(k): str(v) for k, v in one.items() if v is not None} for one in listed if isinstance(one, dict)]
    # wmic ends lines with \r\r\n, so that one empty line in two is no divider.
    plain = re.sub(r"\r+\n", "\n", text).replace("&amp;", "&").replace("\x00", "")
    equals = sum(bool(re.match(r"\w+=", line)) for line in plain.splitlines())
    colons = sum(bool(re.match(r"\w+\s*:", line)) for line in plain.splitlines())
    if equals >= colons and equals:
        return [group for group in blocks(plain, "=") if len(group) > 0]
    if colons:
        return blocks(plain, ":")
    lines = [line for line in plain.splitlines() if line.strip()]
    if len(lines) >= 2 and "," in lines[0]:
        names = [name.strip() for name in lines[0].split(",")]
        return [dict(zip(names, (v.strip() for v in line.split(",")), strict=False)) for line in lines[1:]]
    return _columns(lines)


def _columns(lines: list[str]) -> list[Row]:
    """wmic's plain table: each column as wide as its widest value, its name at the start."""
    plain = bool(lines) and all(re.fullmatch(r"\w+", word) for word in lines[0].split())
    heads = list(re.finditer(r"\w+", lines[0])) if plain else []
    if len(lines) < 2 or not heads:
        return []
    starts = [head.start() for head in heads]
    ends = [*starts[1:], None]
    return [
        {head[0]: line[start:end].strip() for head, start, end in zip(heads, starts, ends, strict=True)} for line in lines[1:]
    ]


def registry(host: Host, fragment: str) -> tuple[Row, str]:
    """Values that a recorded `reg query` printed for a key whose name ends in FRAGMENT."""
    for reading in outputs(host, "reg") if host.recorded else ():
        if " query " not in reading.source.lower() or fragment.lower() not in reading.text.lower().replace("\r", ""):
            continue
        found: Row = {}
        for line in reading.text.splitlines():
            match = re.match(r"\s+(\S.*?)\s{2,}(REG_\w+)\s*(.*)$", line.rstrip())
            if match:
                found[match[1]] = match[3].strip()
        return found, reading.source
    return {}, "reg"


def information(host: Host) -> tuple[str, str]:
    """systeminfo's text where it was recorded; it takes seconds to run, so it is not asked live."""
    for reading in outputs(host, "systeminfo") if host.recorded else ():
        if reading.ok:
            return reading.text, reading.source
    return "", "systeminfo"


def msinfo(host: Host) -> tuple[str, str]:
    for reading in outputs(host, "msinfo32") if host.recorded else ():
        if reading.text:
            return reading.text, reading.source
    return "", "msinfo32"


def dxdiag(host: Host) -> tuple[str, str]:
    """dxdiag's text where it was recorded; live it needs tens of seconds."""
    for reading in outputs(host, "dxdiag") if host.recorded else ():
        if reading.text:
            return reading.text, reading.source
    return "", "dxdiag"


def release_of(name: str | None, build: int | None) -> str | None:
    """"11", "10", "Server 2022", "7" of a product name; the name of Windows 11 says 10 in the registry."""
    match = re.search(r"Windows(?:\(R\)|®)?\s+(Server (?:\d{4}(?: R2)?)|\d+(?:\.\d)?|XP|Vista)", name or "")
    if match and match[1].startswith("Server"):
        return match[1]
    if build is not None and build >= 10240 and (match or name is None):
        return "11" if build >= 22000 else "10"
    return match[1] if match else None


def _build(text: str) -> tuple[str, int] | None:
    match = re.search(r"\b(\d{1,2}\.\d)\.(\d{4,5})(\.\d+)?\b", text)
    return (match[1] + "." + match[2] + (match[3] or ""), int(match[2])) if match else None


def system(host: Host, notes: Notes) -> None:
    notes.say("distribution", "windows", "the program's own platform")
    told, source = call(host, "windows_system")
    name: str | None = None
    number: int | None = None
    if isinstance(told, dict):
        name = words_of(str(told.get("name") or ""))
        number = integer(str(told.get("build") or ""))
        if number:
            notes.say("build", f"10.0.{number}" if number >= 10240 else None, source)
        notes.say("release", release_of(name, number), source)
        notes.say("arch", _arch(str(told.get("arch") or "")), source)
        if isinstance(told.get("long_paths"), bool):
            notes.say("long_paths", told["long_paths"], source)
    for row, where in instances(host, "Win32_OperatingSystem"):
        version = _build(row.get("Version", ""))
        number = version[1] if version else integer(row.get("BuildNumber"))
        notes.say("build", version[0] if version else None, where)
        notes.say("release", release_of(row.get("Caption") or row.get("Name"), number), where)
        notes.say("arch", _os_arch(row.get("OSArchitecture", "")), where)
    text, where = information(host)
    if text:
        version = _build(text)
        named = re.search(r"Microsoft(?:\(R\)|®)? Windows[^\r\n]*", text)
        notes.say("build", version[0] if version else None, where)
        notes.say("release", release_of(named[0] if named else None, version[1] if version else None), where)
        kind = re.search(r"(x64|ARM64|X86|x86)-based PC", text)
        notes.say("arch", _arch({"x64": "amd64"}.get(kind[1].lower(), kind[1])) if kind else None, where)
        _maker(text, where, notes)
    text, where = msinfo(host)
    if text:
        told_rows = dict(pairs(text, "\t"))
        version = _build(told_rows.get("Version", "") or text)
        notes.say("build", version[0] if version else None, where)
        notes.say("release", release_of(told_rows.get("OS Name"), version[1] if version else None), where)
        kind = re.search(r"(x64|ARM64|X86|x86)-based PC", text)
        notes.say("arch", _arch({"x64": "amd64"}.get(kind[1].lower(), kind[1])) if kind else None, where)
        _maker(text, where, notes)
    text, where = dxdiag(host)
    match = re.search(r"Operating System: (Windows .+?) (64|32)[-‑ ]bit \((\d+)\.(\d+), Build (\d+)\)", text)
    if match:
        notes.say("build", f"{match[3]}.{match[4]}.{match[5]}", where)
        notes.say("release", release_of(match[1], int(match[5])), where)
    for line in (["cmd", "/c", "ver"], ["ver"]):
        reading = host.run(line) if host.recorded else None
        version = _build(reading.text) if reading is not None and reading.ok else None
        notes.say("build", version[0] if version else None, "ver")
        notes.say("release", release_of(None, version[1]) if version else None, "ver")
    keys, where = registry(host, r"Windows NT\CurrentVersion")
    if keys.get("CurrentBuildNumber") or keys.get("CurrentBuild"):
        number = integer(keys.get("CurrentBuildNumber") or keys.get("CurrentBuild"))
        notes.say("build", f"10.0.{number}" if number and number >= 10240 else None, where)
        notes.say("release", release_of(keys.get("ProductName"), number), where)
    for row, where in instances(host, "Win32_Processor"):
        notes.say("arch", _processor_arch(row), where)
    for variable in ("PROCESSOR_ARCHITEW6432", "PROCESSOR_ARCHITECTURE"):
        env = host.env(variable)
        notes.say("arch", _arch(env.text) if env.ok else None, env.source)
    for reading in outputs(host, "echo") if host.recorded else ():
        if "PROCESSOR_ARCHITECTURE" in reading.source:
            notes.say("arch", _arch(reading.text), reading.source)
    _nvidia_words(host, notes)


def _nvidia_words(host: Host, notes: Notes) -> None:
    """Nothing of the system itself; a Windows recording of nvidia-smi alone tells no build."""


def _maker(text: str, source: str, notes: Notes) -> None:
    for word, name in (("VMware", "VMware"), ("VirtualBox", "VirtualBox"), ("QEMU", "QEMU"), ("HVM domU", "Xen"), ("Xen", "Xen"),
                       ("Virtual Machine", "Hyper-V"), ("Amazon EC2", "Amazon EC2"), ("Parallels", "Parallels")):  # fmt: skip
        if re.search(rf"(?:System Manufacturer|System Model|Systemhersteller|Systemmodell|系统制造商|系统型号)[^\n]*{word}", text):
            notes.say("virtual", name, source)


def _arch(word: str) -> str | None:
    return {"amd64": "x86_64", "x64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "x86": "x86", "aarch64": "aarch64"}.get(
        word.strip().lower()
    )


def _os_arch(text: str) -> str | None:
    if "arm" in text.lower():
        return "aarch64" if "64" in text else None
    return "x86_64" if "64" in text else None


def _processor_arch(row: Row) -> str | None:
    """Of the processor's own number (9 x64, 12 ARM64); 0 is x86, also of a 64-bit processor under a 32-bit Windows."""
    return {"9": "x86_64", "12": "aarch64"}.get(row.get("Architecture", "").strip())


def cpu(host: Host, notes: Notes) -> None:
    told, source = call(host, "windows_cpu")
    if isinstance(told, dict):
        notes.say("model", words_of(str(told.get("name") or "")), source)
        notes.say("vendor", vendor_of(str(told.get("vendor") or "")), source)
        for name in ("logical_cpus", "physical_cores", "sockets", "numa_nodes", "performance_cores", "efficiency_cores"):
            value = told.get(name)
            notes.say(name, value if isinstance(value, int) and 0 < value < 65_536 else None, source)
        flags = told.get("flags")
        if isinstance(flags, list):
            notes.say("flags", tuple(str(flag) for flag in flags) or None, source)
        if isinstance(told.get("mhz"), int):
            notes.say("max_mhz", float(told["mhz"]), source)
    listed = instances(host, "Win32_Processor")
    if listed:
        row, where = listed[0]
        notes.say("model", words_of(row.get("Name")), where)
        notes.say("vendor", vendor_of(row.get("Manufacturer", "")), where)
        cores = [integer(one.get("NumberOfCores"), 65_536) for one, _ in listed]
        threads = [integer(one.get("NumberOfLogicalProcessors"), 65_536) for one, _ in listed]
        if all(cores):
            notes.say("physical_cores", sum(one or 0 for one in cores), where)
        if all(threads):
            notes.say("logical_cpus", sum(one or 0 for one in threads), where)
            # Windows before 2008 lists one instance for each logical CPU, without these numbers.
            sockets = {one.get("SocketDesignation") or str(n) for n, (one, _) in enumerate(listed)}
            notes.say("sockets", len(listed) if len(sockets) == len(listed) or len(listed) == 1 else None, where)
        fastest = integer(row.get("MaxClockSpeed"), 20_000)
        notes.say("max_mhz", float(fastest) if fastest else None, where)
    keys, where = registry(host, r"CentralProcessor\0")
    notes.say("model", words_of(keys.get("ProcessorNameString")), where)
    notes.say("vendor", vendor_of(keys.get("VendorIdentifier", "")), where)
    text, where = msinfo(host)
    lines = [value for key, value in pairs(text, "\t") if key in ("Processor", "Prozessor", "处理器")]
    for line in lines[:1]:
        match = re.match(r"(.+?), \d+ M[Hh]z, (\d+) .+?, (\d+) ", line)
        if match:
            notes.say("model", words_of(match[1]), where)
            notes.say("vendor", vendor_of(match[1]), where)
            notes.say("physical_cores", int(match[2]) * len(lines), where)
            notes.say("logical_cpus", int(match[3]) * len(lines), where)
    text, where = dxdiag(host)
    match = re.search(r"^\s*Processor: (.+?) +\((\d+) CPUs?\)", text, re.MULTILINE)
    if match:
        notes.say("model", words_of(match[1]), where)
        notes.say("logical_cpus", int(match[2]), where)
    text, where = information(host)
    match = re.search(r"\[01\]: .*?(GenuineIntel|AuthenticAMD|Qualcomm)", text)
    notes.say("vendor", vendor_of(match[1]) if match else None, where)
    model = notes.get("model")
    notes.say("vendor", vendor_of(str(model)) if model else None, notes.sources.get("cpu.model", ""))


def vendor_of(text: str) -> str | None:
    low = text.lower()
    for word, name in (("intel", "intel"), ("amd", "amd"), ("qualcomm", "qualcomm"), ("snapdragon", "qualcomm"),
                       ("hygon", "hygon"), ("centaur", "centaurhauls"), ("zhaoxin", "zhaoxin"), ("microsoft", "microsoft"),
                       ("ampere", "ampere"), ("nvidia", "nvidia"), ("apple", "apple")):  # fmt: skip
        if word in low:
            return name
    return None


_PHYSICAL = re.compile(r"phys|fís|fis|物理|физич|實體|물리", re.IGNORECASE)


def memory(host: Host, notes: Notes) -> None:
    told, source = call(host, "windows_memory")
    if isinstance(told, dict):
        for name in ("total_bytes", "available_bytes", "swap_bytes"):
            value = told.get(name)
            notes.say(name, value if isinstance(value, int) and 0 <= value < 1 << 56 else None, source)
    for row, where in instances(host, "Win32_OperatingSystem"):
        total = integer(row.get("TotalVisibleMemorySize"))
        free = integer(row.get("FreePhysicalMemory"))
        notes.say("total_bytes", total * 1024 if total else None, where)
        notes.say("available_bytes", free * 1024 if free is not None and (not total or free <= total) else None, where)
        page = integer(row.get("SizeStoredInPagingFiles"))
        notes.say("swap_bytes", page * 1024 if page is not None else None, where)
    modules = [integer(row.get("Capacity")) for row, _ in instances(host, "Win32_PhysicalMemory")]
    if modules and all(modules):
        notes.say("total_bytes", sum(one or 0 for one in modules), "Win32_PhysicalMemory")
    for row, where in instances(host, "Win32_ComputerSystem"):
        notes.say("total_bytes", integer(row.get("TotalPhysicalMemory")), where)
    text, where = dxdiag(host)
    match = re.search(r"^\s*Memory: (\d+) ?MB RAM", text, re.MULTILINE)
    notes.say("total_bytes", int(match[1]) << 20 if match else None, where)
    text, where = information(host)
    sizes = [
        number
        for key, value in pairs(text)
        if _PHYSICAL.search(key) and re.search(r"\d\s*(MB|Mo|МБ)\b", value) and (number := size_bytes(_megabytes(value)))
    ]
    if sizes:
        notes.say("total_bytes", sizes[0], where)
        if len(sizes) > 1 and sizes[1] <= sizes[0]:
            notes.say("available_bytes", sizes[1], where)
    text, where = msinfo(host)
    for name, labels in (("total_bytes", ("Total Physical Memory", "Gesamter physischer Speicher", "物理内存总量", "总的物理内存")),
                         ("available_bytes", ("Available Physical Memory", "Verfügbarer physischer Speicher", "可用物理内存")),
                         ("swap_bytes", ("Page File Space", "Größe der Auslagerungsdatei", "页面文件空间"))):  # fmt: skip
        value = next((v for key, v in pairs(text, "\t") if key in labels), None)
        notes.say(name, size_bytes(value), where)
    _page_file(host, notes)


def _megabytes(value: str) -> str:
    """A size of systeminfo as one number: `32.503 MB` is thousands of megabytes in German."""
    match = re.search(r"(\d[\d.,'\s\u00a0\u202f\ufffdÿ]*)\s*(?:MB|Mo|МБ)", value)
    number = plain_number(match[1].replace("ÿ", "")) if match else None
    return f"{round(number)} MB" if number is not None else ""


def _page_file(host: Host, notes: Notes) -> None:
    if host.recorded or notes.get("swap_bytes") != 0:
        return
    notes.find(
        "os.pagefile", "info", "memory",
        Text("Windows has no page file. Importing large frameworks can fail with error 1455; let Windows manage its size.",
             "Windows 没有页面文件。导入大型框架时可能出现错误 1455；请让 Windows 自动管理其大小。"),
        ("0 bytes", notes.sources.get("memory.swap_bytes", "")),
    )  # fmt: skip
