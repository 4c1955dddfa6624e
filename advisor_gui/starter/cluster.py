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
    script = "serve.py" if family in ("vllm", "serve") else "train.py"
    if cluster.scheduler == "slurm":
        return {"job.slurm": slurm(project, nodes, gpus, script)}
    have = {c.framework for c in chosen.stack.components}
    made = {}
    if family in ("vllm", "serve"):
        made["kubernetes/inference-service.yaml"] = dump([inference_service(project, gpus)])
    elif "volcano" in have:
        made["kubernetes/volcano-job.yaml"] = dump([volcano_job(project, nodes, gpus, script)])
    else:
        made["kubernetes/train-job.yaml"] = dump([train_job(project, nodes, gpus, script)])
    return made


def slurm(project: str, nodes: int, gpus: int, script: str) -> str:
    """One task a node, torchrun inside; the rendezvous is the first node of the job."""
    gpu = [f"#SBATCH --gpus-per-node={gpus}"] if gpus else []
    return "\n".join([
        "#!/bin/bash", f"#SBATCH --job-name={project}", f"#SBATCH --nodes={nodes}", "#SBATCH --ntasks-per-node=1", *gpu,
        "#SBATCH --time=04:00:00", "#SBATCH --output=runs/%x-%j.log", "", "set -euo pipefail", "mkdir -p runs",
        'head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)', 'export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"',
        "srun .venv/bin/torchrun \\", f"  --nnodes={nodes} --nproc-per-node={max(1, gpus)} \\",
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
    """Volcano batch job (https://volcano.sh/en/docs/vcjob/): all pods start together or none."""
    command = ["torchrun", f"--nnodes={nodes}", f"--nproc-per-node={max(1, gpus)}", script]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": project},
        "spec": {
            "minAvailable": nodes, "schedulerName": "volcano", "plugins": {"pytorch": ["--master=master", "--worker=worker"]},
            "tasks": [
                {"replicas": replicas, "name": name,
                 "template": {"spec": {"restartPolicy": "OnFailure", "containers": [container(project, gpus, command)], "volumes": shm()}}}
                for name, replicas in (("master", 1), ("worker", nodes - 1)) if replicas
            ],
        },
    }  # fmt: skip


def inference_service(project: str, gpus: int) -> dict[str, Any]:
    """KServe (https://kserve.github.io/website/): one predictor made of our own container."""
    one = container(project, gpus, ["python", "serve.py"])
    one["ports"] = [{"containerPort": 8000, "protocol": "TCP"}]
    return {
        "apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": project},
        "spec": {"predictor": {"minReplicas": 1, "containers": [one], "volumes": shm()}},
    }  # fmt: skip


def dump(documents: list[dict[str, Any]]) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)
