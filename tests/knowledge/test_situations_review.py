"""Neighbours of reported situations: what the best engineer would answer, kind by kind."""

from __future__ import annotations

import datetime
import functools

import pytest

from knowledge import advise, loader
from knowledge.answers import Answers
from knowledge.facts import Accelerator, MachineProfile, Python, System
from knowledge.verdicts import AssessmentAnswer

TODAY = datetime.date(2026, 12, 1)


@functools.cache
def catalog():
    return loader.load_catalog()


def assess(system: System, framework: str, *cards: Accelerator, python: str = "3.12.3") -> AssessmentAnswer:
    pythons = (Python(path="/usr/bin/python3", version=python, bits=64, arch=system.arch, free_threaded=False),)
    profile = MachineProfile(system=system, accelerators=cards, pythons=pythons)
    return advise.assess(catalog(), profile, framework, Answers(), today=TODAY)


def linux(arch: str = "x86_64", glibc: str = "2.39", **more) -> System:
    return System(os="linux", arch=arch, libc="glibc", libc_version=glibc, **more)


def nvidia(target: str, driver: str | None, **more) -> Accelerator:
    values = {"name": "NVIDIA card", "memory_kind": "dedicated", "memory_bytes": 24 * 2**30, "state": "usable"}
    return Accelerator(vendor="nvidia", target=target, driver_version=driver, **{**values, **more})


def amd(target: str) -> Accelerator:
    return Accelerator(vendor="amd", name="AMD card", target=target, memory_kind="dedicated", memory_bytes=16 * 2**30, state="usable")


def unmet(found: AssessmentAnswer) -> set[str]:
    return {v.code for v in found.verdicts if v.outcome == "unmet"}


def remedies(found: AssessmentAnswer) -> set[str]:
    return {r.code for v in found.verdicts if v.outcome == "unmet" for r in v.remedies}


def installed(found: AssessmentAnswer) -> dict[str, tuple[str, str]]:
    assert found.install is not None
    return {p.name: (p.requirement, p.index_id) for p in found.install.packages}


@pytest.mark.parametrize(
    ("system", "driver"), [(linux(), "565.77"), (System(os="windows", release="11", arch="x86_64"), "566.36"), (linux(wsl=2), "566.36")]
)
def test_blackwell_needs_the_driver_that_knows_it(system: System, driver: str):
    # CUDA 12.8 release notes: Blackwell came with branch 570, though CUDA 12 wheels run on older drivers elsewhere.
    found = assess(system, "pytorch", nvidia("12.0", driver))
    assert found.fit == "after_changes" and "driver.too_old" in unmet(found) and "update_driver" in remedies(found)
    assert assess(system, "pytorch", nvidia("8.9", driver)).fit == "ready"
    newer = assess(system, "pytorch", nvidia("12.0", "572.16"))
    assert newer.fit == "ready" and installed(newer)["torch"][1] == "cu128"


def test_grace_hopper_with_a_cuda_12_driver():
    # OpenRAL pull request 99: torch 2.9.1+cu128 has wheels for ARM servers (8.0 9.0 10.0 12.0); 2.8.0 has none.
    found = assess(linux("aarch64"), "pytorch", nvidia("9.0", "550.54.15", name="NVIDIA GH200 480GB"))
    assert found.fit == "ready" and installed(found)["torch"] == ("torch==2.9.1", "cu128")


@pytest.mark.parametrize("target", ["gfx906", "gfx1030"])
def test_older_radeon_inside_wsl2(target: str):
    # AMD's WSL compatibility table: Radeon RX 7000 and 9000 and Ryzen AI only.
    found = assess(linux(wsl=2), "pytorch", amd(target))
    assert found.fit != "ready" and "use_linux" in remedies(found)
    assert assess(linux(), "pytorch", amd(target)).fit == "ready"
    assert assess(linux(wsl=2), "pytorch", amd("gfx1100")).fit == "ready"


def test_orin_takes_its_own_packages():
    # jetson-containers issue 1283 (onnxruntime-gpu from the JetPack 6 index); Ollama's install script (JetPack libraries).
    board, card = linux("aarch64", "2.35"), nvidia("8.7", "540.3.0", name="Orin (nvgpu)", memory_kind="unified")
    found = assess(board, "onnxruntime", card, python="3.10.12")
    assert found.fit == "ready" and installed(found)["onnxruntime-gpu"][1] == "jetson-jp6"
    assert assess(board, "ollama", card, python="3.10.12").fit == "ready"


def test_paddle_on_an_intel_mac():
    # PyPI: paddlepaddle 3.0.0 is the last with macosx x86_64 wheels.
    found = assess(System(os="macos", release="14.5", arch="x86_64"), "paddlepaddle")
    assert found.fit == "ready" and installed(found)["paddlepaddle"][0] == "paddlepaddle==3.0.0"


@pytest.mark.parametrize("system", [linux(), System(os="windows", release="11", arch="x86_64")])
def test_triton_comes_with_torch_on_arc(system: System):
    # intel-xpu-backend-for-triton: part of the XPU wheels of torch.
    card = Accelerator(vendor="intel", name="Intel Arc B580", memory_kind="dedicated", memory_bytes=12 * 2**30, state="usable")
    found = assess(system, "triton", card)
    assert found.fit == "ready" and installed(found)["torch"][1] == "xpu"


@pytest.mark.parametrize(
    ("state", "code"),
    [("driver_mismatch", "driver.library_mismatch"), ("permission_denied", "accel.permission"), ("unlicensed", "accel.disabled")],
)
def test_a_card_that_cannot_be_asked_is_repaired_first(state: str, code: str):
    # The driver's version is not readable in these states; it is no second fault that is "not known".
    found = assess(linux(), "pytorch", nvidia("8.6", None, state=state))
    assert found.fit == "after_changes" and unmet(found) == {code}
    assert "driver.too_old" not in {v.code for v in found.verdicts}


def test_no_driver_inside_wsl2_is_repaired_in_windows():
    # NVIDIA's guide for CUDA on WSL: no Linux driver may be installed there.
    found = assess(linux(wsl=2), "pytorch", nvidia("8.6", None, state="no_driver"))
    assert unmet(found) == {"driver.missing"} and remedies(found) == {"update_driver"}
    assert assess(linux(), "pytorch", nvidia("8.6", None, state="no_driver")).fit == "after_changes"


def test_torch_compile_on_windows_with_a_cuda_12_driver():
    # triton-windows 3.6.0: works with torch 2.10 and newer, and torch 2.10 and 2.11 ask for Triton 3.6.
    found = assess(System(os="windows", release="11", arch="x86_64"), "torch-compile", nvidia("12.0", "572.16"))
    assert found.fit == "ready"
    assert installed(found)["torch"] == ("torch==2.11.0", "cu128")
    assert installed(found)["triton-windows"][0] == "triton-windows==3.6.0.post26"


def test_the_driver_of_a_board_comes_with_its_system():
    # The driver of a Jetson is part of JetPack; there is none to install beside it.
    board, card = linux("aarch64", "2.35"), nvidia("8.7", "540.3.0", name="Orin (nvgpu)", memory_kind="unified")
    found = assess(board, "vllm", card, python="3.10.12")
    assert "driver.too_old" in unmet(found) and "update_os" in remedies(found) and "update_driver" not in remedies(found)
