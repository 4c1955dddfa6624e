"""What a Mac tells: sysctl, system_profiler and sw_vers, as they are printed live and in recordings."""

from __future__ import annotations

import json
import re
from typing import Any

from probes.hardware.notes import Notes, integer, json_in, outputs, pairs, size_bytes, words_of
from probes.host import Host

SYSCTL_NAMES = (
    "kern.osrelease", "kern.osproductversion", "kern.osversion", "hw", "machdep.cpu", "sysctl.proc_translated",
    "iogpu.wired_limit_mb", "vm.swapusage", "kern.hv_vmm_present",
)  # fmt: skip

# Names of machdep.cpu.*features that Linux spells in another way; the others only differ in case.
_INTEL_FLAGS = {
    "sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx1.0": "avx", "em64t": "lm", "xd": "nx", "pclmulqdq": "pclmulqdq",
    "rdtscp": "rdtscp", "lzcnt": "abm", "prefetchw": "3dnowprefetch", "lahf": "lahf_lm", "rdrand": "rdrand", "seglim64": "seglim64",
    "tsctmr": "tsc_deadline_timer", "avx512f": "avx512f", "avx512vnni": "avx512_vnni", "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq", "bmi1": "bmi1", "sha": "sha_ni",
}  # fmt: skip
# Apple's names of Arm features and the words that Linux has in Features.
_ARM_FLAGS = {
    "hw.optional.neon": "asimd", "hw.optional.AdvSIMD": "asimd", "hw.optional.floatingpoint": "fp",
    "hw.optional.neon_fp16": "asimdhp", "hw.optional.neon_hpfp": "asimdhp", "hw.optional.armv8_1_atomics": "atomics",
    "hw.optional.armv8_crc32": "crc32", "hw.optional.AdvSIMD_HPFPCvt": "asimdhp",
    "FEAT_DotProd": "asimddp", "FEAT_FP16": "asimdhp", "FEAT_BF16": "bf16", "FEAT_I8MM": "i8mm", "FEAT_LSE": "atomics",
    "FEAT_FHM": "asimdfhm", "FEAT_SHA1": "sha1", "FEAT_SHA256": "sha2", "FEAT_SHA512": "sha512", "FEAT_SHA3": "sha3",
    "FEAT_AES": "aes", "FEAT_PMULL": "pmull", "FEAT_RDM": "asimdrdm", "FEAT_SB": "sb", "FEAT_JSCVT": "jscvt",
    "FEAT_FCMA": "fcma", "FEAT_LRCPC": "lrcpc", "FEAT_LRCPC2": "ilrcpc", "FEAT_DPB": "dcpop", "FEAT_DPB2": "dcpodp",
    "FEAT_FlagM": "flagm", "FEAT_FlagM2": "flagm2", "FEAT_FRINTTS": "frint", "FEAT_BTI": "bti", "FEAT_PAuth": "paca",
    "FEAT_SSBS": "ssbs", "FEAT_DIT": "dit", "FEAT_SME": "sme", "FEAT_SME2": "sme2", "FEAT_CRC32": "crc32",
    "FEAT_ECV": "ecv", "FEAT_AFP": "afp", "FEAT_RPRES": "rpres", "FEAT_WFxT": "wfxt", "FEAT_EBF16": "ebf16",
    "FEAT_LSE2": "uscat",
}  # fmt: skip


def values(host: Host) -> tuple[dict[str, str], str]:
    """sysctl names and values, from whichever sysctl commands there are."""
    found: dict[str, str] = {}
    source = "sysctl"
    for reading in outputs(host, "sysctl", SYSCTL_NAMES):
        if "-n" in reading.source.split() and len(reading.source.split()) == 3:
            found.setdefault(reading.source.split()[2], reading.text.strip())
            continue
        source = reading.source if len(reading.source) < 60 else "sysctl"
        for line in reading.text.splitlines():
            match = re.match(r"([a-zA-Z_][\w.]*)\s*[:=]\s?(.*)$", line)
            if match:
                found.setdefault(match[1], match[2].strip())
    return found, source


def profiler(host: Host, kind: str) -> tuple[list[dict[str, Any]], str]:
    """Entries of one kind (SPDisplaysDataType) in system_profiler's JSON."""
    for reading in outputs(host, "system_profiler", ("-json", kind)):
        told = json_in(reading.text) if reading.ok else None
        rows = told.get(kind) if isinstance(told, dict) else None
        if isinstance(rows, list):
            return [row for row in rows if isinstance(row, dict)], reading.source
    return [], "system_profiler"


def report(host: Host) -> tuple[list[tuple[str, str]], str]:
    """Keys and values of system_profiler's text, only where it was recorded: the whole report takes half a minute."""
    if host.recorded:
        for reading in outputs(host, "system_profiler"):
            if reading.ok and not reading.text.lstrip().startswith(("{", "[")):
                return list(pairs(reading.text)), reading.source
    return [], "system_profiler"


def _one(rows: list[tuple[str, str]], *names: str) -> str | None:
    return next((words_of(value) for name in names for key, value in rows if key == name and value), None)


def _hardware(host: Host) -> tuple[dict[str, Any], str]:
    """The SPHardwareDataType entry; asked only where sysctl does not tell enough, that is in recordings."""
    rows, source = profiler(host, "SPHardwareDataType") if host.recorded else ([], "")
    return (rows[0] if rows else {}), source


def system(host: Host, notes: Notes) -> None:
    told, source = values(host)
    notes.say("distribution", "macos", source)
    for reading in outputs(host, "sw_vers", ()):
        versions = dict(pairs(reading.text))
        notes.say("release", words_of(versions.get("ProductVersion")), reading.source)
        notes.say("build", words_of(versions.get("BuildVersion")), reading.source)
    notes.say("release", words_of(told.get("kern.osproductversion")), source)
    notes.say("build", words_of(told.get("kern.osversion")), source)
    notes.say("kernel", words_of(told.get("kern.osrelease")), source)
    rows, text_source = report(host)
    version = _one(rows, "System Version") or ""
    match = re.search(r"(\d+(?:\.\d+)+) \((\w+)\)", version)
    if match:
        notes.say("release", match[1], text_source)
        notes.say("build", match[2], text_source)
    match = re.match(r"Darwin (\d+\.\d+\.\d+)", _one(rows, "Kernel Version") or "")
    notes.say("kernel", match[1] if match else None, text_source)
    uname = host.call("uname")
    machine: str | None = None
    if uname.ok:
        one = json.loads(uname.text)
        notes.say("kernel", words_of(one.get("release")), "uname()")
        machine = one.get("machine")
    # A process under Rosetta is told x86_64 by uname; the processor itself says what it is.
    brand = told.get("machdep.cpu.brand_string", "")
    cpu_type = told.get("hw.cputype", "")
    if told.get("hw.optional.arm64") == "1" or brand.startswith("Apple") or cpu_type == "16777228":
        notes.say("arch", "aarch64", source)
    elif cpu_type == "18" or cpu_type == "16777234":
        notes.say("arch", "ppc", source)
    elif told.get("hw.optional.x86_64") == "1" or brand.startswith("Intel") or told.get("machdep.cpu.vendor") == "GenuineIntel":
        notes.say("arch", "x86_64", source)
    hardware, hardware_source = _hardware(host)
    chip = str(hardware.get("chip_type") or hardware.get("cpu_type") or "") or _one(rows, "Chip") or ""
    processor = _one(rows, "Processor Name", "CPU Type") or ""
    if chip.startswith("Apple"):
        notes.say("arch", "aarch64", hardware_source or text_source)
    elif processor.startswith("PowerPC"):
        notes.say("arch", "ppc", text_source)
    elif "Intel" in chip or "Core 2" in processor or "Xeon" in processor or re.search(r"Intel Core (?!Duo|Solo)", processor):
        notes.say("arch", "x86_64", text_source)
    displays, displays_source = profiler(host, "SPDisplaysDataType") if host.recorded else ([], "")
    if any(str(row.get("spdisplays_vendor", "")).endswith("Apple") or str(row.get("sppci_model", "")).startswith("Apple M") for row in displays):
        notes.say("arch", "aarch64", displays_source)
    for question in (["uname", "-m"], ["uname", "-a"]):
        if notes.get("arch") is None or (question[1] == "-a" and host.recorded):
            reading = host.run(question)
            words = reading.text.split()
            if reading.ok and words:
                word = words[-1]
                notes.say("arch", {"arm64": "aarch64"}.get(word, word) if re.fullmatch(r"arm64|x86_64|i386|ppc", word) else None, reading.source)
                if question[1] == "-a" and len(words) > 2:
                    notes.say("kernel", words[2] if re.match(r"\d+\.\d+", words[2]) else None, reading.source)
    if machine and notes.get("arch") is None:
        notes.say("arch", {"arm64": "aarch64"}.get(machine, machine), "uname()")
    notes.say("board", words_of(told.get("hw.model")), source)
    notes.say("board", words_of(str(hardware.get("machine_model") or "")), hardware_source)
    notes.say("board", _one(rows, "Model Identifier", "Machine Model"), text_source)
    if told.get("kern.hv_vmm_present") == "1":
        notes.say("virtual", "Apple Virtualization", source)


def translated(host: Host) -> bool:
    """Whether this process runs under Rosetta."""
    return values(host)[0].get("sysctl.proc_translated") == "1"


def cpu(host: Host, notes: Notes) -> None:
    told, source = values(host)
    hardware, hardware_source = _hardware(host)
    rows, text_source = report(host)
    brand = words_of(told.get("machdep.cpu.brand_string"))
    notes.say("model", brand, source)
    chip = words_of(str(hardware.get("chip_type") or hardware.get("cpu_type") or ""))
    notes.say("model", chip, hardware_source)
    notes.say("model", _one(rows, "Chip", "Processor Name", "CPU Type"), text_source)
    vendor = told.get("machdep.cpu.vendor", "")
    model = str(notes.get("model") or "")
    if vendor == "GenuineIntel" or "Intel" in model:
        notes.say("vendor", "intel", source if vendor else text_source)
    elif model.startswith("Apple"):
        notes.say("vendor", "apple", notes.sources.get("cpu.model", source))
    elif "PowerPC" in model:
        notes.say("vendor", "ibm", text_source)
    for fact, names in (
        ("logical_cpus", ("hw.logicalcpu", "hw.activecpu", "hw.ncpu", "machdep.cpu.thread_count")),
        ("physical_cores", ("hw.physicalcpu", "machdep.cpu.core_count")), ("sockets", ("hw.packages",)),
    ):  # fmt: skip
        for name in names:
            notes.say(fact, integer(told.get(name), 4096) or None, source)
    if told.get("hw.nperflevels") == "2":
        notes.say("performance_cores", integer(told.get("hw.perflevel0.physicalcpu"), 4096) or None, source)
        notes.say("efficiency_cores", integer(told.get("hw.perflevel1.physicalcpu"), 4096) or None, source)
    counts = re.match(r"proc (\d+):(\d+):(\d+)", str(hardware.get("number_processors") or ""))
    if counts and int(counts[1]) == int(counts[2]) + int(counts[3]):
        for name, number in (("physical_cores", 1), ("logical_cpus", 1), ("performance_cores", 2), ("efficiency_cores", 3)):
            notes.say(name, int(counts[number]), hardware_source)
    total = _one(rows, "Total Number Of Cores", "Total Number of Cores") or ""
    mixed = re.match(r"(\d+) \((\d+) [Pp]erformance and (\d+) [Ee]fficiency\)", total)
    if mixed:
        for name, number in (("physical_cores", 1), ("logical_cpus", 1), ("performance_cores", 2), ("efficiency_cores", 3)):
            notes.say(name, int(mixed[number]), text_source)
    else:
        match = re.match(r"(\d+)", total)
        notes.say("physical_cores", int(match[1]) if match else None, text_source)
    sockets = _one(rows, "Number Of Processors", "Number of Processors") or str(hardware.get("packages") or "")
    notes.say("sockets", integer(sockets, 64) or None, text_source)
    _flags(told, source, notes)
    caches = {}
    for label, name in (("L1i", "hw.l1icachesize"), ("L1d", "hw.l1dcachesize"), ("L2", "hw.l2cachesize"), ("L3", "hw.l3cachesize")):
        size = integer(told.get(name))
        if size:
            caches[label] = size
    # These are sizes of one cache, not the sum over all; only a single L3 is both.
    if "L3" in caches and notes.get("sockets") == 1:
        notes.say("cache_bytes", {"L3": caches["L3"]}, source)
    frequency = integer(told.get("hw.cpufrequency_max") or told.get("hw.cpufrequency"))
    notes.say("max_mhz", frequency / 1e6 if frequency else None, source)


def _flags(told: dict[str, str], source: str, notes: Notes) -> None:
    flags: list[str] = []
    for name in ("machdep.cpu.features", "machdep.cpu.extfeatures", "machdep.cpu.leaf7_features"):
        for word in told.get(name, "").lower().split():
            flags.append(_INTEL_FLAGS.get(word, word.replace(".", "_")))
    for name, value in told.items():
        if value != "1" or not name.startswith("hw.optional"):
            continue
        short = name.rsplit(".", 1)[-1]
        known = _ARM_FLAGS.get(name) or _ARM_FLAGS.get(short)
        if known and told.get("hw.optional.arm64") == "1":
            flags.append(known)
    notes.say("flags", tuple(dict.fromkeys(flags)) or None, source)


def memory(host: Host, notes: Notes) -> None:
    told, source = values(host)
    notes.say("total_bytes", integer(told.get("hw.memsize")), source)
    hardware, hardware_source = _hardware(host)
    notes.say("total_bytes", size_bytes(str(hardware.get("physical_memory") or "")), hardware_source)
    rows, text_source = report(host)
    notes.say("total_bytes", size_bytes(_one(rows, "Memory")), text_source)
    match = re.search(r"total = ([\d.]+)([MG])", told.get("vm.swapusage", ""))
    if match:
        notes.say("swap_bytes", round(float(match[1]) * 1024 ** (2 if match[2] == "M" else 3)), source)
    for reading in outputs(host, "vm_stat", ()):
        page = re.search(r"page size of (\d+) bytes", reading.text)
        counts = dict(re.findall(r"^Pages (free|inactive|speculative|purgeable):\s+(\d{1,15})\.", reading.text, re.MULTILINE))
        if page and {"free", "inactive"} <= counts.keys():
            pages = sum(int(counts.get(name, 0)) for name in ("free", "inactive", "speculative"))
            available = pages * int(page[1])
            total = notes.get("total_bytes")
            if total is None or available <= total:
                notes.say("available_bytes", available, reading.source)
