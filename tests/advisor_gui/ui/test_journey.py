"""The whole way in a real window under a virtual display, driven from outside: open, answer, verify, try, report.

Screenshots are kept below artifacts/journey, which git ignores.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "artifacts" / "journey"
WIDE, HIGH = 1280, 800

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool"),
]


class Screen:
    """One virtual display with the program on it, reached only by keys, clicks and pictures."""

    def __init__(self, environment: dict[str, str], program: subprocess.Popen[bytes]) -> None:
        self.environment, self.program = environment, program
        self.window = ""

    def tool(self, *words: str) -> str:
        done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, timeout=20, check=False)
        return done.stdout.strip()

    def wait(self, done: Callable[[], object], limit_s: float, what: str) -> None:
        end = time.monotonic() + limit_s
        while not done():
            assert self.program.poll() is None, f"the program ended: {self.program.returncode}"
            assert time.monotonic() < end, f"{what} did not happen in {limit_s} s"
            time.sleep(0.2)

    def find(self) -> bool:
        found = self.tool("search", "--onlyvisible", "--name", "Stackfit").split()
        self.window = found[0] if found else ""
        return bool(found)

    def key(self, *keys: str) -> None:
        self.tool("windowfocus", self.window)
        for one in keys:
            self.tool("key", "--clearmodifiers", one)
            time.sleep(0.15)

    def shoot(self, name: str) -> None:
        """A picture of the whole screen where a tool for it is there; looking is for people."""
        tool = shutil.which("import")
        if tool is not None:
            OUT.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [tool, "-window", "root", str(OUT / f"{name}.png")], env=self.environment, capture_output=True, timeout=30, check=False
            )


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDE}x{HIGH}x24", "-nolisten", "tcp"],
        pass_fds=(write,), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read) as said:
        display = said.readline().strip()
    environment = {**os.environ, "DISPLAY": f":{display}", "QT_QPA_PLATFORM": "xcb", "STACKFIT_HOME": str(tmp_path / "home"),
                   "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}  # fmt: skip
    program = subprocess.Popen([sys.executable, "-m", "advisor_gui"], cwd=ROOT, env=environment, start_new_session=True)
    try:
        yield Screen(environment, program)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGTERM)
        program.wait(10)
        server.terminate()
        server.wait(10)


def test_open_answer_verify_try_report(screen: Screen, tmp_path: Path) -> None:
    screen.wait(screen.find, 30, "a window")
    time.sleep(2.5)  # the scan; nothing outside tells when it is over
    screen.shoot("1-machine")

    screen.key("ctrl+2", "Tab")
    screen.key("Tab", "Tab", "space")  # the second card
    time.sleep(0.5)
    screen.shoot("2-project")
    screen.key("ctrl+3")
    time.sleep(1)
    screen.shoot("3-recommendation")

    document = tmp_path / "journey.stackfit"

    def saved() -> dict[str, object]:
        screen.key("ctrl+s")
        if not document.exists():
            time.sleep(1)
            screen.tool("type", "--delay", "5", str(document))
            screen.tool("key", "Return")
            screen.wait(document.exists, 15, "the saved document")
            time.sleep(0.5)
        time.sleep(0.7)
        found = json.loads(document.read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    answers = saved()["answers"]
    assert isinstance(answers, dict)
    assert answers["scenario"] != "rapid-prototyping", "the answer given by keyboard is in the document"

    screen.key("F6")
    time.sleep(0.3)
    screen.shoot("4-verifying")
    screen.wait(lambda: saved().get("resolve"), 180, "an answer of the resolver")
    screen.shoot("5-verified")
    screen.key("shift+F7")
    time.sleep(0.3)
    screen.shoot("6-trying")
    screen.wait(lambda: saved().get("smoke"), 120, "the result of the built-in check")
    results = saved()["smoke"]
    assert isinstance(results, list)
    assert results[0]["check"] == "onnxruntime-embedded" and results[0]["outcome"] == "passed", results[0]
    screen.shoot("7-tried")

    screen.key("ctrl+5")
    time.sleep(6)
    screen.shoot("8-report")
    screen.key("ctrl+q")
    screen.program.wait(15)
    assert screen.program.returncode == 0
    left = subprocess.run(["pgrep", "-g", str(screen.program.pid)], capture_output=True, text=True, check=False).stdout.split()
    assert not left, f"processes left running: {left}"
