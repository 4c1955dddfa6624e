"""What must hold for every machine: never ready with something unmet, never worse for being better, never guessed."""

from __future__ import annotations

import datetime
import random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge import advise, loader
from knowledge.answers import Answers, Model, Needs, Serving
from knowledge.compatibility import FITS, fit_of
from knowledge.facts import Accelerator, Cpu, Disk, MachineProfile, Memory, Python, System
from knowledge.text import localised
from knowledge.versions import at_least, covers, within

TODAY = datetime.date(2026, 12, 1)
CATALOG = loader.load_catalog()
FRAMEWORKS = st.sampled_from([
    "pytorch", "tensorflow", "jax", "keras", "transformers", "onnxruntime", "vllm", "trl", "unsloth", "deepspeed",
    "bitsandbytes", "llama-cpp", "paddlepaddle", "openvino", "scikit-learn", "flash-attention", "torch-compile",
])  # fmt: skip
FLAGS = ("sse4_2", "avx", "avx2", "fma", "f16c")
NVIDIA = ("3.7", "5.2", "6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "12.0", "12.1")
AMD = ("gfx803", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1031", "gfx1100", "gfx1103", "gfx1151", "gfx1201")
STATES = ("usable", "usable", "usable", "no_driver", "driver_mismatch", "permission_denied", "hidden", "unknown")
DRIVERS = (None, "450.80.02", "470.57.02", "525.60.13", "535.104.05", "550.54.14", "570.86.10", "580.95.05", "595.71.05")


def systems() -> st.SearchStrategy[System]:
    linux = st.builds(
        System, os=st.just("linux"), arch=st.sampled_from(["x86_64", "aarch64"]),
        libc=st.sampled_from(["glibc", "glibc", "glibc", "musl"]),
        libc_version=st.sampled_from(["2.17", "2.27", "2.31", "2.35", "2.39"]),
        wsl=st.sampled_from([None, None, 2]), container=st.sampled_from([None, "docker"]), kernel=st.just("6.8.0"),
    )  # fmt: skip
    windows = st.builds(System, os=st.just("windows"), release=st.just("11"), build=st.just("10.0.26100"),
                        arch=st.sampled_from(["x86_64", "aarch64"]))  # fmt: skip
    mac = st.builds(System, os=st.just("macos"), release=st.sampled_from(["12.6", "13.6", "15.1"]),
                    arch=st.sampled_from(["aarch64", "x86_64"]))  # fmt: skip
    return st.one_of(linux, linux, windows, mac)


def cards() -> st.SearchStrategy[Accelerator]:
    nvidia = st.builds(
        Accelerator, vendor=st.just("nvidia"), kind=st.just("gpu"), name=st.just("NVIDIA test card"),
        target=st.sampled_from(NVIDIA), driver_version=st.sampled_from(DRIVERS), memory_kind=st.just("dedicated"),
        memory_bytes=st.sampled_from([8, 12, 24, 80]).map(lambda g: g * 2**30), state=st.sampled_from(STATES),
        count=st.sampled_from([1, 1, 2, 8]),
    )  # fmt: skip
    amd = st.builds(
        Accelerator, vendor=st.just("amd"), kind=st.just("gpu"), name=st.just("AMD test card"), target=st.sampled_from(AMD),
        memory_kind=st.sampled_from(["dedicated", "shared"]), memory_bytes=st.just(16 * 2**30),
        state=st.sampled_from(STATES),
    )  # fmt: skip
    intel = st.builds(
        Accelerator, vendor=st.just("intel"), kind=st.just("gpu"), name=st.just("Intel test chip"),
        target=st.sampled_from(["acm", "bmg", "mtl-h", "gen9", None]), memory_kind=st.sampled_from(["dedicated", "shared"]),
        state=st.just("usable"),
    )  # fmt: skip
    return st.one_of(nvidia, nvidia, amd, intel)


def pythons() -> st.SearchStrategy[Python]:
    return st.builds(
        Python, path=st.just("/opt/python/bin/python3"),
        version=st.sampled_from(["3.7.9", "3.8.10", "3.9.18", "3.10.12", "3.11.9", "3.12.3", "3.13.5", "3.14.2", "3.15.0"]),
        kind=st.just("system"), arch=st.none(), bits=st.sampled_from([64, 64, 64, 32]),
        free_threaded=st.sampled_from([False, False, False, True]),
    )  # fmt: skip


def machines(**fixed: Any) -> st.SearchStrategy[MachineProfile]:
    parts: dict[str, Any] = {
        "system": systems(),
        "cpu": st.builds(Cpu, vendor=st.just("intel"), flags=st.sampled_from([None, FLAGS[:1], FLAGS[:2], FLAGS])),
        "memory": st.builds(Memory, total_bytes=st.sampled_from([8, 32, 128]).map(lambda g: g * 2**30)),
        "disk": st.just(Disk(free_bytes=10**12)),
        "accelerators": st.one_of(st.none(), st.lists(cards(), max_size=2).map(tuple)),
        "pythons": st.one_of(st.none(), st.lists(pythons(), max_size=3).map(tuple)),
        "recorded": st.just(True),
    }
    parts.update(fixed)
    return st.builds(MachineProfile, **parts)


QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def assess(machine: MachineProfile, framework: str, answers: Answers | None = None):
    return advise.assess(CATALOG, machine, framework, answers or Answers(), today=TODAY)


def rank(fit: str) -> int:
    return FITS.index(fit)


@QUICK
@given(machines(), FRAMEWORKS)
def test_never_ready_with_something_unmet(machine, framework):
    found = assess(machine, framework)
    outcomes = {verdict.outcome for verdict in found.verdicts}
    assert found.fit == fit_of(found.verdicts)
    if found.fit == "ready":
        assert outcomes <= {"met", "not_applicable"}
    if found.fit == "after_changes":
        assert "unmet" in outcomes and "unknown" not in outcomes
        assert all(v.remedies for v in found.verdicts if v.outcome == "unmet")
    if found.fit == "undetermined":
        assert "unknown" in outcomes


@QUICK
@given(machines(), st.sampled_from(["pytorch", "tensorflow", "jax", "onnxruntime"]))
def test_a_ready_build_is_really_for_this_machine(machine, framework):
    """The same rules, asked again from the data without the engine's own functions."""
    found = assess(machine, framework)
    if found.fit != "ready" or found.install is None:
        return
    component = found.stack.components[0]
    entry = CATALOG.frameworks[framework]
    build = next(b for b in entry.builds if f"{framework} {b.id}" == component.build)
    platform = f"{machine.system.os}-{machine.system.arch}"
    assert platform in build.platforms or "any" in build.platforms
    assert found.install.python in build.pythons
    if machine.system.os == "linux" and build.glibc_min is not None:
        assert machine.system.libc == "glibc"
        assert at_least(machine.system.libc_version, build.glibc_min)
    if machine.system.os == "macos" and build.macos_min is not None:
        assert at_least(machine.system.release, build.macos_min)
    if build.device == "cuda":
        used = [c for c in machine.accelerators or () if c.vendor == "nvidia"]
        targets = build.targets_by_platform.get(platform, build.targets)
        side = "windows" if machine.system.wsl else "linux" if machine.system.os == "linux" else "windows"
        floor = build.driver_min.get(side) or next(
            t.driver_min[side] for t in CATALOG.backends["cuda"].toolkits if within(build.toolkit or "0", t.versions)
        )
        assert any(card.state in ("usable", "unknown") for card in used)
        assert all(covers(targets, build.ptx, card.target) for card in used if card.target)
        assert any(at_least(card.driver_version, floor) for card in used)
    installed = [p for p in machine.pythons or () if p.bits == 64]
    assert any((p.version or "").startswith(found.install.python.rstrip("t") + ".") for p in installed)


@QUICK
@given(
    machines(), FRAMEWORKS, st.sampled_from(NVIDIA),
    st.sampled_from([("470.57.02", "525.60.13"), ("525.60.13", "550.54.14"), ("550.54.14", "580.95.05"), ("580.95.05", "595.71.05")]),
)  # fmt: skip
def test_a_newer_driver_never_makes_fit_worse(machine, framework, target, drivers):
    def with_driver(driver: str) -> MachineProfile:
        card = Accelerator(vendor="nvidia", name="NVIDIA test card", target=target, driver_version=driver,
                           memory_kind="dedicated", memory_bytes=24 * 2**30, state="usable")  # fmt: skip
        return msgspec.structs.replace(machine, accelerators=(card,))

    old, new = (assess(with_driver(driver), framework).fit for driver in drivers)
    assert rank(new) <= rank(old)


@QUICK
@given(machines(accelerators=st.lists(cards(), min_size=1, max_size=1).map(tuple)), st.sampled_from(["vllm", "pytorch", "transformers"]))
def test_more_memory_never_makes_fit_worse(machine, framework):
    answers = Answers(scenario="llm-serving", model=Model(params="13B"),
                      serving=Serving(concurrency=1, context_length=4096, weight_bits=16))  # fmt: skip
    fits = []
    for gib in (8, 16, 24, 48, 96):
        card = msgspec.structs.replace(machine.accelerators[0], memory_bytes=gib * 2**30, memory_kind="dedicated")
        fits.append(rank(assess(msgspec.structs.replace(machine, accelerators=(card,)), framework, answers).fit))
    assert fits == sorted(fits, reverse=True)


WHOLE = MachineProfile(
    system=System(os="linux", arch="x86_64", libc="glibc", libc_version="2.35", kernel="6.8.0"),
    cpu=Cpu(vendor="intel", flags=("sse4_2", "avx", "avx2", "fma", "f16c")),
    accelerators=(
        Accelerator(vendor="nvidia", name="NVIDIA test card", target="8.6", driver_version="580.95.05",
                    memory_kind="dedicated", memory_bytes=24 * 2**30, state="usable"),
    ),
    pythons=(Python(path="/usr/bin/python3", version="3.12.3", arch="x86_64", bits=64, free_threaded=False),),
)  # fmt: skip
SYSTEM = WHOLE.system
CARD = WHOLE.accelerators[0] if WHOLE.accelerators else None


def without(**changes) -> MachineProfile:
    return msgspec.structs.replace(WHOLE, **changes)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "jax", "onnxruntime", "vllm", "transformers", "keras"])
@pytest.mark.parametrize(
    "machine",
    [
        without(system=msgspec.structs.replace(SYSTEM, os=None)),
        without(system=msgspec.structs.replace(SYSTEM, arch=None)),
        without(system=msgspec.structs.replace(SYSTEM, libc_version=None)),
        without(system=msgspec.structs.replace(SYSTEM, libc=None)),
        without(accelerators=None),
        without(accelerators=(msgspec.structs.replace(CARD, target=None),)),
        without(accelerators=(msgspec.structs.replace(CARD, driver_version=None),)),
        without(pythons=None),
        MachineProfile(),
    ],
    ids=["os", "arch", "libc_version", "libc", "accelerators", "target", "driver", "pythons", "everything"],
)
def test_an_unknown_fact_that_blocks_is_no_answer(machine, framework):
    assert assess(WHOLE, framework).fit in ("ready", "after_changes")
    assert assess(machine, framework).fit == "undetermined"


def test_an_assumed_fact_is_listed_and_does_not_lower_fit():
    found = assess(without(cpu=Cpu()), "tensorflow")
    assert found.fit == "ready"
    assert any(item.fact == "cpu_flags" for item in found.assumptions)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(machines(), st.sampled_from(sorted(CATALOG.scenarios)), st.integers(0, 2**16))
def test_order_does_not_depend_on_the_order_of_files(machine, scenario, seed):
    names = list(CATALOG.frameworks)
    random.Random(seed).shuffle(names)
    shuffled = msgspec.structs.replace(CATALOG, frameworks={name: CATALOG.frameworks[name] for name in names})
    answers = Answers(scenario=scenario)
    one = advise.advise(CATALOG, machine, answers, today=TODAY)
    two = advise.advise(shuffled, machine, answers, today=TODAY)
    assert one == two


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(machines(), st.sampled_from(sorted(CATALOG.scenarios)))
def test_advice_is_the_same_in_both_languages(machine, scenario):
    found = advise.advise(CATALOG, machine, Answers(scenario=scenario), today=TODAY)
    english, chinese = localised(found, "en"), localised(found, "zh")

    def shape(value):
        if isinstance(value, dict):
            return {key: shape(inner) for key, inner in value.items() if key not in ("because", "text", "why", "what", "label")}
        if isinstance(value, list):
            return [shape(inner) for inner in value]
        return value

    assert shape(english) == shape(chinese)
    assert len(english["others"]) == len(chinese["others"])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(machines(), st.sampled_from(sorted(CATALOG.scenarios)))
def test_a_plan_holds_exact_pins_and_one_index_each(machine, scenario):
    found = advise.advise(CATALOG, machine, Answers(scenario=scenario), today=TODAY)
    for item in (*((found.chosen,) if found.chosen else ()), *found.others):
        names = [package.name.lower() for package in item.install.packages] if item.install else []
        assert len(names) == len(set(names))
        for package in item.install.packages if item.install else ():
            assert package.requirement.count("==") == 1
            assert not set(package.requirement) & set(" ;@/\\")
            assert package.index_id in CATALOG.indexes


def test_offline_is_said_and_can_be_overcome():
    found = assess(WHOLE, "pytorch", Answers(needs=Needs(offline=True)))
    assert any(f.code == "network.offline" for f in found.findings)
