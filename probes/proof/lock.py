"""A lock: exact versions with hashes as requirements.txt text, without any address; written and read strictly."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from knowledge.documents import BadInput
from knowledge.plan import LockedPackage
from knowledge.text import Text

PIN = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==([A-Za-z0-9][A-Za-z0-9._+!-]*)")
HASH = re.compile(r"--hash=(sha(?:256|384|512):[0-9a-f]{64,128})")


def write(packages: Iterable[LockedPackage]) -> str:
    """requirements.txt with one package per entry, sorted, each with its hashes (sha256:…)."""
    lines = []
    for package in sorted(packages, key=lambda p: canonicalize_name(p.name)):
        entry = [f"{canonicalize_name(package.name)}=={package.version}"]
        entry += [f"    --hash={value}" for value in sorted(package.hashes)]
        lines.append(" \\\n".join(entry))
    return "\n".join(lines) + "\n"


def read(text: str) -> tuple[LockedPackage, ...]:
    """The packages of a lock. Raises BadInput for anything but name==version and its hashes (no URL, no option)."""
    packages = []
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), start=1):
        entry = line.split("#", 1)[0].strip()
        if not entry:
            continue
        pin, *hashes = entry.split()
        match = PIN.fullmatch(pin)
        if match is None:
            raise BadInput(Text(
                f"lock, entry {number}: expected name==version, found {pin[:80]!r}.",
                f"锁文件第 {number} 项：应为 name==version，发现 {pin[:80]!r}。",
            ))  # fmt: skip
        found = [HASH.fullmatch(word) for word in hashes]
        if not found or None in found:
            raise BadInput(Text(
                f"lock, entry {number}: {match.group(1)} needs hashes (--hash=sha256:…) and nothing else.",
                f"锁文件第 {number} 项：{match.group(1)} 需要且只需要哈希（--hash=sha256:…）。",
            ))  # fmt: skip
        packages.append(
            LockedPackage(
                name=canonicalize_name(match.group(1)),
                version=match.group(2),
                hashes=tuple(f.group(1) for f in found if f is not None),
            )
        )
    if not packages:
        raise BadInput(Text("lock: holds no package.", "锁文件不含任何软件包。"))
    return tuple(packages)


def pins(text: str) -> tuple[str, ...]:
    """name==version of each package."""
    return tuple(f"{p.name}=={p.version}" for p in read(text))


def key(text: str, *more: str) -> str:
    """24 hexadecimal digits that stand for this lock together with MORE (Python, platform)."""
    return hashlib.sha256("\0".join((write(read(text)), *more)).encode()).hexdigest()[:24]
