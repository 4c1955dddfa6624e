"""QLoRA: the base model in 4 bits (NF4), an adapter trained on it."""

ID = "qlora"
TITLE = (
    "QLoRA: fine-tune with the base model in 4 bits",
    "QLoRA：以 4 位基础模型微调",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("qlora", "bitsandbytes", "peft", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "peft", "bitsandbytes", "accelerate")
LIMIT_S = 400.0
PLATFORMS = ("linux", "win32")
PROVES = (
    "bitsandbytes quantises to NF4 here, also without a GPU, and an adapter learns on top of it.",
    "bitsandbytes 能在本机量化为 NF4（没有 GPU 也可以），并在其上训练适配器。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "lora"


def run(report):
    report.shared("lora").run(report, quantised=True)
