"""LoRA fine-tuning through Unsloth (on a processor it falls back to a plain path)."""

import os
import time

ID = "unsloth-sft"
TITLE = (
    "Unsloth: LoRA fine-tuning",
    "Unsloth：LoRA 微调",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("unsloth", "trl")
PACKAGES = ("torch", "numpy", "unsloth")
LIMIT_S = 600.0
PLATFORMS = ("linux",)
ON_REQUEST = True
REMOVE = ("torchvision", "torchaudio", "torchcodec")
PROVES = (
    "Unsloth imports here and fine-tunes; without a GPU through its fallback for processors.",
    "Unsloth 能在本机导入并微调；没有 GPU 时使用其 CPU 后备路径。",
)
LIMITS = (
    "Its kernels are for GPUs; on a processor only the path is proven, not the speed.",
    "其内核面向 GPU；在 CPU 上只能证明流程可行，不代表速度。",
)
NEAREST = "lora"


def run(report):
    began = time.perf_counter()
    report.step("Loading Unsloth", "正在加载 Unsloth", 0.05)
    os.chdir(report.scratch)
    import unsloth  # isort: skip - it patches the others and has to come first
    import torch
    import transformers
    import trl
    from datasets import Dataset
    from peft import LoraConfig, get_peft_model
    from trl import SFTConfig, SFTTrainer

    report.imported(began)
    report.version(unsloth, torch, transformers, trl)
    tiny = report.shared("tiny_llama")
    model = get_peft_model(
        tiny.model(transformers, torch), LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    )
    settings = SFTConfig(
        output_dir=report.scratch, max_steps=10, per_device_train_batch_size=8, learning_rate=2e-2, logging_steps=1,
        report_to="none", save_strategy="no", use_cpu=not torch.cuda.is_available(), bf16=False, fp16=False, max_length=32,
        disable_tqdm=True, lr_scheduler_type="constant", seed=0, dataset_num_proc=1,
    )  # fmt: skip
    data = Dataset.from_dict({"text": tiny.sentences(64)})
    trainer = SFTTrainer(model, args=settings, train_dataset=data, processing_class=tiny.tokenizer())
    report.step("Training", "正在训练", 0.5)
    trainer.train()
    losses = [(r["step"], r["loss"]) for r in trainer.state.log_history if "loss" in r]
    report.series("loss", losses, "Training loss", "训练损失", ("step", "步"), ("loss", "损失"))
    report.need(losses[-1][1] < losses[0][1], "The loss did not fall.", "损失没有下降。")
    report.outcome(
        "The loss fell from %.2f to %.2f in 10 steps." % (losses[0][1], losses[-1][1]),
        "10 步内损失从 %.2f 降到 %.2f。" % (losses[0][1], losses[-1][1]),
    )
