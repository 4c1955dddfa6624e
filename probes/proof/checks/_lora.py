"""Adapter training on the tiny llama, shared by the LoRA and QLoRA checks."""

import os
import time

STEPS = 25


def run(report, quantised):
    began = time.perf_counter()
    report.step("Loading Transformers and PEFT", "正在加载 Transformers 与 PEFT", 0.05)
    import peft
    import torch
    import transformers
    from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training

    report.imported(began)
    report.version(torch, transformers, peft)
    tiny = report.shared("tiny_llama")
    base = tiny.model(transformers, torch)
    folder = os.path.join(report.scratch, "base")
    base.save_pretrained(folder)

    def loaded():
        if not quantised:
            return transformers.LlamaForCausalLM.from_pretrained(folder)
        import bitsandbytes

        report.version(bitsandbytes)
        nf4 = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float32,
            bnb_4bit_use_double_quant=True,
        )  # fmt: skip
        where = "cuda" if torch.cuda.is_available() else "cpu"
        return transformers.LlamaForCausalLM.from_pretrained(folder, quantization_config=nf4, device_map=where)

    model = loaded()
    device = next(model.parameters()).device
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    report.measure("weight_bytes", weights, "bytes", "Weights of the base model", "基础模型权重大小", "lower")
    if quantised:
        kinds = {type(m).__name__ for m in model.modules()}
        report.need("Linear4bit" in kinds, "No layer was quantised.", "没有任何层被量化。")
        model = prepare_model_for_kbit_training(model)
    adapter = LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], lora_dropout=0.0, task_type="CAUSAL_LM"
    )
    model = get_peft_model(model, adapter)
    # B starts at zero, so that the first answers are those of the base model.
    trainable = sum(p.numel() for p in model.parameters() if p.requires_grad)
    report.measure("trainable", trainable, "", "Weights that are trained", "可训练权重数", "lower")
    predicted = trainable * (4 + 4 + 8)
    report.measure(
        "predicted_training_bytes",
        predicted,
        "bytes",
        "Adapter, gradients and Adam states, predicted",
        "适配器、梯度与 Adam 状态（预测）",
    )

    tokens = tiny.tokenizer()
    batch = tokens(tiny.sentences(32), return_tensors="pt", padding=True).to(device)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    frozen = {
        n: p.detach().clone() for n, p in model.named_parameters() if not p.requires_grad and p.is_floating_point()
    }
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-2)
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
            0.2 + 0.6 * step / STEPS,
        )
    seconds = time.perf_counter() - start
    held = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    held += sum(p.grad.numel() * p.grad.element_size() for p in model.parameters() if p.grad is not None)
    held += sum(
        v.numel() * v.element_size()
        for s in optimiser.state.values()
        for v in s.values()
        if hasattr(v, "numel") and v.numel() > 1
    )
    report.measure(
        "measured_training_bytes",
        held,
        "bytes",
        "Adapter, gradients and Adam states, measured",
        "适配器、梯度与 Adam 状态（实测）",
        "lower",
    )
    report.series("loss", list(enumerate(losses, 1)), "Training loss", "训练损失", ("step", "步"), ("loss", "损失"))
    report.measure("step_time", seconds / STEPS, "s", "Time of one step", "每步用时", "lower")
    report.measure(
        "tokens_per_s",
        float(batch["attention_mask"].sum()) * STEPS / seconds,
        "tokens/s",
        "Training speed",
        "训练速度",
        "higher",
    )
    moved = [n for n, p in model.named_parameters() if n in frozen and not torch.equal(frozen[n], p.detach())]

    report.step("Saving the adapter and loading it again", "正在保存并重新加载适配器", 0.9)
    model.eval()
    with torch.no_grad():
        before = model(**{k: batch[k] for k in ("input_ids", "attention_mask")}).logits
    place = os.path.join(report.scratch, "adapter")
    model.save_pretrained(place)
    size = sum(os.path.getsize(os.path.join(place, n)) for n in os.listdir(place))
    report.measure("adapter_size", size, "bytes", "Size of the saved adapter", "保存的适配器大小", "lower")
    again = PeftModel.from_pretrained(loaded(), place).eval()
    with torch.no_grad():
        after = again(**{k: batch[k] for k in ("input_ids", "attention_mask")}).logits
    difference = float((before - after).abs().max())
    report.measure(
        "reload_difference",
        difference,
        "",
        "Largest difference after loading the adapter again",
        "重新加载适配器后的最大差异",
        "lower",
    )
    report.need(
        losses[-1] < losses[0] - 0.3,
        "The loss did not fall: %.3f to %.3f." % (losses[0], losses[-1]),
        "损失没有下降：%.3f 到 %.3f。" % (losses[0], losses[-1]),
    )
    report.need(not moved, "Frozen weights changed: %s." % moved[:1], "冻结的权重发生了变化：%s。" % moved[:1])
    report.need(
        difference < (2e-2 if quantised else 1e-4),
        "The adapter answers differently after loading: %g." % difference,
        "重新加载后的结果不同：%g。" % difference,
    )
    report.outcome(
        "The loss fell from %.2f to %.2f in %d steps; the adapter of %.0f kB gives the same answers when loaded again."
        % (losses[0], losses[-1], STEPS, size / 1e3),
        "%d 步内损失从 %.2f 降到 %.2f；%.0f kB 的适配器重新加载后结果一致。"
        % (STEPS, losses[0], losses[-1], size / 1e3),
    )
