"""Toolkits and clients from the files that they leave behind."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.facts import Software
from probes.host import LocalHost, Reading
from probes.software import toolchain
from tests.probes.software.memory_host import MemoryHost, elf

PATH = {"HOME": "/home/ann", "PATH": "/usr/local/bin:/usr/bin"}
PLAIN = {"/usr/bin/ls": elf(), "/usr/local/share/x": "", "/opt/x": "", "/usr/lib/x": ""}


def software(files: dict[str, str], *, deep: bool = False, **more: object) -> Software:
    values: dict[str, object] = {"environment": PATH, **more}
    return toolchain.software(MemoryHost({**PLAIN, **files}, **values), deep=deep)[0]  # type: ignore[arg-type]


def test_what_was_looked_for_and_is_not_there_is_absent() -> None:
    have = software({})
    for name in ("cuda_toolkit", "rocm", "cann", "oneapi", "level_zero", "gcc", "nvcc", "cmake", "docker", "kubectl"):
        assert getattr(have, name) is False, name
    assert have.vc_redist is None  # Windows alone has it


def test_a_recording_without_the_places_leaves_all_unknown() -> None:
    have, findings, sources = toolchain.software(MemoryHost({"/proc/cpuinfo": ""}, recorded=True))
    assert {name: getattr(have, name) for name in have.__struct_fields__ if getattr(have, name) is not None} == {
        "msvc": False
    }
    assert findings == ()
    assert sources == {"software.msvc": "MSVC exists for Windows only"}


@pytest.mark.parametrize(
    ("files", "environment", "version"),
    [
        ({"/usr/local/cuda/version.json": '{"cuda" : {"name" : "CUDA SDK", "version" : "12.4.20240301"}}'}, {}, "12.4"),
        ({"/usr/local/cuda/version.txt": "CUDA Version 10.2.89\n"}, {}, "10.2"),
        ({"/usr/local/cuda-12.8/include/cuda.h": "#define CUDA_VERSION 12080\n"}, {}, "12.8"),
        (
            {
                "/usr/local/cuda-9.2/version.txt": "CUDA Version 9.2.148",
                "/usr/local/cuda-11.8/version.txt": "CUDA Version 11.8.0",
            },
            {},
            "11.8",
        ),
        (
            {"/srv/cuda/version.txt": "CUDA Version 11.0.2", "/usr/local/cuda/version.txt": "CUDA Version 10.2.89"},
            {"CUDA_HOME": "/srv/cuda"},
            "11.0",
        ),
        (
            {"/usr/local/cuda/version.json": "{", "/usr/local/cuda/include/cuda.h": "#define CUDA_VERSION 11020"},
            {},
            "11.2",
        ),
        ({"/usr/bin/nvcc": elf(), "/usr/include/cuda.h": "#define CUDA_VERSION 11050"}, {}, "11.5"),
        ({"/usr/bin/nvcc": elf()}, {}, True),
    ],
)
def test_the_cuda_toolkit(files: dict[str, str], environment: dict[str, str], version: object) -> None:
    assert software(files, environment={**PATH, **environment}).cuda_toolkit == version


def test_the_driver_alone_is_no_toolkit() -> None:
    assert software({"/usr/bin/nvidia-smi": elf(), "/usr/lib/x86_64-linux-gnu/libcuda.so.1": ""}).cuda_toolkit is False


def test_the_cuda_toolkit_on_windows() -> None:
    root = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"
    files = {
        rf"{root}\v11.8\version.json": '{"cuda": {"version": "11.8.0"}}',
        rf"{root}\v12.6\version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.6.1"}}',
    }
    have, _findings, sources = toolchain.software(MemoryHost(files, os="windows", environment={}))
    assert have.cuda_toolkit == "12.6"
    assert sources["software.cuda_toolkit"] == rf"{root}\v12.6\version.json"


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"/opt/rocm/.info/version": "6.3.1-48\n"}, "6.3.1"),
        ({"/opt/rocm-7.2.0/.info/version": "7.2.0"}, "7.2.0"),
        ({"/opt/rocm-5.7.0/bin/x": "", "/opt/rocm-6.10.0/bin/x": ""}, "6.10.0"),
        (
            {
                "/usr/include/rocm-core/rocm_version.h": "".join(
                    f"#define ROCM_VERSION_{word}   {number}\n"
                    for word, number in (("MAJOR", 6), ("MINOR", 4), ("PATCH", 2))
                )
            },
            "6.4.2",
        ),
        ({"/opt/rocm/.info/version": "garbage"}, False),
    ],
)
def test_rocm(files: dict[str, str], version: object) -> None:
    assert software(files).rocm == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Version=8.2.RC1\nversion_dir=8.2.RC1\n", "8.2.RC1"),
        ("package_name=Ascend-cann-toolkit\nversion=8.0.0\ninnerversion=V100R001C20\n", "8.0.0"),
        ("# version: 1.0\nruntime_running_version=[7.6.0.1.220:8.0.0]\n", "8.0.0"),
        ("driver: none", None),
        ("version=abc", None),
    ],
)
def test_cann_versions(text: str, version: str | None) -> None:
    assert toolchain.cann_version(text) == version


def test_cann_is_found_under_ascend() -> None:
    place = "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info"
    assert software({place: "version=8.2.RC1\n"}).cann == "8.2.RC1"


def test_other_toolkits_and_compilers() -> None:
    have = software(
        {
            "/opt/intel/oneapi/compiler/2024.2/bin/icx": "",
            "/opt/intel/oneapi/compiler/2025.1/bin/icx": "",
            "/usr/lib/x86_64-linux-gnu/libze_loader.so.1.20.2": "",
            "/usr/bin/x86_64-linux-gnu-gcc-13": elf(),
            "/usr/lib/gcc/x86_64-linux-gnu/13/cc1": "",
            "/usr/bin/cmake": elf(),
            "/usr/share/cmake-3.28/x": "",
            "/usr/bin/docker": elf(),
            "/usr/bin/nvidia-ctk": elf(),
            "/usr/bin/sinfo": elf(),
            "/opt/conda/bin/conda": "",
            "/opt/conda/conda-meta/conda-24.9.2-py312_0.json": "",
            "/usr/bin/pip3": "",
            "/usr/lib/python3/dist-packages/pip-24.0.dist-info/METADATA": "",
        },
        links={"/usr/bin/gcc": "gcc-13", "/usr/bin/gcc-13": "x86_64-linux-gnu-gcc-13"},
        environment={**PATH, "CONDA_EXE": "/opt/conda/bin/conda"},
    )
    assert (have.oneapi, have.level_zero, have.gcc, have.cmake) == ("2025.1", "1.20.2", "13", "3.28")
    assert (have.docker, have.container_toolkit, have.slurm) == (True, True, True)
    assert (have.conda, have.pip) == ("24.9.2", "24.0")


def test_the_visual_c_runtime_needs_all_three_libraries() -> None:
    folder = r"C:\Windows\System32"
    old = {rf"{folder}\{name}": "" for name in ("kernel32.dll", "vcruntime140.dll", "msvcp140.dll")}
    for files, present in ((old, False), ({**old, rf"{folder}\vcruntime140_1.dll": ""}, True), ({}, None)):
        assert toolchain.software(MemoryHost(files, os="windows"))[0].vc_redist is present


def test_msvc_is_the_newest_of_all_studios() -> None:
    root = r"C:\Program Files\Microsoft Visual Studio"
    files = {
        rf"{root}\2022\BuildTools\VC\Tools\MSVC\14.44.35207\bin\x": "",
        rf"{root}\2022\Community\VC\Tools\MSVC\14.9.1\bin\x": "",
    }
    assert toolchain.software(MemoryHost(files, os="windows"))[0].msvc == "14.44.35207"


def test_without_being_asked_no_program_runs() -> None:
    host = MemoryHost({**PLAIN, "/usr/bin/docker": elf(), "/usr/bin/kubectl": elf()}, environment=PATH)
    toolchain.software(host)
    assert host.ran == []


def test_a_recorded_answer_is_used() -> None:
    commands = {
        "nvcc --version": Reading(status="ok", text="Cuda compilation tools, release 12.6, V12.6.77\n"),
        "docker info --format {{json .Runtimes}}": Reading(status="ok", text='{"runc":{"path":"runc"}}'),
        "docker --version": Reading(status="ok", text="Docker version 28.1.1, build 4eba377\n"),
        "gcc -dumpfullversion -dumpversion": Reading(status="ok", text="garbage"),
    }
    have = toolchain.software(MemoryHost({}, commands=commands, recorded=True))[0]
    assert (have.nvcc, have.cuda_toolkit, have.docker) == ("12.6", "12.6", "28.1.1")
    assert have.container_toolkit is False  # Docker is there and knows no NVIDIA runtime
    assert have.gcc is None


def script(folder: object, name: str, body: str) -> None:
    from pathlib import Path

    path = Path(str(folder), name)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.mark.skipif("os.name == 'nt'", reason="shell scripts stand in for programs")
def test_programs_that_hang_flood_or_babble_cost_their_own_limit_only(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "COMMAND_LIMIT_S", 0.5)
    script(tmp_path, "docker", "sleep 60")
    script(tmp_path, "kubectl", "yes error-error-error | head -c 3000000 1>&2; echo 'Client Version: v1.31.2'")
    script(tmp_path, "sinfo", "head -c 100000 /dev/urandom")
    script(tmp_path, "cmake", "exit 3")
    host = LocalHost(environment={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)})
    began = time.perf_counter()
    have, findings, _sources = toolchain.software(host, deep=True)
    assert time.perf_counter() - began < 5
    assert have.kubectl == "1.31.2"
    assert (have.docker, have.slurm, have.cmake) == (True, True, True)  # there; their versions are not known
    subjects = {finding.subject for finding in findings if finding.code == "software.unanswered"}
    assert {"software.docker", "software.cmake"} <= subjects


def test_this_machine_is_read_quickly() -> None:
    began = time.process_time()
    have, findings, sources = toolchain.software(LocalHost())
    assert time.process_time() - began < 0.5  # some 10 ms of processor time
    assert findings == ()
    assert set(sources) == {f"software.{n}" for n in have.__struct_fields__ if getattr(have, n) is not None}


places = st.sampled_from(
    [
        "/usr/local/cuda/version.json",
        "/usr/local/cuda/version.txt",
        "/usr/local/cuda/include/cuda.h",
        "/opt/rocm/.info/version",
        "/usr/local/Ascend/ascend-toolkit/latest/version.cfg",
        "/home/ann/.config/uv/uv-receipt.json",
        "/usr/bin/uv",
    ]
)
contents = st.text(max_size=100) | st.sampled_from(
    [
        '{"cuda": {"version": "99999999999999999999999.9"}}',
        "version=9" * 9,
        "#define CUDA_VERSION 999999",
        "6.3" + "9" * 300,
    ]
)


@given(st.dictionaries(places, contents, max_size=4), st.booleans())
def test_no_content_raises(files: dict[str, str], recorded: bool) -> None:
    toolchain.software(MemoryHost({**PLAIN, **files}, environment=PATH, recorded=recorded))


@given(st.text(max_size=200), st.sampled_from(["ok", "failed", "timed_out"]))
def test_no_answer_of_a_program_raises(text: str, status: str) -> None:
    reading = Reading(status=status, text=text, source="x")  # type: ignore[arg-type]
    commands = {" ".join(argv): reading for argv, _pattern in toolchain._QUESTIONS.values()}
    commands["docker info --format {{json .Runtimes}}"] = reading
    toolchain.software(MemoryHost({}, commands=commands, recorded=True))
