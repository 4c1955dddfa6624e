"""Variables and missing modules that change what a Python loads."""

from __future__ import annotations

import pytest

from knowledge.facts import Finding, Package, Python
from probes.software import surroundings
from probes.software.places import Machine
from tests.probes.software.memory_host import MemoryHost

TORCH = Python(
    path="/e/bin/python",
    version="3.11.4",
    kind="venv",
    packages=(
        Package(name="torch", version="2.2.0+cu121"),
        Package(name="nvidia-cudnn-cu12", version="8.9.2.26"),
        Package(name="nvidia-cuda-runtime-cu12", version="12.1.105"),
    ),
)
CUDA = "/usr/local/cuda-12.3/lib64"


def found(files: list[str], one: Python = TORCH, os: str = "linux", **variables: str) -> tuple[Finding, ...]:
    return surroundings.findings(Machine(MemoryHost(dict.fromkeys(files, ""), os=os, environment=variables)), [one])


def test_a_system_library_that_shadows_the_environments_own() -> None:
    files = [f"{CUDA}/libcudnn.so.8", f"{CUDA}/libcudnn_cnn_infer.so.8", f"{CUDA}/libcublas.so.12"]
    (finding,) = found(files, LD_LIBRARY_PATH=f"relative:{CUDA}")
    assert (finding.code, finding.severity, finding.subject) == ("toolkit.mismatch", "warning", "/e/bin/python")
    assert "cudnn" in finding.because.en and "cublas" not in finding.because.en  # the environment brings no cublas
    assert [(r.code, r.params) for r in finding.remedies] == [("set_env", {"name": "LD_LIBRARY_PATH", "value": ""})]


@pytest.mark.parametrize("library", ["libcudnn.so.9", "libcudart.so.11.0", "libfoo.so.8", "libcudnn.so"])
def test_other_libraries_shadow_nothing(library: str) -> None:
    assert found([f"{CUDA}/{library}"], LD_LIBRARY_PATH=CUDA) == ()


def test_without_the_variable_nothing_is_shadowed() -> None:
    assert found([f"{CUDA}/libcudnn.so.8"]) == ()


def test_an_environment_without_such_packages_is_left_alone() -> None:
    assert found([f"{CUDA}/libcudnn.so.8"], Python(path="/p", packages=()), LD_LIBRARY_PATH=CUDA) == ()


def test_packages_on_the_python_path_are_told() -> None:
    (finding,) = found(
        ["/opt/pkgs/numpy-1.20.0.dist-info/METADATA", "/opt/code/x.py"], PYTHONPATH="/opt/code:/opt/pkgs"
    )
    assert (finding.code, finding.severity) == ("python.path_variable", "warning")
    assert "numpy" in finding.because.en and "numpy" in finding.because.zh
    assert found(["/opt/code/x.py"], PYTHONPATH="/opt/code:.") == ()


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        (["/etc/debian_version", "/usr/lib/python3.12/venv/x"], True),
        (["/etc/debian_version", "/usr/lib/python3.12/venv/x", "/usr/lib/python3.12/ensurepip/x"], False),
        (["/usr/lib/python3.12/venv/x"], False),
        (["/etc/debian_version"], False),
    ],
)
def test_debian_may_lack_venv(files: list[str], missing: bool) -> None:
    one = Python(path="/usr/bin/python3", version="3.12.3", kind="system")
    findings = found(files, one)
    assert [finding.code for finding in findings] == (["python.venv_missing"] if missing else [])
    if missing:
        assert findings[0].remedies[0].params == {"package": "python3.12-venv", "manager": "apt"}
