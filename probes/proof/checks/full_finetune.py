"""All weights of a small language model trained: memory predicted and measured, saved and loaded again."""

import time

STEPS = 30

ID = "full-finetune"
TITLE = (
    "Full fine-tuning: memory predicted and measured",
    "全参数微调：内存预测与实测",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("transformers", "pytorch")
PACKAGES = ("torch", "numpy", "transformers")
LIMIT_S = 400.0
PROVES = (
    "Training every weight works here, and the memory of weights, gradients and optimizer is what the formula says.",
    "全参数训练在本机可行，权重、梯度与优化器的内存与公式相符。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "lora"


def run(report):
    began = time.perf_counter()
    report.step("Loading Transformers", "正在加载 Transformers", 0.05)
    import torch
    import transformers

    report.imported(began)
    report.version(torch, transformers)
    tiny = report.shared("tiny_llama")
    model = tiny.model(transformers, torch)
    count = sum(p.numel() for p in model.parameters())
    # float32: 4 bytes of weight, 4 of gradient and twice 4 of Adam's moments for each parameter.
    predicted = count * 16
    report.measure(
        "predicted_bytes", predicted, "bytes", "Weights, gradients, optimizer: predicted", "权重、梯度、优化器（预测）"
    )
    batch = tiny.tokenizer()(tiny.sentences(32), return_tensors="pt", padding=True)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    losses = []
    start = time.perf_counter()
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
        report.step(
            "Step %d of %d: loss %.3f" % (step + 1, STEPS, losses[-1]),
            "第 %d/%d 步：损失 %.3f" % (step + 1, STEPS, losses[-1]),
            0.1 + 0.8 * step / STEPS,
        )
    seconds = time.perf_counter() - start
    tensors = list(model.parameters()) + [p.grad for p in model.parameters()]
    tensors += [v for s in optimiser.state.values() for v in s.values() if v.numel() > 1]
    measured = sum(t.numel() * t.element_size() for t in tensors)
    report.measure(
        "measured_bytes",
        measured,
        "bytes",
        "Weights, gradients, optimizer: measured",
        "权重、梯度、优化器（实测）",
        "lower",
    )
    report.measure("step_time", seconds / STEPS, "s", "Time of one step", "每步用时", "lower")
    report.series("loss", list(enumerate(losses, 1)), "Training loss", "训练损失", ("step", "步"), ("loss", "损失"))
    folder = report.scratch + "/model"
    model.eval()
    model.save_pretrained(folder)
    again = transformers.LlamaForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        keys = {k: batch[k] for k in ("input_ids", "attention_mask")}
        difference = float((model(**keys).logits - again(**keys).logits).abs().max())
    report.measure(
        "reload_difference",
        difference,
        "",
        "Largest difference after saving and loading",
        "保存并重新加载后的最大差异",
        "lower",
    )
    report.need(
        losses[-1] < losses[0] * 0.6,
        "The loss did not fall: %.3f to %.3f." % (losses[0], losses[-1]),
        "损失没有下降：%.3f 到 %.3f。" % (losses[0], losses[-1]),
    )
    report.need(
        abs(measured / predicted - 1) < 0.05,
        "Measured memory is %.2f times the prediction." % (measured / predicted),
        "实测内存为预测的 %.2f 倍。" % (measured / predicted),
    )
    report.need(
        difference < 1e-5,
        "The saved model answers differently: %g." % difference,
        "保存后的模型结果不同：%g。" % difference,
    )
    report.outcome(
        "The loss fell from %.2f to %.2f; memory is %.2f times the prediction."
        % (losses[0], losses[-1], measured / predicted),
        "损失从 %.2f 降到 %.2f；内存为预测的 %.2f 倍。" % (losses[0], losses[-1], measured / predicted),
    )
