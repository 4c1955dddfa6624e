"""Which set of scripts fits a stack: one family for each way of working, named after its folder of templates."""

from __future__ import annotations

from typing import Literal

from knowledge.verdicts import Assessment

Family = Literal["torch", "lora", "keras", "jax", "sklearn", "export", "ddp", "rl", "llm-server", "serve", "generic"]

# Model servers that the scripts of `llm-server` know how to start.
SERVERS = ("vllm", "sglang", "lmdeploy", "llama-cpp", "ollama")
# Frameworks with launchers and configurations of their own, which no set of scripts here can stand in for.
GENERIC = frozenset({"verl", "openrlhf", "megatron-lm", "nemo", "mindspore", "paddlepaddle"})
# The first row whose frameworks meet those of the stack decides; rows stand from the special to the general.
ROWS: tuple[tuple[Family, frozenset[str]], ...] = (
    ("llm-server", frozenset(SERVERS)),
    ("rl", frozenset({"stable-baselines3"})),
    ("lora", frozenset({"trl", "peft", "lora", "qlora"})),
    ("ddp", frozenset({"ddp", "fsdp", "deepspeed", "torchtitan", "ray-train"})),
    ("serve", frozenset({"onnxruntime", "openvino"})),
    ("export", frozenset({"onnx", "torch-export", "torch-compile", "executorch", "litert"})),
    ("keras", frozenset({"keras", "tensorflow"})),
    ("jax", frozenset({"flax", "jax"})),
    ("torch", frozenset({"pytorch", "lightning", "transformers", "accelerate"})),
    ("sklearn", frozenset({"scikit-learn"})),
)
# Packages that a family's scripts import beside what the plan pins.
EXTRA: dict[Family, tuple[str, ...]] = {
    "torch": ("numpy",), "lora": ("numpy", "datasets"), "ddp": ("numpy",), "jax": ("optax", "numpy"), "keras": ("numpy",),
    "export": ("onnx", "onnxscript", "onnxruntime", "numpy"), "serve": ("onnx", "numpy"), "rl": ("gymnasium",),
    "sklearn": ("numpy",), "llm-server": (), "generic": (),
}  # fmt: skip


def of(chosen: Assessment) -> Family:
    """The family of CHOSEN; `generic` where no set of scripts fits (a README and the commands then)."""
    have = {chosen.framework, *(c.framework for c in chosen.stack.components)}
    if chosen.framework in GENERIC:
        return "generic"
    # The recommended framework itself decides before what it brings along.
    for wanted in ({chosen.framework}, have):
        for family, frameworks in ROWS:
            if wanted & frameworks:
                return "export" if family == "serve" and "pytorch" in have else family
    return "generic"


def server(chosen: Assessment) -> str | None:
    """The model server of CHOSEN, None where there is none."""
    have = [chosen.framework, *(c.framework for c in chosen.stack.components)]
    return next((f for f in have if f in SERVERS), None)
