"""What is carried to or from elsewhere: the user's own code, bundles for devices, folders of wheels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny_wheels as wheels

from knowledge.documents import BadInput
from knowledge.plan import InstallPlan, PackageSettings, PlannedPackage
from probes.progress import Progress
from probes.proof import bundle, harness, own_code, resolve, sandbox, wheelhouse


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageSettings:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    wheels.make(tmp_path / "w", "core", "2.0")
    return PackageSettings(find_links=(str(tmp_path / "w"),), no_index=True)


def locked(settings: PackageSettings) -> str:
    plan = InstallPlan(packages=(PlannedPackage(name="core", requirement="core==2.0", index_id="pypi"),))
    lock = resolve.resolve(plan, settings).lock
    assert lock is not None
    return lock


def test_own_code_is_read_and_run(tmp_path: Path, settings: PackageSettings) -> None:
    project = tmp_path / "project"
    (project / "pkg").mkdir(parents=True)
    (project / "pkg" / "__init__.py").write_text("import json\n")
    (project / "main.py").write_text(
        "import os, core, pkg\nimport absent_thing.sub\ntry:\n    import maybe\nexcept ImportError:\n    pass\n"
    )
    made = sandbox.Sandboxes(tmp_path / "e").ensure(locked(settings), sys.executable, settings)
    venv = Path(made.python).parents[1]
    found = {i.module: i for i in own_code.imports(project, venv)}
    assert found["core"].given_by == "core" and found["pkg"].given_by == "own" and found["os"].given_by == "stdlib"
    assert found["absent_thing"].given_by is None and found["absent_thing"].line == 2
    assert found["maybe"].optional
    limits = harness.Limits(time_s=20)
    result = own_code.run(project, made.python, limits=limits, environment=venv)
    assert result.outcome == "failed" and "absent_thing" in result.because.en
    assert [(f.subject, f.severity) for f in result.findings] == [("absent_thing", "warning"), ("maybe", "info")]
    good = tmp_path / "good.py"
    good.write_text("import core\nprint('hello', core.__version__)\n")
    result = own_code.run(good, made.python, limits=limits, environment=venv)
    assert result.outcome == "passed" and result.log_tail == ("hello 2.0",)
    with pytest.raises(BadInput):
        own_code.run(tmp_path / "nowhere.py", made.python, limits=limits)
    with pytest.raises(BadInput):
        own_code.imports(tmp_path / "w", venv)


def test_a_bundle_runs_by_itself_and_is_read_back(tmp_path: Path) -> None:
    folder = bundle.write("onnxruntime-embedded", tmp_path / "out")
    assert (folder / "requirements.txt").read_text().split() == ["onnxruntime", "numpy"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run([sys.executable, str(folder / "run.py")], capture_output=True, text=True, timeout=60,
                          env=environment, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    result, device = bundle.read(folder)
    assert result.outcome == "passed" and result.check == "onnxruntime-embedded"
    assert any(m.id == "accuracy" and m.value > 95 and m.unit == "%" for m in result.measures)
    assert device
    import platform

    assert platform.node() not in (folder / "result.jsonl").read_text() or not platform.node()
    with pytest.raises(BadInput):
        bundle.write("onnxruntime-embedded", tmp_path / "out")


@pytest.mark.parametrize(
    "text",
    ["", "not json\n", '{"event": "device"}\n', '{"event": "device", "check": "nosuch", "facts": {}}\n', "[" * 10000],
)
def test_a_hostile_result_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.jsonl"
    path.write_text(text)
    with pytest.raises(BadInput):
        bundle.read(path)


def test_a_result_cannot_bring_more_than_numbers_and_short_words(tmp_path: Path) -> None:
    lines = [
        {"event": "device", "check": "edge-int8", "facts": {"model": "Board\u202e\n<script>", "hostname": "secret"}},
        {"event": "measure", "id": "x" * 500, "value": 1, "unit": "s", "en": "e", "zh": "z", "better": "rm -rf"},
        {"event": "result", "outcome": "proven", "en": "a", "zh": "b"},
    ]
    path = tmp_path / "result.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    result, device = bundle.read(path)
    assert result.outcome == "failed" and "secret" not in str(result) and "\n" not in device
    assert len(result.measures[0].id) == 80 and result.measures[0].better == "neither"


@pytest.mark.ci
def test_a_wheelhouse_installs_without_a_network(tmp_path: Path, settings: PackageSettings) -> None:
    pip = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if pip.returncode != 0:
        pytest.skip("this Python has no pip, and none can be fetched without a network")
    text = locked(settings)
    made = wheelhouse.make(text, tmp_path / "house", settings)
    assert made.files == ("core-2.0-py3-none-any.whl",) and made.size_bytes > 300
    offline = PackageSettings(find_links=(made.folder,), no_index=True, offline=True)
    built = sandbox.Sandboxes(tmp_path / "e").ensure(text, sys.executable, offline)
    assert built.pins == ("core==2.0",)
    with pytest.raises(BadInput):
        wheelhouse.make(text, tmp_path / "house", settings)


def test_a_cancelled_wheelhouse_leaves_nothing(tmp_path: Path, settings: PackageSettings) -> None:
    from probes.progress import Cancelled

    progress = Progress()
    progress.cancel()
    with pytest.raises((Cancelled, wheelhouse.NotMade)):
        wheelhouse.make(locked(settings), tmp_path / "house", settings, progress=progress)
    assert not (tmp_path / "house").exists()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".house")] == []
