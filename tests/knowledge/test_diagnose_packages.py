"""Doctor on packages: builds for another device, card or driver, parts that do not match, and one finding per cause."""

# ruff: noqa: E501
from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from knowledge import devices, diagnose, documents
from knowledge.catalog import Catalog
from knowledge.facts import Finding

TODAY = datetime.date(2026, 12, 1)
LINUX = {"os": "linux", "arch": "x86_64", "libc": "glibc", "libc_version": "2.39"}
ARM = {**LINUX, "arch": "aarch64"}
WINDOWS = {"os": "windows", "release": "11", "arch": "x86_64"}
JETSON = {**ARM, "kernel": "5.15.148-tegra", "libc_version": "2.35"}


def card(vendor: str, name: str, **more: Any) -> dict[str, Any]:
    return {"vendor": vendor, "kind": "gpu", "name": name, "state": "usable", **more}


def nvidia(name: str, driver: str = "580.95.05", serves: str = "13.0", **more: Any) -> dict[str, Any]:
    return card("nvidia", name, driver_version=driver, driver_api_max=serves, **more)


RTX = nvidia("NVIDIA GeForce RTX 4090")
RX = card("amd", "AMD Radeon RX 7900 XTX")
ARC = card("intel", "Intel Arc A770 Graphics")
ORIN = nvidia("Orin (nvgpu)", "540.4.0", "12.6")
NPU = {**card("huawei", "Ascend 910B"), "kind": "npu"}


def doctor(catalog: Catalog, system: dict[str, Any], cards: list[dict[str, Any]], packages: dict[str, str], **more: Any) -> tuple[Finding, ...]:
    python = {
        "path": "/e/bin/python", "version": "3.12.3", "kind": "venv", "arch": system["arch"], "bits": 64,
        "packages": [{"name": name, "version": version} for name, version in packages.items()],
    }  # fmt: skip
    machine = {"system": system, "accelerators": cards, "pythons": [{**python, **more.pop("python", {})}], **more}
    profile = devices.complete(catalog, documents.machine(json.dumps(machine), "machine"))
    return diagnose.diagnose(catalog, profile, TODAY)


def loud(found: tuple[Finding, ...]) -> set[str]:
    return {item.code for item in found if item.severity != "info"}


def commands(found: tuple[Finding, ...]) -> str:
    return "\n".join(line for item in found for cure in item.remedies for line in cure.commands)


@pytest.mark.parametrize(
    ("system", "cards", "packages"),
    [
        (LINUX, [RTX], {"torch": "2.15.0", "torchvision": "0.29.2", "numpy": "2.4.6"}),
        (LINUX, [RTX], {"torch": "2.14.0", "torchvision": "0.29.0", "torchaudio": "2.11.0", "triton": "3.8.0", "vllm": "0.33.0"}),
        (LINUX, [nvidia("Tesla V100-SXM2-32GB", "535.183.01", "12.2")], {"torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126"}),
        (LINUX, [RTX], {"jax": "0.12.0.1", "jaxlib": "0.12.0.1", "jax-cuda13-plugin": "0.12.0.1", "jax-cuda13-pjrt": "0.12.0.1"}),
        (LINUX, [RTX], {"tensorflow": "2.21.0", "keras": "3.12.0", "numpy": "2.2.0"}),
        (LINUX, [RTX], {"onnxruntime-gpu": "1.31.1"}),
        (WINDOWS, [RTX], {"torch": "2.14.1+cu130", "torchvision": "0.29.1+cu130"}),
        (WINDOWS, [nvidia("NVIDIA GeForce GTX 1080", "581.57")], {"torch": "2.7.1+cu128"}),
        (LINUX, [RX], {"torch": "2.11.0+rocm7.1"}),
        (LINUX, [RX, card("amd", "AMD Radeon Graphics", target="gfx1036", memory_kind="shared")], {"torch": "2.14.1+rocm7.14"}),
        (LINUX, [ARC], {"torch": "2.15.0+xpu"}),
        (LINUX, [card("intel", "Intel(R) UHD Graphics 770")], {"torch": "2.15.0+cpu"}),
        (LINUX, [card("intel", "Iris Xe Graphics"), RTX], {"torch": "2.14.1+cu130"}),
        (LINUX, [card("amd", "AMD Radeon 780M Graphics")], {"torch": "2.15.0+cpu"}),
        (ARM, [nvidia("NVIDIA GB10")], {"torch": "2.14.1+cu130"}),
        (JETSON, [ORIN], {"torch": "2.5.0a0+872d972e41.nv24.08"}),
        (ARM, [NPU], {"torch": "2.9.0", "torch-npu": "2.9.0", "numpy": "1.26.4"}),
        ({"os": "macos", "release": "26.1", "arch": "aarch64"}, [card("apple", "Apple M3")], {"torch": "2.15.0", "mlx": "0.32.2", "mlx-metal": "0.32.2"}),
        (LINUX, [], {"torch": "2.15.0", "onnxruntime": "1.31.1", "opencv-python": "4.12.0.88"}),
    ],
)  # fmt: skip
def test_environments_with_nothing_to_mend(catalog: Catalog, system: dict[str, Any], cards: list[dict[str, Any]], packages: dict[str, str]) -> None:
    assert loud(doctor(catalog, system, cards, packages)) == set()


@pytest.mark.parametrize(
    ("system", "device", "version", "index"),
    [
        (WINDOWS, nvidia("NVIDIA GeForce RTX 4090", "581.57"), "2.14.1", "cu13"),
        (WINDOWS, RTX, "2.11.0+cpu", "cu1"),
        (ARM, nvidia("NVIDIA GB200"), "2.9.1", "cu130"),
        (LINUX, ARC, "2.12.0+cpu", "xpu"),
        (LINUX, RX, "2.14.0+cpu", "rocm"),
        (WINDOWS, RX, "2.14.0", "whl-multi-arch"),
    ],
)
def test_a_cpu_build_beside_a_device_that_could_be_used(catalog: Catalog, system: dict[str, Any], device: dict[str, Any], version: str, index: str) -> None:
    found = doctor(catalog, system, [device], {"torch": version})
    assert loud(found) == {"package.cpu_build"}
    assert index in commands(found)


def test_a_repair_names_the_mark_or_pip_would_be_content(catalog: Catalog) -> None:
    line = commands(doctor(catalog, LINUX, [RTX], {"torch": "2.14.1+cpu", "torchvision": "0.29.1+cpu"}))
    assert "torch==2.14.1+cu1" in line and "torchvision==0.29.1+cu1" in line and "/e/bin/python -m pip" in line


def test_a_device_of_another_maker(catalog: Catalog) -> None:
    assert loud(doctor(catalog, LINUX, [RX], {"torch": "2.14.0"})) == {"package.gpu_build"}
    assert loud(doctor(catalog, LINUX, [card("intel", "Intel(R) UHD Graphics 770")], {"torch": "2.14.0"})) == set()
    dcu = card("hygon", "K100_AI")
    assert loud(doctor(catalog, LINUX, [dcu], {"torch": "2.7.1"})) == {"package.gpu_build"}
    assert loud(doctor(catalog, LINUX, [dcu], {"torch": "2.4.1+das.opt1.dtk25041"})) == set()


@pytest.mark.parametrize(
    ("system", "device", "packages"),
    [
        (LINUX, nvidia("NVIDIA GeForce RTX 5090"), {"torch": "2.6.0+cu124", "bitsandbytes": "0.45.0"}),
        (LINUX, nvidia("NVIDIA GeForce GTX 1080"), {"torch": "2.14.0"}),
        (WINDOWS, nvidia("NVIDIA GeForce GTX 970", "581.57"), {"torch": "2.8.0+cu128"}),
        (LINUX, card("amd", "AMD Radeon RX 7600 XT"), {"torch": "2.6.0+rocm6.2.4"}),
        (LINUX, card("amd", "Radeon 8060S Graphics"), {"torch": "2.9.1+rocm6.4"}),
        (LINUX, nvidia("NVIDIA GeForce RTX 5060 Ti"), {"tensorflow": "2.20.0"}),
        (LINUX, nvidia("NVIDIA GeForce RTX 5090"), {"tensorflow": "2.10.1"}),
        (LINUX, nvidia("Tesla V100-SXM2-16GB"), {"tensorrt": "10.9.0.34"}),
        (LINUX, nvidia("Tesla T4"), {"flash-attn": "2.8.3"}),
        (LINUX, nvidia("Tesla P40"), {"vllm": "0.20.0+cu129"}),
        (JETSON, ORIN, {"bitsandbytes": "0.49.2"}),
        (JETSON, ORIN, {"torch": "2.12.0"}),
    ],
)  # fmt: skip
def test_code_for_other_cards_is_one_finding(catalog: Catalog, system: dict[str, Any], device: dict[str, Any], packages: dict[str, str]) -> None:
    found = doctor(catalog, system, [device], packages)
    assert [item.code for item in found if item.severity != "info"] == ["package.arch_not_built"]
    assert found[0].remedies and "update_driver" not in {cure.code for cure in found[0].remedies}


def test_a_jetson_is_never_sent_to_server_wheels(catalog: Catalog) -> None:
    for packages in ({"bitsandbytes": "0.49.2"}, {"torch": "2.12.0"}):
        found = doctor(catalog, JETSON, [ORIN], packages)
        assert {cure.params.get("index", "jetson-jp6") for item in found for cure in item.remedies} == {"jetson-jp6"}


@pytest.mark.parametrize(
    ("device", "packages", "older"),
    [
        (nvidia("NVIDIA A100-SXM4-80GB", "550.54.14", "12.4"), {"torch": "2.9.0+cu130"}, "cu126"),
        (nvidia("NVIDIA A10", "550.54.14", "12.4"), {"onnxruntime-gpu": "1.31.1"}, "onnxruntime-gpu==1.26"),
        (nvidia("Tesla T4", "470.161.03", "11.4"), {"torch": "2.2.2+cu121"}, "cu118"),
    ],
)
def test_a_build_newer_than_the_driver(catalog: Catalog, device: dict[str, Any], packages: dict[str, str], older: str) -> None:
    found = doctor(catalog, LINUX, [device], packages)
    assert found[0].code == "package.driver_too_old"
    assert "update_driver" in {cure.code for cure in found[0].remedies}
    assert older in commands(found)


def test_minor_versions_of_one_cuda_run_on_its_oldest_driver(catalog: Catalog) -> None:
    device = nvidia("NVIDIA GeForce RTX 3090", "550.144.03", "12.4")
    assert loud(doctor(catalog, LINUX, [device], {"torch": "2.11.0+cu128"})) == set()


def test_windows_counts_drivers_in_its_own_way_in_wsl_too(catalog: Catalog) -> None:
    device = nvidia("NVIDIA GeForce RTX 3090", "526.47", "12.0")
    assert loud(doctor(catalog, LINUX, [device], {"torch": "2.5.1+cu124"})) == set()
    assert "package.driver_too_old" in loud(doctor(catalog, {**LINUX, "wsl": 2}, [device], {"torch": "2.5.1+cu124"}))


@pytest.mark.parametrize(
    ("packages", "subject"),
    [
        ({"torch": "2.14.0", "torchvision": "0.24.1"}, "torchvision"),
        ({"torch": "2.14.0", "torchvision": "0.24.1", "torchaudio": "2.9.1"}, "torch"),
        ({"torch": "2.11.0+cu128", "torchvision": "0.26.0+cpu"}, "torchvision"),
        ({"torch": "2.8.0+cu128", "flash-attn": "2.8.3+cu12torch2.7cxx11abiFALSE"}, "flash-attn"),
        ({"torch": "2.8.0", "torch-npu": "2.7.1"}, "torch-npu"),
        ({"torch": "2.7.1", "torch-npu": "2.7.1", "vllm-ascend": "0.9.1"}, "vllm-ascend"),
        ({"jax": "0.8.0", "jaxlib": "0.8.0", "jax-cuda12-plugin": "0.7.2"}, "jax-cuda12-plugin"),
        ({"openvino": "2026.4.1", "openvino-genai": "2026.3.0"}, "openvino-genai"),
    ],
)
def test_parts_that_do_not_belong_together_are_one_finding(catalog: Catalog, packages: dict[str, str], subject: str) -> None:
    found = [item for item in doctor(catalog, LINUX, [], packages) if item.severity != "info"]
    assert [(item.code, item.subject) for item in found] == [("package.pair_mismatch", subject)]
    assert found[0].remedies


def test_the_partner_follows_torch_and_its_index(catalog: Catalog) -> None:
    assert "torchvision==0.20.1+cu124" in commands(doctor(catalog, LINUX, [RTX], {"torch": "2.5.1+cu124", "torchvision": "0.22.0+cu124"}))


def test_pins_of_servers_are_conflicts(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [RTX], {"torch": "2.15.0", "vllm": "0.33.0"})
    assert loud(found) == {"package.conflict"}
    assert "torch==2.14.0" in commands(found)


def test_numpy_is_the_one_cause_of_all_it_breaks(catalog: Catalog) -> None:
    packages = {"numpy": "2.1.0", "torch": "2.2.0+cpu", "pandas": "2.1.0", "scipy": "1.11.0"}
    found = [item for item in doctor(catalog, LINUX, [], packages) if item.severity != "info"]
    assert [item.code for item in found] == ["package.numpy_abi"]
    assert "numpy==1.26.4" in commands(tuple(found))
    assert loud(doctor(catalog, LINUX, [], {**packages, "numpy": "1.26.4"})) == set()


@pytest.mark.parametrize(
    ("packages", "keep"),
    [
        ({"onnxruntime": "1.22.0", "onnxruntime-gpu": "1.22.0"}, "onnxruntime-gpu"),
        ({"paddlepaddle": "3.3.0", "paddlepaddle-gpu": "3.3.0"}, "paddlepaddle-gpu"),
        ({"opencv-python": "4.12.0.88", "opencv-python-headless": "4.11.0.86"}, "opencv-python"),
    ],
)
def test_two_variants_of_one_library(catalog: Catalog, packages: dict[str, str], keep: str) -> None:
    found = doctor(catalog, LINUX, [RTX], packages)
    assert loud(found) == {"package.duplicate_variant"}
    assert f"install {keep}==" in commands(found)


def test_a_plug_in_of_onnxruntime_is_no_variant(catalog: Catalog) -> None:
    system = {**WINDOWS, "arch": "aarch64"}
    assert loud(doctor(catalog, system, [], {"onnxruntime": "1.32.0", "onnxruntime-qnn": "2.7.0"})) == set()


def test_instructions_that_a_processor_lacks(catalog: Catalog) -> None:
    def missing(package: str, version: str, *flags: str) -> bool:
        found = doctor(catalog, LINUX, [], {package: version}, cpu={"flags": list(flags)})
        return "cpu.feature_missing" in loud(found)

    assert missing("numpy", "2.4.2", "sse2", "cx16")
    assert not missing("numpy", "2.3.5", "sse2", "cx16")
    assert missing("tensorflow", "2.20.0", "sse4_2")
    assert not missing("tensorflow", "2.20.0", "avx2")  # has avx too, as every processor with avx2
    assert missing("polars", "1.30.0", "avx")
    assert not missing("torch", "2.14.0", "sse4_2")
    arm = doctor(catalog, ARM, [], {"tensorflow": "2.20.0"}, cpu={"flags": ["asimd"]})
    assert "cpu.feature_missing" not in loud(arm)


@pytest.mark.parametrize(
    ("package", "code"),
    [
        ("intel-extension-for-pytorch", "project.archived"), ("auto-gptq", "project.archived"), ("jax-metal", "project.superseded"),
        ("torch-directml", "project.superseded"), ("gym", "project.superseded"), ("tflite-runtime", "project.renamed"),
    ],
)  # fmt: skip
def test_projects_that_ended(catalog: Catalog, package: str, code: str) -> None:
    found = [item for item in doctor(catalog, LINUX, [], {package: "0.1.1", "jax": "0.8.1"}) if item.code.startswith("project.")]
    assert [item.code for item in found] == [code]
    assert {"use_instead", "uninstall"} & {cure.code for cure in found[0].remedies}


def test_releases_that_do_harm(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [], {"ultralytics": "8.3.41"})
    assert found[0].code == "package.known_broken" and found[0].severity == "error"
    windows_only = {"torch": "2.4.0+cpu"}
    assert "package.known_broken" in loud(doctor(catalog, WINDOWS, [], windows_only))
    assert "package.known_broken" not in loud(doctor(catalog, LINUX, [], windows_only))


def test_a_wheel_that_asks_for_a_newer_libc_than_its_name_says(catalog: Catalog) -> None:
    old = {**LINUX, "libc_version": "2.31"}
    assert "libc.too_old" in loud(doctor(catalog, old, [RTX], {"vllm": "0.20.0+cu129"}))
    assert "libc.too_old" not in loud(doctor(catalog, LINUX, [RTX], {"vllm": "0.20.0+cu129"}))


def test_libraries_of_another_cuda(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [RTX], {"onnxruntime-gpu": "1.31.1", "torch": "2.14.1+cu126"})
    assert loud(found) == {"toolkit.mismatch"}


def test_a_package_that_reaches_its_device_through_another(catalog: Catalog) -> None:
    assert loud(doctor(catalog, LINUX, [RTX], {"jax": "0.12.0.1", "jaxlib": "0.12.0.1"})) == {"package.cpu_build"}
    assert loud(doctor(catalog, ARM, [NPU], {"torch": "2.9.0"})) == {"package.cpu_build"}


def test_an_emulated_python_is_the_cause_of_what_it_holds(catalog: Catalog) -> None:
    system = {"os": "macos", "release": "26.1", "arch": "aarch64"}
    found = doctor(catalog, system, [card("apple", "Apple M3")], {"torch": "2.2.2"}, python={"arch": "x86_64"})
    assert loud(found) == {"python.emulated"}


def test_only_the_environment_that_was_asked_about(catalog: Catalog) -> None:
    machine = {
        "system": LINUX, "accelerators": [],
        "pythons": [
            {"path": "/a/python", "version": "3.12.1", "packages": [{"name": "gym", "version": "0.26.2"}]},
            {"path": "/b/python", "version": "3.12.1", "packages": [{"name": "horovod", "version": "0.28.1"}]},
        ],
    }  # fmt: skip
    profile = documents.machine(json.dumps(machine), "machine")
    found = diagnose.diagnose(catalog, profile, TODAY, python="/b/python")
    assert {item.subject for item in found if item.code.startswith("project.")} == {"horovod"}


def test_each_environment_has_its_own_finding_and_repair(catalog: Catalog) -> None:
    pythons = [
        {"path": f"/{name}/python", "version": "3.12.1", "arch": "x86_64", "packages": [{"name": "torch", "version": "2.14.1+cpu"}]}
        for name in "ab"
    ]
    profile = documents.machine(json.dumps({"system": LINUX, "accelerators": [RTX], "pythons": pythons}), "machine")
    found = diagnose.diagnose(catalog, devices.complete(catalog, profile), TODAY)
    assert [item.code for item in found] == ["package.cpu_build"] * 2
    assert "/a/python -m pip" in commands(found) and "/b/python -m pip" in commands(found)


def test_every_sentence_is_whole_in_both_languages(catalog: Catalog) -> None:
    packages = {"torch": "2.6.0+cu124", "torchvision": "0.24.0", "numpy": "2.4.0", "onnxruntime": "1.22.0", "onnxruntime-gpu": "1.22.0", "gym": "0.26"}
    found = doctor(catalog, LINUX, [nvidia("NVIDIA GeForce RTX 5090")], packages, cpu={"flags": ["sse2"]}, network={"proxy": "https://127.0.0.1:7890"})
    assert len(found) > 4
    for item in found:
        for text in (item.because, *(cure.text for cure in item.remedies)):
            assert text.en.strip() and text.zh.strip() and "{" not in text.en + text.zh
            assert text.en != text.zh
        assert item.evidence or item.code == "accel.none", item.code


def test_nothing_is_said_of_a_machine_of_which_nothing_is_known(catalog: Catalog) -> None:
    assert diagnose.diagnose(catalog, documents.machine("{}", "machine"), TODAY) == ()


def test_handed_situations(catalog: Catalog, shared: Path) -> None:
    """Every handed machine gets an answer, and the healthy ones raise nothing."""
    import yaml

    for path in sorted((shared / "cases").glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")) or []:
            if "machine" not in case:
                continue
            profile = devices.complete(catalog, documents.machine(json.dumps(case["machine"]), case["id"]))
            found = diagnose.diagnose(catalog, profile, TODAY)
            if case["expect"].get("healthy"):
                assert loud(found) == set(), case["id"]
