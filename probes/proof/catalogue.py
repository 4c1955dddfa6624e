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
    ("vLLM on GPUs, SGLang, TensorRT-LLM", "need an NVIDIA GPU and 4 GB of packages each", "vllm-cpu-serving"),
    (
        "NCCL bandwidth, FlashAttention kernels",
        "need NVIDIA GPUs; on one, torch-quickstart, attention-growth and reproducibility use it",
        "torch-ddp, attention-growth",
    ),
    ("Core ML prediction", "needs a Mac; the conversion runs on Linux", "coreml-convert"),
    ("MLX on a GPU", "needs a Mac with an Apple chip; on Linux MLX runs on the processor", "mlx-quickstart"),
    ("Windows ML, DirectML", "need Windows", "onnxruntime-embedded"),
    ("Horovod", "no release builds against today's PyTorch (C++17)", "torch-ddp"),
    ("TensorFlow Serving, OpenVINO Model Server", "come as containers or vendor packages only", "onnxruntime-http"),
    (
        "llama.cpp server",
        "its Python package has no wheels: a build of about 11 minutes of processor time",
        "ctranslate2-serving",
    ),
    ("LLaMA-Factory", "imports torchaudio at once, which breaks beside a CPU build of PyTorch", "trl-sft"),
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
