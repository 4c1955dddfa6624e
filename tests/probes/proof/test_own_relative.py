"""A Python that is given by a relative path is the one meant from where the user stands."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from knowledge.plan import PackageSettings
from probes.progress import Progress
from probes.proof import smoke


def test_relative_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "mine.py"
    script.write_text("print('hello')\n", encoding="utf-8")
    program = Path(sys.prefix, "bin", "python")
    if not program.exists():
        program = Path(sys.executable)
    monkeypatch.chdir(program.parent)
    result = smoke.own(
        str(script), None, machine=None, settings=PackageSettings(), folder=tmp_path / "envs", python=f"./{program.name}",
        limit_s=60.0, progress=Progress(),
    )  # fmt: skip
    assert result.outcome == "passed", result.because.en
