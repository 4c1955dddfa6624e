"""Starters installed by their own requirements in a clean environment, then tested by their own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from advisor_gui import session
from knowledge.catalog import Catalog


@pytest.mark.ci
@pytest.mark.parametrize(("scenario", "framework"), [("classic-teaching", "scikit-learn"), ("edge-inference", "onnxruntime")])
def test_a_starter_installs_and_passes_its_own_tests(catalog: Catalog, tmp_path: Path, scenario: str, framework: str) -> None:
    machine = session.open_machine(None, environments=False)
    answers = session.answers_from(scenario=scenario, framework=framework)
    found = session.recommend(catalog, machine, answers)
    assert found.chosen is not None
    assert found.chosen.framework == framework
    folder = tmp_path / "starter"
    session.write_starter(found, answers, machine, folder, "en")
    subprocess.run([sys.executable, "-m", "venv", str(folder / ".venv")], check=True)
    python = folder / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(python), "-m", "pip", "install", "-q", "-r", "requirements.txt"]
    done = subprocess.run(pip, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and ("Connection" in done.stderr or "timed out" in done.stderr):
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr[-2000:]
    done = subprocess.run([str(python), "-m", "pytest", "-q"], cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "passed" in done.stdout
