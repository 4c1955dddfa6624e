"""vLLM's engine on the processor with random weights: start, concurrent prompts, tokens per second."""

import os
import time

ID = "vllm-cpu-serving"
TITLE = (
    "vLLM on the processor: start and batch",
    "CPU 上的 vLLM：启动与批量生成",
)
SCENARIO = "llm-serving"
FRAMEWORKS = ("vllm",)
PACKAGES = ("torch", "numpy", "vllm-cpu")
LIMIT_S = 600.0
PLATFORMS = ("linux",)
ON_REQUEST = True
REMOVE = ("torchvision", "torchaudio", "torchcodec")
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
}
PROVES = (
    "vLLM's engine starts here without a GPU and answers several prompts at once.",
    "vLLM 引擎能在没有 GPU 的本机启动，并同时回答多个提示。",
)
LIMITS = (
    "3 GB of packages and random weights: the machinery is proven, the speed of a real model is not.",
    "3 GB 软件包与随机权重：只证明流程可用，不代表真实模型的速度。",
)
NEAREST = "ctranslate2-serving"


def run(report):
    began = time.perf_counter()
    report.step("Loading vLLM", "正在加载 vLLM", 0.05)
    import torch
    import transformers
    import vllm

    report.imported(began)
    report.version(torch, transformers, vllm)
    folder = os.path.join(report.scratch, "model")
    # Its kernels on the processor want heads of 32 numbers or more.
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, bos_token_id=1, eos_token_id=2, pad_token_id=0,
        architectures=["LlamaForCausalLM"],
    )  # fmt: skip
    config.save_pretrained(folder)
    start = time.perf_counter()
    report.step("Starting the engine", "正在启动引擎", 0.4)
    engine = vllm.LLM(
        model=folder, load_format="dummy", skip_tokenizer_init=True, enforce_eager=True, max_model_len=128, seed=0,
        dtype="float32",
    )  # fmt: skip
    report.measure("start", time.perf_counter() - start, "s", "Time to start the engine", "启动引擎用时", "lower")
    rates = []
    for count in (1, 4, 16):
        report.step("%d prompts at once" % count, "%d 个提示同时" % count, 0.7)
        prompts = [{"prompt_token_ids": [1, 5 + n, 9]} for n in range(count)]
        start = time.perf_counter()
        answers = engine.generate(
            prompts, vllm.SamplingParams(max_tokens=16, ignore_eos=True, detokenize=False), use_tqdm=False
        )
        made = sum(len(a.outputs[0].token_ids) for a in answers)
        report.need(made == 16 * count, "Only %d tokens came." % made, "只生成了 %d 个词元。" % made)
        rates.append((count, made / (time.perf_counter() - start)))
    report.series(
        "throughput",
        rates,
        "Tokens per second by prompts at once",
        "不同并发数的每秒词元",
        ("prompts", "提示数"),
        ("tokens per second", "每秒词元"),
        "",
        "tokens/s",
    )
    report.measure(
        "throughput", rates[-1][1], "tokens/s", "Tokens per second, 16 at once", "每秒词元（16 个并发）", "higher"
    )
    report.outcome(
        "The engine started and gave %.0f tokens per second for 16 prompts at once." % rates[-1][1],
        "引擎已启动，16 个提示并发时每秒 %.0f 个词元。" % rates[-1][1],
    )
