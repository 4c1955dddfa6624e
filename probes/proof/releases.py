"""What the user's own package index says of the newest release of a package: version, wheel tags, lowest Python."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlparse

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from knowledge.facts import Base
from knowledge.plan import PackageSettings
from probes import child
from probes.progress import Progress
from probes.proof import uv

LIMIT_S = 60.0
SYSTEMS = (
    (r"manylinux.*_x86_64|linux_x86_64|musllinux.*_x86_64", "linux-x86_64"), (r"manylinux.*_aarch64|linux_aarch64", "linux-aarch64"),
    (r"win_amd64", "windows-x86_64"), (r"win_arm64", "windows-aarch64"), (r"macosx.*_arm64", "macos-aarch64"),
    (r"macosx.*_x86_64", "macos-x86_64"), (r"macosx.*_universal2", "macos-aarch64"),
)  # fmt: skip


class Release(Base, frozen=True, kw_only=True):
    """The newest release that uv takes for a Python minor. Empty `platforms`: pure Python or no wheel at all."""

    name: str
    version: str
    pythons: tuple[str, ...] = ()  # minors with a tag of their own; empty: any
    platforms: tuple[str, ...] = ()
    wheels: int = 0


def newest(name: str, settings: PackageSettings, progress: Progress, *, python: str = "3.12") -> Release | str:
    """The release, or one sentence why there is no answer. Asks uv, which knows the index; nothing is downloaded or built."""
    with tempfile.TemporaryDirectory(prefix="stackfit-release-") as folder:
        source = Path(folder) / "in.txt"
        source.write_text(canonicalize_name(name) + "\n", encoding="utf-8")
        out = Path(folder) / "pylock.toml"
        done = child.run(
            [uv.find(), "pip", "compile", str(source), "--no-deps", "--universal", "--python-version", python, "--format", "pylock.toml",
             "--no-header", "--quiet", "-o", str(out), *uv.arguments(settings, constraints=False)],
            limit_s=LIMIT_S, environment=uv.environment(settings), folder=folder, cancelled=progress.cancelled,
        )  # fmt: skip
        progress.check()
        if done.rc != 0 or not out.exists():
            line = next((one.strip(" ×╰─▶│") for one in done.stderr.splitlines() if one.strip(" ×╰─▶│")), done.reason)
            return f"{name}: {line[:200]}"
        entries = tomllib.loads(out.read_text(encoding="utf-8")).get("packages", [])
    own = [e for e in entries if canonicalize_name(e.get("name", "")) == canonicalize_name(name)]
    if not own:
        return f"{name}: the resolver's answer does not hold it"
    # An older Python may be given an older release beside the newest one; the newest is meant.
    entry = max(own, key=lambda e: Version(e["version"]))
    files = [unquote(Path(urlparse(w.get("url", w.get("path", ""))).path).name) for w in entry.get("wheels", [])]
    pythons, platforms = tags(files)
    return Release(
        name=canonicalize_name(name), version=entry["version"], pythons=pythons, platforms=platforms, wheels=len(files)
    )


def tags(files: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Python minors and platforms that the wheels named FILES serve; empty where one wheel serves any."""
    pythons: set[str] = set()
    platforms: set[str] = set()
    any_python = any_platform = False
    for file in files:
        try:
            _, _, _, found = parse_wheel_filename(file)
        except InvalidWheelFilename:
            continue  # a file of another kind in the same release
        for tag in found:
            minor = re.fullmatch(r"cp3(\d+)", tag.interpreter)
            if minor is not None and tag.abi != "abi3":
                pythons.add(f"3.{minor.group(1)}{'t' if tag.abi.endswith('t') else ''}")
            any_python = any_python or tag.abi == "abi3" or tag.interpreter in ("py3", "py2")
            any_platform = any_platform or tag.platform == "any"
            platforms |= {name for pattern, name in SYSTEMS if re.fullmatch(pattern, tag.platform)}
    minors = () if any_python else tuple(sorted(pythons, key=lambda p: (int(p.split(".")[1].rstrip("t")), p)))
    return minors, () if any_platform else tuple(sorted(platforms))
