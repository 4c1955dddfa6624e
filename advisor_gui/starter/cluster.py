"""What a scheduler needs to run a starter project: a Slurm script, Kubernetes manifests."""

from __future__ import annotations

from typing import Any

import yaml

from advisor_gui.starter import families, quoting
from knowledge.answers import Answers
from knowledge.verdicts import Assessment


def files(project: str, family: families.Family, chosen: Assessment, answers: Answers) -> dict[str, str]:
    """File name to text; empty where the answers name no scheduler."""
    cluster = answers.cluster
    if cluster is None or cluster.scheduler in (None, "none"):
        return {}
    nodes, gpus = cluster.nodes or 1, cluster.gpus_per_node or 0
    serves = family in ("llm-server", "serve")
    if cluster.scheduler == "slurm":
        return {"job.slurm": slurm(project, 1 if serves else nodes, gpus, "serve.py" if serves else "train.py")}
    have = {c.framework for c in chosen.stack.components}
    if serves:
        return {"kubernetes/inference-service.yaml": dump([inference_service(project, gpus)])}
    if "volcano" in have:
        return {"kubernetes/volcano-job.yaml": dump([volcano_job(project, nodes, gpus, "train.py")])}
    return {
        "kubernetes/train-job.yaml": dump([train_job(project, nodes, gpus, "train.py")]),
        "kubernetes/pytorch-job.yaml": dump([pytorch_job(project, nodes, gpus, "train.py")]),
    }


def slurm(project: str, nodes: int, gpus: int, script: str) -> str:
    """One task a node, torchrun inside; the rendezvous is the first node of the job. A server is one task on one node."""
    gpu = [f"#SBATCH --gpus-per-node={gpus}"] if gpus else []
    head = [
        "#!/bin/bash", f"#SBATCH --job-name={project}", f"#SBATCH --nodes={nodes}", "#SBATCH --ntasks-per-node=1", *gpu,
        "#SBATCH --time=04:00:00", "#SBATCH --output=%x-%j.log", "#SBATCH --requeue", "", "set -euo pipefail",
        'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"',
    ]  # fmt: skip
    if script == "serve.py":
        return "\n".join([*head, f"srun .venv/bin/python {quoting.shell(script)} --host 0.0.0.0", ""])
    return "\n".join([
        *head, 'head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)', "srun .venv/bin/torchrun \\",
        f"  --nnodes={nodes} --nproc-per-node={max(1, gpus)} \\",
        '  --rdzv-id="$SLURM_JOB_ID" --rdzv-backend=c10d --rdzv-endpoint="$head_node:29500" \\', f"  {quoting.shell(script)}", "",
    ])  # fmt: skip


def container(project: str, gpus: int, command: list[str]) -> dict[str, Any]:
    limits = {"nvidia.com/gpu": gpus} if gpus else {"cpu": "4", "memory": "8Gi"}
    return {
        "name": project, "image": f"{project}:latest", "command": command, "resources": {"limits": limits},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - the pod's own
    }  # fmt: skip


def shm() -> list[dict[str, Any]]:
    # The default of 64 MB makes data loaders with several workers fail.
    return [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]


def train_job(project: str, nodes: int, gpus: int, script: str) -> dict[str, Any]:
    """Kubeflow Trainer v2 (https://www.kubeflow.org/docs/components/trainer/)."""
    resources = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {"limits": {"cpu": "4", "memory": "8Gi"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": project},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"image": f"{project}:latest", "numNodes": nodes, "numProcPerNode": max(1, gpus),
                        "command": ["torchrun", script], "resourcesPerNode": resources},
        },
    }  # fmt: skip


def volcano_job(project: str, nodes: int, gpus: int, script: str) -> dict[str, Any]:
    """Volcano batch job (https://volcano.sh/en/docs/vcjob/): all pods start together or none, and again where one is lost.

    Its pytorch plugin gives each pod MASTER_ADDR, MASTER_PORT and RANK (https://volcano.sh/en/docs/user-guide/how_to_use_pytorch_plugin/).
    """
    command = [
        "torchrun", f"--nnodes={nodes}", f"--nproc-per-node={max(1, gpus)}", "--node-rank=$(RANK)", "--master-addr=$(MASTER_ADDR)",
        "--master-port=$(MASTER_PORT)", script,
    ]  # fmt: skip
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": project},
        "spec": {
            "minAvailable": nodes, "schedulerName": "volcano", "maxRetry": 3, "queue": "default",
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}, {"event": "PodFailed", "action": "RestartJob"}],
            "plugins": {"pytorch": ["--master=master", "--worker=worker", "--port=23456"], "svc": []},
            "tasks": [
                {"replicas": replicas, "name": name,
                 "template": {"spec": {"restartPolicy": "OnFailure", "containers": [container(project, gpus, command)], "volumes": shm()}}}
                for name, replicas in (("master", 1), ("worker", nodes - 1)) if replicas
            ],
        },
    }  # fmt: skip


def pytorch_job(project: str, nodes: int, gpus: int, script: str) -> dict[str, Any]:
    """The training operator before Kubeflow Trainer v2 (https://www.kubeflow.org/docs/components/trainer/legacy-v1/)."""
    one = container(project, gpus, ["torchrun", script]) | {"name": "pytorch"}  # the operator looks for this name
    template = {"spec": {"containers": [one], "volumes": shm()}}
    replicas = {
        name: {"replicas": count, "restartPolicy": "OnFailure", "template": template}
        for name, count in (("Master", 1), ("Worker", nodes - 1)) if count
    }  # fmt: skip
    return {
        "apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": project},
        "spec": {"nprocPerNode": str(max(1, gpus)), "pytorchReplicaSpecs": replicas},
    }  # fmt: skip


def inference_service(project: str, gpus: int) -> dict[str, Any]:
    """KServe (https://kserve.github.io/website/): one predictor made of our own container, which KServe wants named so."""
    one = container(project, gpus, ["python", "serve.py", "--host", "0.0.0.0", "--port", "8080"])  # noqa: S104 - inside the pod
    one |= {"name": "kserve-container", "ports": [{"containerPort": 8080, "protocol": "TCP"}]}
    return {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": project},
        "spec": {"predictor": {"minReplicas": 1, "containers": [one], "volumes": shm()}},
    }  # fmt: skip


class _Plain(yaml.SafeDumper):
    """Writes a value out each time it is used: cluster tools do not all read YAML's anchors."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def dump(documents: list[dict[str, Any]]) -> str:
    return yaml.dump_all(documents, Dumper=_Plain, sort_keys=False)
