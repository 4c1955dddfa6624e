"""Transformers' Trainer, driven by Accelerate, with a checkpoint that training goes on from."""

import time

ID = "accelerate-trainer"
TITLE = (
    "Accelerate and the Trainer: train, checkpoint, resume",
    "Accelerate 与 Trainer：训练、检查点、恢复",
)
SCENARIO = "distributed-training"
FRAMEWORKS = ("accelerate", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "accelerate", "datasets")
LIMIT_S = 400.0
PROVES = (
    "The Trainer runs here, writes a checkpoint and goes on from it with the same loss.",
    "Trainer 能在本机运行、写出检查点，并以相同的损失继续训练。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "torch-ddp"


def run(report):
    began = time.perf_counter()
    report.step("Loading Transformers", "正在加载 Transformers", 0.05)
    import accelerate
    import torch
    import transformers
    from datasets import Dataset
    from transformers import Trainer, TrainingArguments

    report.imported(began)
    report.version(torch, transformers, accelerate)
    tiny = report.shared("tiny_llama")
    tokens = tiny.tokenizer()(tiny.sentences(64), padding=True)
    rows = {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"], "labels": tokens["input_ids"]}

    def trainer(steps):
        settings = TrainingArguments(
            output_dir=report.scratch, max_steps=steps, per_device_train_batch_size=8, learning_rate=1e-2, logging_steps=1,
            save_steps=6, report_to="none", use_cpu=not torch.cuda.is_available(), disable_tqdm=True, seed=0,
            lr_scheduler_type="constant",
        )  # fmt: skip
        return Trainer(tiny.model(transformers, torch), args=settings, train_dataset=Dataset.from_dict(rows))

    def losses(done):
        return [(r["step"], r["loss"]) for r in done.state.log_history if "loss" in r]

    report.step("Training 12 steps", "正在训练 12 步", 0.3)
    whole = trainer(12)
    start = time.perf_counter()
    whole.train()
    report.measure("step_time", (time.perf_counter() - start) / 12, "s", "Time of one step", "每步用时", "lower")
    a = losses(whole)
    report.step("Resuming at step 6", "正在从第 6 步恢复", 0.7)
    again = trainer(12)
    again.train(resume_from_checkpoint=report.scratch + "/checkpoint-6")
    b = losses(again)
    report.series("loss", a, "Loss without a break", "未中断的损失", ("step", "步"), ("loss", "损失"))
    difference = max(abs(x - y) for (_, x), (_, y) in zip(a[6:], b[6:]))
    report.measure(
        "resume_difference",
        difference,
        "",
        "Largest difference of the loss after resuming",
        "恢复后损失的最大差异",
        "lower",
    )
    report.need(a[-1][1] < a[0][1] - 0.3, "The loss did not fall.", "损失没有下降。")
    report.need(
        difference < 1e-3, "After resuming the loss differs by %g." % difference, "恢复后损失相差 %g。" % difference
    )
    report.outcome(
        "The loss fell from %.2f to %.2f; resuming gives the same numbers (difference %.1e)."
        % (a[0][1], a[-1][1], difference),
        "损失从 %.2f 降到 %.2f；恢复后的数值相同（差异 %.1e）。" % (a[0][1], a[-1][1], difference),
    )
