"""Advice beyond single builds: stacks that agree, ended projects, mixed cards, what would change, a team's policy."""

from __future__ import annotations

import datetime

import pytest

from knowledge import advise, loader, policy
from knowledge.answers import Answers, Model, Serving, Team, Training
from knowledge.documents import BadInput
from knowledge.facts import Accelerator, Cpu, MachineProfile, Python, Software, System
from knowledge.verdicts import AssessmentAnswer

TODAY = datetime.date(2026, 12, 1)
CATALOG = loader.load_catalog()
LINUX = System(os="linux", distribution="ubuntu", arch="x86_64", libc="glibc", libc_version="2.39", kernel="6.8.0")


def card(target: str = "8.9", driver: str | None = "580.95.05", vendor: str = "nvidia", **more) -> Accelerator:
    values = {"memory_kind": "dedicated", "state": "usable", "name": f"{vendor} test card", "memory_bytes": 24 * 2**30}
    return Accelerator(vendor=vendor, target=target, driver_version=driver, **{**values, **more})


def machine(*cards: Accelerator, system: System = LINUX, python: str = "3.12.3", **more) -> MachineProfile:
    pythons = (Python(path="/usr/bin/python3", version=python, bits=64, free_threaded=False),)
    return MachineProfile(system=system, accelerators=cards, pythons=pythons, **more)


def assess(profile: MachineProfile, framework: str, answers: Answers | None = None) -> AssessmentAnswer:
    return advise.assess(CATALOG, profile, framework, answers or Answers(), today=TODAY)


def codes(found) -> set[str]:
    return {v.code for v in found.verdicts if v.outcome == "unmet"}


def pins(found) -> dict[str, str]:
    return {p.name: p.requirement.split("==")[1] for p in found.install.packages}


def test_parts_of_a_stack_agree():
    found = assess(machine(card()), "vllm")
    assert pins(found)["torch"] == "2.14.0" and pins(found)["torchvision"] == "0.29.0"
    found = assess(machine(card()), "unsloth")
    assert pins(found)["torch"].startswith("2.14.")
    found = assess(machine(card()), "llama-factory")
    assert pins(found)["transformers"] == "5.6.0"


def test_a_companion_that_disagrees_is_left_out():
    answers = Answers(scenario="llm-finetuning", training=Training(method="lora"))
    found = advise.advise(CATALOG, machine(card()), answers, today=TODAY)
    for item in (found.chosen, *found.others):
        names = pins(item) if item.install else {}
        if item.framework == "ms-swift":
            assert "peft" not in names  # it needs an older one and brings it itself
        if item.framework == "trl":
            assert "peft" in names


def test_the_device_comes_first():
    found = assess(machine(card(state="no_driver", driver=None)), "pytorch")
    assert found.fit == "after_changes" and codes(found) == {"driver.missing"}
    assert found.stack.components[0].device == "cuda"


def test_a_graphics_unit_inside_the_processor_leaves_the_processor():
    found = assess(machine(card("gen9", None, "intel", memory_kind="shared")), "pytorch")
    assert found.fit == "ready" and found.stack.components[0].device == "cpu"


def test_a_card_without_code_is_said_and_the_processor_planned():
    found = assess(machine(card("3.7", "470.57.02")), "pytorch")
    assert found.fit == "after_changes" and codes(found) == {"accel.arch_too_old"}
    assert found.stack.components[0].device == "cpu"
    assert found.ruled_out


def test_one_wheel_has_to_serve_all_cards_or_one_is_hidden():
    both = assess(machine(card("7.0"), card("10.0")), "pytorch")
    assert both.fit == "ready" and pins(both)["torch"] == "2.10.0"
    neither = assess(machine(card("6.1"), card("12.0")), "pytorch")
    assert codes(neither) == {"accel.mixed"}
    assert {r.code for v in neither.verdicts for r in v.remedies if v.outcome == "unmet"} >= {"hide_device"}
    assert neither.install.environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_a_better_driver_in_wsl_is_the_one_of_windows():
    wsl = System(os="linux", arch="x86_64", libc="glibc", libc_version="2.35", wsl=2, kernel="5.15-microsoft")
    found = assess(machine(card("8.6", "546.80"), system=wsl), "pytorch")
    assert found.fit == "ready" and found.install.packages[0].index_id == "cu126"


def test_a_driver_known_only_by_the_cuda_that_it_serves():
    def fit(api: str) -> str:
        return assess(machine(card("8.6", None, driver_api_max=api)), "pytorch").install.packages[0].index_id

    assert (fit("13.0"), fit("12.4"), fit("11.8")) == ("pypi", "cu126", "cu118")
    from knowledge.device_checks import _branch_reaches

    assert _branch_reaches("12.2", "531") is True
    assert _branch_reaches("11.4", "531") is False
    assert _branch_reaches("12.1", "531") is None


def test_wsl_1_shows_no_gpu():
    wsl = System(os="linux", arch="x86_64", libc="glibc", libc_version="2.35", wsl=1)
    assert codes(assess(machine(card(), system=wsl), "pytorch")) == {"accel.hidden"}


def test_an_ended_project_is_said_to_be_so_and_comes_last():
    found = assess(machine(card(), python="3.10.12"), "torchtune")
    assert "project.archived" in codes(found)
    answers = Answers(scenario="llm-finetuning", team=Team(existing=("torchtune",)))
    ranked = advise.advise(CATALOG, machine(card()), answers, today=TODAY)
    assert ranked.chosen is not None


def test_a_team_with_keras_code_keeps_it_on_a_card_that_tensorflow_has_no_code_for():
    answers = Answers(scenario="rapid-prototyping", team=Team(existing=("tensorflow",)))
    found = advise.advise(CATALOG, machine(card("12.0", "580.95.05")), answers, today=TODAY)
    assert found.chosen.framework == "keras" and found.chosen.fit == "ready"
    assert "tensorflow" not in {c.framework for c in found.chosen.stack.components}


def test_what_was_asked_for_comes_first_where_it_can_run():
    for name in ("jax", "tensorflow"):
        found = advise.advise(CATALOG, machine(card()), Answers(framework=name), today=TODAY)
        assert found.chosen.framework == name
    out = advise.advise(CATALOG, machine(card()), Answers(framework="core-ml"), today=TODAY)
    assert out.chosen.framework != "core-ml"
    assert "core-ml" in {item.framework for item in out.unsuitable}


def test_every_other_and_every_refusal_has_a_reason():
    for scenario in CATALOG.scenarios:
        found = advise.advise(CATALOG, machine(card("7.5")), Answers(scenario=scenario), today=TODAY)
        for item in (*((found.chosen,) if found.chosen else ()), *found.others, *found.unsuitable):
            assert item.why and all(text.en and text.zh for text in item.why)


@pytest.mark.parametrize("framework", sorted(CATALOG.frameworks))
def test_why_not_has_an_answer_for_every_framework(framework):
    """A plain laptop without a GPU: each framework is assessed, and what is not ready says why."""
    profile = machine(cpu=Cpu(vendor="intel", flags=("sse4_2", "avx", "avx2")), software=Software())
    found = assess(profile, framework)
    if found.fit in ("after_changes", "unsuitable"):
        assert codes(found)
    if found.fit == "unsuitable":
        assert any(v.remedies for v in found.verdicts if v.outcome == "unmet")


def test_memory_that_does_not_suffice_is_a_verdict_with_remedies():
    answers = Answers(scenario="llm-serving", model=Model(params="70B"),
                      serving=Serving(concurrency=1, context_length=4096, weight_bits=16))  # fmt: skip
    found = assess(machine(card()), "vllm", answers)
    assert found.memory.verdict == "exceeds" and "memory.exceeds" in codes(found)
    assert next(v for v in found.verdicts if v.code == "memory.exceeds").remedies


def test_what_would_change_names_the_change_and_what_it_brings():
    driverless = machine(card("8.6", None, state="no_driver"))
    found = advise.advise(CATALOG, driverless, Answers(), today=TODAY, what_if=True)
    facts = {change.fact: change for change in found.what_would_change}
    assert facts["accelerators.0.state"].fit == "ready"
    assert "pytorch" in facts["accelerators.0.state"].unlocks
    windows = System(os="windows", release="11", arch="x86_64")
    found = advise.advise(CATALOG, machine(card(), system=windows), Answers(scenario="llm-serving"), today=TODAY, what_if=True)
    assert "vllm" in next(c for c in found.what_would_change if c.fact == "system.wsl").unlocks
    old = machine(card("8.6", "550.54.14"))
    found = advise.advise(CATALOG, old, Answers(), today=TODAY, what_if=True)
    assert any(change.fact.endswith("driver_version") for change in found.what_would_change)
    assert not advise.advise(CATALOG, old, Answers(), today=TODAY).what_would_change


def test_old_knowledge_says_so():
    later = datetime.date(2027, 6, 1)
    found = advise.advise(CATALOG, machine(card()), Answers(), today=later)
    assert found.knowledge_age_days > 90
    assert any(f.subject == "knowledge" for f in found.findings)


def test_an_unknown_name_is_an_error():
    with pytest.raises(advise.UnknownName, match="nothing-such"):
        assess(machine(), "nothing-such")
    with pytest.raises(advise.UnknownName):
        advise.advise(CATALOG, machine(), Answers(scenario="nowhere"), today=TODAY)


def test_aliases_in_any_spelling():
    assert assess(machine(), "Torch").framework == "pytorch"
    assert assess(machine(), "ONNX Runtime").framework == "onnxruntime"


def test_frameworks_in_the_answers_may_be_written_as_people_do():
    found = advise.advise(CATALOG, machine(card()), Answers(framework="Torch", team=Team(existing=("TF",))), today=TODAY)
    assert found.chosen.framework == "pytorch"
    keras = next(item for item in found.others if item.framework == "keras")
    assert {c.framework for c in keras.stack.components} == {"keras", "tensorflow"}


POLICY = """
schema: 1
name: Example team
indexes: {cu132: "https://mirror.example/pytorch/cu132"}
approved: {torch: ">=2.10,<2.15"}
denied: [unsloth]
"""


def test_a_policy_bounds_versions_and_names_its_indexes():
    rules = policy.read(POLICY, "policy.yaml", CATALOG)
    windows = System(os="windows", release="11", arch="x86_64")
    found = advise.assess(CATALOG, machine(card(), system=windows), "pytorch", Answers(), today=TODAY, policy=rules)
    assert found.fit == "ready"
    assert (pins(found)["torch"], found.install.packages[0].index_id) == ("2.14.1", "cu130")
    mirrored = policy.read(POLICY.replace("cu132", "cu130"), "policy.yaml", CATALOG)
    found = advise.assess(CATALOG, machine(card(), system=windows), "pytorch", Answers(), today=TODAY, policy=mirrored)
    assert {p.index_url for p in found.install.packages} == {"https://mirror.example/pytorch/cu130"}
    denied = advise.assess(CATALOG, machine(card()), "unsloth", Answers(), today=TODAY, policy=rules)
    assert denied.fit == "unsuitable" and "policy.denied" in codes(denied)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("cu132", "nowhere", "nowhere"),
        ("https://mirror", "http://user:pw@mirror", "http://user"),
        (">=2.10,<2.15", "newest", "newest"),
        ("unsloth", "no-such-thing", "no-such-thing"),
        ("name:", "nam:", "nam"),
    ],
)
def test_a_policy_that_cannot_be_followed_is_refused(old, new, word):
    with pytest.raises(BadInput, match=word):
        policy.read(POLICY.replace(old, new), "policy.yaml", CATALOG)
