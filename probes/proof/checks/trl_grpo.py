"""A GRPO step of reinforcement learning on a small language model through TRL."""

import math
import time

ID = "trl-grpo"
TITLE = (
    "TRL: GRPO with a reward in Python",
    "TRL：以 Python 奖励函数进行 GRPO",
)
SCENARIO = "reinforcement-learning"
FRAMEWORKS = ("trl", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "trl", "accelerate")
LIMIT_S = 400.0
PROVES = (
    "TRL's GRPO trainer generates, rewards and updates here.",
    "TRL 的 GRPO 训练器能在本机完成生成、打分与更新。",
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
    from trl import GRPOConfig, GRPOTrainer

    report.imported(began)
    report.version(torch, transformers, trl)
    tiny = report.shared("tiny_llama")

    def variety(completions, **_):
        return [float(len(set(text))) for text in completions]

    settings = GRPOConfig(
        output_dir=report.scratch, max_steps=8, per_device_train_batch_size=8, num_generations=8, max_completion_length=12,
        learning_rate=5e-3, logging_steps=1, report_to="none", save_strategy="no", use_cpu=not torch.cuda.is_available(),
        bf16=False, disable_tqdm=True, seed=0,
    )  # fmt: skip
    data = Dataset.from_dict({"prompt": [s[:8] for s in tiny.sentences(32)]})
    trainer = GRPOTrainer(
        tiny.model(transformers, torch),
        reward_funcs=variety,
        args=settings,
        train_dataset=data,
        processing_class=tiny.tokenizer(),
    )
    before = torch.cat([p.detach().flatten().clone() for p in trainer.model.parameters()])
    report.step("Generating, rewarding, updating", "生成、打分、更新", 0.4)
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    rows = [r for r in trainer.state.log_history if "reward" in r]
    report.series(
        "reward",
        [(r["step"], r["reward"]) for r in rows],
        "Mean reward",
        "平均奖励",
        ("step", "步"),
        ("reward", "奖励"),
    )
    report.measure("step_time", seconds / 8, "s", "Time of one step", "每步用时", "lower")
    # The loss of GRPO is about zero by construction at first: reward and gradient say whether it learns.
    gradient = max(r.get("grad_norm") or 0.0 for r in rows)
    report.measure("gradient", gradient, "", "Largest gradient norm", "最大梯度范数")
    moved = float((torch.cat([p.detach().flatten() for p in trainer.model.parameters()]) - before).abs().max())
    report.need(
        len(rows) == 8 and all(math.isfinite(r["reward"]) for r in rows),
        "Not every step gave a reward.",
        "并非每一步都有奖励。",
    )
    report.need(gradient > 0 and moved > 0, "No gradient reached the model.", "模型没有收到梯度。")
    report.outcome(
        "8 steps done, rewards from %.1f to %.1f, weights moved." % (rows[0]["reward"], rows[-1]["reward"]),
        "完成 8 步，奖励从 %.1f 到 %.1f，权重已更新。" % (rows[0]["reward"], rows[-1]["reward"]),
    )
