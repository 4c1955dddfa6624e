"""Predicted against measured: steps whose peak torch's profiler saw (docs/measurements), and fresh ones when asked."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "sizing_measured.py"


def benchmark() -> ModuleType:
    found = importlib.util.spec_from_file_location("sizing_measured", SCRIPT)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def judged(path: Path) -> tuple[list[float], list[object]]:
    """Errors of the predictions, and the runs that needed more than their upper end."""
    script = benchmark()
    errors, above = [], []
    for row in json.loads(path.read_text(encoding="utf-8")):
        total, _, high = script.predicted(row["run"])
        errors.append(abs(total / row["peak_bytes"] - 1))
        if row["peak_bytes"] > high:
            above.append(row["run"])
    return errors, above


def test_predictions_keep_to_what_was_measured() -> None:
    errors, above = judged(ROOT / "docs" / "measurements" / "sizing-cpu.json")
    assert len(errors) >= 60
    assert statistics.median(errors) <= 0.03
    assert max(errors) <= 0.25
    assert not above, "a step that needs more than the upper end would have been called fitting"


@pytest.mark.slow
def test_fresh_measurements_agree(tmp_path: Path) -> None:
    """Needs STACKFIT_TORCH_PYTHON, an environment with torch, transformers and peft."""
    python = os.environ.get("STACKFIT_TORCH_PYTHON")
    if not python:
        pytest.skip("STACKFIT_TORCH_PYTHON names no environment with torch, transformers and peft")
    rows = tmp_path / "rows.json"
    subprocess.run([python, str(SCRIPT), "measure", str(rows)], check=True, timeout=3600)
    errors, above = judged(rows)
    assert statistics.median(errors) <= 0.10
    assert max(errors) <= 0.25
    assert not above
