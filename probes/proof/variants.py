"""Which device a set of wheels is built for (cpu, cuda12, rocm …), and which wheels lie in local folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlparse

import msgspec
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from knowledge.plan import LockedPackage
from packaging import tags

# Packages that come along only for a device of NVIDIA's, and that tell the CUDA major version.
CUDA_PACKAGES = ("nvidia-cublas", "nvidia-cuda-runtime", "cuda-toolkit", "cuda-bindings", "nvidia-cudnn")
# Compiled against one build of torch: with another build they install and then fail to import.
TORCH_COMPANIONS = ("torchvision", "torchaudio", "torchcodec", "torchtext")
TORCH_FAMILY = ("torch", *TORCH_COMPANIONS)


class LocalWheel(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str
    path: str
    size_bytes: int


def of_index(index_id: str) -> str | None:
    """The variant that an index id promises: cpu, cuda12, rocm …; None where it promises none (pypi, a mirror)."""
    if index_id == "cpu":
        return "cpu"
    match = re.fullmatch(r"(?:[a-z]+-)?cu(\d{2})\d", index_id)
    if match is not None:
        return f"cuda{match.group(1)}"
    if index_id.startswith("rocm"):
        return "rocm"
    return "xpu" if index_id == "xpu" else None


def of_version(version: str) -> str | None:
    """The variant in a local version: cpu for 2.13.0+cpu, cuda12 for +cu126; None where there is none."""
    local = Version(version).local
    return of_index(local.split(".")[0]) or ("rocm" if local.startswith("rocm") else None) if local else None


def of_packages(packages: Iterable[LockedPackage], system: str | None) -> str:
    """The variant of a resolved set: by torch's local version, else by its device packages, else cpu."""
    majors: set[str] = set()
    words: set[str] = set()
    for package in packages:
        name = canonicalize_name(package.name)
        if name == "torch":
            told = of_version(package.version)
            if told is not None:
                return told
        suffix = re.search(r"-cu(\d{2})$", name)
        if suffix is not None:
            majors.add(suffix.group(1))
        elif name in CUDA_PACKAGES:
            majors.add(package.version.split(".")[0])
        if name.startswith(("pytorch-triton-rocm", "rocm", "triton-rocm")):
            words.add("rocm")
        if name.startswith(("pytorch-triton-xpu", "triton-xpu", "intel-sycl-rt")):
            words.add("xpu")
    if words:
        return sorted(words)[0]
    if majors:
        return f"cuda{max(majors)}"
    return "cpu"


def local_folders(find_links: Iterable[str]) -> tuple[Path, ...]:
    """The find-links places that are folders of this machine."""
    folders = []
    for place in find_links:
        parsed = urlparse(place)
        path = Path(unquote(parsed.path)) if parsed.scheme == "file" else Path(place).expanduser()
        if parsed.scheme in ("", "file") or len(parsed.scheme) == 1:  # a Windows drive letter reads as a scheme
            if path.is_dir():
                folders.append(path)
            elif path.suffix == ".whl" and path.is_file():
                folders.append(path.parent)
    return tuple(folders)


def local_wheels(find_links: Iterable[str], python: str, names: Iterable[str] | None = None) -> tuple[LocalWheel, ...]:
    """Wheels in local find-links folders that fit this machine and PYTHON ("3.11"), newest first."""
    wanted = None if names is None else {canonicalize_name(name) for name in names}
    version = tuple(int(part) for part in python.split(".")[:2])
    platforms = list(tags.platform_tags())
    fitting = set(tags.cpython_tags(version, platforms=platforms)) | set(
        tags.compatible_tags(version, interpreter=f"cp{version[0]}{version[1]}", platforms=platforms)
    )
    found = []
    for folder in local_folders(find_links):
        for path in sorted(folder.glob("*.whl")):
            try:
                name, release, _, wheel_tags = parse_wheel_filename(path.name)
            except InvalidWheelFilename:
                continue  # not a wheel's name: resolvers pass over it as well
            if (wanted is None or name in wanted) and fitting & wheel_tags:
                found.append(
                    LocalWheel(name=name, version=str(release), path=str(path), size_bytes=path.stat().st_size)
                )
    return tuple(sorted(found, key=lambda w: Version(w.version), reverse=True))
