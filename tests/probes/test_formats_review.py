"""Forms of tools' answers across years and languages; sources: the tools' own output as their manuals and issues show it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("case_host", Path(__file__).parent / "case_host.py")
assert _spec is not None and _spec.loader is not None
case_host = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(case_host)
profile = case_host.profile

GIB = 2**30
SMI_610 = """\
| NVIDIA-SMI 610.22.01              KMD Version: 610.22.01     CUDA UMD Version: 13.4     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 5090        Off |   00000000:01:00.0  On |                  N/A |
|  0%   42C    P8             21W /  575W |     812MiB /  32607MiB |      1%      Default |
+-----------------------------------------+------------------------+----------------------+
"""
SMI_367 = """\
| NVIDIA-SMI 367.57                 Driver Version: 367.57                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX 1080    Off  | 0000:01:00.0      On |                  N/A |
| 27%   36C    P8    10W / 180W |    390MiB /  8113MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
"""


@pytest.mark.parametrize(("text", "driver", "serves", "memory_mib"), [(SMI_610, "610.22.01", "13.4", 32607), (SMI_367, "367.57", None, 8113)])
def test_the_table_of_nvidia_smi_from_2016_to_2026(tmp_path: Path, text: str, driver: str, serves: str | None, memory_mib: int) -> None:
    (card,) = profile(tmp_path, commands={"nvidia-smi": text}).accelerators or ()
    assert (card.driver_version, card.driver_api_max, card.memory_bytes) == (driver, serves, memory_mib << 20)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("lspci -n", "01:00.0 0302: 10de:2330 (rev a1)\n02:00.0 0300: 1a03:2000 (rev 41)\n"),
        ("lspci -n -mm", '01:00.0 "0302" "10de" "2330" -ra1 -p00 "10de" "16c1"\n'),
        ("lspci -nn", "01:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:2330] (rev a1)\n"),
    ],
)
def test_lspci_without_names(tmp_path: Path, line: str, text: str) -> None:
    """Source: lspci(8), -n and -mm. The screen of the server's management chip is no accelerator."""
    (card,) = profile(tmp_path, commands={line: text}).accelerators or ()
    assert (card.vendor, card.name, card.pci_id) == ("nvidia", None, "10de:2330")


@pytest.mark.parametrize(
    ("text", "release", "mib"),
    [
        ("Betriebssystemname:      Microsoft Windows 11 Pro\nBetriebssystemversion:   10.0.26100 Nicht zutreffend Build 26100\n"
         "Gesamter physischer Speicher:   32.533 MB\nVerfügbarer physischer Speicher:  20.100 MB\n", "11", 32533),
        ("OS 名称:          Microsoft Windows 10 专业版\nOS 版本:          10.0.19045 暂缺 Build 19045\n"
         "物理内存总量:     16,211 MB\n可用的物理内存:   6,000 MB\n", "10", 16211),
        ("Nom du système d'exploitation:   Microsoft Windows 11 Famille\nVersion du système:    10.0.22631 N/A version 22631\n"
         "Mémoire physique totale:      16\u202f183 Mo\n", "11", 16183),
    ],
)  # fmt: skip
def test_systeminfo_in_other_languages(tmp_path: Path, text: str, release: str, mib: int) -> None:
    found = profile(tmp_path, system="windows", commands={"systeminfo": text})
    assert (found.system.release, found.memory.total_bytes) == (release, mib << 20)


def test_an_inner_group_cannot_widen_the_quota_of_an_outer_one(tmp_path: Path) -> None:
    """Source: kernel documentation of control groups v2, top-down constraint."""
    cpu = "".join(f"processor\t: {n}\nvendor_id\t: GenuineIntel\nphysical id\t: 0\ncore id\t: {n // 2}\n\n" for n in range(8))
    found = profile(tmp_path, files={
        "/proc/self/cgroup": "0::/a/b/c\n", "/sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
        "/sys/fs/cgroup/a/cpu.max": "200000 100000\n", "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
        "/sys/fs/cgroup/a/b/c/cpu.max": "400000 100000\n", "/sys/fs/cgroup/a/b/memory.max": f"{2 * GIB}\n",
        "/sys/fs/cgroup/a/b/c/memory.max": "max\n", "/proc/meminfo": "MemTotal: 16384000 kB\n", "/proc/cpuinfo": cpu,
    })  # fmt: skip
    assert (found.cpu.usable_cpus, found.memory.limit_bytes) == (2.0, 2 * GIB)


def test_unified_memory_reads_not_available(tmp_path: Path) -> None:
    text = ("==============NVSMI LOG==============\n\nDriver Version                            : 580.95.05\n"
            "CUDA Version                              : 13.0\n\nAttached GPUs                             : 1\n"
            "GPU 00000000:0F:00.0\n    Product Name                          : NVIDIA GB10\n"
            "    FB Memory Usage\n        Total                             : N/A\n")  # fmt: skip
    (card,) = profile(tmp_path, commands={"nvidia-smi -q": text}).accelerators or ()
    assert (card.name, card.memory_bytes, card.memory_kind, card.driver_api_max) == ("NVIDIA GB10", None, "unified", "13.0")
