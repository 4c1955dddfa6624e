"""What a cluster is handed: manifests against the rules of their projects' schemas, Slurm scripts, Dockerfile lines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor_gui import starter
from knowledge.answers import Answers, Cluster, Model, Needs, Training
from knowledge.facts import MachineProfile
from knowledge.plan import InstallPlan, PlannedPackage
from knowledge.verdicts import Assessment, Component, MemoryEstimate, MemoryPlan, Recommendation, Stack

EVIL = 'x"; rm -rf / #\n$(touch /tmp/evil)`id`\'{{1}}: - &a !!python/object'
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(\.\d+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?")


def made(tmp_path: Path, *frameworks: str, scheduler: str, nodes: int = 3, gpus: int = 8) -> Path:
    parts = tuple(Component(role="core", framework=f, version="1.0", device="cuda") for f in frameworks)
    plan = InstallPlan(
        packages=(PlannedPackage(name="torch", requirement="torch==2.13.0", index_id="cpu", index_url="https://example.org/cpu"),
                  PlannedPackage(name="trl", requirement="trl==1.0", index_id="pypi")),
        environment={"A": EVIL}, commands={"pip": {"bash": ("python -m pip install torch==2.13.0",)}},
    )  # fmt: skip
    memory = MemoryEstimate(method="full", total_bytes=1 << 34, available_bytes=1 << 35, verdict="fits",
                            plan=MemoryPlan(tensor_parallel=2, sharding="zero3", offload="parameters"))  # fmt: skip
    chosen = Assessment(framework=frameworks[0], fit="ready", stack=Stack(components=parts, python="3.12"), install=plan, memory=memory)
    answers = Answers(scenario=EVIL, model=Model(name=EVIL), training=Training(method="full"), needs=Needs(tracking="wandb"),
                      cluster=Cluster(nodes=nodes, gpus_per_node=gpus, scheduler=scheduler))  # type: ignore[arg-type]  # fmt: skip
    folder = tmp_path / "out"
    starter.write(Recommendation(scenario="x", chosen=chosen), answers, MachineProfile(), folder, "en", "torch==2.13.0 --hash=sha256:0\n")
    return folder


def containers(spec: dict[str, Any]) -> None:
    """The rules of a pod (https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/)."""
    volumes = {v["name"] for v in spec.get("volumes", ())}
    assert spec["containers"]
    for one in spec["containers"]:
        assert DNS_LABEL.fullmatch(one["name"])
        assert all(isinstance(word, str) for word in one["command"])
        assert re.fullmatch(r"[a-z0-9./-]+:[\w.-]+", one["image"])
        for key, amount in one["resources"]["limits"].items():
            assert QUANTITY.fullmatch(str(amount)), (key, amount)
        assert {m["name"] for m in one.get("volumeMounts", ())} <= volumes
        for port in one.get("ports", ()):
            assert 0 < port["containerPort"] < 65536
            assert port["protocol"] in ("TCP", "UDP", "SCTP")


def documents(folder: Path) -> list[dict[str, Any]]:
    found = [d for path in sorted((folder / "kubernetes").iterdir()) for d in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    for one in found:
        assert set(one) == {"apiVersion", "kind", "metadata", "spec"}
        assert DNS_LABEL.fullmatch(one["metadata"]["name"])
    assert not any("&id" in p.read_text(encoding="utf-8") for p in (folder / "kubernetes").iterdir())
    return found


def test_volcano_job(tmp_path: Path) -> None:
    (job,) = documents(made(tmp_path, "fsdp", "pytorch", "volcano", scheduler="kubernetes"))
    assert (job["apiVersion"], job["kind"]) == ("batch.volcano.sh/v1alpha1", "Job")
    spec = job["spec"]
    assert set(spec) <= {"minAvailable", "schedulerName", "maxRetry", "queue", "policies", "plugins", "tasks"}
    assert spec["minAvailable"] == sum(t["replicas"] for t in spec["tasks"]) == 3
    assert {t["name"] for t in spec["tasks"]} == {"master", "worker"}
    for policy in spec["policies"]:
        assert policy["event"] in ("PodFailed", "PodEvicted", "PodPending", "TaskCompleted", "Unknown", "OutOfSync", "CommandIssued")
        assert policy["action"] in ("AbortJob", "RestartJob", "RestartTask", "TerminateJob", "CompleteJob", "ResumeJob")
    for task in spec["tasks"]:
        assert task["template"]["spec"]["restartPolicy"] in ("OnFailure", "Never")
        containers(task["template"]["spec"])


def test_kubeflow_jobs(tmp_path: Path) -> None:
    old, new = documents(made(tmp_path, "fsdp", "pytorch", "kubeflow", scheduler="kubernetes"))
    assert (new["apiVersion"], new["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert set(new["spec"]["runtimeRef"]) == {"name"}
    trainer = new["spec"]["trainer"]
    assert set(trainer) <= {"image", "command", "args", "env", "numNodes", "numProcPerNode", "resourcesPerNode"}
    assert (trainer["numNodes"], trainer["numProcPerNode"]) == (3, 8)
    assert (old["apiVersion"], old["kind"]) == ("kubeflow.org/v1", "PyTorchJob")
    assert old["spec"]["nprocPerNode"] == "8"
    replicas = old["spec"]["pytorchReplicaSpecs"]
    assert {name: r["replicas"] for name, r in replicas.items()} == {"Master": 1, "Worker": 2}
    for one in replicas.values():
        assert one["restartPolicy"] in ("Always", "OnFailure", "Never", "ExitCode")
        assert "pytorch" in {c["name"] for c in one["template"]["spec"]["containers"]}
        containers(one["template"]["spec"])


@pytest.mark.parametrize("frameworks", [("vllm", "pytorch"), ("onnxruntime",)])
def test_inference_service(frameworks: tuple[str, ...], tmp_path: Path) -> None:
    (service,) = documents(made(tmp_path, *frameworks, scheduler="kubernetes"))
    assert (service["apiVersion"], service["kind"]) == ("serving.kserve.io/v1beta1", "InferenceService")
    predictor = service["spec"]["predictor"]
    containers(predictor)
    (one,) = predictor["containers"]
    assert one["name"] == "kserve-container"
    assert one["command"][one["command"].index("--port") + 1] == str(one["ports"][0]["containerPort"])


@pytest.mark.parametrize("frameworks", [("fsdp", "pytorch"), ("vllm", "pytorch")])
def test_slurm_script(frameworks: tuple[str, ...], tmp_path: Path) -> None:
    script = made(tmp_path, *frameworks, scheduler="slurm") / "job.slurm"
    text = script.read_text(encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0
    options = re.findall(r"^#SBATCH (--[a-z-]+)(?:=(\S+))?$", text, flags=re.M)
    assert len(options) == text.count("#SBATCH")
    assert dict(options)["--gpus-per-node"] == "8"
    assert ("torchrun" in text) == (frameworks[0] == "fsdp")
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def dockerfile(text: str) -> list[tuple[str, str]]:
    """Instructions and their arguments; a line that is none is refused."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"(FROM|WORKDIR|COPY|RUN|CMD|ENV) (.+)", line)
        assert match is not None, line
        found.append((match[1], match[2]))
    return found


def test_dockerfile_lines(tmp_path: Path) -> None:
    lines = dockerfile((made(tmp_path, "fsdp", "pytorch", scheduler="slurm") / "Dockerfile").read_text(encoding="utf-8"))
    assert lines[0] == ("FROM", "python:3.12-slim")
    for word, rest in lines:
        if word in ("RUN", "CMD"):
            argv = json.loads(rest)  # exec form: no shell reads it
            assert argv and all(isinstance(a, str) for a in argv)
        if word == "ENV":
            name, _, quoted = rest.partition("=")
            assert re.fullmatch(r"[A-Z_][A-Z0-9_]*", name)
            assert quoted[0] == quoted[-1] == '"'
            assert not re.search(r"(?<!\\)\$", quoted)
    assert [r for w, r in lines if w == "CMD"] == ['["python", "train.py"]']


def test_tool_configurations(tmp_path: Path) -> None:
    folder = made(tmp_path, "deepspeed", "accelerate", "llama-factory", "pytorch", scheduler="slurm")
    deep = json.loads((folder / "deepspeed.json").read_text(encoding="utf-8"))
    assert deep["zero_optimization"] == {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}
    accelerate = yaml.safe_load((folder / "accelerate.yaml").read_text(encoding="utf-8"))
    assert (accelerate["num_machines"], accelerate["num_processes"]) == (3, 24)
    factory = yaml.safe_load((folder / "llamafactory.yaml").read_text(encoding="utf-8"))
    assert (factory["model_name_or_path"], factory["finetuning_type"]) == (EVIL, "full")
    assert "wandb" in (folder / "requirements.txt").read_text(encoding="utf-8").split()
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "--require-hashes -r requirements.lock.txt --extra-index-url https://example.org/cpu" in readme
    assert "accelerate launch" in readme
    assert "rm -rf" not in readme


def test_each_model_server_is_told_its_limits(tmp_path: Path) -> None:
    for server in ("vllm", "sglang", "lmdeploy", "llama-cpp", "ollama"):
        folder = made(tmp_path / server, server, scheduler="none")
        done = subprocess.run([sys.executable, "serve.py", "--tiny"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        words = " ".join((*said["command"], *said["environment"].values()))
        assert "8192" in words or "131072" in words
        if server != "ollama":
            assert EVIL in said["command"]
    done = subprocess.run([sys.executable, "ask.py", "--tiny"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(done.stdout.splitlines()[-1])["done"] is True
