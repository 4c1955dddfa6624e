"""How long the search for Pythons takes on a machine with many environments: python -m benchmarks.environments."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from probes import native
from probes.host import LocalHost
from probes.software import environments

BUDGET_S = 1.0


def build(home: Path, count: int, packages: int) -> None:
    """COUNT environments with PACKAGES packages each below HOME, in the places where people have them."""
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    base = Path(os.path.realpath(sys.executable))
    names = [f"package_{number}-{number % 9}.{number % 7}.0" for number in range(packages - 1)]
    for number in range(count):
        place = (home / "projects" / f"project-{number}" / ".venv", home / ".virtualenvs" / f"env-{number}")[number % 2]
        inside = place / "lib" / f"python{minor}" / "site-packages"
        inside.mkdir(parents=True)
        (place / "bin").mkdir()
        (place / "bin" / "python").symlink_to(base)
        (place / "pyvenv.cfg").write_text(f"home = {base.parent}\nversion = {sys.version.split()[0]}\n")
        for name in names:
            (inside / f"{name}.dist-info").mkdir()
            (inside / name.partition("-")[0]).mkdir()
        (inside / "torch-2.6.0.dist-info").mkdir()
        (inside / "torch").mkdir()
        (inside / "torch" / "version.py").write_text("__version__ = '2.6.0+cu124'\ncuda = '12.4'\nhip = None\n")


def measure(home: Path, repeat: int = 3) -> tuple[list[float], int, int]:
    """Seconds of each search, the environments found below HOME, and their packages."""
    calls = {**native.local_calls(), "cwd": lambda _: str(home)}
    host = LocalHost(environment={"HOME": str(home), "PATH": "/usr/bin"}, calls=calls)
    times: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        found, _findings, _sources = environments.pythons(host)
        times.append(time.perf_counter() - began)
    below = [one for one in found or () if (one.path or "").startswith(str(home))]
    return times, len(below), sum(len(one.packages or ()) for one in below)


def main() -> int:
    """Exit 0 where the best search keeps the budget and everything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environments", type=int, default=200)
    parser.add_argument("--packages", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        build(home, options.environments, options.packages)
        times, found, packages = measure(home)
    wanted = (options.environments, options.environments * options.packages)
    print(f"{found} environments, {packages} packages: " + ", ".join(f"{seconds:.2f} s" for seconds in times))
    print(f"budget {BUDGET_S:g} s, best {min(times):.2f} s")
    return 0 if (found, packages) == wanted and min(times) <= BUDGET_S else 1


if __name__ == "__main__":
    sys.exit(main())
