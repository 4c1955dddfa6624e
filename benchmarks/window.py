"""How soon the window tells something, and what it holds: first frame, filled, machine facts, resident memory.

`python -m benchmarks.window` prints each figure beside its bound; exit 1 where a bound is passed. The best of several runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 5
EMPTY = """
import json, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication(sys.argv); w = QMainWindow(); w.resize(1280, 800); w.show()
def told():
    import psutil
    print(json.dumps({"memory": psutil.Process().memory_info().rss})); app.quit()
QTimer.singleShot(700, told); app.exec()
"""
OWN = """
import json, sys, time
from PySide6.QtCore import QTimer
from advisor_gui import places
from advisor_gui.ui import app as program
app = program.bare(sys.argv[:1]); folders = places.folders(); window = program.first_frame(folders)
opening = program.Opening(app, folders, window, None); said = {}; began = []
def painted():
    began.append(time.perf_counter()); opening.go(); said["filled"] = time.perf_counter() - began[0]
    QTimer.singleShot(0, look)
def look():
    desk = opening.program.desk
    if "facts" not in said and desk.machine is not None: said["facts"] = time.perf_counter() - began[0]
    if "advice" not in said and desk.recommendation is not None: said["advice"] = time.perf_counter() - began[0]
    if "advice" in said and not opening.program.jobs.running("scan"):
        import psutil
        said["memory"] = psutil.Process().memory_info().rss
        print(json.dumps(said)); opening.program.desk.unsaved = False; window.close(); app.quit()
    else:
        QTimer.singleShot(5, look)
window.painted.connect(painted); window.show(); app.exec()
"""


def run(code: str, environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, cwd=ROOT, check=False, timeout=120)
    if done.returncode:
        raise SystemExit(done.stderr.decode()[-600:])
    found = json.loads(done.stdout.decode().splitlines()[-1])
    assert isinstance(found, dict)
    return found


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "STACKFIT_HOME": home, "QT_QPA_PLATFORM": "offscreen"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        run(OWN, environment)  # bytecode, compiled knowledge
        empty = min(run(EMPTY, environment)["memory"] for _ in range(ROUNDS))
        runs = [run(OWN, environment) for _ in range(ROUNDS)]
    best = {key: min(one[key] for one in runs) for key in runs[0]}
    rows = (
        ("filled after the first frame", best["filled"] * 1000, None, "ms"),
        ("machine facts after the first frame", best["facts"] * 1000, 1000, "ms"),
        ("recommendation after the first frame", best["advice"] * 1000, None, "ms"),
        ("resident memory beside an empty window", best["memory"] / empty, 1.6, f"× ({best['memory'] / 2**20:.0f} / {empty / 2**20:.0f} MiB)"),
    )
    passed = True
    for what, value, bound, unit in rows:
        fine = bound is None or value <= bound
        passed = passed and fine
        print(f"{'ok  ' if fine else 'OVER'} {what}: {value:.2f} {unit}" + (f" (bound {bound:g})" if bound is not None else ""))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
