"""LoRA fine-tuning through LLaMA-Factory's own command line, where its torchaudio can be imported."""

import json
import os
import subprocess
import sys
import time

ID = "llama-factory-sft"
TITLE = (
    "LLaMA-Factory: LoRA fine-tuning by its command line",
    "LLaMA-Factory：用命令行进行 LoRA 微调",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("llama-factory",)
PACKAGES = ("torch", "numpy", "llamafactory")
LIMIT_S = 600.0
PLATFORMS = ("linux", "darwin")
ON_REQUEST = True
REMOVE = ("torchvision",)
PROVES = (
    "LLaMA-Factory's command line trains a LoRA adapter here for three steps and writes it.",
    "LLaMA-Factory 命令行能在本机训练三步 LoRA 适配器并写出文件。",
)
LIMITS = (
    "It imports torchaudio at its start, and PyPI's torchaudio fits CUDA builds of PyTorch only: beside a CPU build it cannot start, which is then the answer.",
    "它启动时就导入 torchaudio，而 PyPI 上的 torchaudio 只适配 CUDA 版 PyTorch：与 CPU 版并存时无法启动，结果即为此说明。",
)
NEAREST = "trl-sft"


def run(report):
    began = time.perf_counter()
    report.step("Loading LLaMA-Factory's needs", "正在加载 LLaMA-Factory 的依赖", 0.05)
    import torch
    import transformers

    report.version(torch, transformers)
    try:
        import torchaudio
    except (ImportError, OSError) as error:
        # Without the place: it would name this user's folders.
        said = str(error).splitlines()[0].split(": /")[0][:160] if str(error) else type(error).__name__
        raise report.CannotRun(
            "LLaMA-Factory imports torchaudio at its start, and this one does not load beside torch %s: %s. Nearest: trl-sft."
            % (torch.__version__, said),
            "LLaMA-Factory 启动时导入 torchaudio，而它无法与 torch %s 一起加载：%s。最接近的检查：trl-sft。"
            % (torch.__version__, said),
        ) from None
    report.version(torchaudio)
    report.imported(began)
    tiny = report.shared("tiny_llama")
    base, out = os.path.join(report.scratch, "base"), os.path.join(report.scratch, "adapter")
    tiny.model(transformers, torch).save_pretrained(base)
    tiny.tokenizer().save_pretrained(base)
    rows = [{"instruction": s.split(" is ")[0], "input": "", "output": s} for s in tiny.sentences(64)]
    write(os.path.join(report.scratch, "sums.json"), rows)
    write(os.path.join(report.scratch, "dataset_info.json"), {"sums": {"file_name": "sums.json"}})
    settings = {
        "model_name_or_path": base, "stage": "sft", "do_train": True, "finetuning_type": "lora", "lora_rank": 8,
        "lora_target": "q_proj,v_proj", "dataset": "sums", "dataset_dir": report.scratch, "template": "default",
        "cutoff_len": 64, "output_dir": out, "max_steps": 3, "per_device_train_batch_size": 8, "learning_rate": 2e-2,
        "logging_steps": 1, "report_to": "none", "lr_scheduler_type": "constant", "use_cpu": not torch.cuda.is_available(),
    }  # fmt: skip
    path = os.path.join(report.scratch, "sft.json")
    write(path, settings)
    report.step("Training 3 steps", "正在训练 3 步", 0.4)
    start = time.perf_counter()
    program = os.path.join(os.path.dirname(sys.executable), "llamafactory-cli")
    done = subprocess.run([program, "train", path], cwd=report.scratch, stdout=sys.stderr, timeout=500)
    report.measure(
        "command", time.perf_counter() - start, "s", "The command, from start to end", "整条命令用时", "lower"
    )
    report.need(
        done.returncode == 0, "Its command ended with code %d." % done.returncode,
        "其命令以代码 %d 结束。" % done.returncode,
    )  # fmt: skip
    with open(os.path.join(out, "trainer_state.json")) as stream:
        losses = [(r["step"], r["loss"]) for r in json.load(stream)["log_history"] if "loss" in r]
    report.series("loss", losses, "Training loss", "训练损失", ("step", "步"), ("loss", "损失"))
    report.need(losses[-1][1] < losses[0][1], "The loss did not fall.", "损失没有下降。")
    report.need(
        os.path.exists(os.path.join(out, "adapter_model.safetensors")), "No adapter was written.", "没有写出适配器。"
    )
    report.outcome(
        "The loss fell from %.2f to %.2f in 3 steps; the adapter is written." % (losses[0][1], losses[-1][1]),
        "3 步内损失从 %.2f 降到 %.2f；适配器已写出。" % (losses[0][1], losses[-1][1]),
    )


def write(path, value):
    with open(path, "w") as stream:
        json.dump(value, stream)
