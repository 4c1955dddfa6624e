"""Each word of the vocabulary answers met, unmet, unknown or not applicable, and combinators keep the four apart."""

from __future__ import annotations

import msgspec
import pytest

from knowledge import predicates
from knowledge.answers import Answers, Cluster, Model, Needs, Target, Team
from knowledge.catalog import Condition
from knowledge.facts import Accelerator, Cpu, MachineProfile, Network, Package, Python, Software, System
from knowledge.predicates import ARGUMENTS, WORDS, Situation, judge

MACHINE = MachineProfile(
    system=System(os="linux", distribution="ubuntu", release="22.04", arch="x86_64", libc="glibc", libc_version="2.35",
                  kernel="6.8.0", wsl=2, container="docker"),
    cpu=Cpu(vendor="intel", flags=("sse4_2", "avx")),
    accelerators=(
        Accelerator(vendor="nvidia", name="NVIDIA GeForce RTX 3060", target="8.6", driver_version="560.35.03", count=2,
                    memory_bytes=12 * 2**30, memory_kind="dedicated", state="usable"),
    ),
    software=Software(rocm=False, cuda_toolkit="12.4", docker=True),
    pythons=(Python(path="/usr/bin/python3", version="3.12.3", bits=64, free_threaded=False,
                    packages=(Package(name="torch", version="2.6.0+cu124"),)),),
    network=Network(reachable={"huggingface.co": False}),
)  # fmt: skip
ANSWERS = Answers(
    task="llm", model=Model(params="7B"), team=Team(existing=("tensorflow",), experience="beginner"),
    target=Target(kind="android"), needs=Needs(custom_ops=True), cluster=Cluster(nodes=2, gpus_per_node=8),
)  # fmt: skip


def outcome(word: str, machine: MachineProfile = MACHINE, answers: Answers = ANSWERS, **args) -> str:
    if "is_" in args:
        args["is"] = args.pop("is_")
    msgspec.convert(args, ARGUMENTS[word], strict=True)  # what a knowledge file may say
    return judge(Condition(word=word, args=args), Situation(machine, answers)).outcome


EMPTY = MachineProfile()


@pytest.mark.parametrize(
    ("word", "args", "expected"),
    [
        ("os", {"any": ["linux"]}, "met"),
        ("os", {"any": ["windows", "macos"]}, "unmet"),
        ("platform", {"any": ["linux-x86_64"]}, "met"),
        ("platform", {"any": ["linux-aarch64"]}, "unmet"),
        ("distribution", {"any": ["ubuntu"]}, "met"),
        ("os_release", {"min": "20.04"}, "met"),
        ("os_release", {"min": "24.04"}, "unmet"),
        ("windows_build", {"min": "22621"}, "not_applicable"),
        ("macos", {"min": "14.0"}, "not_applicable"),
        ("glibc", {"min": "2.28"}, "met"),
        ("glibc", {"min": "2.39"}, "unmet"),
        ("musl", {}, "unmet"),
        ("wsl", {"is": True}, "met"),
        ("wsl", {"is": 1}, "unmet"),
        ("container", {"is": False}, "unmet"),
        ("arch", {"any": ["x86_64"]}, "met"),
        ("jetson", {"is": False}, "met"),
        ("accelerator", {"vendor": "nvidia", "target_min": "8.0"}, "met"),
        ("accelerator", {"vendor": "nvidia", "target_min": "9.0"}, "unmet"),
        ("accelerator", {"vendor": "nvidia", "memory_min_gib": 12}, "met"),
        ("accelerator", {"vendor": "nvidia", "memory_min_gib": 24}, "unmet"),
        ("accelerator", {"device": "cuda", "count_min": 2, "usable": True}, "met"),
        ("accelerator", {"device": "rocm"}, "unmet"),
        ("no_accelerator", {}, "unmet"),
        ("driver", {"vendor": "nvidia", "min": {"linux": "999", "windows": "550"}}, "met"),  # WSL2: the Windows number
        ("driver", {"vendor": "amd", "min": {"linux": "6"}}, "not_applicable"),
        ("cpu_flags", {"all": ["avx"]}, "met"),
        ("cpu_flags", {"all": ["avx", "avx2"]}, "unmet"),
        ("cpu_vendor", {"any": ["intel"]}, "met"),
        ("toolkit", {"name": "rocm"}, "unmet"),
        ("toolkit", {"name": "cuda_toolkit", "spec": ">=12"}, "met"),
        ("toolkit", {"name": "cuda_toolkit", "spec": ">=13"}, "unmet"),
        ("toolkit", {"name": "docker", "spec": ">=20"}, "unknown"),
        ("toolkit", {"name": "cann"}, "unknown"),
        ("installed", {"package": "Torch", "spec": ">=2.6"}, "met"),
        ("installed", {"package": "torch", "spec": ">=2.7"}, "unmet"),
        ("network", {"reachable": "huggingface.co", "is": False}, "met"),
        ("network", {"reachable": "example.org"}, "unknown"),
        ("answer", {"key": "team.experience", "any": ["beginner"]}, "met"),
        ("answer", {"key": "needs.custom_ops", "any": [True]}, "met"),
        ("answer", {"key": "model.params", "min": 1e10}, "unmet"),
        ("answer", {"key": "serving.latency_ms", "max": 10}, "unknown"),
        ("answer", {"key": "serving.latency_ms", "set": False}, "met"),
        ("existing", {"any": ["tensorflow", "keras"]}, "met"),
        ("model_params", {"min": "1B", "max": "10B"}, "met"),
        ("model_params", {"min": "10B"}, "unmet"),
        ("devices", {"min": 16}, "met"),
        ("devices", {"min": 17}, "unmet"),
        ("target", {"any": ["android"]}, "met"),
        ("task", {"any": ["vision"]}, "unmet"),
    ],
)
def test_a_word(word, args, expected):
    assert outcome(word, **args) == expected


@pytest.mark.parametrize(
    ("word", "args"),
    [
        ("os", {"any": ["linux"]}),
        ("platform", {"any": ["linux-x86_64"]}),
        ("glibc", {"min": "2.28"}),
        ("musl", {}),
        ("arch", {"any": ["x86_64"]}),
        ("accelerator", {"vendor": "nvidia"}),
        ("no_accelerator", {}),
        ("cpu_flags", {"all": ["avx"]}),
        ("toolkit", {"name": "rocm"}),
        ("memory", {"min_gib": 8}),
        ("disk", {"min_gib": 8}),
        ("installed", {"package": "torch"}),
        ("existing", {"any": ["keras"]}),
        ("model_params", {"min": "1B"}),
        ("devices", {"min": 1}),
        ("task", {"any": ["llm"]}),
    ],
)
def test_nothing_known_is_unknown(word, args):
    assert outcome(word, EMPTY, Answers(), **args) == "unknown"


def test_x86_words_do_not_concern_arm():
    arm = MachineProfile(system=System(os="linux", arch="aarch64"))
    assert outcome("cpu_flags", arm, all=["avx2"]) == "not_applicable"


def test_an_unknown_target_is_unknown_not_absent():
    card = msgspec.structs.replace(MACHINE.accelerators[0], target=None)
    assert outcome("accelerator", msgspec.structs.replace(MACHINE, accelerators=(card,)), target_min="8.0") == "unknown"


@pytest.mark.parametrize(
    ("word", "parts", "expected"),
    [
        ("all_of", ["met", "unknown"], "unknown"),
        ("all_of", ["unmet", "unknown"], "unmet"),
        ("all_of", ["met", "not_applicable"], "met"),
        ("any_of", ["unmet", "unknown"], "unknown"),
        ("any_of", ["met", "unknown"], "met"),
        ("any_of", ["not_applicable", "unmet"], "unmet"),
    ],
)
def test_combinators_keep_unknown(word, parts, expected):
    samples = {
        "met": {"word": "os", "args": {"any": ["linux"]}},
        "unmet": {"word": "os", "args": {"any": ["windows"]}},
        "unknown": {"word": "disk", "args": {"min_gib": 1}},
        "not_applicable": {"word": "macos", "args": {"min": "14.0"}},
    }
    assert outcome(word, of=[samples[name] for name in parts]) == expected


def test_not_turns_met_and_unmet_only():
    assert outcome("not", of={"word": "os", "args": {"any": ["linux"]}}) == "unmet"
    assert outcome("not", of={"word": "disk", "args": {"min_gib": 1}}) == "unknown"
    assert outcome("not", of={"word": "macos", "args": {"min": "14.0"}}) == "not_applicable"


def test_every_word_has_arguments_and_a_function():
    assert set(WORDS) == set(ARGUMENTS)


def test_evidence_names_its_source():
    machine = msgspec.structs.replace(MACHINE, sources={"system.os": "uname"})
    found = judge(Condition(word="os", args={"any": ["linux"]}), Situation(machine, ANSWERS))
    assert found.evidence[0].source == "uname"
    stated = msgspec.structs.replace(machine, overrides=("system.os",))
    found = judge(Condition(word="os", args={"any": ["linux"]}), Situation(stated, ANSWERS))
    assert found.evidence[0].source == "stated by the user"


def test_memory_of_a_shared_pool_counts_both_parts():
    card = Accelerator(vendor="amd", memory_bytes=2 * 2**30, shared_bytes=30 * 2**30, memory_kind="shared")
    assert predicates.memory_bytes(card) == 32 * 2**30
