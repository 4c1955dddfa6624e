"""The project: what a user answered, as an answers file holds it; every value that was not answered is None."""

from __future__ import annotations

from typing import Literal

from knowledge.facts import Base

ScenarioId = str
Task = Literal["vision", "nlp", "llm", "speech", "multimodal", "tabular", "rl"]
Method = Literal["full", "lora", "qlora", "scratch", "infer"]
Precision = Literal["bf16", "fp16", "fp32", "fp8"]


class Model(Base, frozen=True, kw_only=True):
    name: str | None = None
    params: str | int | float | None = None  # 7B, 7.0e+9 or 7000000000; read it with knowledge.documents.count
    file: str | None = None
    layers: int | None = None
    hidden: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    vocab: int | None = None
    experts: int | None = None
    active_params: str | int | float | None = None
    intermediate: int | None = None
    head_dim: int | None = None


class Training(Base, frozen=True, kw_only=True):
    method: Method | None = None
    precision: Precision | None = None
    sequence_length: int | None = None
    batch_size: int | None = None
    gradient_checkpointing: bool | None = None
    optimizer: str | None = None
    rank: int | None = None


class Serving(Base, frozen=True, kw_only=True):
    concurrency: int | None = None
    context_length: int | None = None
    weight_bits: int | None = None
    weight_format: str | None = None
    kv_bits: int | None = None
    latency_ms: float | None = None
    structured_output: bool | None = None


class Target(Base, frozen=True, kw_only=True):
    kind: Literal[
        "this-machine", "server", "cluster", "android", "ios", "embedded-linux", "browser", "windows", "macos",
        "microcontroller",
    ] = "this-machine"
    npu: str | None = None


class Cluster(Base, frozen=True, kw_only=True):
    nodes: int | None = None
    gpus_per_node: int | None = None
    interconnect: Literal["nvlink", "infiniband", "ethernet", "none"] | None = None
    scheduler: Literal["slurm", "kubernetes", "none"] | None = None
    must_survive_node_loss: bool | None = None


class Team(Base, frozen=True, kw_only=True):
    experience: Literal["beginner", "python", "cpp", "distributed"] | None = None
    existing: tuple[str, ...] | None = None
    language: Literal["en", "zh"] | None = None


class Needs(Base, frozen=True, kw_only=True):
    reproducible: bool | None = None
    offline: bool | None = None
    mirror: str | None = None
    tracking: Literal["wandb", "mlflow", "tensorboard", "none"] | None = None
    licence: Literal["any", "permissive"] | None = None
    custom_ops: bool | None = None
    dynamic_shapes: bool | None = None


class Tools(Base, frozen=True, kw_only=True):
    packages: Literal["uv", "pip", "conda", "docker"] | None = None
    shell: Literal["bash", "powershell", "cmd"] | None = None


class Answers(Base, frozen=True, kw_only=True):
    schema: int = 1
    scenario: ScenarioId = "rapid-prototyping"
    task: Task | None = None
    framework: str | None = None
    model: Model = Model()
    training: Training = Training()
    serving: Serving = Serving()
    target: Target = Target()
    cluster: Cluster | None = None
    team: Team = Team()
    needs: Needs = Needs()
    tools: Tools = Tools()
