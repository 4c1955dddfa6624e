"""The probes against what this machine's own tools say: lscpu, nproc, /proc/meminfo, lspci, taskset."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from probes import machine
from probes.host import LocalHost

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with Linux tools")


def said(*argv: str) -> str:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed here")
    return subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}).stdout


def test_processor_as_lscpu_says() -> None:
    rows = {row["field"].rstrip(":"): row["data"] for row in json.loads(said("lscpu", "-J"))["lscpu"]}
    cpu = machine.probe(LocalHost(), environments=False).cpu
    assert cpu.logical_cpus == int(rows["CPU(s)"])
    if rows.get("Model name", "-") != "-":
        assert cpu.model is not None
        assert rows["Model name"].split()[0].lower() in cpu.model.lower()
    if "Socket(s)" in rows and "Core(s) per socket" in rows:
        assert cpu.physical_cores == int(rows["Socket(s)"]) * int(rows["Core(s) per socket"])
    if rows.get("Flags"):
        assert set(rows["Flags"].split()) == set(cpu.flags or ())


def test_usable_processors_as_nproc_says() -> None:
    usable = machine.probe(LocalHost(), environments=False).cpu.usable_cpus
    assert usable is not None
    assert usable <= int(said("nproc"))


def test_affinity_is_respected() -> None:
    """In a child, since the affinity of a process is its own."""
    first = min(os.sched_getaffinity(0))
    code = "from probes import machine; from probes.host import LocalHost; print(machine.probe(LocalHost(), environments=False).cpu.usable_cpus)"
    said("taskset", "--version")
    assert float(said("taskset", "-c", str(first), sys.executable, "-c", code)) <= 1.0


def test_memory_as_the_kernel_says() -> None:
    kib = int(re.search(r"MemTotal:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii")).group(1))  # type: ignore[union-attr]
    assert machine.probe(LocalHost(), environments=False).memory.total_bytes == kib * 1024


def test_display_devices_as_lspci_says() -> None:
    shown = [line for line in said("lspci", "-nn").splitlines() if re.search(r"\[03(00|02|80)\]|\[12[0-9a-f]{2}\]", line)]
    devices = machine.probe(LocalHost(), environments=False).accelerators
    places = {str(d.pci_address).split(":", 1)[-1] for d in devices or () if d.pci_address}
    known_vendors = ("10de", "1002")
    for line in shown:
        if re.search(r"\[({}):".format("|".join(known_vendors)), line):
            assert line.split()[0].split(":", 1)[-1] in {p.split(":", 1)[-1] for p in places} or line.split()[0] in places
