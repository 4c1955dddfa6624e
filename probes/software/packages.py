"""The packages of an environment, read in one pass from the names of their metadata folders."""

from __future__ import annotations

import re
from collections.abc import Iterable

from knowledge.facts import Package
from probes.host import Host

# Modules that tell their build in a file of their own. PyPI's torch is called 2.6.0 in its metadata although it is the
# build 2.6.0+cu124: the local version stands in <module>/version.py, with the toolkit it was built with.
_SELF_TELLING = ("torch", "torchvision", "torchaudio")
_LITERAL = re.compile(r"^(\w+)\s*(?::[^=]*)?=\s*(?:'([^']*)'|\"([^\"]*)\"|(None))", re.MULTILINE)
_EGG = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)(?:-py\d[\d.]*)?(?:-[a-z][\w.]*(?:-[\w.]+)*)?$")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_-]*")
_SPLIT = re.compile(r"[-_.]+")
# conda's names of distributions that install metadata under another name.
_CONDA_NAMES = {"pytorch": "torch"}
_CUDA_BUILD = re.compile(r"cuda[_-]?(\d+)(?:\.(\d+))?")
_CPU_BUILD = re.compile(r"(?:^|_)cpu(?:_|$|py|\d)|^cpu")
MAX_PACKAGES = 5000


def normal(name: str) -> str:
    """NAME as packages are compared: lower case, one hyphen for any run of - _ . (PEP 503)."""
    return _SPLIT.sub("-", name).strip("-").lower()


def from_names(names: Iterable[str]) -> tuple[dict[str, str | None], list[str]]:
    """Name to version of the metadata folders among NAMES (the listing of one site-packages), and the folders whose
    version stands only inside them (`NAME.egg-info`). A name that begins with ~ is the rest of a failed uninstall."""
    found: dict[str, str | None] = {}
    bare: list[str] = []
    for entry in names:
        if entry.endswith(".dist-info"):
            stem = entry[:-10]
            name, dash, version = stem.partition("-")
            if not dash:
                continue
            if "-" in version:  # a name that was not escaped as it should be; the version is what follows the last
                name, _, version = stem.rpartition("-")
        elif entry.endswith(".egg-info") or entry.endswith(".egg"):
            stem = entry.rpartition(".egg")[0]
            match = _EGG.match(stem)
            if match is None:
                bare.append(entry)
                continue
            name, version = match["name"], match["version"]
        else:
            continue
        if _NAME.fullmatch(name):
            found.setdefault(normal(name), version if _VERSION.fullmatch(version) else None)
    return found, bare


def in_site_packages(host: Host, folder: str, names: Iterable[str], separator: str) -> dict[str, str | None]:
    """Packages of FOLDER, whose listing NAMES is at hand; a few files are read where the names do not tell enough."""
    names = tuple(names)
    found, bare = from_names(names)
    for entry in bare[:50]:
        stem = entry.rpartition(".egg")[0]
        name = normal(stem)
        if _NAME.fullmatch(stem) and name not in found:
            found[name] = _metadata_version(host, separator.join((folder, entry)), separator)
    for module in _SELF_TELLING:
        version = found.get(module)
        if version is not None and "+" not in version:
            found[module] = _built(host, folder, module, version, separator)
    return found


def built_version(version: str, text: str, *, has_cpu_tag: bool) -> str:
    """VERSION with the build tag that TEXT, the module's version.py, tells: `__version__`, `cuda`, `hip`, `xpu`.

    HAS_CPU_TAG: whether this system's CPU builds carry the tag +cpu (they do not on macOS, where there is one build).
    """
    told = {match[1]: match[2] or match[3] for match in _LITERAL.finditer(text)}
    own = told.get("__version__")
    if own and own.partition("+")[0] == version and "+" in own and _VERSION.fullmatch(own):
        return own
    if own and own.partition("+")[0] != version:
        return version  # the file belongs to another installation; the metadata decides
    cuda, hip, xpu = told.get("cuda"), told.get("rocm") or told.get("hip"), told.get("xpu")
    if cuda and re.fullmatch(r"\d+\.\d+", cuda):
        return f"{version}+cu{cuda.replace('.', '')}"
    if hip and (match := re.match(r"\d+\.\d+", hip)):
        return f"{version}+rocm{match[0]}"
    if xpu:
        return f"{version}+xpu"
    if has_cpu_tag and "cuda" in told and not (cuda or hip or xpu):
        return f"{version}+cpu"
    return version


def conda_packages(names: Iterable[str]) -> dict[str, str]:
    """Name to version of the records among NAMES (the listing of conda-meta): NAME-VERSION-BUILD.json.

    The build's CUDA or CPU word becomes a local version ("2.5.1+cu124"), as pip's builds have it.
    """
    found: dict[str, str] = {}
    for entry in names:
        if not entry.endswith(".json"):
            continue
        parts = entry[:-5].rsplit("-", 2)
        if len(parts) != 3 or not _NAME.fullmatch(parts[0]) or not _VERSION.fullmatch(parts[1]):
            continue
        name, version, build = parts
        found[_CONDA_NAMES.get(name, normal(name))] = version + conda_tag(build)
    return found


def conda_tag(build: str) -> str:
    """The local version that says what BUILD, a conda build string, was built for; "" where it does not tell."""
    match = _CUDA_BUILD.search(build)
    if match:
        major, minor = match[1], match[2]
        if minor is not None:
            return f"+cu{major}{minor}"
        return f"+cu{major}"
    return "+cpu" if _CPU_BUILD.search(build) else ""


def merged(groups: Iterable[dict[str, str | None]]) -> tuple[Package, ...]:
    """One list from GROUPS in the order of sys.path: what comes first hides what comes later; sorted by name."""
    seen: dict[str, str | None] = {}
    for group in groups:
        for name, version in group.items():
            if name not in seen or seen[name] is None:
                seen[name] = version
    return tuple(Package(name=name, version=seen[name]) for name in sorted(seen)[:MAX_PACKAGES])


def with_conda(found: dict[str, str | None], conda: dict[str, str]) -> dict[str, str | None]:
    """FOUND by their own metadata, completed by CONDA: packages that have no other, and build tags that lack."""
    both = dict(found)
    for name, version in conda.items():
        have = both.get(name)
        if have is None or ("+" in version and have == version.partition("+")[0]):
            both[name] = version
    return both


def _built(host: Host, folder: str, module: str, version: str, separator: str) -> str:
    reading = host.read(separator.join((folder, module, "version.py")))
    return built_version(version, reading.text, has_cpu_tag=host.os != "macos") if reading.ok else version


def _metadata_version(host: Host, place: str, separator: str) -> str | None:
    for path in (separator.join((place, "PKG-INFO")), separator.join((place, "EGG-INFO", "PKG-INFO")), place):
        reading = host.read(path)
        if reading.ok:
            match = re.search(r"^Version:[ \t]*([0-9A-Za-z.!+_-]+)[ \t]*$", reading.text[:20000], re.MULTILINE)
            return match[1] if match else None
    return None
