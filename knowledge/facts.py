"""The machine: what probes report and what a machine file may say; every value that is not known is None."""

from __future__ import annotations

from typing import Literal

import msgspec

from knowledge.text import Text

SCHEMA = 1

AcceleratorKind = Literal["gpu", "npu"]
MemoryKind = Literal["dedicated", "shared", "unified"]
AcceleratorState = Literal[
    "usable", "no_driver", "module_missing", "driver_mismatch", "permission_denied", "hidden", "disabled", "unlicensed",
    "unknown",
]
Severity = Literal["error", "warning", "info"]

# Words that mean the same processor family; the profile holds the word on the right.
ARCH_ALIASES = {"arm64": "aarch64", "amd64": "x86_64", "x64": "x86_64", "i386": "x86", "i686": "x86"}


class Base(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Root of all values: frozen, strict about unknown keys."""


class Evidence(Base, frozen=True, kw_only=True):
    """One fact and where it was read: a file, a command, a library call, or what the user stated."""

    fact: str
    source: str


class Source(Base, frozen=True, kw_only=True):
    """Where a piece of knowledge stands, and on which day it was read (ISO date, or year and month)."""

    url: str
    date: str


class Remedy(Base, frozen=True, kw_only=True):
    """What the user can do. Commands are rendered by the program from code and params, never taken from data."""

    code: str
    params: dict[str, str] = {}
    text: Text
    commands: tuple[str, ...] = ()


class Finding(Base, frozen=True, kw_only=True):
    """Something worth telling about the machine or an environment; probes use it for what could not be read."""

    code: str
    severity: Severity
    subject: str
    because: Text
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    source: Source | None = None


class System(Base, frozen=True, kw_only=True):
    os: str | None = None  # linux | windows | macos, or any other lower-case word
    distribution: str | None = None
    release: str | None = None
    build: str | None = None
    kernel: str | None = None
    arch: str | None = None  # x86_64 | aarch64 | …
    libc: str | None = None  # glibc | musl
    libc_version: str | None = None
    wsl: int | None = None
    container: str | None = None
    sandbox: str | None = None
    boot: str | None = None
    virtual: str | None = None  # hypervisor's name, where one was seen
    board: str | None = None  # device-tree model, where there is one (Jetson, Raspberry Pi)
    long_paths: bool | None = None  # Windows


class Cpu(Base, frozen=True, kw_only=True):
    vendor: str | None = None
    model: str | None = None
    sockets: int | None = None
    numa_nodes: int | None = None
    physical_cores: int | None = None
    logical_cpus: int | None = None
    usable_cpus: float | None = None  # after affinity, cpuset and quota
    performance_cores: int | None = None
    efficiency_cores: int | None = None
    flags: tuple[str, ...] | None = None  # Linux spelling on every system
    cache_bytes: dict[str, int] | None = None  # level ("L1d", "L2", "L3") to bytes over all instances
    max_mhz: float | None = None


class Memory(Base, frozen=True, kw_only=True):
    total_bytes: int | None = None
    available_bytes: int | None = None
    limit_bytes: int | None = None
    swap_bytes: int | None = None
    shm_bytes: int | None = None


class Disk(Base, frozen=True, kw_only=True):
    free_bytes: int | None = None  # where environments and caches go
    temporary_free_bytes: int | None = None  # where pip unpacks


class Accelerator(Base, frozen=True, kw_only=True):
    kind: AcceleratorKind = "gpu"
    vendor: str
    name: str | None = None
    count: int = 1
    memory_bytes: int | None = None
    memory_kind: MemoryKind | None = None
    target: str | None = None  # compute capability, gfx name, SoC name
    driver_version: str | None = None
    driver_api_max: str | None = None  # CUDA that the driver can serve; not the toolkit, not the wheel
    shared_bytes: int | None = None
    usable_bytes: int | None = None
    integrated: bool | None = None
    state: AcceleratorState = "unknown"
    mig: str | None = None
    pci_address: str | None = None
    pci_id: str | None = None  # "10de:2684"
    uuid: str | None = None
    links: tuple[str, ...] = ()


class Software(Base, frozen=True, kw_only=True):
    """Toolkits by version; False means looked for and absent, None means not known."""

    cuda_toolkit: str | bool | None = None
    rocm: str | bool | None = None
    cann: str | bool | None = None
    level_zero: str | bool | None = None
    oneapi: str | bool | None = None
    vc_redist: bool | None = None
    msvc: str | bool | None = None
    gcc: str | bool | None = None
    nvcc: str | bool | None = None
    cmake: str | bool | None = None
    docker: str | bool | None = None
    container_toolkit: str | bool | None = None
    kubectl: str | bool | None = None
    slurm: str | bool | None = None
    uv: str | bool | None = None
    pip: str | bool | None = None
    conda: str | bool | None = None


class Package(Base, frozen=True, kw_only=True):
    name: str
    version: str | None = None


class Python(Base, frozen=True, kw_only=True):
    path: str | None = None
    version: str | None = None
    kind: str | None = None  # system | venv | conda | pyenv | uv | store | …
    arch: str | None = None
    bits: int | None = None
    free_threaded: bool | None = None
    packages: tuple[Package, ...] | None = None


class Network(Base, frozen=True, kw_only=True):
    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    proxy: str | None = None
    certificate: str | None = None
    offline: bool | None = None
    reachable: dict[str, bool] = {}


class MachineProfile(Base, frozen=True, kw_only=True):
    """One computer. `sources` says for a dotted fact ("cpu.model", "accelerators.0.target") where it was read."""

    schema: int = SCHEMA
    system: System = System()
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    disk: Disk = Disk()
    accelerators: tuple[Accelerator, ...] | None = None
    software: Software = Software()
    pythons: tuple[Python, ...] | None = None
    network: Network = Network()
    sources: dict[str, str] = {}
    overrides: tuple[str, ...] = ()  # dotted facts that the user stated in place of a reading
    findings: tuple[Finding, ...] = ()
    recorded: bool = False  # True: read from a recording or a file, not from this machine
