"""How one argument is written so that bash, PowerShell or cmd hands it on unchanged, and which values may be one."""

from __future__ import annotations

import re
import shlex

SHELLS = ("bash", "powershell", "cmd")
_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./~-]+")
_PLAIN_WINDOWS = re.compile(r"[A-Za-z0-9_+=:./\\~-]+")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+_-]*")
_URL = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]+)?(?:/[A-Za-z0-9._~%+/-]*)?")

# Variables that a plan or a remedy may set; nothing that changes which code a command runs stands here.
VARIABLES = frozenset({
    "ASCEND_RT_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MODULE_LOADING", "CUDA_VISIBLE_DEVICES",
    "HF_ENDPOINT", "HF_HUB_OFFLINE", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "HTTPS_PROXY", "HTTP_PROXY",
    "JAX_PLATFORMS", "KERAS_BACKEND", "MAX_JOBS", "MKL_NUM_THREADS", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS", "OLLAMA_VULKAN", "ONEAPI_DEVICE_SELECTOR",
    "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ENABLE_MPS_FALLBACK", "ROCR_VISIBLE_DEVICES",
    "TF_FORCE_GPU_ALLOW_GROWTH", "TF_USE_LEGACY_KERAS", "TOKENIZERS_PARALLELISM", "TORCH_CUDA_ARCH_LIST",
    "TRANSFORMERS_OFFLINE", "USE_MODELSCOPE_HUB", "UV_HTTP_TIMEOUT", "VLLM_CPU_KVCACHE_SPACE", "VLLM_USE_MODELSCOPE",
    "VLLM_ATTENTION_BACKEND", "WANDB_MODE", "XLA_FLAGS", "XLA_PYTHON_CLIENT_PREALLOCATE", "ZE_AFFINITY_MASK",
    "DS_ACCELERATOR", "DS_BUILD_OPS", "CMAKE_ARGS", "LD_BIND_NOW", "MS_ENABLE_GE", "NO_PROXY", "OPENBLAS_NUM_THREADS", "OMPI_MCA_btl",
    "SETUPTOOLS_USE_DISTUTILS", "TORCH_COMPILE_DISABLE", "TF_CPP_MIN_LOG_LEVEL", "UV_TORCH_BACKEND",
    "MLFLOW_ALLOW_FILE_STORE", "RAY_DEDUP_LOGS", "VLLM_TARGET_DEVICE", "TF_ENABLE_ONEDNN_OPTS",
}) - {"LD_BIND_NOW", "SETUPTOOLS_USE_DISTUTILS"}  # fmt: skip


def quoted(word: str, shell: str = "bash") -> str:
    """WORD as one argument of SHELL. Control characters can be no part of a command: they are left out."""
    if not word.isprintable():
        word = "".join(c for c in word if c.isprintable())
    if shell == "powershell":
        if word and _PLAIN_WINDOWS.fullmatch(word) and not word.startswith(("-", "~")):
            return word
        if re.fullmatch(r"--?[A-Za-z0-9][A-Za-z0-9.-]*(?:=[A-Za-z0-9_.:/\\-]+)?", word):
            return word
        return "'" + word.replace("'", "''").replace("\u2018", "\u2018\u2018").replace("\u2019", "\u2019\u2019") + "'"
    if shell == "cmd":
        # Inside quotes cmd still expands %NAME%, and a quote ends them: neither can be escaped in every place.
        word = word.replace('"', "").replace("%", "").replace("!", "")
        return word if word and _PLAIN_WINDOWS.fullmatch(word) else f'"{word}"'
    return word if word and _PLAIN.fullmatch(word) else shlex.quote(word)


def line(arguments: tuple[str, ...] | list[str], shell: str = "bash") -> str:
    """One command line; a quoted program needs PowerShell's call operator."""
    words = [quoted(word, shell) for word in arguments]
    if shell == "powershell" and words and words[0].startswith("'"):
        words.insert(0, "&")
    return " ".join(words)


def assignment(name: str, value: str, shell: str = "bash") -> str:
    """The line that sets an environment variable for what follows in SHELL."""
    if name not in VARIABLES:
        raise ValueError(f"the variable {name!r} is none that a plan may set")
    if shell == "powershell":
        text = "".join(c for c in value if c.isprintable()).replace("'", "''")
        return f"$env:{name} = '{text}'"
    if shell == "cmd":
        text = "".join(c for c in value if c.isprintable() and c not in '"%!&|<>^')
        return f'set "{name}={text}"'
    return f"export {name}={quoted(value)}"


def is_name(word: str) -> bool:
    """True for the name of a Python distribution."""
    return len(word) <= 100 and _NAME.fullmatch(word) is not None


def is_version(word: str) -> bool:
    return len(word) <= 60 and _VERSION.fullmatch(word) is not None


def is_url(word: str) -> bool:
    """True for an https address without user info, query or anything that a shell could read as more."""
    return len(word) <= 300 and _URL.fullmatch(word) is not None
