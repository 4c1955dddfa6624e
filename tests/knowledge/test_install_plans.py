"""Plans become the right lines for each client and shell, and the files that other tools read."""

from __future__ import annotations

import datetime
import json
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from knowledge import advise, commands, loader
from knowledge.answers import Answers, Cluster, Needs, Tools
from knowledge.facts import Accelerator, Cpu, MachineProfile, Network, Python, System

TODAY = datetime.date(2026, 12, 1)
CATALOG = loader.load_catalog()
LINUX = System(os="linux", distribution="ubuntu", arch="x86_64", libc="glibc", libc_version="2.35", kernel="6.8.0")
WINDOWS = System(os="windows", release="11", arch="x86_64")
PYTHON = (Python(path="/usr/bin/python3", version="3.12.3", bits=64, free_threaded=False),)


def card(target: str, driver: str, name: str = "NVIDIA test card", **more) -> Accelerator:
    return Accelerator(vendor="nvidia", name=name, target=target, driver_version=driver, memory_kind="dedicated",
                       state="usable", **more)  # fmt: skip


def machine(system: System, *cards: Accelerator, **more) -> MachineProfile:
    return MachineProfile(system=system, accelerators=cards, pythons=PYTHON, **more)


def plan(profile: MachineProfile, framework: str = "pytorch", answers: Answers | None = None):
    found = advise.assess(CATALOG, profile, framework, answers or Answers(), today=TODAY)
    assert found.install is not None
    return found.install


def pins(profile: MachineProfile, framework: str = "pytorch", answers: Answers | None = None) -> dict[str, tuple[str, str]]:
    found = plan(profile, framework, answers)
    return {p.name: (p.requirement.split("==")[1], p.index_id) for p in found.packages}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        (machine(LINUX), ("2.15.0", "cpu")),
        (machine(WINDOWS), ("2.15.0", "pypi")),
        (machine(LINUX, card("8.6", "580.95.05")), ("2.15.0", "pypi")),
        (machine(WINDOWS, card("8.6", "581.57")), ("2.15.0", "cu132")),
        (machine(LINUX, card("8.6", "550.54.14")), ("2.14.1", "cu126")),
        (machine(LINUX, card("12.0", "570.86.10")), ("2.11.0", "cu128")),
        (machine(LINUX, card("6.1", "580.95.05")), ("2.14.1", "cu126")),
        (machine(LINUX, card("7.0", "470.57.02")), ("2.7.1", "cu118")),
        (machine(LINUX, card("6.1", "580.95.05"), card("8.9", "580.95.05")), ("2.14.1", "cu126")),
        (machine(LINUX, card("7.0", "580.95.05"), card("10.0", "580.95.05")), ("2.10.0", "pypi")),
    ],
    ids=["cpu", "cpu-windows", "newest", "newest-windows", "driver-550", "blackwell-570", "pascal", "volta-470",
         "pascal-and-ada", "volta-and-blackwell"],
)  # fmt: skip
def test_which_torch(profile, expected):
    assert pins(profile)["torch"] == expected


def test_pip_lines_for_two_indexes():
    found = plan(machine(WINDOWS, card("8.6", "560.94")), "transformers")
    bash = found.commands["pip"]["bash"]
    assert bash[:2] == ("python3.12 -m venv .venv", "source .venv/bin/activate")
    torch = next(line for line in bash if "torch==" in line)
    assert "--index-url https://download.pytorch.org/whl/cu126" in torch
    assert "transformers" not in torch
    rest = next(line for line in bash if "transformers==" in line)
    assert "--index-url" not in rest
    assert bash.index(torch) < bash.index(rest)


def test_uv_lines_use_its_own_words():
    lines = plan(machine(LINUX)).commands["uv"]["bash"]
    assert lines[0] == "uv venv --python 3.12 .venv"
    assert any("uv pip install" in line and "--default-index https://download.pytorch.org/whl/cpu" in line for line in lines)


def test_powershell_lines():
    lines = plan(machine(WINDOWS)).commands["pip"]["powershell"]
    assert lines[0] == "py -3.12 -m venv .venv"
    assert lines[1] == r"& .\.venv\Scripts\Activate.ps1"


def test_wheels_only_where_a_build_from_source_would_take_an_hour():
    found = plan(machine(LINUX, card("8.9", "580.95.05")), "vllm")
    line = next(line for line in found.commands["pip"]["bash"] if "vllm==" in line)
    assert "--only-binary" in line and "vllm" in line.split("--only-binary")[1]


def test_docker_hands_in_the_gpu_and_shared_memory():
    answers = Answers(tools=Tools(packages="docker"))
    found = plan(machine(LINUX, card("8.0", "580.95.05", count=2)), "pytorch", answers)
    line = found.commands["docker"]["bash"][0]
    assert "--gpus all" in line and "--ipc=host" in line


def test_conda_takes_python_from_conda_forge_and_torch_from_its_index():
    found = plan(machine(LINUX, card("8.6", "580.95.05")), "pytorch", Answers(tools=Tools(packages="conda")))
    lines = found.commands["conda"]["bash"]
    assert "conda-forge" in lines[0]
    assert not any("pytorch-cuda" in line or "-c pytorch" in line for line in lines)


def test_variables_that_this_machine_needs():
    limited = machine(LINUX, cpu=Cpu(logical_cpus=64, usable_cpus=4.0))
    assert plan(limited).environment["OMP_NUM_THREADS"] == "4"
    operators = Answers(needs=Needs(custom_ops=True))
    assert plan(machine(LINUX, card("8.6", "580.95.05")), "pytorch", operators).environment["TORCH_CUDA_ARCH_LIST"] == "8.6"
    geforce = card("8.9", "580.95.05", "NVIDIA GeForce RTX 4090", count=4)
    many = Answers(cluster=Cluster(nodes=1, gpus_per_node=4))
    assert plan(machine(LINUX, geforce), "accelerate", many).environment["NCCL_P2P_DISABLE"] == "1"


def test_an_unreachable_index_is_avoided_or_said():
    blocked = Network(reachable={"download.pytorch.org": False})
    assert pins(machine(LINUX, card("8.6", "580.95.05"), network=blocked))["torch"][1] == "pypi"
    found = advise.assess(CATALOG, machine(WINDOWS, card("8.6", "581.57"), network=blocked), "pytorch", Answers(), today=TODAY)
    unmet = {v.code for v in found.verdicts if v.outcome == "unmet"}
    assert found.fit == "after_changes" and unmet == {"network.index_unreachable"}


def test_an_index_of_the_machine_file_is_never_used():
    evil = Network(index_url="https://evil.example/simple", extra_index_urls=("https://evil.example/x",))
    found = plan(machine(LINUX, card("8.6", "580.95.05"), network=evil))
    assert "evil" not in json.dumps([found.commands, [p.index_url for p in found.packages]])


def test_only_mirrors_of_the_catalogue_are_used():
    profile = machine(WINDOWS, card("8.6", "560.94"))
    nju = plan(profile, "pytorch", Answers(needs=Needs(mirror="nju")))
    assert {p.index_id for p in nju.packages} == {"cu126"}
    assert all("mirrors.nju.edu.cn" in (p.index_url or "") for p in nju.packages)
    other = plan(profile, "pytorch", Answers(needs=Needs(mirror="https://evil.example/simple")))
    assert all("download.pytorch.org" in (p.index_url or "") for p in other.packages)


def test_files_of_other_tools_can_be_read_back():
    found = plan(machine(WINDOWS, card("8.6", "560.94")), "transformers")
    project = tomllib.loads(commands.pyproject(found))
    assert [Requirement(text).name for text in project["project"]["dependencies"]] == [p.name for p in found.packages]
    assert project["tool"]["uv"]["sources"]["torch"]["index"] == "cu126"
    environment = yaml.safe_load(commands.environment_yml(found))
    assert environment["channels"] == ["conda-forge"]
    lines = commands.requirements_txt(found).splitlines()
    assert lines[0] == "--extra-index-url https://download.pytorch.org/whl/cu126"
    docker = commands.dockerfile(found)
    assert docker.startswith("FROM python:3.12-slim")
    runs = [json.loads(line.removeprefix("RUN ")) for line in docker.splitlines() if line.startswith("RUN ")]
    assert any(word.startswith("torch==") for word in runs[0])
