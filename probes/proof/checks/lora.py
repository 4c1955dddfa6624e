"""LoRA on a small language model from config: loss, memory, adapter saved and loaded again."""

ID = "lora"
TITLE = (
    "LoRA: fine-tune a small language model",
    "LoRA：微调小型语言模型",
)
SCENARIO = "llm-finetuning"
FRAMEWORKS = ("lora", "peft", "transformers")
PACKAGES = ("torch", "numpy", "transformers", "peft")
LIMIT_S = 400.0
ORDER = 1
PROVES = (
    "Transformers and PEFT train an adapter here: the loss falls, the base stays as it was, and the adapter can be saved and loaded.",
    "Transformers 与 PEFT 能在本机训练适配器：损失下降，基础模型不变，适配器可保存并重新加载。",
)
LIMITS = (
    "A tiny model with random weights: it shows that the machinery works, not what a large model learns or needs.",
    "随机权重的微型模型：只说明流程可用，不代表大模型的效果与需求。",
)
NEAREST = "torch-quickstart"


def run(report):
    report.shared("lora").run(report, quantised=False)
