"""How quickly the program answers, as ratios taken side by side in one run.

`python -m benchmarks.start` prints each figure beside its bound; exit 1 where a bound is passed. Times are the best of
several alternating runs, so that another program on the machine disturbs both sides alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PSUTIL = [sys.executable, "-c", "import psutil"]
PROBE = [sys.executable, "-m", "advisor_gui", "probe", "--no-environments", "--format", "json"]
ADVISE = [sys.executable, "-m", "advisor_gui", "advise", "--scenario", "rapid-prototyping", "--format", "json"]
EMPTY_WINDOW = """
import sys, time
from PySide6.QtCore import QTimer, QEvent, QObject
from PySide6.QtWidgets import QApplication, QMainWindow
app = QApplication(sys.argv); w = QMainWindow(); w.resize(1280, 800)
class Painted(QObject):
    def eventFilter(self, o, e):
        if e.type() == QEvent.Type.Paint: QTimer.singleShot(0, app.quit)
        return False
p = Painted(); w.installEventFilter(p); w.show(); app.exec()
"""
OWN_WINDOW = """
import sys
from PySide6.QtCore import QTimer, QEvent, QObject
from advisor_gui import places
from advisor_gui.ui import app as program
app = program.bare(sys.argv[:1]); window = program.first_frame(places.folders())
class Painted(QObject):
    def eventFilter(self, o, e):
        if e.type() == QEvent.Type.Paint: QTimer.singleShot(0, app.quit)
        return False
p = Painted(); window.centralWidget().installEventFilter(p); window.show(); app.exec()
"""


def once(argv: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, env=environment, cwd=ROOT, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{argv[-2:]}: exit {done.returncode}: {done.stderr.decode()[-400:]}")
    return time.perf_counter() - began


def beside(one: list[str], other: list[str], environment: dict[str, str], rounds: int) -> tuple[float, float]:
    """Best seconds of each, run in turns."""
    once(one, environment), once(other, environment)  # bytecode and page cache for both
    pairs = [(once(one, environment), once(other, environment)) for _ in range(rounds)]
    return min(p[0] for p in pairs), min(p[1] for p in pairs)


def decision_ms(rounds: int = 200) -> float:
    """One decision in process, without what would change it."""
    from advisor_gui import session

    knowledge = session.catalog(session.folders())
    machine = session.open_machine(None)
    answers = session.answers_from(scenario="rapid-prototyping")
    session.recommend(knowledge, machine, answers)
    began = time.perf_counter()
    for _ in range(rounds):
        session.recommend(knowledge, machine, answers)
    return (time.perf_counter() - began) / rounds * 1000


def catalog_ms(rounds: int = 20) -> float:
    from advisor_gui import session

    session.catalog(session.folders())
    began = time.perf_counter()
    for _ in range(rounds):
        session.catalog(session.folders())
    return (time.perf_counter() - began) / rounds * 1000


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=9)
    rounds = options.parse_args().rounds
    passed = True

    def say(what: str, value: float, bound: float, unit: str, detail: str = "") -> None:
        nonlocal passed
        passed = passed and value <= bound
        print(f"{'ok  ' if value <= bound else 'OVER'} {what}: {value:.2f} {unit} (bound {bound:g}) {detail}", flush=True)

    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "STACKFIT_HOME": home, "QT_QPA_PLATFORM": "offscreen"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["STACKFIT_HOME"] = home
        psutil, probe = beside(PSUTIL, PROBE, environment, rounds)
        say("probe beside import psutil", probe / psutil, 3, "×", f"{probe * 1000:.0f} ms / {psutil * 1000:.0f} ms")
        probe, advise = beside(PROBE, ADVISE, environment, rounds)
        say("advise beside probe", advise / probe, 2, "×", f"{advise * 1000:.0f} ms / {probe * 1000:.0f} ms")
        empty, own = beside([sys.executable, "-c", EMPTY_WINDOW], [sys.executable, "-c", OWN_WINDOW], environment, rounds)
        say("window beside an empty one", own / empty, 1.4, "×", f"{own * 1000:.0f} ms / {empty * 1000:.0f} ms")
        say("one decision", decision_ms(), 5, "ms")
        say("catalogue ready", catalog_ms(), 60, "ms")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
