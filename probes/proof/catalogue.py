"""docs/checks.md: every check with what it needs, proves and does not prove (python -m probes.proof.catalogue)."""

from __future__ import annotations

from pathlib import Path

from probes.proof import checks

HEAD = """# Checks

Generated from the check files by `python -m probes.proof.catalogue`; a test compares it. `stackfit smoke --list` says the
same for your machine, `stackfit smoke CHECK` runs one. Data and licences: `probes/proof/data/README.md`.
Figures measured on one machine: `docs/measurements/`.
"""

# What none of our machines could run, said instead of left out: the reason, and the nearest check that can.
ELSEWHERE = (
    (
        "vLLM on GPUs, SGLang",
        "Linux with an NVIDIA GPU; 4.3 GB each with the torch that they pin, and they pin different ones",
        "vllm-cpu-serving",
    ),
    (
        "TensorRT, TensorRT-LLM",
        "NVIDIA GPUs only; PyPI holds a placeholder whose build fetches from another registry and fails here",
        "vllm-cpu-serving",
    ),
    (
        "NCCL bandwidth, FlashAttention kernels",
        "need NVIDIA GPUs; on one, torch-quickstart, attention-growth and reproducibility use it",
        "torch-ddp, attention-growth",
    ),
    ("xFormers", "installs and imports, but has no operator for processors", "attention-growth"),
    ("Core ML prediction", "needs a Mac; the conversion runs on Linux", "coreml-convert"),
    ("MLX on a GPU", "needs a Mac with an Apple chip; on Linux MLX runs on the processor", "mlx-quickstart"),
    ("Windows ML, DirectML", "need Windows", "onnxruntime-embedded"),
    (
        "Horovod",
        "no release since 2023: built with PyTorch it fails (C++14, the headers ask for C++17); built without, it holds no framework",
        "torch-ddp, ray-train",
    ),
    (
        "AITemplate",
        "was never published on PyPI (the name is another project's) and is no longer developed",
        "unified-table",
    ),
    (
        "TensorFlow Serving",
        "its server comes as a container or from its vendor's own packages; PyPI holds the client only",
        "onnxruntime-http, triton-server",
    ),
    (
        "OpenVINO Model Server",
        "its server comes as a container or a vendor's archive; the runtime below it is proven",
        "openvino-edge, onnxruntime-http",
    ),
    (
        "MXNet",
        "its project has ended; it needs numpy below 1.24, so Python 3.11 at most",
        "torch-quickstart",
    ),
    (
        "LLaMA-Factory beside a CPU build of PyTorch",
        "imports torchaudio at once, and PyPI's torchaudio asks for a CUDA build; its check says so where that is so",
        "trl-sft, lora",
    ),
    ("Axolotl, torchtune, Megatron, NeMo, verl, OpenRLHF", "need CUDA at import or for the first step", "trl-sft"),
    ("ONNX Runtime Web, WebGPU", "need a browser", "onnxruntime-embedded"),
    ("NPU toolchains (QNN, RKNN, Vitis AI, CANN)", "need the device and its vendor's runtime", "edge-int8"),
)


def page() -> str:
    """The whole page as Markdown."""
    lines = [HEAD]
    scenario = None
    for check in checks.every():
        if check.scenario != scenario:
            scenario = check.scenario
            lines.append(f"## {scenario}\n")
        needs = ", ".join(f"`{p}`" for p in check.packages) or "nothing (the program's own environment)"
        lines.append(f"### {check.id}\n")
        lines.append(f"{check.title.en}. {check.title.zh}。\n")
        lines.append(f"- Installs: {needs}")
        lines.append(f"- Proves: {check.proves.en} {check.proves.zh}")
        lines.append(f"- Does not prove: {check.limits.en} {check.limits.zh}")
        where = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
        if check.platforms:
            lines.append(f"- Runs on: {', '.join(where[p] for p in check.platforms)}")
        if check.needs:
            lines.append(f"- Needs: {', '.join(check.needs)}")
        extra = "; only on request, as it is long or heavy" if check.on_request else ""
        lines.append(f"- Time limit: {check.limit_s:.0f} s{extra}")
        if check.nearest:
            lines.append(f"- Nearest: `{check.nearest}`")
        lines.append("")
    lines.append("## Not here, and why\n")
    lines.append("| what | why not | nearest check |\n| --- | --- | --- |")
    lines += [f"| {what} | {why} | {near} |" for what, why, near in ELSEWHERE]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).parents[2].joinpath("docs", "checks.md").write_text(page(), encoding="utf-8")
