"""How many bits a weight takes in each format, and what stays in 16 bits beside it."""

from __future__ import annotations

from knowledge.documents import BadInput
from knowledge.sizing.description import ModelDescription
from knowledge.text import Text

# Bits per weight over a whole file, from the table of llama.cpp's quantize tool (Llama 3.1 8B; the share of the
# embedding moves it by a few per cent between models). https://github.com/ggml-org/llama.cpp tools/quantize, 2026-11.
GGUF_BITS = {
    "IQ1_S": 2.00, "IQ1_M": 2.15, "IQ2_XXS": 2.38, "IQ2_XS": 2.59, "IQ2_S": 2.74, "IQ2_M": 2.93, "IQ3_XXS": 3.25,
    "IQ3_XS": 3.50, "IQ3_S": 3.66, "IQ3_M": 3.76, "IQ4_XS": 4.46, "IQ4_NL": 4.68, "Q2_K_S": 2.97, "Q2_K": 3.16,
    "Q3_K_S": 3.64, "Q3_K_M": 4.00, "Q3_K_L": 4.30, "Q4_0": 4.66, "Q4_1": 5.08, "Q4_K_S": 4.67, "Q4_K_M": 4.89,
    "Q5_0": 5.57, "Q5_1": 5.98, "Q5_K_S": 5.57, "Q5_K_M": 5.70, "Q6_K": 6.56, "Q8_0": 8.50, "MXFP4": 4.35,
    "BF16": 16.0, "F16": 16.0, "F32": 32.0,
}  # fmt: skip

# Bits per quantised weight with its scales; embeddings, norms and an untied output layer stay in 16 bits.
# int4 with groups of 128: 4 + 16/128 scale + 4/128 zero point. MXFP4: 4 + 8/32. NVFP4: 4 + 8/16. fp8 and int8: one
# scale per channel. NF4: one 32-bit scale per 64 weights, 4.5; with double quantisation 4.127 (arXiv 2305.14314).
LINEAR_BITS = {
    "fp8": 8.03, "int8": 8.03, "awq": 4.16, "gptq": 4.16, "int4": 4.25, "mxfp4": 4.25, "nvfp4": 4.5, "nf4": 4.5,
    "fp4": 4.5, "bnb-4bit": 4.5, "w4a16": 4.25, "w8a8": 8.03, "int3": 3.25, "int2": 2.25, "hqq": 4.5, "exl2": 4.5,
    "mlx-4bit": 4.5, "mlx-8bit": 8.5, "w8a16": 8.03, "4bit": 4.5, "8bit": 8.03, "bitsandbytes": 4.5, "bnb": 4.5,
    "fp8_e4m3": 8.03, "smoothquant": 8.03, "int4-awq": 4.16, "marlin": 4.16,
}  # fmt: skip

FULL_BITS = {"fp32": 32.0, "bf16": 16.0, "fp16": 16.0, "float32": 32.0, "bfloat16": 16.0, "float16": 16.0, "fp64": 64.0}
GGUF_BY_BITS = {2: "gguf:Q2_K", 3: "gguf:Q3_K_M", 4: "gguf:Q4_K_M", 8: "gguf:Q8_0"}
NAME_BY_BITS = {2: "int2", 3: "int3", 4: "int4", 8: "int8", 16: "bf16", 32: "fp32"}


def chosen(weight_format: str | None, weight_bits: int | None) -> tuple[str, bool]:
    """The format's name, and whether the bits had to stand in for a name that is not known here."""
    try:
        return named(weight_format, weight_bits), False
    except BadInput:
        if weight_format is None or weight_bits is None:
            raise
        return named(None, weight_bits), True


def named(weight_format: str | None, weight_bits: int | None) -> str:
    """The format's name; 16-bit where nothing is said. Raises BadInput for a format that this table does not hold."""
    if weight_format:
        word = weight_format.strip()
        low = word.lower()
        if low.startswith("gguf"):
            kind = word.partition(":")[2].strip().upper() or "Q4_K_M"
            if kind not in GGUF_BITS:
                raise BadInput(Text(
                    f"key `serving.weight_format`: found {word[:40]!r}; known are {', '.join(GGUF_BITS)}.",
                    f"键 `serving.weight_format`：发现 {word[:40]!r}；已知的有 {', '.join(GGUF_BITS)}。",
                ))  # fmt: skip
            return f"gguf:{kind}"
        if low in LINEAR_BITS or low in FULL_BITS:
            return low
        if word.upper() in GGUF_BITS:
            return f"gguf:{word.upper()}"
        known = ", ".join([*FULL_BITS, *LINEAR_BITS, "gguf:Q4_K_M"])
        raise BadInput(Text(
            f"key `serving.weight_format`: found {word[:40]!r}; known are {known}.",
            f"键 `serving.weight_format`：读到 {word[:40]!r}；已知的有 {known}。",
        ))  # fmt: skip
    if weight_bits is None:
        return "bf16"
    if weight_bits not in NAME_BY_BITS:
        if 1 <= weight_bits <= 8:
            return {1: "int2", 5: "gguf:Q5_K_M", 6: "gguf:Q6_K", 7: "gguf:Q8_0"}[weight_bits]
        raise BadInput(Text(
            f"key `serving.weight_bits`: found {weight_bits}; allowed are 2, 3, 4, 5, 6, 8, 16 and 32.",
            f"键 `serving.weight_bits`：读到 {weight_bits}；允许 2、3、4、5、6、8、16 和 32。",
        ))  # fmt: skip
    return NAME_BY_BITS[weight_bits]


def is_full(name: str) -> bool:
    """Whether weights in this format are plain floating point of 16 bits or more."""
    return name in FULL_BITS or name in ("gguf:F16", "gguf:BF16", "gguf:F32")


def weight_bytes(model: ModelDescription, name: str) -> tuple[int, int, int]:
    """Bytes of all weights of MODEL in format NAME: expected, lowest, highest."""
    total = model.parameters
    if name in FULL_BITS:
        expected = round(total * FULL_BITS[name] / 8)
        return expected, expected, expected
    if name.startswith("gguf:"):
        bits = GGUF_BITS[name.removeprefix("gguf:")]
        expected = round(total * bits / 8)
        spread = 0.0 if bits >= 16 else 0.04
        return expected, round(expected * (1 - spread)), round(expected * (1 + spread))
    linear = quantised_part(model, name)
    rest = total - linear
    expected = round(linear * LINEAR_BITS[name] / 8 + rest * 2)
    # Some loaders quantise embeddings too, others keep more layers in 16 bits or pad each group.
    low = round(total * LINEAR_BITS[name] / 8 * 0.97)
    high = round(expected * (1.06 if LINEAR_BITS[name] < 8 else 1.03))
    return expected, min(low, expected), high


def quantised_part(model: ModelDescription, name: str) -> int:
    """Parameters that NAME quantises. MXFP4 checkpoints quantise the experts alone where there are any."""
    if name == "mxfp4" and model.expert_parameters:
        return model.expert_parameters
    # A model whose parts are not known keeps a few per cent of its weights in 16 bits.
    return model.linear_parameters or round(model.parameters * 0.95)
