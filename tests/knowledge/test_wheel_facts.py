"""Every pin of every build is asked of the real resolver, for its platforms and its oldest and newest Python (slow)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from knowledge import loader
from knowledge.catalog import Build, BuildPackage

CATALOG = loader.load_catalog()
UV = shutil.which("uv") or str(Path(sys.prefix) / "bin" / "uv")
PLATFORMS = {
    "linux-x86_64": "x86_64-manylinux_{glibc}",
    "linux-aarch64": "aarch64-manylinux_{glibc}",
    "windows-x86_64": "x86_64-pc-windows-msvc",
    "windows-aarch64": "aarch64-pc-windows-msvc",
    "macos-x86_64": "x86_64-apple-darwin",
    "macos-aarch64": "aarch64-apple-darwin",
}
KNOWN_GLIBC = ("2_17", "2_28", "2_31", "2_34", "2_35", "2_36", "2_37", "2_38", "2_39", "2_40")


def resolves(build: Build, package: BuildPackage, platform: str, python: str) -> str | None:
    """None where PACKAGE has a wheel there, else what the resolver said."""
    wanted = (build.glibc_min or "2.28").replace(".", "_")
    glibc = next((known for known in KNOWN_GLIBC if int(known[2:]) >= int(wanted[2:])), "2_40")
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    if platform.startswith("macos"):
        environment["MACOSX_DEPLOYMENT_TARGET"] = build.macos_min or "15.0"
    done = subprocess.run(
        [UV, "pip", "compile", "--quiet", "--no-header", "--no-deps", "--no-build", "--python-version", python,
         "--python-platform", PLATFORMS[platform].format(glibc=glibc), "-"],
        input=f"{package.name}=={package.version}", capture_output=True, text=True, env=environment, check=False, timeout=120,
    )  # fmt: skip
    return None if done.returncode == 0 else f"{package.name}=={package.version} {platform} {python}: {done.stderr[-300:]}"


@pytest.mark.slow
@pytest.mark.parametrize("framework", sorted(name for name, item in CATALOG.frameworks.items() if item.builds))
def test_each_pin_has_a_wheel_where_the_build_says_so(framework: str) -> None:
    seen: set[tuple[str, str, str, str | None]] = set()
    wrong = []
    for build in CATALOG.frameworks[framework].builds:
        minors = [minor for minor in build.pythons if not minor.endswith("t")]
        for package in build.packages:
            if (package.index or build.index) != "pypi" or package.source_only or not minors:
                continue
            for platform in build.platforms:
                if platform != "any" and platform not in PLATFORMS:
                    continue
                for python in (minors[0], minors[-1]):
                    key = (f"{package.name}=={package.version}", platform, python, build.macos_min)
                    if key in seen:
                        continue
                    seen.add(key)
                    said = resolves(build, package, "linux-x86_64" if platform == "any" else platform, python)
                    if said is not None:
                        wrong.append(said)
    assert not wrong, "\n".join(wrong)
