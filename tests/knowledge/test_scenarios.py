"""The scenarios and their questions: each question can change advice, both languages are there, order does not matter."""

from __future__ import annotations

import datetime
import re
from functools import cache
from typing import Any

import msgspec
import pytest

from knowledge import advise, documents, loader
from knowledge.answers import Answers
from knowledge.catalog import Catalog, Question
from knowledge.facts import MachineProfile
from knowledge.text import Text
from knowledge.verdicts import Assessment, Recommendation

TODAY = datetime.date(2026, 12, 1)
IDS = (
    "classic-teaching", "distributed-training", "edge-inference", "llm-finetuning", "llm-serving",
    "multimodal-long-context", "production-serving", "rapid-prototyping", "reinforcement-learning", "research",
    "unified-train-serve",
)  # fmt: skip

GIB = 2**30
PYTHON = [{"path": "/usr/bin/python3", "version": "3.12.3", "kind": "system", "arch": "x86_64", "bits": 64,
           "free_threaded": False}]  # fmt: skip
LINUX = {"os": "linux", "distribution": "ubuntu", "release": "24.04", "arch": "x86_64", "libc": "glibc",
         "libc_version": "2.39"}  # fmt: skip
AVX = ["sse4_2", "avx", "f16c", "fma", "avx2"]


def nvidia(name: str, target: str, gib: int, count: int = 1) -> dict[str, Any]:
    return {"kind": "gpu", "vendor": "nvidia", "name": name, "count": count, "memory_bytes": gib * GIB,
            "memory_kind": "dedicated", "target": target, "driver_version": "580.95.05", "driver_api_max": "13.0",
            "state": "usable"}  # fmt: skip


def described(system: dict[str, Any], cards: list[dict[str, Any]], gib: int, cpu: str = "intel") -> dict[str, Any]:
    flags = AVX if system["arch"] == "x86_64" else []
    return {
        "schema": 1, "system": system, "cpu": {"vendor": cpu, "flags": flags, "physical_cores": 8, "logical_cpus": 16},
        "memory": {"total_bytes": gib * GIB, "available_bytes": gib * GIB * 3 // 4, "shm_bytes": gib * GIB // 2},
        "disk": {"free_bytes": 900 * GIB}, "accelerators": cards, "software": {"gcc": "13.2", "vc_redist": True},
        "pythons": [dict(PYTHON[0], arch=system["arch"])], "network": {"offline": False},
    }  # fmt: skip


MACHINES: dict[str, dict[str, Any]] = {
    "linux-rtx-4090": described(LINUX, [nvidia("NVIDIA GeForce RTX 4090", "8.9", 24)], 64),
    "linux-8xh100": described(LINUX, [nvidia("NVIDIA H100 80GB HBM3", "9.0", 80, 8)], 1024),
    "linux-cpu": described(LINUX, [], 32),
    "windows-rtx-3060": described(
        {"os": "windows", "release": "11", "build": "10.0.26100", "arch": "x86_64"},
        [dict(nvidia("NVIDIA GeForce RTX 3060", "8.6", 12), driver_version="581.57")], 32, "amd",
    ),
    "mac-m3": described(
        {"os": "macos", "release": "15.1", "arch": "aarch64"},
        [{"kind": "gpu", "vendor": "apple", "name": "Apple M3 Max", "memory_kind": "unified", "memory_bytes": 64 * GIB,
          "state": "usable"}], 64, "apple",
    ),
}  # fmt: skip
CONTEXTS: tuple[dict[str, Any], ...] = (
    {},
    {"task": "llm", "model.params": "7B"},
    {"task": "llm", "model.params": "30B", "cluster.nodes": 2, "cluster.gpus_per_node": 8},
    {"task": "vision", "model.params": "300M"},
    {"target.kind": "android"},
    {"training.method": "full", "model.params": "7B"},
    {"serving.concurrency": 8, "model.params": "7B"},
    {"needs.tracking": "wandb"},
)
NUMBERS: dict[str, tuple[Any, ...]] = {
    "sequence-length": (512, 32768, 200000), "batch-size": (1, 64), "concurrency": (1, 64),
    "context-length": (2048, 131072), "latency": (5, 60, 5000), "nodes": (1, 4), "gpus-per-node": (1, 8),
    "model": ("100M", "3B", "13B", "200B", "1T"),
}  # fmt: skip


@cache
def knowledge() -> Catalog:
    return loader.load_catalog()


@cache
def machine(name: str) -> MachineProfile:
    return msgspec.convert(MACHINES[name], MachineProfile)


def answered(scenario: str, values: dict[str, Any]) -> Answers:
    tree: dict[str, Any] = {"scenario": scenario}
    for key, value in values.items():
        inner = tree
        *path, last = key.split(".")
        for word in path:
            inner = inner.setdefault(word, {})
        inner[last] = value
    return msgspec.convert(tree, Answers)


def advised(scenario: str, where: str, values: dict[str, Any], catalog: Catalog | None = None) -> Recommendation:
    return advise.advise(catalog or knowledge(), machine(where), answered(scenario, values), today=TODAY)


def facts(item: Assessment) -> tuple[Any, ...]:
    """What a user sees of one stack, without sentences."""
    memory = item.memory
    return (
        item.framework, item.fit, tuple((c.role, c.framework, c.version, c.build) for c in item.stack.components),
        msgspec.json.encode(item.install), msgspec.json.encode(memory) if memory else None,
    )  # fmt: skip


def seen(found: Recommendation) -> tuple[Any, ...]:
    return (
        facts(found.chosen) if found.chosen else None, tuple(facts(item) for item in found.others),
        tuple(sorted(item.framework for item in found.unsuitable)), tuple(f.code for f in found.findings),
    )  # fmt: skip


def values_of(question: Question) -> tuple[Any, ...]:
    if question.kind == "bool":
        return (True, False)
    if question.kind == "many":
        return tuple([choice.value] for choice in question.choices)
    if question.choices:
        return tuple(choice.value for choice in question.choices)
    if question.id == "framework":
        return ("keras", "llama-cpp", "onnxruntime", "deepspeed", "jax", "trl", "paddlepaddle")
    if question.id == "mirror":
        return ("https://mirrors.aliyun.com/pypi/simple/",)
    return NUMBERS[question.id]


def movers(scenario: str, question: Question) -> Any:
    """The first value, machine and context where an answer to QUESTION gives other advice than no answer or another."""
    for context in CONTEXTS:
        for where in MACHINES:
            rest = {key: value for key, value in context.items() if key != question.key}
            try:
                base = seen(advised(scenario, where, rest))
            except documents.BadInput:
                continue
            for value in values_of(question):
                if seen(advised(scenario, where, {**rest, question.key: value})) != base:
                    return value, where, context
    return None


def test_every_scenario_of_the_product_is_there() -> None:
    assert tuple(sorted(knowledge().scenarios)) == IDS


@pytest.mark.parametrize("scenario", IDS)
def test_every_question_of_a_scenario_can_change_its_advice(scenario: str) -> None:
    catalog = knowledge()
    still = [
        name for name in catalog.scenarios[scenario].questions if movers(scenario, catalog.questions[name]) is None
    ]
    assert still == []


def test_every_question_is_asked_somewhere_or_is_about_the_commands() -> None:
    catalog = knowledge()
    asked = {name for scenario in catalog.scenarios.values() for name in scenario.questions}
    assert set(catalog.questions) - asked <= {"mirror", "shell"}


def test_what_a_question_says_it_changes_is_known() -> None:
    catalog = knowledge()
    for question in catalog.questions.values():
        assert set(question.changes) <= {*catalog.frameworks, "memory", "plan"}, question.id
        assert question.changes, question.id


def test_the_checks_that_are_named_exist() -> None:
    from probes.proof import checks

    there = {check.id for check in checks.every()}
    for scenario in knowledge().scenarios.values():
        assert scenario.checks and set(scenario.checks) <= there, scenario.id
    for framework in knowledge().frameworks.values():
        assert set(framework.checks) <= there, framework.id


def test_a_laptop_is_not_asked_about_a_cluster() -> None:
    for where, scenario in (
        ("windows-rtx-3060", "llm-finetuning"),
        ("mac-m3", "llm-serving"),
        ("linux-cpu", "research"),
    ):
        asked = set(advised(scenario, where, {}).open_questions)
        assert not asked & {"gpus-per-node", "interconnect", "scheduler", "node-loss", "kv-bits", "optimizer"}
    asked = set(advised("distributed-training", "linux-8xh100", {}).open_questions)
    assert {"nodes", "gpus-per-node", "interconnect", "scheduler", "node-loss"} <= asked


def texts(value: Any, place: str = "") -> Any:
    if isinstance(value, Text):
        yield place, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from texts(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from texts(item, f"{place}[{number}]")


def test_scenarios_and_questions_speak_both_languages() -> None:
    catalog = knowledge()
    chinese = re.compile(r"[\u4e00-\u9fff]")
    entries = {**catalog.scenarios, **catalog.questions}
    for name, entry in entries.items():
        for place, text in texts(entry, name):
            assert text.en.strip() and text.zh.strip(), place
            assert not chinese.search(text.en), f"{place}: {text.en}"
            if ".label" not in place:  # a label may be a name, the same in both
                assert chinese.search(text.zh), f"{place}: {text.zh}"


def test_the_order_of_files_does_not_change_advice() -> None:
    files = tuple(loader.sources())
    straight, turned = loader.build(files), loader.build(tuple(reversed(files)))
    for scenario in IDS:
        for where in ("linux-rtx-4090", "windows-rtx-3060", "mac-m3"):
            for context in CONTEXTS[:2]:
                assert seen(advised(scenario, where, context, straight)) == seen(
                    advised(scenario, where, context, turned)
                )


@pytest.mark.parametrize("scenario", IDS)
@pytest.mark.parametrize("where", list(MACHINES))
def test_every_machine_gets_a_stack_that_can_run(scenario: str, where: str) -> None:
    found = advised(scenario, where, {})
    assert found.chosen is not None
    assert found.chosen.fit in ("ready", "after_changes")


ENDED = {"mxnet", "torchscript", "torchtune", "horovod", "aitemplate", "auto-gptq", "ipex", "torch-directml", "directml",
         "text-generation-inference", "torchserve", "tensorflow-lite", "torch-xla"}  # fmt: skip


@pytest.mark.parametrize("scenario", IDS)
@pytest.mark.parametrize("where", list(MACHINES))
def test_what_has_ended_is_never_recommended_to_a_newcomer(scenario: str, where: str) -> None:
    for context in CONTEXTS:
        found = advised(scenario, where, context)
        parts = {c.framework for item in (found.chosen, *found.others) if item for c in item.stack.components}
        assert not parts & ENDED, context


def chosen(scenario: str, where: str, values: dict[str, Any]) -> str:
    found = advised(scenario, where, values)
    assert found.chosen is not None
    return found.chosen.framework


@pytest.mark.parametrize(
    ("scenario", "where", "values", "wanted"),
    [
        ("rapid-prototyping", "linux-rtx-4090", {"task": "vision"}, "pytorch"),
        ("rapid-prototyping", "linux-rtx-4090", {"task": "vision", "team.existing": ["tensorflow"]}, "keras"),
        ("rapid-prototyping", "linux-rtx-4090", {"task": "nlp"}, "transformers"),
        ("rapid-prototyping", "linux-cpu", {"task": "tabular"}, "scikit-learn"),
        ("classic-teaching", "linux-cpu", {"team.language": "zh"}, "paddlepaddle"),
        ("classic-teaching", "linux-cpu", {}, "keras"),
        ("edge-inference", "linux-rtx-4090", {"target.kind": "android"}, "litert"),
        ("edge-inference", "mac-m3", {"target.kind": "ios"}, "core-ml"),
        ("edge-inference", "linux-cpu", {"target.kind": "browser"}, "webgpu"),
        ("edge-inference", "linux-cpu", {"target.kind": "embedded-linux", "target.npu": "rockchip"}, "rknn"),
        ("edge-inference", "linux-rtx-4090", {"target.kind": "android", "team.existing": ["pytorch"]}, "executorch"),
        ("unified-train-serve", "linux-cpu", {"task": "vision"}, "torch-export"),
        ("unified-train-serve", "linux-cpu", {"team.existing": ["tensorflow"]}, "savedmodel"),
        ("unified-train-serve", "linux-cpu", {"needs.dynamic_shapes": True}, "torch-compile"),
        ("llm-finetuning", "linux-rtx-4090", {"model.params": "7B", "training.method": "qlora"}, "trl"),
        ("llm-finetuning", "mac-m3", {"model.params": "7B", "training.method": "lora"}, "mlx"),
        ("llm-serving", "linux-8xh100", {"model.params": "70B", "serving.concurrency": 64}, "vllm"),
        ("llm-serving", "linux-8xh100", {"model.params": "7B", "serving.structured_output": True}, "sglang"),
        ("llm-serving", "linux-cpu", {"model.params": "3B", "serving.weight_bits": 4}, "llama-cpp"),
        ("reinforcement-learning", "linux-cpu", {}, "stable-baselines3"),
        ("reinforcement-learning", "linux-rtx-4090", {"task": "llm", "model.params": "1B"}, "trl"),
        ("distributed-training", "linux-8xh100", {"model.params": "300M"}, "ddp"),
        ("distributed-training", "linux-8xh100", {"model.params": "3B"}, "fsdp"),
        ("distributed-training", "linux-8xh100", {"model.params": "1T", "cluster.nodes": 64, "cluster.gpus_per_node": 8},
         "megatron-lm"),
        ("production-serving", "linux-cpu", {"team.existing": ["tensorflow"]}, "tensorflow-serving"),
        ("production-serving", "linux-cpu", {"task": "vision"}, "onnxruntime"),
        ("research", "linux-rtx-4090", {}, "pytorch"),
        ("research", "linux-rtx-4090", {"team.existing": ["jax"]}, "jax"),
    ],
)  # fmt: skip
def test_the_expected_stack_comes_first(scenario: str, where: str, values: dict[str, Any], wanted: str) -> None:
    assert chosen(scenario, where, values) == wanted
