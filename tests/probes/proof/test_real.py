"""Six real installs: resolver, clean environment, harness and check together, from this machine's own package sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.host import LocalHost
from probes.proof import history, smoke
from probes.software import package_index

CHECKS = ("torch-quickstart", "export-parity", "sklearn-quickstart", "lora", "edge-int8", "onnxruntime-http")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("real")


@pytest.mark.ci
@pytest.mark.parametrize("check", CHECKS)
def test_the_check_passes_here(folder: Path, check: str) -> None:
    settings = package_index.settings(LocalHost())
    result = smoke.smoke(check, machine=None, settings=settings, folder=folder / "environments")
    if result.outcome == "not_built" and any(f.code.startswith("network.") for f in result.findings):
        pytest.skip(f"not asked: {result.because.en}")
    assert result.outcome == "passed", (result.because.en, result.log_tail[-20:])
    assert result.pins and result.plan_hash and result.measures
    again = smoke.smoke(check, machine=None, settings=settings, folder=folder / "environments")
    assert again.outcome == "passed" and again.install_s == 0
    with history.History(folder / "history.sqlite") as runs:
        first, second = runs.add(result), runs.add(again)
        before = runs.previous(second)
        assert before is not None and before.id == first
        assert history.compare(before.result, again)
