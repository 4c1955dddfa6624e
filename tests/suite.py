"""Runs everything that must hold, in order of cost: lint, types, layer contracts, tests, real situations, self-test.

`python -m tests.suite` is what `./stackfit test` and `.ci/run` call; `--fast` leaves out what installs or opens a window,
`--only NAME` runs one step.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
PACKAGES = ("advisor_gui", "knowledge", "probes")


def steps(fast: bool) -> list[tuple[str, list[str]]]:
    """Name and command of each step."""
    python = sys.executable
    scripts = Path(python).parent
    todo = [
        ("lint", [python, "-m", "ruff", "check", *PACKAGES, "tests", "benchmarks", "packaging"]),
        ("contracts", [str(scripts / "lint-imports"), "--no-cache"]),
        ("types", [python, "-m", "mypy"]),
        ("tests", [python, "-m", "pytest"]),
        ("knowledge", [python, "-m", "advisor_gui", "knowledge", "check"]),
        ("self-test", [python, "-m", "advisor_gui", "--self-test"]),
    ]
    if not fast:
        todo.append(("installs", [python, "-m", "pytest", "-m", "ci", "-p", "no:randomly"]))
        built = ROOT / "packaging" / "build.py"
        if built.exists():
            todo.append(("package", [python, str(built), "--self-test"]))
    if (SHARED / "cases" / "check.py").exists():
        todo.append(("cases", [python, str(SHARED / "cases" / "check.py"), "--quiet", "--at-least", "100"]))
        todo.append(("recordings", [python, str(SHARED / "recordings" / "check.py")]))
    return todo


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fast", action="store_true")
    options.add_argument("--only", action="append", default=[])
    chosen = options.parse_args()
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "STACKFIT": f"{sys.executable} -m advisor_gui",
        "PYTHONUTF8": "1",
    }
    failed = []
    for name, command in steps(chosen.fast):
        if chosen.only and name not in chosen.only:
            continue
        print(f"== {name}", flush=True)
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        print(f"== {name}: {'ok' if done.returncode == 0 else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
        if done.returncode != 0:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "everything holds", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
