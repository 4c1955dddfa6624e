"""What an installed version was built for, by its mark, its platform and its release."""

from __future__ import annotations

import pytest

from knowledge import builds_of
from knowledge.catalog import Catalog
from knowledge.facts import MachineProfile, Package, Python, System


def built(
    catalog: Catalog, version: str, os: str = "linux", arch: str = "x86_64", package: str = "torch", kind: str = "venv", **more: str
) -> builds_of.Built:
    packages = (Package(name=package, version=version), *(Package(name=k.replace("_", "-"), version=v) for k, v in more.items()))
    python = Python(path="/e/bin/python", version="3.12.3", kind=kind, arch=arch, packages=packages)
    found = builds_of.built(catalog, MachineProfile(system=System(os=os, arch=arch)), python, package)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("tag", "device", "toolkit"),
    [
        ("cu124", "cuda", "12.4"), ("cu118", "cuda", "11.8"), ("cu130", "cuda", "13.0"), ("cu92", "cuda", "9.2"),
        ("rocm6.2.4", "rocm", "6.2.4"), ("xpu", "xpu", None), ("cpu", "cpu", None), ("cpu.cxx11.abi", "cpu", None),
        ("gitabcdef", None, None),
    ],
)  # fmt: skip
def test_marks(tag: str, device: str | None, toolkit: str | None) -> None:
    assert builds_of.device_of(tag) == (device, toolkit)


@pytest.mark.parametrize(
    ("version", "os", "arch", "tag"),
    [
        ("2.15.0", "linux", "x86_64", "cu132"), ("2.14.1", "linux", "x86_64", "cu130"), ("2.9.1", "linux", "x86_64", "cu128"),
        ("2.7.0", "linux", "x86_64", "cu126"), ("2.6.0", "linux", "x86_64", "cu124"), ("2.3.1", "linux", "x86_64", "cu121"),
        ("2.10.0", "linux", "aarch64", "cpu"), ("2.11.0", "linux", "aarch64", "cu130"), ("2.14.0", "windows", "x86_64", "cpu"),
        ("2.14.0", "macos", "aarch64", "metal"), ("2.2.2", "macos", "x86_64", "cpu"), ("2.14.0", "freebsd", "x86_64", None),
    ],
)  # fmt: skip
def test_torch_without_a_mark(catalog: Catalog, version: str, os: str, arch: str, tag: str | None) -> None:
    found = built(catalog, version, os, arch)
    assert (found.tag, found.marked) == (tag, False)


def test_one_mark_holds_different_code_by_release_and_system(catalog: Catalog) -> None:
    old_windows = built(catalog, "2.7.1+cu128", "windows")
    assert old_windows.targets is not None and "6.1" in old_windows.targets
    for version, os in (("2.7.1+cu128", "linux"), ("2.10.0+cu128", "windows"), ("2.11.0+cu128", "linux")):
        targets = built(catalog, version, os).targets
        assert targets is not None and "6.1" not in targets
    volta = built(catalog, "2.10.0+cu128").targets
    assert volta is not None and "7.0" in volta
    assert "7.0" not in (built(catalog, "2.11.0+cu128").targets or ())


def test_a_mark_of_nobody_is_not_known(catalog: Catalog) -> None:
    found = built(catalog, "2.6.0+local.7", "freebsd")
    assert found.device is None and found.targets is None


def test_nvidias_own_builds_are_cuda_of_unknown_content(catalog: Catalog) -> None:
    found = built(catalog, "2.5.0a0+872d972e41.nv24.08", arch="aarch64")
    assert (found.tag, found.device, found.targets) == ("nv", "cuda", None)


def test_condas_packages_tell_what_its_torch_is(catalog: Catalog) -> None:
    assert built(catalog, "2.3.0", "windows", kind="conda", pytorch="2.3.0", pytorch_cuda="12.1").tag == "cu121"
    assert built(catalog, "2.3.0", "windows", kind="conda", pytorch="2.3.0", cpuonly="2.0").tag == "cpu"
    assert built(catalog, "2.3.0", "windows", kind="conda", pytorch="2.3.0").device is None
    assert built(catalog, "2.3.0", "windows", kind="conda").tag == "cpu"  # pip's, inside a conda environment


def test_tensorflow_lost_its_gpu_on_windows(catalog: Catalog) -> None:
    assert built(catalog, "2.10.1", "windows", package="tensorflow").device == "cuda"
    assert built(catalog, "2.12.0", "windows", package="tensorflow").device == "cpu"
    assert built(catalog, "2.12.0", "linux", package="tensorflow").device == "cuda"


def test_names_are_compared_as_indexes_compare_them() -> None:
    python = Python(packages=(Package(name="Torch_NPU", version="2.7.1"), Package(name="zope.interface", version=None)))
    assert builds_of.versions_of(python) == {"torch-npu": "2.7.1"}
