"""How versions, compute capabilities and gfx names are compared; anything that is no version compares as unknown."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version


@lru_cache(maxsize=4096)
def version(text: str) -> Version | None:
    """TEXT as a version, or None. A driver such as 32.0.101.6129 and a kernel such as 6.8.0-41-generic count."""
    try:
        return Version(text)
    except InvalidVersion:
        match = re.match(r"\d+(?:\.\d+)*", text)
        return Version(match.group()) if match else None


@lru_cache(maxsize=4096)
def specifier(text: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None


@lru_cache(maxsize=8192)
def within(text: str, spec: str) -> bool | None:
    """Whether version TEXT lies in SPEC (local parts such as +cu126 ignored); None where one cannot be read."""
    value, bounds = version(text.split("+")[0]), specifier(spec)
    if value is None or bounds is None:
        return None
    return bounds.contains(value, prereleases=True)


@lru_cache(maxsize=8192)
def at_least(text: str | None, minimum: str) -> bool | None:
    """Whether version TEXT is MINIMUM or newer; None where it is not known."""
    if text is None:
        return None
    have, need = version(text), version(minimum)
    return None if have is None or need is None else have >= need


@lru_cache(maxsize=1024)
def capability(text: str | None) -> tuple[int, int] | None:
    """An NVIDIA compute capability such as "8.6" as numbers, or None."""
    match = re.fullmatch(r"(\d{1,2})\.(\d)", text or "")
    return (int(match.group(1)), int(match.group(2))) if match else None


@lru_cache(maxsize=256)
def minor(text: str | None) -> str | None:
    """"3.12" of "3.12.3"; None where TEXT is no Python version."""
    match = re.match(r"(\d+)\.(\d+)", text or "")
    return f"{match.group(1)}.{match.group(2)}" if match else None


def minor_key(text: str) -> tuple[int, int]:
    """Sorts Python minors; "3.14t" sorts as 3.14."""
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


@lru_cache(maxsize=4096)
def covers(targets: tuple[str, ...], ptx: tuple[str, ...], wanted: str) -> bool:
    """Whether code for TARGETS (or PTX) runs on WANTED.

    NVIDIA: code runs on the same major and an equal or newer minor; PTX is compiled at first run for anything newer.
    11.0 (Thor) is not a newer minor of 10.x. Other vendors: by exact name.
    Source: CUDA C++ Programming Guide, binary and PTX compatibility.
    """
    have = capability(wanted)
    if have is None:
        return wanted in targets
    for target in targets:
        code = capability(target)
        if code is not None and code[0] == have[0] and code[1] <= have[1]:
            return True
    return any((code := capability(target)) is not None and code <= have for target in ptx)
