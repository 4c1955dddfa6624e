"""What is to be run: method, numbers and formats, each stated by the user or assumed and said so."""

from __future__ import annotations

from typing import Literal

from knowledge.answers import Answers
from knowledge.documents import BadInput
from knowledge.facts import Base
from knowledge.sizing import formats
from knowledge.sizing.description import ModelDescription
from knowledge.text import Text
from knowledge.verdicts import Assumption

WorkMethod = Literal["full", "lora", "qlora", "infer"]
Engine = Literal["server", "llama.cpp", "eager", "unknown"]

SERVERS = ("vllm", "sglang", "tensorrt-llm", "lmdeploy", "text-generation-inference", "triton-inference-server",
           "ray-serve", "kserve", "bentoml")  # fmt: skip
LLAMA_CPP = ("llama-cpp", "ollama", "lm-studio", "lemonade", "mlx", "mlc-llm", "onnxruntime-genai", "foundry-local")
EAGER = ("transformers", "pytorch", "accelerate", "peft", "onnxruntime", "optimum", "openvino", "torch-compile")
# Trainers that keep a whole copy of the model on each device.
REPLICATING = ("ddp", "horovod", "unsloth", "stable-baselines3", "keras", "tensorflow", "mxnet", "mlx")
ZERO_ONLY = ("deepspeed",)
# Trainers that are chosen in order to shard; a whole copy on each device is not what they are for.
SHARDING = ("fsdp", "deepspeed", "megatron-lm", "torchtitan", "nemo")
INFERENCE_SCENARIOS = ("llm-serving", "production-serving", "edge-inference")

# Bytes of optimizer state per trained parameter: AdamW 8, 8-bit AdamW 2, SGD with momentum 4
# (https://github.com/huggingface/transformers model_memory_anatomy, read 2026-11-30). Lion and Muon keep one moment.
OPTIMIZERS = {
    "adamw": 8.0, "adam": 8.0, "adamw_torch": 8.0, "adamw_torch_fused": 8.0, "adamw_hf": 8.0, "paged_adamw": 8.0,
    "paged_adamw_32bit": 8.0, "adamw_8bit": 2.03, "adam_8bit": 2.03, "adamw_bnb_8bit": 2.03, "paged_adamw_8bit": 2.03,
    "sgd": 0.0, "sgd_momentum": 4.0, "momentum": 4.0, "rmsprop": 4.0, "adagrad": 4.0, "lion": 4.0, "lion_8bit": 1.02,
    "paged_lion_8bit": 1.02, "muon": 4.0, "adafactor": 0.05, "came": 0.1, "lomo": 0.0, "galore": 1.0, "apollo": 0.5,
}  # fmt: skip

LIMIT_TOKENS = 100_000_000


class Work(Base, frozen=True, kw_only=True):
    method: WorkMethod
    precision: Literal["bf16", "fp16", "fp32", "fp8"] = "bf16"
    sequence_length: int = 2048
    batch_size: int = 1
    checkpointing: bool = True
    optimizer: str = "adamw"
    optimizer_bytes: float = 8.0
    rank: int = 16
    concurrency: int = 1
    context_length: int = 4096
    weight_format: str = "bf16"
    kv_bits: int = 16
    engine: Engine = "unknown"
    framework: str | None = None
    eager_attention: bool = False
    cpu: bool = False
    reference: bool = False  # a frozen copy of the model beside the trained one, as reinforcement learning keeps
    pure: bool = False  # weights, gradients and optimizer states in the computing precision alone

    @property
    def element_bytes(self) -> int:
        return 4 if self.precision == "fp32" else 2

    @property
    def mixed(self) -> bool:
        """32-bit weights that are computed with in 16 bits, as full training does."""
        return self.precision != "fp32" and self.method == "full" and not self.pure

    @property
    def trains(self) -> bool:
        return self.method != "infer"


def resolve(
    answers: Answers, model: ModelDescription, *, cpu: bool = False, own_memory: bool = True
) -> tuple[Work, tuple[Assumption, ...]]:
    """The work that ANSWERS describe for MODEL, with what had to be assumed. Raises BadInput for absurd numbers.

    OWN_MEMORY: the device is a card with memory of its own; elsewhere 4 bits mean a GGUF file, which quantises the
    embeddings too.
    """
    training, serving = answers.training, answers.serving
    notes: list[Assumption] = []
    method: WorkMethod
    if training.method == "scratch":
        method = "full"
    elif training.method is not None:
        method = training.method
    elif answers.scenario in INFERENCE_SCENARIOS or _serves(answers):
        method = "infer"
    elif answers.scenario == "llm-finetuning":
        method = "lora"
        notes.append(_assumed("training.method", "lora", "Method: LoRA, the usual way to fine-tune.",
                              "方法：LoRA，这是常用的微调方式。"))  # fmt: skip
    else:
        method = "full"
        notes.append(_assumed("training.method", "full", "Method: all weights are trained, since none was chosen.",
                              "方法：未选择，因此按训练全部权重计算。"))  # fmt: skip

    precision = training.precision
    if precision is None:
        precision = "fp32" if cpu and method != "infer" else "bf16"
        if method != "infer":
            notes.append(_assumed("training.precision", precision, f"Precision: {precision}, as usual on such a device.",
                                  f"精度：{precision}，这是此类设备上的常用精度。"))  # fmt: skip
    sequence = _number("training.sequence_length", training.sequence_length)
    if sequence is None:
        usual = 2048 if model.vocab else 256 if answers.task == "vision" else 1024
        sequence = min(usual, model.max_context or usual)
        if method != "infer":
            notes.append(_assumed("training.sequence_length", str(sequence), f"Sequence length: {sequence} tokens, since none was stated.",
                                  f"序列长度：未说明，按 {sequence} 个词元计算。"))  # fmt: skip
    batch = _number("training.batch_size", training.batch_size)
    if batch is None:
        batch = 1
        if method != "infer":
            notes.append(_assumed("training.batch_size", "1", "Batch: 1, which needs the least memory.",
                                  "批量：1，此时所需内存最少。"))  # fmt: skip
    checkpointing = training.gradient_checkpointing
    if checkpointing is None:
        checkpointing = model.parameters >= 1_000_000_000
        if method != "infer":
            notes.append(_assumed(
                "training.gradient_checkpointing", "true" if checkpointing else "false",
                f"Gradient checkpointing: {'on' if checkpointing else 'off'}, as usual for a model of this size.",
                f"梯度检查点：{'开启' if checkpointing else '关闭'}，这是此规模模型的常用设置。",
            ))  # fmt: skip
    optimizer = (training.optimizer or "adamw").strip().lower().replace("-", "_")
    per_parameter = OPTIMIZERS.get(optimizer)
    if per_parameter is None:
        notes.append(_assumed("training.optimizer", "adamw", f"Optimizer: AdamW, since {training.optimizer!r:.40} is not known here.",
                              f"优化器：此处不认识 {training.optimizer!r:.40}，按 AdamW 计算。"))  # fmt: skip
        optimizer, per_parameter = "adamw", 8.0
    rank = _number("training.rank", training.rank) or 16
    if method in ("lora", "qlora") and training.rank is None:
        notes.append(_assumed("training.rank", "16", "Adapters: on all linear layers, of rank 16.",
                              "适配器：加在全部线性层上，秩为 16。"))  # fmt: skip

    context = _number("serving.context_length", serving.context_length)
    if context is None:
        context = min(4096, model.max_context or 4096)
        if method == "infer" and model.cache_layers:
            notes.append(_assumed("serving.context_length", str(context), f"Context: {context} tokens, since none was stated.",
                                  f"上下文：未说明，按 {context} 个词元计算。"))  # fmt: skip
    concurrency = _number("serving.concurrency", serving.concurrency) or 1
    if context * concurrency > LIMIT_TOKENS or sequence * batch > LIMIT_TOKENS:
        raise BadInput(Text(
            f"Length times batch is more than {LIMIT_TOKENS} tokens at once, which no machine holds.",
            f"长度乘以批量超过 {LIMIT_TOKENS} 个词元，没有机器能容纳。",
        ))  # fmt: skip
    stated = serving.weight_format is not None or serving.weight_bits is not None
    weight_format, guessed = formats.chosen(serving.weight_format, serving.weight_bits)
    if guessed:
        notes.append(_assumed("serving.weight_format", weight_format,
                              f"Weights: {weight_format}, since {serving.weight_format!r:.40} is not known here.",
                              f"权重：此处不认识 {serving.weight_format!r:.40}，按 {weight_format} 计算。"))  # fmt: skip
    light = not own_memory or engine(answers.framework) == "llama.cpp"
    if light and serving.weight_format is None and serving.weight_bits in formats.GGUF_BY_BITS:
        weight_format = formats.GGUF_BY_BITS[serving.weight_bits]
    if not stated and method == "infer":
        weight_format = model.weight_format or ("fp32" if training.precision == "fp32" else "bf16")
        notes.append(_assumed("serving.weight_format", weight_format, f"Weights: {weight_format}, as they are published.",
                              f"权重：{weight_format}，按发布时的格式计算。"))  # fmt: skip
    kv_bits = 16 if serving.kv_bits is None else serving.kv_bits
    if not 2 <= kv_bits <= 32:
        raise BadInput(Text(
            f"key `serving.kv_bits`: found {kv_bits}, allowed are 2 to 32.",
            f"键 `serving.kv_bits`：读到 {kv_bits}，允许 2 到 32。",
        ))  # fmt: skip
    reference = answers.scenario == "reinforcement-learning" and method == "full" and model.vocab > 0
    if reference:
        notes.append(_assumed("training.reference", "true", "A frozen copy of the model stands beside the trained one, "
                              "as in GRPO and DPO; PPO's critic would need as much as the model once more.",
                              "训练的模型旁边还有一份冻结的参考模型（如 GRPO、DPO）；"
                              "PPO 的评论家模型还需同样多的内存。"))  # fmt: skip
    work = Work(
        method=method, precision=precision, sequence_length=sequence, batch_size=batch, checkpointing=checkpointing,
        optimizer=optimizer, optimizer_bytes=per_parameter, rank=rank, concurrency=concurrency,
        context_length=context, weight_format=weight_format, kv_bits=kv_bits, engine=engine(answers.framework),
        framework=answers.framework, cpu=cpu, reference=reference,
    )  # fmt: skip
    return work, tuple(notes)


def engine(framework: str | None) -> Engine:
    if framework in SERVERS:
        return "server"
    if framework in LLAMA_CPP:
        return "llama.cpp"
    return "eager" if framework in EAGER else "unknown"


def _serves(answers: Answers) -> bool:
    serving = answers.serving
    stated = (serving.concurrency, serving.context_length, serving.weight_bits, serving.weight_format)
    return any(value is not None for value in stated)


def _number(name: str, value: int | None) -> int | None:
    if value is not None and not 1 <= value <= LIMIT_TOKENS:
        raise BadInput(Text(
            f"key `{name}`: found {value}, allowed are 1 to {LIMIT_TOKENS}.",
            f"键 `{name}`：读到 {value}，允许 1 到 {LIMIT_TOKENS}。",
        ))  # fmt: skip
    return value


def _assumed(fact: str, value: str, en: str, zh: str) -> Assumption:
    return Assumption(fact=fact, assumed=value, because=Text(en, zh))
