"""How much our own environments and harness cost beside bare uv and a bare script, side by side in one run.

python -m benchmarks.sandbox [REQUIREMENT …]      (default: torch numpy; run it twice, the first run fills uv's cache)
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from knowledge.plan import InstallPlan, PlannedPackage
from probes.host import LocalHost
from probes.proof import checks, harness, interpreters, resolve, sandbox, smoke, uv
from probes.software import package_index

ROUNDS = 5
INSTALL_GOAL = 1.15
HARNESS_GOAL_S = 0.3


def main(names: list[str]) -> int:
    settings = package_index.settings(LocalHost())
    packages = []
    for name in names:
        cpu = name == "torch" and sys.platform.startswith("linux")
        packages.append(
            PlannedPackage(
                name=name, requirement=name, index_id="cpu" if cpu else "pypi",
                index_url=smoke.TORCH_CPU_INDEX if cpu else None,
            )
        )  # fmt: skip
    plan = InstallPlan(packages=tuple(packages), python=smoke.default_python())
    resolved = resolve.resolve(plan, settings)
    print(resolved.because.en)
    if resolved.lock is None:
        return 3
    chosen = resolved.plan.python if resolved.plan is not None else None
    python = interpreters.choose(chosen, None, settings)
    assert python is not None
    bare_s, ours_s = [], []
    with tempfile.TemporaryDirectory(dir=Path.home(), prefix=".stackfit-benchmark-") as folder:
        base = Path(folder)
        (base / "lock.txt").write_text(resolved.lock)
        for number in range(ROUNDS + 1):
            bare = timed(lambda: bare_uv(base, settings, python.path))
            shutil.rmtree(base / "bare")
            ours = timed(
                lambda: sandbox.Sandboxes(base / "ours").ensure(resolved.lock or "", python.path, settings, None)
            )
            shutil.rmtree(base / "ours")
            if number:  # the first round fills uv's cache
                bare_s.append(bare)
                ours_s.append(ours)
    ratio = statistics.median(ours_s) / statistics.median(bare_s)
    print(f"install, {len(resolved.packages)} packages, median of {ROUNDS}: bare uv {statistics.median(bare_s):.3f} s, "
          f"ours {statistics.median(ours_s):.3f} s, ratio {ratio:.2f} (goal {INSTALL_GOAL})")  # fmt: skip

    check = checks.find("onnxruntime-embedded")
    alone = [timed(lambda: bare_check(check.path)) for _ in range(ROUNDS)]
    limits = harness.Limits(time_s=60, threads=1)
    whole = [timed(lambda: harness.run_check(check, sys.executable, limits=limits)) for _ in range(ROUNDS)]
    cost = statistics.median(whole) - statistics.median(alone)
    print(f"harness: bare script {statistics.median(alone):.3f} s, with harness {statistics.median(whole):.3f} s, "
          f"cost {cost:.3f} s (goal {HARNESS_GOAL_S})")  # fmt: skip
    return 0 if ratio <= INSTALL_GOAL and cost <= HARNESS_GOAL_S else 1


def timed(work: object) -> float:
    began = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - began


def bare_uv(base: Path, settings: object, python: str) -> None:
    environment = uv.environment(settings)  # type: ignore[arg-type]
    options = uv.arguments(settings, constraints=False)  # type: ignore[arg-type]
    venv = ["venv", "--quiet", "--no-project", "--python", python, str(base / "bare")]
    install = ["pip", "install", "--quiet", "--require-hashes", "--python", str(sandbox.python_in(base / "bare"))]
    for words in (venv, [*install, *options, "-r", str(base / "lock.txt")]):
        subprocess.run([uv.find(), *words], check=True, env=environment)


def bare_check(path: str) -> None:
    environment = {**uv.inherited(), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-I", str(harness.DRIVER), path], check=True, env=environment, capture_output=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["torch", "numpy"]))
