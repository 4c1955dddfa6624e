"""Doctor on neighbours of known faults: what releases ask of each other, libraries replaced under torch, and quiet where nothing is wrong."""

# ruff: noqa: E501
from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from knowledge import devices, diagnose, documents
from knowledge.catalog import Catalog
from knowledge.facts import Finding

LINUX = {"os": "linux", "arch": "x86_64", "libc": "glibc", "libc_version": "2.39"}
WINDOWS = {"os": "windows", "release": "11", "arch": "x86_64"}
MAC = {"os": "macos", "release": "26.1", "arch": "aarch64"}


def nvidia(name: str, target: str) -> dict[str, Any]:
    return {"kind": "gpu", "vendor": "nvidia", "name": name, "target": target, "driver_version": "580.95.05", "driver_api_max": "13.0", "state": "usable"}


A100 = nvidia("NVIDIA A100-SXM4-80GB", "8.0")
BLACKWELL = nvidia("NVIDIA GeForce RTX 5090", "12.0")
ASCEND = {"kind": "npu", "vendor": "huawei", "name": "Ascend 910B", "state": "usable"}
M1 = {"kind": "gpu", "vendor": "apple", "name": "Apple M1", "state": "usable"}


def doctor(catalog: Catalog, packages: str, system: dict[str, Any] = LINUX, cards: tuple[dict[str, Any], ...] = (A100,), **more: Any) -> tuple[Finding, ...]:
    pairs = [word.split("==") for word in packages.split()]
    python = {"path": "/e/bin/python", "version": "3.12.3", "kind": "venv", "bits": 64, "arch": system["arch"],
              "packages": [{"name": name, "version": version} for name, version in pairs]}  # fmt: skip
    machine = {"system": system, "accelerators": list(cards), "pythons": [{**python, **more.pop("python", {})}], **more}
    return diagnose.diagnose(catalog, devices.complete(catalog, documents.machine(json.dumps(machine), "machine")), datetime.date(2026, 12, 1))


def loud(found: tuple[Finding, ...]) -> set[str]:
    return {item.code for item in found if item.severity != "info"}


@pytest.mark.parametrize(
    "packages",
    [
        "torch==2.4.0 torchdata==0.6.1",  # torchdata 0.6 requires torch 2.0
        "torch==2.3.0 torchtext==0.17.2",  # ended, and still compiled for one torch
        "vllm==0.11.2 torch==2.8.0",  # requires 2.9.0
        "vllm==0.15.1 torch==2.10.0",  # https://github.com/vllm-project/vllm/issues/34224
        "vllm==0.6.4 torch==2.4.0",
        "sglang==0.5.5 torch==2.9.1",
        "torch==2.6.0 torchao==0.14.0",
        "transformers==5.0.1 peft==0.13.2 torch==2.9.0",
        "transformers==5.2.0 trl==0.12.0 torch==2.9.0",
        "transformers==5.2.0 optimum==1.25.0 torch==2.9.0",
        "transformers==5.10.0 torch==2.1.0",
        "transformers==4.40.0 tokenizers==0.20.0",
        "transformers==4.30.0 tokenizers==0.15.0",
        "diffusers==0.25.0 huggingface-hub==0.26.0",  # https://github.com/easydiffusion/easydiffusion/issues/1851
        "sentence-transformers==2.2.2 huggingface-hub==0.26.0",
        "tensorflow==2.19.0 numpy==2.3.1",
        "tensorflow==2.11.0 protobuf==4.21.0",
        "tensorboard==2.8.0 protobuf==4.21.0",
        "tensorflow==2.16.1 tensorflow-probability==0.23.0",
        "onnx==1.19.0 ml-dtypes==0.3.2",
        "onnxruntime-genai==0.7.0 onnxruntime==1.16.0",
        "jax==0.4.30 jaxlib==0.4.20",
        "jax==0.4.20 jaxlib==0.4.30",
        "jax==0.8.0 jaxlib==0.6.2",
        "gensim==4.3.2 scipy==1.13.1",
        "torch==2.8.0 nvidia-nccl-cu12==2.18.1",
        "torch==2.8.0 nvidia-cudnn-cu12==8.9.2.26",
        "torch==2.8.0 nvidia-cublas-cu12==12.1.3.1",
        "torch==2.5.1 nvidia-nvjitlink-cu12==12.1.105",
        "transformers==4.44.0 tensorflow==2.17.0 keras==3.5.0",  # asks for tf-keras
    ],
)
def test_parts_that_do_not_belong_together(catalog: Catalog, packages: str) -> None:
    assert loud(doctor(catalog, packages)) & {"package.pair_mismatch", "package.conflict"}


@pytest.mark.parametrize(
    "packages",
    [
        "vllm==0.16.0 torch==2.9.1",
        "vllm==0.9.2 torch==2.7.0 torchvision==0.22.0",
        "torch==2.5.1+cu121 nvidia-nvjitlink-cu12==12.1.105 nvidia-cublas-cu12==12.1.3.1 nvidia-cudnn-cu12==9.1.0.70 nvidia-nccl-cu12==2.21.5",
        "transformers==4.57.1 tokenizers==0.22.1 huggingface-hub==0.35.3 peft==0.17.1 accelerate==1.10.1 trl==0.23.0 torch==2.8.0",
        "transformers==4.40.0 tokenizers==0.19.1 huggingface-hub==0.22.2 torch==2.2.2",
        "transformers==4.44.0 tensorflow==2.17.0 keras==3.5.0 tf-keras==2.17.0",
        "jax==0.4.30 jaxlib==0.4.30 jax-cuda12-plugin==0.4.30 jax-cuda12-pjrt==0.4.30",
        "jax==0.12.0.1 jaxlib==0.11.2 jax-cuda13-plugin==0.11.2 jax-cuda13-pjrt==0.11.2",
        "torch==2.10.0a0+b4e4ee81d3.nv25.12 torchvision==0.25.0a0+617079d9 triton==3.5.1",  # an image of NVIDIA counts its own way
        "torch==2.8.0a0+5228986c39.nv25.6 torchvision==0.22.0a0 flash-attn==2.7.4.post1",
        "torch==2.8.0 pynvml==12.0.0 nvidia-ml-py==12.570.86",
        "torch==2.11.0 nvidia-cudnn-cu12==9.10.2.21 nvidia-cudnn-cu13==9.15.1.9",
        "onnxruntime==1.22.1 fastembed==0.7.0",  # onnxruntime came along
    ],
)
def test_parts_that_do_belong_together(catalog: Catalog, packages: str) -> None:
    assert loud(doctor(catalog, packages)) == set()


def test_transformers_5_asks_for_a_newer_peft_as_well(catalog: Catalog) -> None:
    found = doctor(catalog, "transformers==5.0.1 peft==0.13.2")
    assert any("0.18" in cure.text.en and "peft" in cure.text.en for item in found for cure in item.remedies)


def test_triton_for_windows_has_its_torch(catalog: Catalog) -> None:
    assert loud(doctor(catalog, "torch==2.6.0+cu124 triton-windows==3.4.0.post20", WINDOWS)) == {"package.pair_mismatch"}
    assert loud(doctor(catalog, "torch==2.8.0+cu128 triton-windows==3.4.0.post20", WINDOWS)) == set()


def test_paddle_before_blackwell_has_no_code_for_it(catalog: Catalog) -> None:
    assert loud(doctor(catalog, "paddlepaddle-gpu==2.6.2", cards=(BLACKWELL,))) == {"package.arch_not_built"}
    assert loud(doctor(catalog, "paddlepaddle-gpu==3.2.0", cards=(BLACKWELL,))) == set()


def test_xpu_build_2_6_knows_battlemage(catalog: Catalog) -> None:
    """Source: release notes of PyTorch 2.6, Intel GPU."""
    card = {"kind": "gpu", "vendor": "intel", "name": "Intel Arc B580 Graphics", "state": "usable"}
    assert loud(doctor(catalog, "torch==2.6.0+xpu", cards=(card,))) == set()
    assert loud(doctor(catalog, "torch==2.5.1+xpu", cards=(card,))) == {"package.arch_not_built"}


@pytest.mark.parametrize("name", ["mindspore==2.7.0", "torch==2.7.1 torch-npu==2.7.1"])
def test_ascend_software_on_an_older_cann(catalog: Catalog, name: str) -> None:
    system = {**LINUX, "arch": "aarch64"}
    found = doctor(catalog, f"{name} numpy==1.26.4", system, (ASCEND,), software={"cann": "7.0"})
    assert loud(found) == {"toolkit.mismatch"}
    assert loud(doctor(catalog, f"{name} numpy==1.26.4", system, (ASCEND,), software={"cann": "8.2.RC1"})) == set()


def test_torch_mlu_counts_its_own_way(catalog: Catalog) -> None:
    card = {"kind": "npu", "vendor": "cambricon", "name": "MLU370-X8", "state": "usable"}
    assert loud(doctor(catalog, "torch==2.5.0 torch-mlu==1.25.0+torch2.5.0", cards=(card,))) == set()
    assert "package.pair_mismatch" in loud(doctor(catalog, "torch==2.6.0 torch-mlu==1.25.0+torch2.5.0", cards=(card,)))


@pytest.mark.parametrize("vendor", ["aspeed", "matrox", "vmware"])
def test_a_screen_of_a_server_is_no_accelerator_without_a_driver(catalog: Catalog, vendor: str) -> None:
    screen = {"kind": "gpu", "vendor": vendor, "name": f"{vendor} VGA", "state": "no_driver"}
    found = doctor(catalog, "torch==2.9.1+cpu", cards=(screen,))
    assert loud(found) == set() and "accel.none" in {item.code for item in found}


def test_an_old_card_for_the_screen_beside_a_cpu_build_is_no_fault(catalog: Catalog) -> None:
    old = {**nvidia("NVIDIA GeForce GT 710", "3.5"), "driver_version": "470.256.02", "driver_api_max": "11.4"}
    assert loud(doctor(catalog, "torch==2.9.1+cpu", cards=(old,))) == set()
    assert loud(doctor(catalog, "", cards=(old,))) == {"accel.arch_too_old"}
    assert "package.arch_not_built" in loud(doctor(catalog, "torch==2.9.1+cu126", cards=(old,)))


def test_what_runs_on_an_old_system_is_left_alone(catalog: Catalog) -> None:
    old = {**MAC, "release": "12.7"}
    assert loud(doctor(catalog, "torch==2.2.2 numpy==1.26.4", old, (M1,))) == set()
    assert loud(doctor(catalog, "", old, (M1,))) == {"os.too_old"}
    assert loud(doctor(catalog, "torch==2.0.1 numpy==1.24.4", {**LINUX, "libc_version": "2.17"})) == set()


def test_tensorflow_brings_tensorflow_macos_itself(catalog: Catalog) -> None:
    """Source: requirements of tensorflow 2.15 for Macs."""
    both = "tensorflow==2.15.0 tensorflow-macos==2.15.0 keras==2.15.0 numpy==1.26.4"
    assert "project.superseded" not in loud(doctor(catalog, both, MAC, (M1,), python={"version": "3.11.9"}))
    assert "project.superseded" in loud(doctor(catalog, "tensorflow-macos==2.12.0", MAC, (M1,), python={"version": "3.11.9"}))
