"""What is to be installed and what came of it: typed steps, pins, locks, resolver outcomes and smoke results."""

from __future__ import annotations

from typing import Literal

from knowledge.facts import Base, Evidence, Finding
from knowledge.text import Text

Client = Literal["pip", "uv", "conda", "docker"]
Shell = Literal["bash", "powershell", "cmd"]


class PlannedPackage(Base, frozen=True, kw_only=True):
    """One exact pin. `requirement` is name[extras]==version and nothing else."""

    name: str
    requirement: str
    index_id: str
    index_url: str | None = None  # None: the user's own default index
    download_bytes: int | None = None


class MakeEnvironment(Base, frozen=True, kw_only=True, tag_field="step", tag="make_environment"):
    python: str  # "3.12"
    name: str = ".venv"


class InstallPackages(Base, frozen=True, kw_only=True, tag_field="step", tag="install_packages"):
    """Requirements that come from one index in one command."""

    requirements: tuple[str, ...]
    index_id: str
    index_url: str | None = None
    extra: bool = False  # beside the default index, not instead of it
    find_links: tuple[str, ...] = ()  # local folders or pages of wheels that this command needs beside the index
    no_deps: bool = False
    only_binary: tuple[str, ...] = ()  # names whose wheel must exist: a build from source is refused
    build_isolation: bool = True


class SetVariable(Base, frozen=True, kw_only=True, tag_field="step", tag="set_variable"):
    name: str
    value: str


class SystemPackage(Base, frozen=True, kw_only=True, tag_field="step", tag="system_package"):
    """A package of the operating system, by the manager's own name for it (manager: apt, dnf, winget, brew …)."""

    manager: str
    packages: tuple[str, ...]


class ContainerRun(Base, frozen=True, kw_only=True, tag_field="step", tag="container_run"):
    image: str
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


class Download(Base, frozen=True, kw_only=True, tag_field="step", tag="download"):
    url: str
    what: Text


class Manifest(Base, frozen=True, kw_only=True, tag_field="step", tag="manifest"):
    """A file to write, such as a Kubernetes manifest; its content is produced by the starter generator."""

    name: str
    kind: str


class Note(Base, frozen=True, kw_only=True, tag_field="step", tag="note"):
    text: Text


Step = MakeEnvironment | InstallPackages | SetVariable | SystemPackage | ContainerRun | Download | Manifest | Note


class InstallPlan(Base, frozen=True, kw_only=True):
    """`commands` maps client (pip, uv, docker …) and shell (bash, powershell, cmd) to the lines to type."""

    packages: tuple[PlannedPackage, ...] = ()
    environment: dict[str, str] = {}
    steps: tuple[Step, ...] = ()
    commands: dict[str, dict[str, tuple[str, ...]]] = {}
    python: str | None = None  # "3.12"


class PackageSettings(Base, frozen=True, kw_only=True):
    """How this user installs: pip's and uv's own settings, read from their files and variables by a probe."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    certificate: str | None = None
    proxy: str | None = None
    offline: bool = False
    no_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    timeout_s: float | None = None
    no_proxy: str | None = None
    # uv reads none of pip's files and variables; these are its own, in the same words.
    uv_index_url: str | None = None
    uv_extra_index_urls: tuple[str, ...] = ()
    uv_find_links: tuple[str, ...] = ()
    uv_constraints: tuple[str, ...] = ()
    uv_no_index: bool = False
    uv_trusted_hosts: tuple[str, ...] = ()
    uv_certificate: str | None = None
    uv_system_certificates: bool | None = None
    uv_proxy: str | None = None
    uv_timeout_s: float | None = None
    uv_index_strategy: str | None = None
    conda_channels: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()  # settings that are there and could not be used, each with its place
    sources: dict[str, str] = {}


class LockedPackage(Base, frozen=True, kw_only=True):
    name: str
    version: str
    hashes: tuple[str, ...] = ()
    index_id: str | None = None
    download_bytes: int | None = None


class Replaced(Base, frozen=True, kw_only=True):
    """What an existing environment would lose."""

    name: str
    version: str
    becomes: str | None


class ResolveResult(Base, frozen=True, kw_only=True):
    schema: int = 1
    outcome: Literal["verified", "refused", "not_asked"]
    client: str
    because: Text
    lock: str | None = None  # requirements.txt with hashes
    packages: tuple[LockedPackage, ...] = ()
    download_bytes: int | None = None
    replaced: tuple[Replaced, ...] = ()
    plan: InstallPlan | None = None  # the pins that were resolved, which may be a fallback
    fallback: bool = False
    findings: tuple[Finding, ...] = ()


class Measure(Base, frozen=True, kw_only=True):
    """One number a check took, with its unit ("s", "ms", "samples/s", "bytes", "ratio", "")."""

    id: str
    value: float
    unit: str
    label: Text
    better: Literal["lower", "higher", "neither"] = "neither"


class Series(Base, frozen=True, kw_only=True):
    """Points of one curve, for the charts: latency samples, bandwidth against size, memory against length …"""

    id: str
    label: Text
    x_label: Text
    y_label: Text
    x_unit: str
    y_unit: str
    points: tuple[tuple[float, float], ...]
    kind: Literal["line", "bar", "histogram"] = "line"
    predicted: bool = False


class MachineState(Base, frozen=True, kw_only=True):
    load_1min: float | None = None
    temperature_c: float | None = None
    available_bytes: int | None = None
    throttled: bool | None = None


class SmokeResult(Base, frozen=True, kw_only=True):
    schema: int = 1
    check: str
    outcome: Literal["passed", "failed", "cancelled", "timed_out", "crashed", "out_of_memory", "cannot_run", "not_built"]
    because: Text
    measures: tuple[Measure, ...] = ()
    series: tuple[Series, ...] = ()
    proves: Text | None = None
    limits: Text | None = None
    pins: tuple[str, ...] = ()  # requirement strings that ran
    python: str | None = None
    plan_hash: str | None = None
    started: str | None = None  # ISO 8601, UTC
    install_s: float | None = None
    run_s: float | None = None
    before: MachineState | None = None
    after: MachineState | None = None
    log_tail: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    findings: tuple[Finding, ...] = ()


class CheckInfo(Base, frozen=True, kw_only=True):
    id: str
    title: Text
    scenario: str
    runs_here: bool
    because: Text
    frameworks: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    limit_s: float | None = None
    proves: Text | None = None
    nearest: str | None = None
