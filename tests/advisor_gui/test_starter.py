"""Starter projects: scripts that parse, formats that parse, and no word from outside that becomes code."""

from __future__ import annotations

import ast
import json
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from advisor_gui import session, starter
from advisor_gui.starter import families, files
from knowledge.answers import Answers, Cluster, Model, Needs, Tools, Training
from knowledge.documents import BadInput
from knowledge.facts import MachineProfile
from knowledge.plan import InstallPlan, PlannedPackage
from knowledge.verdicts import Assessment, Component, Recommendation, Stack

EVIL = 'x"; rm -rf / #\n$(touch /tmp/evil)`id`\'{{1}}: - &a'


def found(*frameworks: str) -> Recommendation:
    parts = tuple(Component(role="core", framework=f, version="1.0", device="cuda") for f in frameworks)
    plan = InstallPlan(packages=(PlannedPackage(name="torch", requirement="torch==2.13.0", index_id="cpu", index_url="https://example.org/cpu"),),
                       environment={"A": EVIL}, commands={"pip": {"bash": ("python -m pip install torch==2.13.0",)}})  # fmt: skip
    stack = Stack(components=parts, python="3.11")
    return Recommendation(scenario="x", chosen=Assessment(framework=frameworks[0], fit="ready", stack=stack, install=plan))


@pytest.mark.parametrize(("frameworks", "family"), [
    (("pytorch",), "torch"), (("trl", "peft", "pytorch"), "lora"), (("keras", "tensorflow"), "keras"), (("flax", "jax"), "jax"),
    (("scikit-learn",), "sklearn"), (("onnxruntime", "pytorch"), "export"), (("onnxruntime",), "serve"), (("fsdp", "pytorch"), "ddp"),
    (("stable-baselines3", "pytorch"), "rl"), (("vllm", "pytorch"), "llm-server"), (("ollama",), "llm-server"),
    (("verl", "vllm", "pytorch"), "generic"), (("accelerate", "pytorch", "vllm"), "torch"),
])  # fmt: skip
def test_family_and_files(frameworks: tuple[str, ...], family: str, tmp_path: Path) -> None:
    chosen = found(*frameworks).chosen
    assert chosen is not None
    assert families.of(chosen) == family
    answers = Answers(model=Model(name=EVIL, params="7B"), training=Training(method="qlora"), tools=Tools(packages="pip"),
                      cluster=Cluster(nodes=2, gpus_per_node=4, scheduler="slurm"), needs=Needs(tracking="mlflow"))  # fmt: skip
    written = starter.write(found(*frameworks), answers, MachineProfile(), tmp_path / "out", "zh")
    assert {str(w) for w in written} >= {"README.md", "config.json", "requirements.txt", "pyproject.toml", "Dockerfile"}
    for path in (tmp_path / "out").rglob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "out/config.json").read_text())["model"] == EVIL
    project = tomllib.loads((tmp_path / "out/pyproject.toml").read_text())["project"]
    assert "torch==2.13.0" in project["dependencies"]
    assert EVIL not in (tmp_path / "out/pyproject.toml").read_text()
    if (tmp_path / "out/job.slurm").exists():
        assert subprocess.run(["bash", "-n", str(tmp_path / "out/job.slurm")], check=False).returncode == 0
    docker = (tmp_path / "out/Dockerfile").read_text().splitlines()
    assert all(line.split(" ")[0] in ("FROM", "WORKDIR", "COPY", "RUN", "CMD", "ENV") for line in docker)


@pytest.mark.parametrize("framework", ["volcano", "kubeflow", "vllm"])
def test_manifests(framework: str, tmp_path: Path) -> None:
    answers = Answers(cluster=Cluster(nodes=3, gpus_per_node=8, scheduler="kubernetes"), model=Model(name=EVIL))
    starter.write(found(framework, "pytorch"), answers, MachineProfile(), tmp_path / "out", "en")
    made = list((tmp_path / "out/kubernetes").iterdir())
    assert made
    for path in made:
        for document in yaml.safe_load_all(path.read_text()):
            assert set(document) == {"apiVersion", "kind", "metadata", "spec"}
            assert document["metadata"]["name"].replace("-", "").isalnum()
            if document["kind"] == "Job":
                assert sum(t["replicas"] for t in document["spec"]["tasks"]) == 3


def test_a_folder_of_the_user_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(BadInput):
        starter.write(found("pytorch"), Answers(), MachineProfile(), tmp_path, "en")
    again = tmp_path / "new"
    starter.write(found("pytorch"), Answers(), MachineProfile(), again, "en")
    starter.write(found("pytorch"), Answers(), MachineProfile(), again, "zh")
    assert "安装" in (again / "README.md").read_text(encoding="utf-8")


def test_every_family_has_its_scripts() -> None:
    for family, scripts in files.SCRIPTS.items():
        for script in scripts:
            ast.parse(files.template(family, script))


def test_nothing_chosen_is_said(tmp_path: Path) -> None:
    with pytest.raises(session.CouldNot):
        session.write_starter(Recommendation(scenario="x"), Answers(), MachineProfile(), tmp_path / "n", "en")
