"""Supervised fine-tuning of a small language model through TRL."""

import time

ID = "trl-sft"
TITLE = (
    "TRL: supervised fine-tuning (SFT)",
    "TRL：监督微调（SFT）",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("trl", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "trl", "accelerate")
LIMIT_S = 400.0
PROVES = (
    "TRL's trainer runs here on a small model: data, chat template, steps, falling loss.",
    "TRL 的训练器能在本机运行：数据、对话模板、训练步骤与下降的损失。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "lora"


def run(report):
    began = time.perf_counter()
    report.step("Loading TRL", "正在加载 TRL", 0.05)
    import torch
    import transformers
    import trl
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    report.imported(began)
    report.version(torch, transformers, trl)
    tiny = report.shared("tiny_llama")
    settings = SFTConfig(
        output_dir=report.scratch, max_steps=20, per_device_train_batch_size=8, learning_rate=2e-2, logging_steps=1,
        report_to="none", save_strategy="no", use_cpu=not torch.cuda.is_available(), bf16=False, max_length=32,
        disable_tqdm=True, lr_scheduler_type="constant", seed=0,
    )  # fmt: skip
    data = Dataset.from_dict({"text": tiny.sentences(64)})
    trainer = SFTTrainer(
        tiny.model(transformers, torch), args=settings, train_dataset=data, processing_class=tiny.tokenizer()
    )
    report.step("Training", "正在训练", 0.4)
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    losses = [(r["step"], r["loss"]) for r in trainer.state.log_history if "loss" in r]
    report.series("loss", losses, "Training loss", "训练损失", ("step", "步"), ("loss", "损失"))
    report.measure("step_time", seconds / 20, "s", "Time of one step", "每步用时", "lower")
    first, last = losses[0][1], losses[-1][1]
    report.need(
        last < first - 0.3,
        "The loss did not fall: %.3f to %.3f." % (first, last),
        "损失没有下降：%.3f 到 %.3f。" % (first, last),
    )
    report.outcome(
        "The loss fell from %.2f to %.2f in 20 steps." % (first, last), "20 步内损失从 %.2f 降到 %.2f。" % (first, last)
    )
