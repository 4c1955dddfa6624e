"""Preference optimisation (DPO) of a small language model through TRL."""

import time

ID = "trl-dpo"
TITLE = (
    "TRL: preference optimisation (DPO)",
    "TRL：偏好优化（DPO）",
)
SCENARIO = "reinforcement-learning"
FRAMEWORKS = ("trl", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "trl", "accelerate")
LIMIT_S = 400.0
PROVES = (
    "TRL's DPO trainer runs here: the preferred answers gain over the others.",
    "TRL 的 DPO 训练器能在本机运行：偏好答案相对其他答案得到提升。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "trl-sft"


def run(report):
    began = time.perf_counter()
    report.step("Loading TRL", "正在加载 TRL", 0.05)
    import torch
    import transformers
    import trl
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    report.imported(began)
    report.version(torch, transformers, trl)
    tiny = report.shared("tiny_llama")
    rows = [{"prompt": s[:12], "chosen": s[12:], "rejected": s[12:][::-1]} for s in tiny.sentences(32)]
    settings = DPOConfig(
        output_dir=report.scratch, max_steps=12, per_device_train_batch_size=8, learning_rate=5e-3, logging_steps=1,
        report_to="none", save_strategy="no", use_cpu=not torch.cuda.is_available(), bf16=False, max_length=48,
        disable_tqdm=True, seed=0, lr_scheduler_type="constant",
    )  # fmt: skip
    folder = report.scratch + "/base"
    tiny.model(transformers, torch).save_pretrained(folder)
    model = transformers.LlamaForCausalLM.from_pretrained(folder)
    trainer = DPOTrainer(
        model,
        args=settings,
        train_dataset=Dataset.from_list(rows),
        processing_class=tiny.tokenizer(),
    )
    report.step("Training", "正在训练", 0.4)
    start = time.perf_counter()
    trainer.train()
    report.measure("step_time", (time.perf_counter() - start) / 12, "s", "Time of one step", "每步用时", "lower")
    log = [r for r in trainer.state.log_history if "loss" in r]
    report.series(
        "loss", [(r["step"], r["loss"]) for r in log], "Training loss", "训练损失", ("step", "步"), ("loss", "损失")
    )
    margins = [(r["step"], r["rewards/margins"]) for r in log if "rewards/margins" in r]
    report.series(
        "margin", margins, "Preferred over rejected", "偏好与被拒答案的差距", ("step", "步"), ("margin", "差距")
    )
    report.need(log[-1]["loss"] < log[0]["loss"], "The loss did not fall.", "损失没有下降。")
    report.need(margins[-1][1] > margins[0][1], "The margin did not grow.", "差距没有增大。")
    report.outcome(
        "The loss fell from %.3f to %.3f and the margin grew to %.2f."
        % (log[0]["loss"], log[-1]["loss"], margins[-1][1]),
        "损失从 %.3f 降到 %.3f，差距增至 %.2f。" % (log[0]["loss"], log[-1]["loss"], margins[-1][1]),
    )
