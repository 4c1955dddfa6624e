"""Builds the program for the system it runs on, and tests what it built.

`python packaging/build.py` makes dist/stackfit (a folder with its own Python) and, on Debian, a .deb and a portable archive;
`--self-test` builds only the folder and runs its own self-test, `--no-archives` leaves the archives out.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PINNED = "pyinstaller==6.22.3"


def folder() -> Path:
    """dist/stackfit by PyInstaller."""
    if subprocess.run([sys.executable, "-c", "import PyInstaller"], capture_output=True, check=False).returncode != 0:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", PINNED], check=True)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(
        [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", "--distpath", str(DIST), "--workpath",
         str(ROOT / "build"), str(ROOT / "packaging" / "stackfit.spec")],
        check=True, cwd=ROOT, env=environment,
    )  # fmt: skip
    return DIST / "stackfit"


def size_mb(place: Path) -> float:
    return sum(p.stat().st_size for p in place.rglob("*") if p.is_file() and not p.is_symlink()) / 1e6


def largest(place: Path, count: int = 12) -> list[tuple[str, float]]:
    """The largest parts of the folder in MB, so that what is not used is seen."""
    inside = place / "lib"
    parts = [(p.name, size_mb(p) if p.is_dir() else p.stat().st_size / 1e6) for p in inside.iterdir()]
    return sorted(parts, key=lambda p: -p[1])[:count]


def self_test(place: Path) -> int:
    """The built program tests itself, as a stranger would start it: no Python path, no virtual environment."""
    program = place / ("stackfit.exe" if os.name == "nt" else "stackfit")
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SYSTEMROOT", "TEMP", "TMPDIR") if name in os.environ}
    environment = {**keep, "QT_QPA_PLATFORM": "offscreen"}
    began = time.monotonic()
    done = subprocess.run([str(program), "--self-test"], env=environment, cwd="/" if os.name == "posix" else None, check=False, timeout=300)
    print(f"self-test of {program.name}: exit {done.returncode} in {time.monotonic() - began:.1f} s", flush=True)
    return done.returncode


def portable(place: Path, version: str) -> Path:
    """The folder as one archive; the tree holds links, which tar keeps."""
    out = DIST / f"stackfit-{version}-linux-x86_64.tar.xz"
    with tarfile.open(out, "w:xz", preset=2) as archive:
        archive.add(place, arcname=f"stackfit-{version}")
    return out


def deb(place: Path, version: str) -> Path:
    """A Debian package: the program below /opt, a launcher, desktop entry, icon, MIME type, AppStream data and licences."""
    root = ROOT / "build" / "deb"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(place, root / "opt/stackfit", symlinks=True)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/stackfit").symlink_to("/opt/stackfit/stackfit")
    linux = ROOT / "packaging" / "linux"
    app_id = "io.github.stackfit.Stackfit"
    for source, target in (
        (f"{app_id}.desktop", f"usr/share/applications/{app_id}.desktop"), (f"{app_id}.metainfo.xml", f"usr/share/metainfo/{app_id}.metainfo.xml"),
        ("stackfit-mime.xml", f"usr/share/mime/packages/{app_id}.xml"), ("stackfit.svg", f"usr/share/icons/hicolor/scalable/apps/{app_id}.svg"),
        ("copyright", "usr/share/doc/stackfit/copyright"),
    ):  # fmt: skip
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(linux / source, root / target)
    control = root / "DEBIAN/control"
    control.parent.mkdir()
    control.write_text(
        f"Package: stackfit\nVersion: {version}\nSection: science\nPriority: optional\nArchitecture: amd64\n"
        "Maintainer: Stackfit maintainers <maintainers@stackfit.example>\n"
        f"Installed-Size: {round(size_mb(place) * 1000)}\n"
        "Depends: libc6 (>= 2.36), libgl1, libegl1, libfontconfig1, libdbus-1-3, libxkbcommon0, libxcb-cursor0, libxcb-icccm4,\n"
        " libxcb-image0, libxcb-keysyms1, libxcb-render-util0, libxcb-shape0, libxcb-xkb1, libxkbcommon-x11-0\n"
        "Recommends: python3\nHomepage: https://stackfit.example\n"
        "Description: machine-learning stack that fits this computer\n"
        " Looks at the computer, asks about the project, recommends one training or\n"
        " inference stack with install commands that work there, and proves it.\n",
        encoding="utf-8",
    )
    for place_of in root.rglob("*"):
        if place_of.is_dir() and not place_of.is_symlink():
            place_of.chmod(0o755)
    out = DIST / f"stackfit_{version}_amd64.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", str(root), str(out)], check=True, stdout=subprocess.DEVNULL)
    return out


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--self-test", action="store_true")
    options.add_argument("--no-archives", action="store_true")
    chosen = options.parse_args()
    place = folder()
    print(f"{place}: {size_mb(place):.0f} MB", flush=True)
    for name, megabytes in largest(place):
        print(f"  {megabytes:7.1f} MB  {name}")
    code = self_test(place)
    if code == 0 and not chosen.self_test and not chosen.no_archives and shutil.which("dpkg-deb"):
        sys.path.insert(0, str(ROOT))
        from advisor_gui import session

        for made in (portable(place, session.version()), deb(place, session.version())):
            print(f"{made}: {made.stat().st_size / 1e6:.0f} MB")
    return code


if __name__ == "__main__":
    sys.exit(main())
