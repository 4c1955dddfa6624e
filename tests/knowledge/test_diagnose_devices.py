"""Doctor on devices, the system and the network: each fault has the repair that fits where it stands."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from knowledge import devices, diagnose, documents
from knowledge.catalog import Catalog
from knowledge.facts import Finding

TODAY = datetime.date(2026, 12, 1)
LINUX = {"os": "linux", "arch": "x86_64", "libc": "glibc", "libc_version": "2.39"}
WINDOWS = {"os": "windows", "release": "11", "arch": "x86_64"}
MAC = {"os": "macos", "release": "26.1", "arch": "aarch64"}
PYTHON = {"path": "/e/bin/python", "version": "3.12.3", "arch": "x86_64", "bits": 64, "packages": []}


def doctor(catalog: Catalog, system: dict[str, Any], cards: list[dict[str, Any]] | None = None, **more: Any) -> tuple[Finding, ...]:
    import json

    machine = {"system": system, "pythons": [PYTHON], **more}
    if cards is not None:
        machine["accelerators"] = cards
    profile = devices.complete(catalog, documents.machine(json.dumps(machine), "machine"))
    return diagnose.diagnose(catalog, profile, TODAY)


def codes(found: tuple[Finding, ...], loud: bool = False) -> set[str]:
    return {item.code for item in found if not loud or item.severity != "info"}


def cures(found: tuple[Finding, ...], code: str) -> set[str]:
    return {cure.code for item in found if item.code == code for cure in item.remedies}


def card(vendor: str = "nvidia", state: str = "usable", kind: str = "gpu", **more: Any) -> dict[str, Any]:
    return {"vendor": vendor, "kind": kind, "state": state, **more}


@pytest.mark.parametrize(
    ("system", "device", "code", "wanted", "never"),
    [
        (LINUX, card(state="no_driver"), "driver.missing", "install_driver", "container_gpu_flag"),
        (WINDOWS, card(state="no_driver"), "driver.missing", "install_driver", "load_module"),
        ({**LINUX, "wsl": 2}, card(state="no_driver"), "driver.missing", "update_driver", "install_driver"),
        ({**LINUX, "wsl": 2}, card(state="module_missing"), "driver.missing", "update_driver", "load_module"),
        ({**LINUX, "wsl": 2}, card(state="driver_mismatch"), "driver.library_mismatch", "uninstall", "reboot"),
        ({**LINUX, "container": "docker"}, card("intel", "no_driver", "npu"), "driver.missing", "container_image", "container_gpu_flag"),
        (LINUX, card(state="driver_mismatch"), "driver.library_mismatch", "reboot", "install_driver"),
        (LINUX, card(state="module_missing"), "driver.module_missing", "load_module", "install_driver"),
        (LINUX, card("amd", "permission_denied"), "accel.permission", "join_group", "install_driver"),
        (LINUX, card("intel", "permission_denied", "npu"), "accel.permission", "join_group", "install_driver"),
        ({**LINUX, "container": "docker"}, card(state="hidden"), "accel.hidden", "container_gpu_flag", "install_driver"),
        (LINUX, card(state="hidden"), "accel.hidden", "set_env", "container_gpu_flag"),
        (LINUX, card(state="disabled"), "accel.disabled", "enable_setting", "install_driver"),
        (LINUX, card(state="unlicensed"), "accel.disabled", "enable_setting", "install_driver"),
    ],
)  # fmt: skip
def test_each_state_has_the_repair_of_its_place(
    catalog: Catalog, system: dict[str, Any], device: dict[str, Any], code: str, wanted: str, never: str
) -> None:
    found = doctor(catalog, system, [device])
    assert code in codes(found, loud=True)
    assert wanted in cures(found, code)
    assert never not in {cure.code for item in found for cure in item.remedies}
    assert "accel.none" not in codes(found)


def test_a_container_gets_the_flags_of_its_vendor(catalog: Catalog) -> None:
    found = doctor(catalog, {**LINUX, "container": "docker"}, [card("amd", "hidden")])
    assert any("/dev/kfd" in cure.text.en for item in found for cure in item.remedies)


def test_an_old_card_without_driver_names_its_last_branch(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [card(state="no_driver", name="NVIDIA GeForce GTX 1060")])
    assert "580" in found[0].because.en and "580" in found[0].because.zh


def test_the_driver_is_told_before_everything_else(catalog: Catalog) -> None:
    found = doctor(catalog, {**LINUX, "libc_version": "2.17"}, [card(state="driver_mismatch")], disk={"free_bytes": 10})
    assert found[0].code == "driver.library_mismatch"
    assert [item.severity for item in found] == sorted((i.severity for i in found), key=("error", "warning", "info").index)


def test_no_device_is_said_only_where_it_is_known(catalog: Catalog) -> None:
    assert "accel.none" in codes(doctor(catalog, LINUX, []))
    assert "accel.none" not in codes(doctor(catalog, LINUX, None))


def test_a_driver_older_than_the_cards_generation(catalog: Catalog) -> None:
    new = doctor(catalog, LINUX, [card(name="NVIDIA GeForce RTX 5090", driver_version="565.77")])
    assert "update_driver" in cures(new, "driver.too_old")
    assert "driver.too_old" not in codes(doctor(catalog, LINUX, [card(name="NVIDIA GeForce RTX 4090", driver_version="565.77")]))


def test_different_cards_are_counted_in_two_ways(catalog: Catalog) -> None:
    pair = [card(name="NVIDIA GeForce RTX 3060"), card(name="NVIDIA GeForce RTX 4090")]
    found = doctor(catalog, LINUX, pair)
    assert any("CUDA_DEVICE_ORDER" in item.because.en for item in found if item.code == "accel.mixed")
    assert "accel.mixed" not in codes(doctor(catalog, LINUX, [card(name="NVIDIA GeForce RTX 4090", count=4)]))


def test_partitions_are_told(catalog: Catalog) -> None:
    assert "accel.partitioned" in codes(doctor(catalog, LINUX, [card(name="NVIDIA A100", mig="1g.10gb")]))
    assert "accel.partitioned" not in codes(doctor(catalog, LINUX, [card(name="NVIDIA A100", mig="disabled")]))


def test_processors_that_may_not_be_used(catalog: Catalog) -> None:
    found = doctor(catalog, {**LINUX, "container": "docker"}, [], cpu={"logical_cpus": 64, "usable_cpus": 4.0})
    assert any(cure.params.get("value") == "4" for item in found if item.code == "cpu.limited" for cure in item.remedies)
    for cpu in ({"logical_cpus": 16, "usable_cpus": 16}, {"logical_cpus": 64}, {"usable_cpus": 4.0}):
        assert "cpu.limited" not in codes(doctor(catalog, LINUX, [], cpu=cpu))


def test_small_shared_memory_matters_to_those_who_use_it(catalog: Catalog) -> None:
    docker = {**LINUX, "container": "docker"}
    torch = {**PYTHON, "packages": [{"name": "torch", "version": "2.15.0+cpu"}]}
    small = {"shm_bytes": 64 * 2**20}
    assert "system.shm_small" in codes(doctor(catalog, docker, [], memory=small, pythons=[torch]), loud=True)
    assert "system.shm_small" not in codes(doctor(catalog, docker, [], memory=small))
    assert "system.shm_small" not in codes(doctor(catalog, docker, [], memory={"shm_bytes": 8 * 2**30}, pythons=[torch]))


@pytest.mark.parametrize(
    ("system", "code"),
    [
        ({"os": "linux", "arch": "x86_64", "libc": "musl"}, "libc.musl"),
        ({**LINUX, "libc_version": "2.17"}, "libc.too_old"),
        ({**MAC, "release": "13.2"}, "os.too_old"),
        ({"os": "linux", "arch": "riscv64", "libc": "glibc", "libc_version": "2.39"}, "arch.unsupported"),
        ({"os": "freebsd", "arch": "x86_64"}, "os.unsupported"),
        ({**LINUX, "wsl": 1}, "os.unsupported"),
    ],
)
def test_systems_that_packages_are_not_built_for(catalog: Catalog, system: dict[str, Any], code: str) -> None:
    assert code in codes(doctor(catalog, system, []), loud=True)


@pytest.mark.parametrize("system", [LINUX, WINDOWS, MAC, {**LINUX, "wsl": 2}, {**LINUX, "container": "docker"}, {}])
def test_an_ordinary_system_raises_nothing(catalog: Catalog, system: dict[str, Any]) -> None:
    python = {**PYTHON, "arch": system.get("arch")}
    assert codes(doctor(catalog, system, [], pythons=[python]), loud=True) == set()


def test_toolkits_without_their_device_and_devices_without_their_toolkit(catalog: Catalog) -> None:
    assert "toolkit.mismatch" in codes(doctor(catalog, LINUX, [], software={"cuda_toolkit": "12.4"}))
    npu = card("huawei", kind="npu", name="Ascend 910B")
    assert "toolkit.missing" in codes(doctor(catalog, LINUX, [npu], software={"cann": False}), loud=True)
    assert "toolkit.missing" not in codes(doctor(catalog, LINUX, [npu]))
    assert "os.runtime_missing" in codes(doctor(catalog, WINDOWS, [], software={"vc_redist": False}), loud=True)


@pytest.mark.parametrize(
    ("proxy", "loud"),
    [
        ("https://127.0.0.1:7890", True), ("https://localhost:1080", True), ("https://192.168.1.2:3128", True),
        ("http://127.0.0.1:7890", False), ("https://proxy.example.com", False), ("socks5://127.0.0.1:1080", False),
    ],
)  # fmt: skip
def test_a_local_proxy_speaks_plain_http(catalog: Catalog, proxy: str, loud: bool) -> None:
    found = doctor(catalog, LINUX, [], network={"proxy": proxy})
    assert ("network.proxy_scheme" in codes(found, loud=True)) is loud


def test_a_proxys_password_is_not_shown(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [], network={"proxy": "https://me:secret@127.0.0.1:7890"})
    text = repr(found)
    assert "network.proxy_scheme" in codes(found) and "secret" not in text and "me:" not in text


def test_hosts_out_of_reach(catalog: Catalog) -> None:
    found = doctor(catalog, LINUX, [], network={"reachable": {"download.pytorch.org": False, "example.org": True}})
    assert {item.subject for item in found if item.code == "network.index_unreachable"} == {"download.pytorch.org"}
    assert {"use_mirror", "carry_wheels"} <= cures(found, "network.index_unreachable")
    assert "network.index_unreachable" not in codes(doctor(catalog, LINUX, [], network={"offline": True, "reachable": {"a.b": False}}))


@pytest.mark.parametrize(
    ("python", "system", "code"),
    [
        ({"arch": "x86_64"}, MAC, "python.emulated"),
        ({"arch": "x86_64"}, {**WINDOWS, "arch": "aarch64"}, "python.emulated"),
        ({"bits": 32}, WINDOWS, "python.32bit"),
        ({"free_threaded": True, "version": "3.13.5"}, WINDOWS, "python.free_threaded"),
        ({"version": "3.8.10"}, LINUX, "python.too_old"),
        ({"version": "3.19.0"}, LINUX, "python.too_new"),
    ],
)
def test_interpreters(catalog: Catalog, python: dict[str, Any], system: dict[str, Any], code: str) -> None:
    found = doctor(catalog, system, [], pythons=[{**PYTHON, **python}])
    assert code in codes(found, loud=True)


def test_an_old_python_beside_a_good_one_is_no_fault(catalog: Catalog) -> None:
    both = [PYTHON, {**PYTHON, "path": "/usr/bin/python3", "version": "3.8.10"}]
    assert codes(doctor(catalog, LINUX, [], pythons=both), loud=True) == set()


def test_one_fault_on_four_cards_is_one_finding_with_four_proofs(catalog: Catalog) -> None:
    found = [item for item in doctor(catalog, LINUX, [card(state="driver_mismatch")] * 4) if item.severity == "error"]
    assert len(found) == 1 and len(found[0].evidence) == 4


def test_what_a_probe_noted_is_not_told_twice(catalog: Catalog) -> None:
    note = {"code": "driver.library_mismatch", "severity": "error", "subject": "nvidia", "because": {"en": "Raw.", "zh": "原始。"}}
    found = doctor(catalog, LINUX, [card(state="driver_mismatch")], findings=[note])
    assert [item.because.en for item in found if item.code == note["code"]] != ["Raw."]
    assert sum(item.code == note["code"] for item in found) == 1


def test_what_could_not_be_read_stays_in_the_answer(catalog: Catalog) -> None:
    fault = {"code": "probe.failed", "severity": "info", "subject": "nvml", "because": {"en": "No answer.", "zh": "没有响应。"}}
    assert "probe.failed" in codes(doctor(catalog, LINUX, [], findings=[fault]))
