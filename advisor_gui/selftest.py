"""Starts every part of the program once, without a display, and says what works: the shipped thing tests itself."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path


def parts() -> dict[str, Callable[[Path], str]]:
    """Name of each part and what tries it; it returns a few words or raises."""
    return {
        "knowledge": knowledge, "probe": probe, "advice": advice, "settings": package_settings, "uv": uv, "embedded check": embedded,
        "report": report, "window": window,
    }  # fmt: skip


def main() -> int:
    """Try all parts; 0 where every one works."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="stackfit-self-test-") as folder:
        os.environ["STACKFIT_HOME"] = folder
        for name, part in parts().items():
            began = time.perf_counter()
            try:
                said = part(Path(folder))
                mark = "ok"
            except Exception as error:  # noqa: BLE001 - each part is tried, whatever the others did
                said, mark = f"{type(error).__name__}: {error}", "FAILED"
                failed += 1
                traceback.print_exc(file=sys.stderr)
            print(f"{mark:6} {name}: {said} ({time.perf_counter() - began:.2f} s)", flush=True)
    print("everything works" if not failed else f"{failed} parts do not work")
    return 1 if failed else 0


def knowledge(folder: Path) -> str:
    from advisor_gui import session

    found = session.catalog(session.folders())
    again = session.catalog(session.folders())
    if found != again:
        raise AssertionError("the compiled catalogue differs from its sources")
    return f"{len(found.frameworks)} frameworks, {len(found.scenarios)} scenarios"


def probe(folder: Path) -> str:
    from advisor_gui import session

    machine = session.open_machine(None, environments=False)
    return f"{machine.system.os} {machine.system.arch}, {len(machine.accelerators or ())} accelerators"


def advice(folder: Path) -> str:
    from advisor_gui import session

    found = session.recommend(
        session.catalog(session.folders()), session.open_machine(None), session.answers_from(scenario=session.DEFAULT_SCENARIO)
    )
    return found.chosen.framework if found.chosen is not None else "nothing fits"


def package_settings(folder: Path) -> str:
    from advisor_gui import session

    return "offline" if session.package_settings().offline else "read"


def uv(folder: Path) -> str:
    from probes import child
    from probes.proof import uv as installer

    done = child.run([installer.find(), "--version"], limit_s=20)
    if done.rc != 0:
        raise RuntimeError(done.stderr or done.reason)
    return done.stdout.strip()


def embedded(folder: Path) -> str:
    from advisor_gui import session
    from probes.progress import Progress

    machine = session.open_machine(None, environments=False)
    result = session.smoke("onnxruntime-embedded", machine, session.folders(), progress=Progress())
    if result.outcome != "passed":
        raise RuntimeError(f"{result.outcome}: {result.because.en}")
    return result.because.en


def report(folder: Path) -> str:
    from advisor_gui import session
    from advisor_gui.report import FORMATS

    answers = session.answers_from(scenario=session.DEFAULT_SCENARIO)
    machine = session.open_machine(None, environments=False)
    found = session.recommend(session.catalog(session.folders()), machine, answers)
    value = session.report(machine, answers, found)
    for suffix in FORMATS:
        session.write_report(value, str(folder / f"report.{suffix}"), "zh")
    return ", ".join(FORMATS)


def window(folder: Path) -> str:
    from PySide6.QtCore import QTimer

    from advisor_gui import flow, session
    from advisor_gui.ui import app as program

    app = program.application(["stackfit"])
    made = program.build(app, session.folders())
    made.window.show()
    for page in flow.PAGES:
        made.window.show_page(page)
        app.processEvents()
    QTimer.singleShot(0, app.quit)
    app.exec()
    made.desk.unsaved = False
    made.window.close()
    return f"{len(flow.PAGES)} pages"
