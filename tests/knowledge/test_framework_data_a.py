"""Facts of the catalogue that decide advice: training tools, servers, kernels and the frameworks beside PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import msgspec
import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from knowledge.answers import Answers, Serving
from knowledge.catalog import Build, Framework, Requirement
from knowledge.facts import Accelerator, MachineProfile, System
from knowledge.predicates import Situation, judge
from knowledge.text import Text

MINE = (
    "ddp", "fsdp", "torch-compile", "torch-export", "torchscript", "peft", "lora", "qlora", "accelerate", "trl",
    "llama-factory", "unsloth", "axolotl", "ms-swift", "torchtune", "torchtitan", "lightning", "deepspeed",
    "megatron-lm", "nemo", "horovod", "ray", "ray-train", "rllib", "stable-baselines3", "verl", "openrlhf",
    "rubicap", "vllm", "sglang", "lmdeploy", "text-generation-inference", "tensorrt-llm", "triton-inference-server",
    "torchserve", "kserve", "ray-serve", "bentoml", "llama-cpp", "ollama", "lm-studio", "lemonade", "mlx",
    "flash-attention", "ring-attention", "xformers", "bitsandbytes", "torchao", "auto-gptq", "triton", "flax",
    "paddlepaddle", "mindspore", "mxnet", "scikit-learn",
)  # fmt: skip
ENDED = (
    "torchscript",
    "torchtune",
    "horovod",
    "text-generation-inference",
    "torchserve",
    "xformers",
    "auto-gptq",
    "mxnet",
)


def framework(name: str) -> Framework:
    text = resources.files("knowledge").joinpath("data", "frameworks", f"{name}.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), Framework, strict=True)


@pytest.fixture(scope="module")
def all_mine() -> dict[str, Framework]:
    return {name: framework(name) for name in MINE}


def build(name: str, build_id: str) -> Build:
    return next(item for item in framework(name).builds if item.id == build_id)


def texts(value: Any) -> Iterator[Text]:
    if isinstance(value, Text):
        yield value
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            yield from texts(getattr(value, field))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts(item)


def machine(target: str, os: str = "linux") -> MachineProfile:
    card = Accelerator(vendor="nvidia", name="card", target=target, state="usable")
    return MachineProfile(system=System(os=os, arch="x86_64"), accelerators=(card,))


def outcome(requirement: Requirement, profile: MachineProfile, answers: Answers | None = None) -> str:
    return judge(requirement.when, Situation(profile, answers or Answers())).outcome


def test_each_framework_says_what_it_is_in_both_languages(all_mine: dict[str, Framework]) -> None:
    for name, item in all_mine.items():
        assert item.id == name
        assert item.strengths and item.weaknesses and item.uses and item.builds, name
        for text in texts(item):
            assert text.en.strip() and text.zh.strip(), name
            assert not re.search(r"[\u4e00-\u9fff]", text.en), f"{name}: {text.en}"
            assert re.search(r"[\u4e00-\u9fff]", text.zh) or text.zh == text.en, f"{name}: {text.zh}"


@pytest.mark.parametrize("name", ENDED)
def test_what_ended_names_the_day_and_an_active_successor(name: str, all_mine: dict[str, Framework]) -> None:
    status = all_mine[name].status
    assert status.state in ("archived", "superseded", "maintenance")
    assert status.since is not None and re.match(r"20\d\d-\d\d", status.since)
    assert status.successors
    alive = [all_mine[s].status.state for s in status.successors if s in all_mine]
    assert all(state == "active" for state in alive)


def test_only_what_ended_is_called_ended(all_mine: dict[str, Framework]) -> None:
    assert {n for n, f in all_mine.items() if f.status.state not in ("active", "unverified")} == set(ENDED)


def test_every_torch_pin_has_a_torch_build_on_each_of_its_platforms(all_mine: dict[str, Framework]) -> None:
    torch = framework("pytorch")
    for name, item in all_mine.items():
        for one in item.builds:
            spec = one.uses.get("pytorch")
            if spec is None:
                continue
            for platform in one.platforms:
                fitting = [
                    t
                    for t in torch.builds
                    if platform in t.platforms
                    and one.device in ("any", t.device)
                    and SpecifierSet(spec).contains(t.version)
                    and (one.toolkit is None or one.device != "cuda" or _major(one) == _major(t))
                ]
                assert fitting, f"{name} {one.id}: no torch {spec} for {platform} on {one.device}"
                offered = {minor for t in fitting for minor in t.pythons}
                assert set(one.pythons) <= offered, f"{name} {one.id} {platform}: {set(one.pythons) - offered}"


def _major(one: Build) -> str | None:
    return one.toolkit.split(".")[0] if one.toolkit else None


def test_vllm_has_no_build_for_windows_or_mac() -> None:
    vllm = framework("vllm")
    assert all(platform.startswith("linux-") for one in vllm.builds for platform in one.platforms)
    codes = {r.code for r in vllm.requires}
    assert codes == {"os.unsupported"}


def test_vllm_serves_cuda_13_and_older_drivers_and_skips_the_wheels_that_lie_about_glibc() -> None:
    cuda = [one for one in framework("vllm").builds if one.device == "cuda" and one.packages]
    versions = [Version(one.version) for one in cuda]
    assert versions == sorted(versions, reverse=True)
    assert {_major(one) for one in cuda} == {"13", "12"}
    assert not any(v in SpecifierSet(">=0.20,<0.22") for v in versions)
    newest = cuda[0]
    assert newest.glibc_min == "2.28" and newest.uses == {"pytorch": "==2.14.0"}


def test_vllm_on_amd_comes_from_its_own_index_for_python_312_only() -> None:
    for one in framework("vllm").builds:
        if one.device == "rocm" and one.packages:
            assert one.pythons == ("3.12",) and one.glibc_min == "2.35"
            assert all(package.index not in (None, "pypi") and "+rocm" in package.version for package in one.packages)
            assert one.targets is not None and "gfx1151" in one.targets and "gfx1103" not in one.targets


def test_bfloat16_is_missed_on_turing_unless_the_weights_are_quantised() -> None:
    need = next(r for r in build("vllm", "cuda").requires if r.code == "accel.no_bf16")
    assert outcome(need, machine("7.5"), Answers(serving=Serving(weight_bits=16))) == "unmet"
    assert outcome(need, machine("7.5")) == "unknown"  # the weights were not asked about
    assert outcome(need, machine("7.5"), Answers(serving=Serving(weight_bits=4))) == "met"
    assert outcome(need, machine("8.6"), Answers(serving=Serving(weight_bits=16))) == "met"


def test_tensorrt_llm_left_turing_and_names_what_to_use() -> None:
    for one in framework("tensorrt-llm").builds:
        need = next(r for r in one.requires if r.code == "accel.arch_too_old")
        assert outcome(need, machine("7.5")) == "unmet" and outcome(need, machine("8.6")) == "met"
        assert {r.code for r in need.remedies} == {"use_instead"}


def test_sglang_kernels_begin_with_ampere() -> None:
    for one in framework("sglang").builds:
        if one.device != "cuda":
            continue
        assert one.targets is not None and min(one.targets, key=lambda t: float(t)) == "8.0"


def test_bitsandbytes_refuses_int8_on_pascal_but_not_four_bits() -> None:
    for name in ("cuda-12.6", "cuda-11.8"):
        one = build("bitsandbytes", name)
        assert one.targets is not None and "6.0" in one.targets
        need = next(r for r in one.requires if r.code == "accel.no_int8")
        assert outcome(need, machine("6.1"), Answers(serving=Serving(weight_bits=8))) == "unmet"
        assert outcome(need, machine("6.1"), Answers(serving=Serving(weight_bits=4))) == "met"
        assert outcome(need, machine("8.6"), Answers(serving=Serving(weight_bits=8))) == "met"
        assert {"quantize", "use_instead"} <= {r.code for r in need.remedies}


def test_bitsandbytes_for_cuda_13_begins_with_turing() -> None:
    targets = build("bitsandbytes", "cuda-13").targets
    assert targets is not None and "7.5" in targets and "7.0" not in targets


def test_paddle_gpu_never_comes_from_pypi_and_blackwell_has_one_index() -> None:
    gpu = [one for one in framework("paddlepaddle").builds if one.device == "cuda"]
    assert gpu and all(one.index.startswith("paddle-cu") for one in gpu)
    assert [one.index for one in gpu if one.targets and "12.0" in one.targets] == ["paddle-cu129"]
    assert all(Version(one.version) >= Version("3.0") and "3.9" in one.pythons for one in gpu)


def test_paddle_lists_setuptools_which_it_imports_without_declaring_it() -> None:
    for one in framework("paddlepaddle").builds:
        assert "setuptools" in {package.name for package in one.packages}


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("deepspeed", "deepspeed"),
        ("horovod", "horovod"),
        ("flash-attention", "flash-attn"),
        ("llama-cpp", "llama-cpp-python"),
    ],
)
def test_what_has_no_wheel_is_marked_so(name: str, package: str) -> None:
    found = [p for one in framework(name).builds for p in one.packages if p.name == package]
    assert found and all(p.source_only for p in found)


def test_flash_attention_needs_torch_at_build_and_points_at_sdpa() -> None:
    one = build("flash-attention", "cuda-2")
    assert not next(p for p in one.packages if p.name == "flash-attn").build_isolation
    assert "MAX_JOBS" in one.environment
    need = next(r for r in one.requires if r.code == "package.source_only")
    assert need.because is not None and "scaled_dot_product_attention" in need.because.en
    assert any(r.code == "use_instead" and r.params.get("framework") == "pytorch" for r in need.remedies)


def test_mxnet_stays_below_the_numpy_that_breaks_it() -> None:
    for one in framework("mxnet").builds:
        numpy = next(p for p in one.packages if p.name == "numpy")
        assert Version(numpy.version) < Version("1.24")
        assert max(int(minor.split(".")[1]) for minor in one.pythons) <= 11


def test_triton_code_begins_with_volta() -> None:
    for name, build_id in (("torch-compile", "cuda"), ("triton", "cuda")):
        need = next(r for r in build(name, build_id).requires if r.code == "accel.arch_too_old")
        assert outcome(need, machine("6.1")) == "unmet" and outcome(need, machine("7.0")) == "met"


def test_mlx_runs_on_linux_through_an_extra_and_asks_for_macos_14() -> None:
    mlx = framework("mlx")
    assert build("mlx", "metal").macos_min == "14.0"
    linux = [one for one in mlx.builds if one.device in ("cuda", "cpu")]
    assert linux
    for one in linux:
        package = next(p for p in one.packages if p.name == "mlx")
        assert package.extras and one.glibc_min == "2.35"


def test_ollama_asks_old_cards_for_a_newer_driver() -> None:
    need = next(r for r in build("ollama", "cuda").requires if r.code == "driver.too_old")
    card = Accelerator(vendor="nvidia", name="P100", target="6.0", driver_version="560.35.03", state="usable")
    old = MachineProfile(system=System(os="linux", arch="x86_64"), accelerators=(card,))
    new = MachineProfile(
        system=System(os="linux", arch="x86_64"),
        accelerators=(msgspec.structs.replace(card, driver_version="580.95.05"),),
    )
    assert outcome(need, old) == "unmet" and outcome(need, new) == "met"


def test_rubicap_can_be_read_about_and_not_installed() -> None:
    rubicap = framework("rubicap")
    assert rubicap.status.state == "unverified" and not any(one.packages for one in rubicap.builds)
    assert outcome(rubicap.builds[0].requires[0], machine("9.0")) == "unmet"


def test_a_container_of_several_gpus_shares_memory() -> None:
    for name in ("vllm", "sglang"):
        for one in framework(name).builds:
            for step in one.steps:
                if step["step"] == "container_run" and one.device == "cuda":
                    assert any(o.startswith(("--ipc", "--shm-size")) for o in step["options"]), f"{name} {one.id}"
