"""Facts of edge runtimes, vendor back ends, export tools, trackers and schedulers that decide whether they run."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

import msgspec
import pytest

from knowledge import advise, loader
from knowledge.answers import Answers
from knowledge.catalog import Catalog
from knowledge.facts import MachineProfile
from knowledge.verdicts import AssessmentAnswer

TODAY = datetime.date(2026, 12, 1)
GIB = 2**30
MINE = (
    "savedmodel", "tensorflow-lite", "litert", "tensorflow-serving", "onnx", "onnxruntime-genai",
    "onnxruntime-vitisai", "openvino", "executorch", "core-ml", "webgpu", "tvm", "mlc-llm", "ncnn", "mnn", "rknn",
    "qnn", "ryzen-ai", "windows-ml", "foundry-local", "directml", "torch-directml", "tensorrt", "aitemplate",
    "optimum", "olive", "torch-npu", "torch-xpu", "ipex", "rocm", "torch-xla", "wandb", "mlflow", "tensorboard",
    "volcano", "kubeflow", "slurm",
)  # fmt: skip

RTX = {"kind": "gpu", "vendor": "nvidia", "name": "NVIDIA GeForce RTX 3060", "target": "8.6", "memory_kind": "dedicated",
       "driver_version": "580.95.05", "memory_bytes": 12 * GIB, "state": "usable"}  # fmt: skip
ARC = {
    "kind": "gpu",
    "vendor": "intel",
    "name": "Intel Arc A770 Graphics",
    "memory_kind": "dedicated",
    "state": "usable",
}
UHD = {
    "kind": "gpu",
    "vendor": "intel",
    "name": "Intel(R) UHD Graphics 770",
    "memory_kind": "shared",
    "state": "usable",
}
RX = {"kind": "gpu", "vendor": "amd", "name": "AMD Radeon RX 7900 XTX", "target": "gfx1100", "memory_kind": "dedicated",
      "memory_bytes": 24 * GIB, "state": "usable"}  # fmt: skip
STRIX = {"kind": "npu", "vendor": "amd", "name": "AMD NPU Strix", "state": "usable"}
HAWK = {"kind": "npu", "vendor": "amd", "name": "AMD XDNA NPU (Hawk Point)", "state": "usable"}
HEXAGON = {"kind": "npu", "vendor": "qualcomm", "name": "Qualcomm Hexagon NPU", "state": "usable"}
ROCKCHIP = {"kind": "npu", "vendor": "rockchip", "name": "RK3588 NPU", "state": "usable"}
ASCEND = {"kind": "npu", "vendor": "huawei", "name": "Ascend 910B", "target": "Ascend910B", "state": "usable"}
M3 = {"kind": "gpu", "vendor": "apple", "name": "Apple M3", "memory_kind": "unified", "state": "usable"}

WINDOWS: dict[str, Any] = {"os": "windows", "release": "11", "build": "10.0.26100"}
MAC: dict[str, Any] = {"os": "macos", "release": "15.1", "arch": "aarch64"}


def described(
    cards: tuple[dict[str, Any], ...] = (),
    python: str = "3.12.3",
    software: dict[str, Any] | None = None,
    python_arch: str | None = None,
    **system: Any,
) -> MachineProfile:
    """A machine: Ubuntu 22.04 on x86-64 with Python 3.12 and no accelerator, unless said otherwise."""
    place = {"os": "linux", "arch": "x86_64", **system}
    if place["os"] == "linux":
        place = {"distribution": "ubuntu", "libc": "glibc", "libc_version": "2.35", **place}
    arch = place["arch"]
    return msgspec.convert(
        {
            "system": place, "cpu": {"flags": ["sse4_2", "avx", "avx2", "fma", "f16c"] if arch == "x86_64" else []},
            "memory": {"total_bytes": 32 * GIB}, "disk": {"free_bytes": 500 * GIB}, "accelerators": list(cards),
            "software": software or {"vc_redist": True},
            "pythons": [{"path": "/usr/bin/python3", "version": python, "bits": 64, "arch": python_arch or arch}],
        },
        MachineProfile,
    )  # fmt: skip


@cache
def knowledge() -> Catalog:
    return loader.load_catalog()


def assessed(framework: str, machine: MachineProfile, answers: dict[str, Any] | None = None) -> AssessmentAnswer:
    return advise.assess(knowledge(), machine, framework, msgspec.convert(answers or {}, Answers), today=TODAY)


def codes(found: AssessmentAnswer) -> set[str]:
    return {v.code for v in found.verdicts if v.outcome != "met"} | {f.code for f in found.findings}


def remedies(found: AssessmentAnswer) -> set[str]:
    spoken = [r for v in found.verdicts for r in v.remedies] + [r for f in found.findings for r in f.remedies]
    return {item.code for item in spoken}


def pins(found: AssessmentAnswer) -> dict[str, str]:
    assert found.install is not None
    return {p.name: p.requirement.partition("==")[2] for p in found.install.packages}


@pytest.mark.parametrize("name", MINE)
def test_each_is_described_and_sourced(name: str) -> None:
    framework = knowledge().frameworks[name]
    assert framework.strengths and framework.weaknesses and framework.uses and framework.sources and framework.builds
    assert framework.roles and framework.does
    for build in framework.builds:
        assert build.source is not None or build.steps, build.id


@pytest.mark.parametrize(
    ("name", "state", "successor"),
    [
        ("tensorflow-lite", "renamed", "litert"),
        ("directml", "maintenance", "windows-ml"),
        ("torch-directml", "superseded", "rocm"),
        ("aitemplate", "superseded", "torch-compile"),
        ("ipex", "archived", "torch-xpu"),
        ("torch-xla", "superseded", "jax"),
    ],
)
def test_ended_ones_say_since_when_and_what_follows(name: str, state: str, successor: str) -> None:
    status = knowledge().frameworks[name].status
    assert (status.state, successor in status.successors) == (state, True)
    assert status.since


@pytest.mark.parametrize(
    ("framework", "machine", "answers", "fit", "code", "remedy"),
    [
        ("core-ml", described(), {}, "unsuitable", "os.unsupported", "use_instead"),
        ("core-ml", described(), {"target": {"kind": "ios"}}, "ready", None, None),
        ("core-ml", described((M3,), **MAC), {}, "ready", None, None),
        ("core-ml", described((M3,), python="3.14.0", **MAC), {}, "after_changes", "python.too_new", "use_python"),
        ("openvino", described(libc="musl", libc_version="1.2.4"), {}, "after_changes", "libc.musl", "container_image"),
        ("openvino", described((UHD,), **WINDOWS), {}, "ready", None, None),
        ("openvino", described(arch="aarch64", libc_version="2.31", python="3.11.2"), {}, "ready", None, None),
        ("litert", described(arch="aarch64"), {}, "ready", None, None),
        ("litert", described(arch="aarch64", **WINDOWS), {}, "after_changes", "arch.unsupported", "use_wsl2"),
        ("tensorflow-lite", described(), {}, "unsuitable after_changes", "project.renamed", "use_instead"),
        ("rknn", described(), {}, "unsuitable", "accel.vendor_unsupported", "use_instead"),
        ("rknn", described(), {"target": {"kind": "embedded-linux"}}, "undetermined", "accel.vendor_unsupported", None),
        ("rknn", described(), {"target": {"kind": "embedded-linux", "npu": "rockchip"}}, "ready", None, None),
        ("rknn", described((ROCKCHIP,), arch="aarch64", python="3.11.2"), {}, "ready", None, None),
        ("rknn", described((ROCKCHIP,), arch="aarch64", python="3.13.2"), {}, "after_changes", "python.too_new",
         "use_python"),
        ("qnn", described((HEXAGON,), arch="aarch64", **WINDOWS), {}, "ready", None, None),
        ("qnn", described((HEXAGON,), arch="aarch64", python_arch="x86_64", **WINDOWS), {}, "after_changes",
         "python.emulated", "use_native_arch"),
        ("windows-ml", described(os="windows", release="10", build="10.0.19045"), {}, "after_changes", "os.too_old",
         "update_os"),
        ("windows-ml", described(), {}, "unsuitable", "os.unsupported", "use_instead"),
        ("directml", described((RX,), **WINDOWS), {}, "ready", "project.maintenance", "use_instead"),
        ("torch-directml", described((RX,), **WINDOWS), {}, "unsuitable after_changes", "project.superseded", "use_instead"),
        ("ipex", described((ARC,)), {}, "unsuitable after_changes", "project.archived", "use_instead"),
        ("torch-xpu", described((UHD,)), {}, "unsuitable", "accel.arch_not_built", "use_instead"),
        ("torch-xpu", described((RTX,)), {}, "unsuitable", "accel.vendor_unsupported", "use_instead"),
        ("rocm", described((M3,), **MAC), {}, "unsuitable", "accel.vendor_unsupported", "use_instead"),
        ("ryzen-ai", described((HAWK,), **WINDOWS), {}, "unsuitable", "accel.arch_not_built", "use_instead"),
        ("ryzen-ai", described((STRIX,), **WINDOWS), {}, "ready", None, None),
        ("ryzen-ai", described((STRIX,)), {}, "unsuitable", "os.unsupported", "use_instead"),
        ("onnxruntime-vitisai", described((HAWK,), **WINDOWS), {"task": "vision"}, "ready", None, None),
        ("tensorrt", described((dict(RTX, target="7.0", name="Tesla V100"),)), {}, "unsuitable", "accel.arch_too_old",
         "use_instead"),
        ("tensorrt", described((RX,)), {}, "unsuitable", "accel.vendor_unsupported", "use_instead"),
        ("tensorflow-serving", described(software={"docker": False}), {}, "after_changes", "toolkit.missing",
         "install_system_package"),
        ("torch-npu", described((ASCEND,), arch="aarch64", python="3.11.9", software={"cann": False}), {},
         "after_changes", "toolkit.missing", "install_system_package"),
        ("webgpu", described(), {"target": {"kind": "browser"}}, "ready", None, None),
        ("slurm", described(software={"slurm": "25.05"}), {}, "ready", None, None),
        ("volcano", described(), {"cluster": {"scheduler": "kubernetes"}}, "ready", None, None),
    ],
)  # fmt: skip
def test_fit_code_and_remedy(
    framework: str, machine: MachineProfile, answers: dict[str, Any], fit: str, code: str | None, remedy: str | None
) -> None:
    found = assessed(framework, machine, answers)
    assert found.fit in fit.split()
    assert code is None or code in codes(found)
    assert remedy is None or remedy in remedies(found)


@pytest.mark.parametrize(
    ("framework", "machine", "wanted"),
    [
        ("onnxruntime-genai", described((dict(RTX, driver_version="550.54.14"),)), {"onnxruntime-gpu": "1.26.0"}),
        ("onnxruntime-genai", described((RTX,)), {"onnxruntime-gpu": "1.31.1"}),
        ("tensorrt", described((dict(RTX, driver_version="550.54.14"),)), {"tensorrt-cu12": "11.4.0.106"}),
        ("tensorrt", described((RTX,)), {"tensorrt-cu13": "11.4.0.106"}),
        ("torch-npu", described((ASCEND,), arch="aarch64", python="3.11.9", software={"cann": "9.1.0"}),
         {"torch": "2.12.0", "torch-npu": "2.12.0"}),
        ("torch-npu", described((ASCEND,), arch="aarch64", python="3.10.2", software={"cann": "8.2.RC1"}),
         {"torch": "2.6.0", "torch-npu": "2.6.0"}),
        ("trl", described((ASCEND,), arch="aarch64", python="3.11.9", software={"cann": "9.1.0"}),
         {"torch": "2.12.0", "torch-npu": "2.12.0"}),
        ("openvino", described(os="macos", release="14.5"), {"openvino": "2025.4.1"}),
        ("mlflow", described(), {"mlflow": "3.17.2"}),
        ("executorch", described(), {"torchao": "0.18.0"}),
        ("litert", described(arch="aarch64"), {"ai-edge-litert": "2.3.0"}),
    ],
)  # fmt: skip
def test_the_pins_belong_together(framework: str, machine: MachineProfile, wanted: dict[str, str]) -> None:
    assert wanted.items() <= pins(assessed(framework, machine)).items()
