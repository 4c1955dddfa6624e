"""What an installed package was built for: from the mark in its version, its conda companions, or its release's default."""

from __future__ import annotations

import re
from typing import NamedTuple

from knowledge.catalog import Build, Catalog, Contents, DefaultTag
from knowledge.catalog import Remedy as RemedyData
from knowledge.facts import MachineProfile, Python, Source
from knowledge.text import Text
from knowledge.versions import within

MARKED = ("torch", "torchvision", "torchaudio")


class Built(NamedTuple):
    """A package in an environment with what its files hold; None or empty where that is not known."""

    package: str
    version: str
    tag: str | None  # cu128, rocm7.2, xpu, cpu, metal, cuda …; None: not known
    marked: bool  # the tag stands in the version itself
    device: str | None
    toolkit: str | None = None
    targets: tuple[str, ...] | None = None
    ptx: tuple[str, ...] = ()
    target_min: str | None = None
    target_max: str | None = None
    server_only: bool = False
    because: Text | None = None
    remedies: tuple[RemedyData, ...] = ()
    source: Source | None = None


def name_key(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def versions_of(python: Python) -> dict[str, str]:
    """Packages of an environment: name (as indexes compare it) to version; those without a version left out."""
    found = {name_key(package.name): package.version for package in python.packages or () if package.version}
    if python.kind == "conda" and "pytorch" in found:
        found.setdefault("torch", found["pytorch"])  # conda's name for it
    return found


def platform_of(machine: MachineProfile, python: Python) -> str | None:
    """Platform of the wheels of PYTHON: its own architecture, which differs from the machine's when it is emulated."""
    arch = python.arch or machine.system.arch
    return f"{machine.system.os}-{arch}" if machine.system.os and arch else None


def local_tag(version: str) -> str | None:
    """"cu128" of "2.7.1+cu128"; "nv24.08" builds and unknown marks are returned as they are; None without a mark."""
    _, mark, local = version.partition("+")
    return local.lower() if mark else None


def device_of(tag: str) -> tuple[str | None, str | None]:
    """Device and toolkit of a tag: ("cuda", "12.8") of cu128; (None, None) for a mark that says neither."""
    match = re.match(r"(?:cu|cuda)(\d{2})(\d)(?:\b|\D|$)", tag)
    if match:
        return "cuda", f"{int(match.group(1))}.{match.group(2)}"
    match = re.match(r"cu(\d)(\d)\b", tag)
    if match:
        return "cuda", f"{match.group(1)}.{match.group(2)}"
    match = re.match(r"rocm(\d+(?:\.\d+)*)", tag)
    if match:
        return "rocm", match.group(1)
    for start, device in (
        ("cpu", "cpu"), ("xpu", "xpu"), ("cuda", "cuda"), ("cu1", "cuda"), ("rocm", "rocm"), ("metal", "metal"),
        ("directml", "directml"), ("any", "any"), ("cxx11.abi", None),
    ):  # fmt: skip
        if tag.startswith(start):
            return device, None
    if tag == "nv":
        return "cuda", None
    return None, None


def built(
    catalog: Catalog, machine: MachineProfile, python: Python, package: str, versions: dict[str, str] | None = None
) -> Built | None:
    """What PACKAGE in PYTHON (with VERSIONS, where they are at hand) was built for; None where it is not installed."""
    versions = versions_of(python) if versions is None else versions
    version = versions.get(package)
    if version is None:
        return None
    platform = platform_of(machine, python)
    tag, marked = _tag(catalog, versions, python, package, version, platform)
    device, toolkit = device_of(tag) if tag else (None, None)
    row = _contents(catalog, package, version, tag, platform)
    if row is None:
        found = _catalogued(catalog, package, version, device, toolkit, platform)
        if found is None:
            return Built(package, version, tag, marked, device, toolkit)
        targets = found.targets_by_platform.get(platform or "", found.targets)
        return Built(package, version, tag, marked, found.device, toolkit or found.toolkit, targets, found.ptx,
                     found.target_min, found.target_max, source=found.source)  # fmt: skip
    return Built(
        package, version, tag, marked, row.device or device, toolkit or row.toolkit, row.targets, row.ptx, row.target_min,
        row.target_max, row.server_only, row.because, row.remedies, row.source,
    )  # fmt: skip


def _tag(
    catalog: Catalog, versions: dict[str, str], python: Python, package: str, version: str, platform: str | None
) -> tuple[str | None, bool]:
    """The build's tag and whether the version itself says it."""
    if re.search(r"\+(?:.*\.)?nv\d", version):
        return "nv", True  # NVIDIA's own containers and Jetson wheels
    own = local_tag(version)
    if own is not None:
        return own, True  # a mark that says nothing here is still not the release's default
    if package in MARKED:
        conda = _conda(versions, python)
        if conda is not None:
            return (None if conda == "unknown" else conda), False
        sibling = versions.get("torch") if package != "torch" else None
        if sibling is not None:
            # torchvision of PyPI carries no mark on Linux; what it was built for is told by its torch.
            mark = local_tag(sibling)
            if mark is not None and device_of(mark)[0] is not None:
                return mark, False
    for row in _defaults(catalog, package):
        if (not row.platforms or platform in row.platforms) and within(version, row.versions):
            return row.tag, False
    return None, False


def _defaults(catalog: Catalog, package: str) -> list[DefaultTag]:
    return [row for facts in catalog.packages.values() for row in facts.defaults if row.package == package]


def _conda(versions: dict[str, str], python: Python) -> str | None:
    """The tag that conda's own packages tell ("unknown": conda's torch, but not for what); None: not conda's torch."""
    if "pytorch-cuda" in versions:
        return "cu" + "".join(versions["pytorch-cuda"].split(".")[:2])
    if "cpuonly" in versions or "pytorch-cpu" in versions:
        return "cpu"
    if "pytorch" in versions and python.kind == "conda":
        if "cudatoolkit" in versions:
            return "cu" + "".join(versions["cudatoolkit"].split(".")[:2])
        if "cuda-version" in versions and ("pytorch-gpu" in versions or "cuda-cudart" in versions):
            return "cu" + "".join(versions["cuda-version"].split(".")[:2])
        return "unknown"
    return None


def contents(catalog: Catalog) -> list[Contents]:
    return [row for facts in catalog.packages.values() for row in facts.contents]


def _contents(catalog: Catalog, package: str, version: str, tag: str | None, platform: str | None) -> Contents | None:
    """The row on device code that speaks of this very build."""
    if tag is None:
        return None
    names = {tag, device_of(tag)[0]}  # a row for "cuda" speaks of cu129 too
    for facts in catalog.packages.values():
        for row in facts.contents:
            if row.package != package or names.isdisjoint(row.tags):
                continue
            if row.platforms and platform not in row.platforms:
                continue
            if row.versions and not within(version, row.versions):
                continue
            return row
    return None


def _catalogued(
    catalog: Catalog, package: str, version: str, device: str | None, toolkit: str | None, platform: str | None
) -> Build | None:
    """A build in the frameworks' files of that package, version, device and toolkit, where exactly one answer is there."""
    public = version.partition("+")[0]
    found = []
    for framework in catalog.frameworks.values():
        if package not in framework.packages:
            continue
        for build in framework.builds:
            if device is not None and build.device != device:
                continue
            if toolkit is not None and build.toolkit is not None and build.toolkit != toolkit:
                continue
            if platform is not None and platform not in build.platforms:
                continue
            if any(name_key(item.name) == package and item.version == public for item in build.packages):
                found.append(build)
    # The same version with another CUDA on another index, and nothing installed that tells which: not known.
    answers = {(b.device, b.toolkit, b.targets_by_platform.get(platform or "", b.targets), b.target_min, b.target_max) for b in found}
    return found[0] if len(answers) == 1 else None
