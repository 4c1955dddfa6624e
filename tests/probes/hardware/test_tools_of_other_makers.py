"""Tables of makers' own tools, systems in other languages, and tools that hang, flood or print garbage."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import pytest

from probes.child import decoded
from probes.hardware.notes import cpu_list, plain_number, size_bytes
from probes.host import LocalHost
from probes.machine import probe

_spec = importlib.util.spec_from_file_location("case_host_of_tools", Path(__file__).parents[1] / "case_host.py")
assert _spec is not None and _spec.loader is not None
case_host = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(case_host)
profile = case_host.profile

MTHREADS = """\
---------------------------------------------------------------
    mthreads-gmi:1.12.0           Driver Version:2.7.0
---------------------------------------------------------------
ID   Name           |PCIe                |%GPU  Mem
     Device Type    |Pcie Lane Width     |Temp  MPC Capable
+-------------------------------------------------------------+
0    MTT S4000      |00000000:01:00.0    |0%    0MiB(49152MiB)
     Physical       |16x(16x)            |37C   YES
"""
CNMON = """\
+------------------------------------------------------------------------------+
| CNMON v5.10.22                                               Driver v5.10.22 |
+-------------------------------+----------------------+-----------------------+
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage | Mode     Compute-Mode |
|===============================+======================+=======================|
| 0     /   MLU370-X8    v1.1.6 |         0000:0F:00.0 | 0%                  0 |
|  0%   34C        56 W/ 250 W  |     0 MiB/ 23374 MiB | FULL          Default |
"""
IXSMI = """\
|  IX-ML: 3.1.0       Driver Version: 3.1.0       CUDA Version: 10.2          |
| GPU  Name                     | Bus-Id               | Clock-SM  Clock-Mem  |
| 0    Iluvatar BI-V100         | 00000000:8A:00.0     | 1500MHz   1200MHz    |
| 0%   29C   P0    54W / 250W   | 1024MiB / 32768MiB   | 0%        Default    |
"""
MXSMI = """\
| MX-SMI 2.1.6                        Kernel Mode Driver Version: 2.5.014         |
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Power                  | Memory-Usage        |                      |
| 0           MXC500                 | 0000:05:00.0        | 0%                   |
| 35C         55W                    | 914/65536 MiB       |                      |
"""
HLSMI = """\
| HL-SMI Version:                              hl-1.16.0-fw-50.1.2.0          |
| Driver Version:                                     1.16.0-c8a9c0d          |
| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |
|   0  HL-225              N/A  | 0000:33:00.0     N/A |                   0  |
| N/A   24C   N/A    90W / 600W |    768MiB / 98304MiB |     0%          N/A  |
"""


@pytest.mark.parametrize(("program", "text", "vendor", "name", "mib", "address", "driver"), [
    ("mthreads-gmi", MTHREADS, "moore-threads", "MTT S4000", 49152, "0000:01:00.0", "2.7.0"),
    ("cnmon", CNMON, "cambricon", "MLU370-X8", 23374, "0000:0f:00.0", "5.10.22"),
    ("ixsmi", IXSMI, "iluvatar", "Iluvatar BI-V100", 32768, "0000:8a:00.0", "3.1.0"),
    ("mx-smi", MXSMI, "metax", "MXC500", 65536, "0000:05:00.0", "2.5.014"),
    ("hl-smi", HLSMI, "habana", "HL-225", 98304, "0000:33:00.0", "1.16.0-c8a9c0d"),
])  # fmt: skip
def test_tables_after_nvidias_example(
    tmp_path: Path, program: str, text: str, vendor: str, name: str, mib: int, address: str, driver: str
) -> None:
    (card,) = profile(tmp_path, commands={program: text}).accelerators
    assert (card.vendor, card.name, card.memory_bytes) == (vendor, name, mib << 20)
    assert (card.pci_address, card.driver_version, card.state) == (address, driver, "usable")


AMD_SMI = """\
GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        VENDOR_ID: 0x1002
        DEVICE_ID: 0x74a1
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0000:05:00.0
    VRAM:
        TYPE: HBM
        SIZE: 196592 MB
"""


def test_amd_smi_as_text(tmp_path: Path) -> None:
    (card,) = profile(tmp_path, commands={"amd-smi static": AMD_SMI}).accelerators
    assert (card.name, card.target, card.memory_bytes, card.pci_address) == ("AMD Instinct MI300X", "gfx942", 196592 << 20, "0000:05:00.0")


def test_lscpu_as_json(tmp_path: Path) -> None:
    text = ('{"lscpu": [{"field": "Architecture:", "data": "x86_64"}, {"field": "CPU(s):", "data": "24"}, {"field": "Vendor ID:", "data": '
            '"AuthenticAMD", "children": [{"field": "Model name:", "data": "AMD Ryzen 9 5900X"}, {"field": "Core(s) per socket:", "data": "12"}, '
            '{"field": "Socket(s):", "data": "1"}]}]}')  # fmt: skip
    cpu = profile(tmp_path, commands={"lscpu -J": text}).cpu
    assert (cpu.model, cpu.vendor, cpu.logical_cpus, cpu.physical_cores, cpu.sockets) == ("AMD Ryzen 9 5900X", "amd", 24, 12, 1)


def test_wmic_as_a_plain_table(tmp_path: Path) -> None:
    line = "wmic path win32_VideoController get name,AdapterRAM,DriverVersion"
    text = "AdapterRAM  DriverVersion  Name                     \r\r\n4293918720  31.0.15.3623   NVIDIA GeForce RTX 3060  \r\r\n\r\r\n"
    (card,) = profile(tmp_path, system="windows", commands={line: text}).accelerators
    assert (card.vendor, card.name, card.driver_version, card.memory_bytes) == ("nvidia", "NVIDIA GeForce RTX 3060", "536.23", None)


def test_quota_at_the_top_of_a_deep_tree(tmp_path: Path) -> None:
    found = profile(tmp_path, files={
        "/proc/self/cgroup": "0::/" + "/".join(f"a{n}" for n in range(200)) + "\n", "/proc/cpuinfo": "processor\t: 0\n\nprocessor\t: 1\n",
        "/proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/a0/cpu.max": "150000 100000\n",
    })  # fmt: skip
    assert found.cpu.usable_cpus == 1.5


def test_jetson_orin_in_nvidia_smi(tmp_path: Path) -> None:
    text = (
        "| NVIDIA-SMI 540.4.0                Driver Version: 540.4.0      CUDA Version: 12.6     |\n"
        "|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |\n"
        "| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |\n"
    )
    (card,) = profile(tmp_path, files={"/etc/nv_tegra_release": "# R36 (release), REVISION: 4.3\n"}, commands={"nvidia-smi": text}).accelerators
    assert (card.name, card.driver_version, card.driver_api_max, card.memory_kind) == ("Orin (nvgpu)", "540.4.0", "12.6", "unified")


def test_freebsd(tmp_path: Path) -> None:
    text = "hw.model: Intel(R) Xeon(R) Gold 6132 CPU @ 2.60GHz\nhw.ncpu: 28\nhw.physmem: 68504104960\nkern.smp.cores: 14\n"
    found = profile(tmp_path, system="freebsd", commands={"sysctl -a": text, "uname -r": "13.2-RELEASE\n", "uname -m": "amd64\n"})
    assert (found.system.os, found.system.arch, found.system.kernel) == ("freebsd", "x86_64", "13.2-RELEASE")
    assert (found.cpu.vendor, found.cpu.logical_cpus, found.cpu.physical_cores, found.memory.total_bytes) == ("intel", 28, 14, 68504104960)


GERMAN = """\
Hostname:                                      PC
Betriebssystemname:                            Microsoft Windows 11 Pro
Betriebssystemversion:                         10.0.22631 Nicht zutreffend Build 22631
Systemtyp:                                     x64-based PC
Gesamter physischer Speicher:                  32.503 MB
Verfügbarer physischer Speicher:               19.743 MB
"""
CHINESE = """\
主机名:               PC
OS 名称:              Microsoft Windows 10 专业版
OS 版本:              10.0.19045 暂缺 Build 19045
系统类型:             x64-based PC
物理内存总量:         16,268 MB
可用的物理内存:       9,120 MB
虚拟内存: 最大值:     18,700 MB
"""
FRENCH = """\
Nom du système d'exploitation:              Microsoft Windows 11 Famille
Version du système:                         10.0.26100 N/A build 26100
Type du système:                            x64-based PC
Mémoire physique totale:                    16\u00a0268 Mo
Mémoire physique disponible:                9\u00a0120 Mo
"""


@pytest.mark.parametrize(("text", "release", "build", "mib"), [
    (GERMAN, "11", "10.0.22631", 32503), (CHINESE, "10", "10.0.19045", 16268), (FRENCH, "11", "10.0.26100", 16268),
])  # fmt: skip
def test_windows_in_other_languages(tmp_path: Path, text: str, release: str, build: str, mib: int) -> None:
    found = profile(tmp_path, system="windows", commands={"systeminfo": text})
    assert (found.system.release, found.system.build, found.system.arch) == (release, build, "x86_64")
    assert found.memory.total_bytes == mib << 20


def test_code_pages() -> None:
    assert "物理内存总量" in decoded("物理内存总量: 16,268 MB 可用的物理内存".encode("gb18030"))
    assert "Größe" in decoded("Auslagerungsdatei: Größe 3 GB".encode("cp1252"))
    assert decoded("Name=Radeon\r\n".encode("utf-16")) == "Name=Radeon\r\n"
    assert decoded("Name=Radeon\r\n".encode("utf-16-le")) == "Name=Radeon\r\n"
    assert decoded("温度 37°C".encode()[:-1]).startswith("温度 37°")


@pytest.mark.parametrize(("text", "wanted"), [
    ("24576 MiB", 24576 << 20), ("32.503 MB", 32503 << 20), ("1.5 GB", 3 << 29), ("16 384 Mo", 16384 << 20), ("32 GB", 32 << 30),
    ("n/a", None), ("", None), ("99999999999 GB", None),
])  # fmt: skip
def test_sizes(text: str, wanted: int | None) -> None:
    assert size_bytes(text) == wanted


def test_numbers_and_lists() -> None:
    assert plain_number("1,234,567") == 1234567 and plain_number("0.5") == 0.5 and plain_number("1-2") is None
    assert cpu_list("0-3,8") == frozenset({0, 1, 2, 3, 8}) and cpu_list("") == frozenset()
    assert cpu_list("3-1") is None and cpu_list("0-99999999") is None and cpu_list("all") is None


@pytest.mark.skipif(sys.platform != "linux", reason="the false tools are shell scripts")
@pytest.mark.parametrize(("script", "code"), [
    ("exec sleep 60", "probe.timed_out"), ("head -c 60000000 /dev/zero >&2", None), ("head -c 3000000 /dev/urandom", None),
    ("kill -SEGV $$", None), ("echo '<nvidia_smi_log><gpu>'", None),
])  # fmt: skip
def test_a_bad_tool_costs_its_limit_and_nothing_else(tmp_path: Path, script: str, code: str | None) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    host = LocalHost(environment={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}, calls={})
    began = time.monotonic()
    found = probe(host, environments=False)
    assert time.monotonic() - began < 6
    assert found.cpu.logical_cpus and found.memory.total_bytes
    assert not [card for card in found.accelerators or () if card.vendor == "nvidia"]
    if code:
        assert code in case_host.codes(found)
