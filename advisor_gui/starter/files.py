"""The files of a starter project: which there are, and how each is made from the stack, the answers and the memory plan."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import yaml

from advisor_gui.starter import cluster, families, quoting, readme
from knowledge.answers import Answers
from knowledge.documents import count
from knowledge.facts import MachineProfile
from knowledge.verdicts import Assessment

SCRIPTS: dict[str, tuple[str, ...]] = {
    "torch": ("train.py",), "lora": ("train.py",), "keras": ("train.py",), "jax": ("train.py",), "sklearn": ("train.py",),
    "export": ("train.py", "export.py"), "ddp": ("train.py",), "rl": ("train.py",), "serve": ("serve.py",),
    "llm-server": ("serve.py", "ask.py"),
    "generic": (),
}  # fmt: skip


TRACKERS = ("mlflow", "wandb", "tensorboard")


def contents(
    family: families.Family, chosen: Assessment, answers: Answers, machine: MachineProfile, language: str, lock: str | None
) -> dict[str, str]:
    """File name to text."""
    project = quoting.name(f"{answers.scenario}-starter")
    made = {script: template(family, script) for script in SCRIPTS[family]}
    if any("from tracking import" in text for text in made.values()):
        made["tracking.py"] = template("common", "tracking.py")
    made["config.json"] = json.dumps(config(chosen, answers), indent=2, ensure_ascii=False) + "\n"
    made["requirements.txt"] = requirements(family, chosen, answers)
    if lock is not None:
        made["requirements.lock.txt"] = lock
    made["pyproject.toml"] = pyproject(project, family, chosen, answers)
    if SCRIPTS[family]:
        made["tests/test_starter.py"] = template("common", "test_starter.py")
    made["Dockerfile"] = dockerfile(family, chosen)
    made[".dockerignore"] = ".venv\n__pycache__\nruns\n"
    made[".devcontainer/devcontainer.json"] = json.dumps(
        {"name": project, "build": {"dockerfile": "../Dockerfile", "context": ".."}, **gpu(chosen)}, indent=2
    ) + "\n"  # fmt: skip
    made[".gitignore"] = ".venv/\n__pycache__/\nruns/\n*.onnx\n*.onnx.data\n"
    made |= configs(family, chosen, answers)
    made |= cluster.files(project, family, chosen, answers)
    made["README.md"] = readme.text(
        project, family, chosen, answers, tuple(sorted(made)), language, machine.system.os
    )
    return made


def template(family: str, name: str) -> str:
    return (resources.files("advisor_gui.starter") / "templates" / family / f"{name}.txt").read_text(encoding="utf-8")


def config(chosen: Assessment, answers: Answers) -> dict[str, Any]:
    """What the scripts read: the answers and the memory plan, as plain numbers and words."""
    plan = chosen.memory.plan if chosen.memory is not None else None
    training, serving = answers.training, answers.serving
    return {
        "model": answers.model.name or None,
        "parameters": count(answers.model.params),
        "method": training.method or "lora",
        "precision": training.precision or "bf16",
        "sequence_length": training.sequence_length or 1024,
        "batch_size": training.batch_size or 1,
        "gradient_checkpointing": training.gradient_checkpointing is not False,
        "lora_rank": training.rank or 16,
        "context_length": serving.context_length or (plan.max_context if plan is not None else None) or 8192,
        "concurrency": serving.concurrency or 16,
        "tensor_parallel": plan.tensor_parallel if plan is not None else 1,
        "sharding": plan.sharding if plan is not None else None,
        "offload": plan.offload if plan is not None else None,
        "server": families.server(chosen),
        "tracking": tracking(chosen, answers),
        "seed": 1,
    }


def tracking(chosen: Assessment, answers: Answers) -> str:
    """The tracker asked for, else the one that the stack brings along."""
    if answers.needs.tracking is not None:
        return answers.needs.tracking
    have = {c.framework for c in chosen.stack.components}
    return next((t for t in TRACKERS if t in have), "none")


def requirements(family: families.Family, chosen: Assessment, answers: Answers) -> str:
    """The plan's exact pins, then what the scripts need beside them; no index address, since those are the user's own."""
    pins = [p.requirement for p in chosen.install.packages] if chosen.install is not None else []
    have = {p.name.lower().replace("_", "-") for p in chosen.install.packages} if chosen.install is not None else set()
    tracker = tracking(chosen, answers)
    wanted = (*families.EXTRA[family], *((tracker,) if tracker in TRACKERS else ()), "pytest")
    extra = [name for name in wanted if name not in have]
    return "\n".join([*pins, *extra]) + "\n"


def pyproject(project: str, family: families.Family, chosen: Assessment, answers: Answers) -> str:
    python = chosen.stack.python or "3.11"
    depends = tuple(requirements(family, chosen, answers).split())
    return "\n".join([
        "[project]", f"name = {quoting.toml_string(project)}", 'version = "0.1.0"',
        f"requires-python = {quoting.toml_string('>=' + python)}", f"dependencies = {quoting.toml_list(depends)}", "",
        "[tool.pytest.ini_options]", 'testpaths = ["tests"]', "",
    ])  # fmt: skip


def gpu(chosen: Assessment) -> dict[str, Any]:
    return {"runArgs": ["--gpus=all", "--shm-size=8g"]} if uses(chosen, "cuda") else {}


def uses(chosen: Assessment, device: str) -> bool:
    return any(c.device == device for c in chosen.stack.components)


def dockerfile(family: families.Family, chosen: Assessment) -> str:
    """The plan's indexes as arguments of pip, one command for each index, in exec form."""
    python = chosen.stack.python or "3.11"
    lines = [f"FROM python:{python}-slim", "WORKDIR /app", "COPY requirements.txt ."]
    if chosen.install is not None:
        by_index: dict[str, list[str]] = {}
        for package in chosen.install.packages:
            if package.index_url is not None:
                by_index.setdefault(package.index_url, []).append(package.requirement)
        for url, pins in by_index.items():
            lines.append("RUN " + quoting.docker_json(("pip", "install", "--no-cache-dir", *pins, "--index-url", url)))
        for key, value in chosen.install.environment.items():
            lines.append(f"ENV {key}={json.dumps(value).replace('$', chr(92) + '$')}")
    lines.append("RUN " + quoting.docker_json(("pip", "install", "--no-cache-dir", "-r", "requirements.txt")))
    lines.append("COPY . .")
    script = next(iter(SCRIPTS[family]), None)
    if script is not None:
        host = ("--host", "0.0.0.0") if script == "serve.py" else ()  # noqa: S104 - inside the container
        lines.append("CMD " + quoting.docker_json(("python", script, *host)))
    return "\n".join(lines) + "\n"


def configs(family: families.Family, chosen: Assessment, answers: Answers) -> dict[str, str]:
    """Configuration files of the tools in the stack, filled from the memory plan."""
    have = {c.framework for c in chosen.stack.components}
    plan = chosen.memory.plan if chosen.memory is not None else None
    sharding = plan.sharding if plan is not None else None
    made: dict[str, str] = {}
    processes = (answers.cluster.gpus_per_node or 1) * (answers.cluster.nodes or 1) if answers.cluster is not None else 1
    precision = {"bf16": "bf16", "fp16": "fp16"}.get(answers.training.precision or "bf16", "no")
    if "accelerate" in have:
        body: dict[str, Any] = {
            "compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU" if processes > 1 else "NO",
            "mixed_precision": precision, "num_machines": answers.cluster.nodes or 1 if answers.cluster is not None else 1,
            "num_processes": processes, "use_cpu": not (uses(chosen, "cuda") or uses(chosen, "rocm")),
        }  # fmt: skip
        if sharding == "fsdp":
            body |= {"distributed_type": "FSDP", "fsdp_config": {"fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}}
        made["accelerate.yaml"] = yaml.safe_dump(body, sort_keys=False)
    if "deepspeed" in have or (sharding or "").startswith("zero"):
        stage = int((sharding or "zero2")[-1])
        body = {
            "bf16": {"enabled": precision == "bf16"}, "train_micro_batch_size_per_gpu": answers.training.batch_size or 1,
            "gradient_accumulation_steps": 8, "zero_optimization": {"stage": stage},
        }  # fmt: skip
        if plan is not None and plan.offload:
            body["zero_optimization"] |= {"offload_optimizer": {"device": "cpu"}}
            if plan.offload == "parameters" and stage == 3:
                body["zero_optimization"] |= {"offload_param": {"device": "cpu"}}
        made["deepspeed.json"] = json.dumps(body, indent=2) + "\n"
    if "llama-factory" in have:
        made["llamafactory.yaml"] = yaml.safe_dump({
            "model_name_or_path": answers.model.name or "path/to/model", "stage": "sft", "do_train": True,
            "finetuning_type": "full" if answers.training.method == "full" else "lora",
            **({"quantization_bit": 4} if answers.training.method == "qlora" else {}),
            "dataset": "your_dataset", "cutoff_len": answers.training.sequence_length or 1024,
            "per_device_train_batch_size": answers.training.batch_size or 1, "output_dir": "runs/llamafactory",
        }, sort_keys=False, allow_unicode=True)  # fmt: skip
    return made
