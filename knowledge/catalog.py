"""The shape of the knowledge base: frameworks with their builds, scenarios, backends, devices, questions and indexes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from knowledge.facts import Base, Source
from knowledge.text import Text

OnUnknown = Literal["blocks", "assumed"]
Device = Literal["cpu", "cuda", "rocm", "xpu", "metal", "cann", "musa", "openvino", "directml", "qnn", "rknn", "xdna",
                 "tpu", "gaudi", "coreml", "vulkan", "webgpu", "any"]  # fmt: skip


class Fact(Base, frozen=True, kw_only=True):
    """A source and what it says."""

    url: str
    date: str
    fact: str = ""


class Remedy(Base, frozen=True, kw_only=True):
    """A remedy as data: a code of the closed list and values for its template. It can never hold a command."""

    code: str
    params: dict[str, str] = {}


class Condition(Base, frozen=True, kw_only=True):
    """One word of the closed vocabulary with its arguments; `knowledge.predicates` holds one function per word."""

    word: str
    args: dict[str, Any] = {}


class Requirement(Base, frozen=True, kw_only=True):
    """A condition that a build needs, the code it is reported under, and what an unknown fact means for it."""

    when: Condition
    code: str
    unknown: OnUnknown = "blocks"
    because: Text | None = None
    remedies: tuple[Remedy, ...] = ()
    source: Source | None = None


class BuildPackage(Base, frozen=True, kw_only=True):
    """A package that a build installs: exact version, and the index it comes from where that is not the build's."""

    name: str
    version: str
    extras: tuple[str, ...] = ()
    index: str | None = None
    import_name: str | None = None
    download_mb: float | None = None
    source_only: bool = False  # no wheel: built on the machine, never covered by an only-binary guard
    build_isolation: bool = True  # False: its build needs torch, so it is installed after it without build isolation


class Build(Base, frozen=True, kw_only=True):
    """One way to get a framework: a version for one device from one index, with all that its wheels demand.

    platforms: "linux-x86_64", "linux-aarch64", "windows-x86_64", "windows-aarch64", "macos-aarch64", "macos-x86_64".
    targets: architectures with code in the wheel (capability "8.6", gfx name); an NVIDIA target also runs on newer
    minors of its major. ptx: capabilities that can be compiled for newer cards at first run.
    """

    id: str
    version: str
    device: Device
    index: str = "pypi"
    platforms: tuple[str, ...]
    pythons: tuple[str, ...] = ()  # minors with a wheel ("3.12", "3.14t"); empty: no Python package
    glibc_min: str | None = None  # None: no libc bound
    musl: bool = False
    macos_min: str | None = None
    windows_build_min: str | None = None
    targets: tuple[str, ...] | None = None
    targets_by_platform: dict[str, tuple[str, ...]] = {}
    ptx: tuple[str, ...] = ()
    target_min: str | None = None
    target_max: str | None = None
    toolkit: str | None = None  # CUDA, ROCm … the wheel was built with
    driver_min: dict[str, str] = {}  # by os; where absent, the backend's table decides from `toolkit`
    packages: tuple[BuildPackage, ...] = ()
    environment: dict[str, str] = {}
    requires: tuple[Requirement, ...] = ()
    uses: dict[str, str] = {}  # framework id to a version specifier that its build must satisfy ("pytorch": "==2.14.0")
    steps: tuple[dict[str, Any], ...] = ()  # typed steps of knowledge.plan for what is no package
    notes: tuple[Text, ...] = ()
    stable: bool = True
    source: Source | None = None


class Status(Base, frozen=True, kw_only=True):
    state: Literal["active", "maintenance", "archived", "renamed", "superseded", "unverified"]
    since: str | None = None
    successors: tuple[str, ...] = ()  # framework ids
    note: Text
    source: Source


class Licence(Base, frozen=True, kw_only=True):
    id: str
    permissive: bool


class ThenAndNow(Base, frozen=True, kw_only=True):
    then: Text
    now: Text
    source: Source | None = None


class Framework(Base, frozen=True, kw_only=True):
    id: str
    name: str
    aliases: tuple[str, ...] = ()
    checked: str
    status: Status
    roles: tuple[str, ...]  # core, high-level, finetuning, distribution, kernels, export, runtime, server, tracking …
    does: tuple[str, ...]  # train infer serve tune track schedule convert
    licence: Licence
    summary: Text
    strengths: tuple[Text, ...] = ()
    weaknesses: tuple[Text, ...] = ()
    uses: tuple[Text, ...] = ()
    then_and_now: ThenAndNow | None = None
    links: dict[str, str] = {}
    packages: tuple[str, ...] = ()  # names to look for in environments; the first is the framework's own
    needs: tuple[str, ...] = ()  # framework ids that it runs on (transformers: pytorch)
    one_of: tuple[str, ...] = ()  # framework ids of which one is needed (keras: pytorch | tensorflow | jax)
    requires: tuple[Requirement, ...] = ()  # of every build
    conflicts: tuple[Remedy, ...] = ()
    builds: tuple[Build, ...] = ()
    checks: tuple[str, ...] = ()
    sources: tuple[Fact, ...]


class Preference(Base, frozen=True, kw_only=True):
    """Moves frameworks to the front (or, with avoid, to the back) of a scenario's order where all conditions hold."""

    frameworks: tuple[str, ...]
    when: tuple[Condition, ...] = ()
    avoid: bool = False
    because: Text
    source: Source


class Candidate(Base, frozen=True, kw_only=True):
    framework: str
    because: Text
    when: tuple[Condition, ...] = ()  # offered only where all hold


class Companion(Base, frozen=True, kw_only=True):
    """A part that joins the stack in a role beside the chosen framework, where all conditions hold."""

    role: str
    framework: str
    when: tuple[Condition, ...] = ()
    beside: tuple[str, ...] = ()  # joins only a stack that already holds one of these; empty: any stack
    because: Text


class Scenario(Base, frozen=True, kw_only=True):
    id: str
    checked: str
    title: Text
    summary: Text
    needs: tuple[Text, ...]
    candidates: tuple[Candidate, ...]
    preferences: tuple[Preference, ...] = ()
    companions: tuple[Companion, ...] = ()
    questions: tuple[str, ...]
    checks: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}  # dotted answer keys
    sources: tuple[Fact, ...] = ()


class Choice(Base, frozen=True, kw_only=True):
    value: Any
    label: Text


class Question(Base, frozen=True, kw_only=True):
    """One question; `key` is the dotted path in the answers file."""

    id: str
    key: str
    kind: Literal["choice", "many", "number", "text", "bool", "model"]
    label: Text
    why: Text
    choices: tuple[Choice, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    unit: str | None = None
    shown_when: tuple[Condition, ...] = ()
    changes: tuple[str, ...] = ()  # what the answer can move: framework ids, or "memory", "plan"


class Index(Base, frozen=True, kw_only=True):
    id: str
    url: str | None = None  # None: the user's own default index
    mirrors: str | None = None  # id of the index that this one copies
    name: Text
    extra: bool = False  # to be used beside the default index (it does not hold the dependencies)
    source: Source | None = None


class Toolkit(Base, frozen=True, kw_only=True):
    """A toolkit release line of a backend and the driver that it needs."""

    versions: str  # specifier, ">=13,<14"
    driver_min: dict[str, str]  # by os
    target_min: str | None = None
    source: Source


class Backend(Base, frozen=True, kw_only=True):
    id: str
    checked: str
    name: Text
    vendor: str
    toolkits: tuple[Toolkit, ...] = ()
    notes: tuple[Text, ...] = ()
    sources: tuple[Fact, ...] = ()


class DeviceFamily(Base, frozen=True, kw_only=True):
    """Names of one hardware family and what follows from them."""

    family: str
    target: str | None = None
    names: tuple[str, ...] = ()  # matched as whole words in a device name
    pci_ids: tuple[str, ...] = ()  # "10de:2684"
    memory_gib: dict[str, float] = {}  # by name
    kind: Literal["gpu", "npu"] = "gpu"
    memory_kind: Literal["dedicated", "shared", "unified"] | None = None
    bf16: bool | None = None
    fp8: bool | None = None
    int8: bool | None = None
    bandwidth_gbs: dict[str, float] = {}  # by name, GB/s
    matrix_tflops: dict[str, float] = {}  # by name, dense bf16 or fp16
    source: Source


class DeviceTable(Base, frozen=True, kw_only=True):
    vendor: str
    checked: str
    families: tuple[DeviceFamily, ...]


class DefaultTag(Base, frozen=True, kw_only=True):
    """Which build a version without a mark is, on some platforms: torch 2.9.1 on linux-x86_64 is cu128."""

    package: str
    versions: str
    platforms: tuple[str, ...] = ()  # empty: all
    tag: str
    source: Source


class Contents(Base, frozen=True, kw_only=True):
    """What the wheels of PACKAGE hold for some versions, marks and platforms (empty: all of them)."""

    package: str
    versions: str = ""
    tags: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    device: Device | None = None  # None: as the mark says
    toolkit: str | None = None
    targets: tuple[str, ...] | None = None
    ptx: tuple[str, ...] = ()
    target_min: str | None = None
    target_max: str | None = None  # neither code nor PTX serves newer cards
    server_only: bool = False  # wheels for ARM servers, which hold nothing for Jetson boards
    glibc_min: str | None = None
    cpu_flags: tuple[str, ...] = ()
    because: Text | None = None
    remedies: tuple[Remedy, ...] = ()
    source: Source


class Together(Base, frozen=True, kw_only=True):
    """Versions that belong together: where PACKAGE is within `versions`, each of `with` must be within its bounds."""

    package: str
    versions: str = ""
    beside: dict[str, str] = msgspec.field(name="with")
    code: Literal["package.pair_mismatch", "package.conflict", "package.numpy_abi", "toolkit.mismatch"] = "package.pair_mismatch"
    toolkits: dict[str, str] = {}  # cann, rocm … of the machine
    because: Text | None = None
    remedies: tuple[Remedy, ...] = ()
    source: Source


class Variants(Base, frozen=True, kw_only=True):
    """Packages that own the same folder, of which one may be installed."""

    module: str
    packages: tuple[str, ...]
    keep: dict[str, str] = {}  # vendor of a usable device to the package to keep
    source: Source


class Retired(Base, frozen=True, kw_only=True):
    """A package whose project ended or moved."""

    package: str
    versions: str = ""
    code: Literal["project.archived", "project.superseded", "project.renamed", "project.maintenance", "project.unverified"]
    since: str | None = None
    instead: str | None = None  # the package to use
    because: Text
    source: Source


class Broken(Base, frozen=True, kw_only=True):
    """Releases that are known to fail or to do harm."""

    package: str
    versions: str
    when: tuple[Condition, ...] = ()
    severity: Literal["error", "warning", "info"] = "warning"
    because: Text
    remedies: tuple[Remedy, ...] = ()
    source: Source


class Plugin(Base, frozen=True, kw_only=True):
    """A package that needs another one to use a vendor's device."""

    package: str
    vendor: str
    plugins: tuple[str, ...]
    os: tuple[str, ...] = ("linux",)
    remedies: tuple[Remedy, ...] = ()
    because: Text
    source: Source


class PackageFacts(Base, frozen=True, kw_only=True):
    """What is known of packages that stand in an environment; the files of data/packages are laid together."""

    checked: str
    defaults: tuple[DefaultTag, ...] = ()
    contents: tuple[Contents, ...] = ()
    together: tuple[Together, ...] = ()
    variants: tuple[Variants, ...] = ()
    retired: tuple[Retired, ...] = ()
    broken: tuple[Broken, ...] = ()
    plugins: tuple[Plugin, ...] = ()


class Catalog(Base, frozen=True, kw_only=True):
    frameworks: dict[str, Framework]
    scenarios: dict[str, Scenario]
    backends: dict[str, Backend]
    devices: dict[str, DeviceTable]
    questions: dict[str, Question]
    indexes: dict[str, Index]
    packages: dict[str, PackageFacts] = {}  # by file
    digest: str = ""
    foundations: dict[str, tuple[str, ...]] = {}  # framework id to all that its builds may run on, however far below
    owners: dict[str, str] = {}  # package name to the framework whose builds it is the heart of
