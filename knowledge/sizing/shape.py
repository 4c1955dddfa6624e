"""A model from a parameter count and whatever of its shape is known; the rest is taken from models of that size."""

from __future__ import annotations

from knowledge.answers import Model
from knowledge.documents import BadInput, count
from knowledge.sizing.description import Kind, ModelDescription
from knowledge.text import Text

LIMITS = {
    "layers": 2_000, "hidden": 1_000_000, "heads": 100_000, "kv_heads": 100_000, "vocab": 100_000_000,
    "experts": 100_000, "intermediate": 10_000_000, "head_dim": 100_000,
}  # fmt: skip

# Shapes that models of about this size have: parameters, layers, hidden, heads, key-value heads, intermediate, vocab.
# From the config.json files of GPT-2, Qwen2.5, Llama 3 and Llama 3.1; see data/models.yaml for addresses.
TYPICAL = (
    (120_000_000, 12, 768, 12, 12, 3072, 50_257),
    (350_000_000, 24, 1024, 16, 16, 4096, 50_257),
    (500_000_000, 24, 896, 14, 2, 4864, 151_936),
    (1_500_000_000, 28, 1536, 12, 2, 8960, 151_936),
    (3_200_000_000, 28, 3072, 24, 8, 8192, 128_256),
    (8_000_000_000, 32, 4096, 32, 8, 14_336, 128_256),
    (14_000_000_000, 48, 5120, 40, 8, 13_824, 152_064),
    (32_000_000_000, 64, 5120, 40, 8, 27_648, 152_064),
    (70_000_000_000, 80, 8192, 64, 8, 28_672, 128_256),
    (405_000_000_000, 126, 16_384, 128, 8, 53_248, 128_256),
)

APPROXIMATE = Text(
    "Only the size of the model is known; layers, width and key-value heads are those of a usual model of that size.",
    "只知道模型的参数量；层数、宽度和键值头数按同规模的常见模型取值。",
)
PARTLY = Text(
    "What the description leaves open ({names}) is derived from the parameter count or from models of that size.",
    "描述中没有给出的部分（{names}）由参数量推算，或按同规模的常见模型取值。",
)

# Fewer parameters than this are a count without its unit: 70 for 70B.
SLIP = 1000


def positive(name: str, value: int | None) -> int | None:
    """VALUE, or BadInput naming the key where it is no sensible size."""
    if value is None:
        return None
    if not 1 <= value <= LIMITS[name]:
        raise BadInput(Text(
            f"key `model.{name}`: found {value!r}, allowed are 1 to {LIMITS[name]}.",
            f"键 `model.{name}`：读到 {value!r}，允许 1 到 {LIMITS[name]}。",
        ))  # fmt: skip
    return value


def described(model: Model, task: str | None = None) -> ModelDescription | None:
    """MODEL of an answers file as a description, or None where neither a size nor a shape is stated."""
    stated_total = count(model.params)
    given = {name: positive(name, getattr(model, name)) for name in LIMITS}
    if stated_total is not None and stated_total < SLIP and model.file is None:  # a file may hold a tiny model
        raise BadInput(Text(
            f"key `model.params`: found {stated_total}, which is no model; {stated_total} billion parameters are written {stated_total}B.",
            f"键 `model.params`：发现 {stated_total}，不像一个模型；参数量请带单位书写，例如 {stated_total}B 表示 {stated_total * 10} 亿。",
        ))  # fmt: skip
    if stated_total is None and (given["layers"] is None or given["hidden"] is None):
        return None
    text = task not in ("vision", "tabular", "rl", "speech")
    rough = (given["layers"] or 1) * 12 * (given["hidden"] or 1) ** 2
    near = nearest(rough if stated_total is None else stated_total)
    layers = given["layers"] or near[1]
    hidden = given["hidden"] or near[2]
    heads = given["heads"] or max(1, near[3] if given["hidden"] is None else hidden // 128)
    head_dim = given["head_dim"] or max(1, hidden // heads)
    kv_known = given["kv_heads"] is not None
    kv_heads = given["kv_heads"] or min(heads, max(1, near[4]))
    if kv_heads > heads:
        raise BadInput(Text(
            f"key `model.kv_heads`: found {kv_heads}, which is more than the {heads} query heads.",
            f"键 `model.kv_heads`：发现 {kv_heads}，大于查询头数 {heads}。",
        ))  # fmt: skip
    vocab = given["vocab"] or (near[6] if text else 0)
    experts = given["experts"] or 0
    active = count(model.active_params)

    attention = layers * hidden * head_dim * (2 * heads + 2 * kv_heads)
    table = vocab * hidden
    tied = stated_total is not None and stated_total < 3_000_000_000
    if stated_total is not None:
        total = stated_total
    else:
        feed = given["intermediate"] or (near[5] if given["hidden"] is None else round(hidden * 3.5))
        total = attention + layers * 3 * hidden * feed * max(1, experts) + table * (1 if tied else 2)
    if total < attention + table:  # the shape says more than the count: the count stands, its parts shrink
        attention = min(attention, total // 3)
        table = min(table, total // 3)
        tied = True
    head = 0 if tied else min(table, max(0, total - attention - table) // 2)
    rest = total - attention - table - head
    feed = given["intermediate"] or max(1, round(rest / (3 * hidden * layers * max(1, experts))))
    if given["intermediate"] is None and experts <= 1:
        feed = min(max(feed, hidden // 2), 16 * hidden)
    if active is None:
        active = total if experts <= 1 else round(total - rest * (1 - min(8, experts) / experts))
    if active > total:
        raise BadInput(Text(
            f"key `model.active_params`: found {active}, which is more than the {total} of the whole model.",
            f"键 `model.active_params`：发现 {active}，大于整个模型的 {total}。",
        ))  # fmt: skip
    if active < total and experts <= 1:
        experts = 64  # a mixture whose number of experts was not stated
        feed = max(1, round(rest / (3 * hidden * layers * experts)))

    stated = [name for name, value in given.items() if value is not None]
    open_names = [n for n in ("layers", "hidden", "heads", "kv_heads", "vocab") if given[n] is None]
    notes = (APPROXIMATE,) if not stated else (PARTLY.filled(names=", ".join(open_names)),) if open_names else ()
    kind: Kind = "decoder" if text else "other"
    return ModelDescription(
        name=model.name, kind=kind, parameters=total, active_parameters=active,
        embedding_parameters=table, head_parameters=head, attention_parameters=attention,
        mlp_parameters=0 if experts > 1 else rest, expert_parameters=rest if experts > 1 else 0,
        layers=layers, hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim, intermediate=feed,
        vocab=vocab, tied=tied, experts=experts, experts_per_token=min(8, experts) if experts > 1 else 0,
        moe_layers=layers if experts > 1 else 0,
        cache_layers=layers if text else 0, cache_width=2 * kv_heads * head_dim if text else 0,
        cache_width_high=None if kv_known or not text else 2 * heads * head_dim,
        largest_layer_parameters=max(table, (total - table - head) // layers), exact=not open_names, notes=notes,
    )  # fmt: skip


def nearest(total: int) -> tuple[int, ...]:
    """The typical shape for TOTAL parameters, with layers and width moved a little where no row is close."""
    row = min(TYPICAL, key=lambda r: abs(_ratio(total, r[0])))
    step = (total / row[0]) ** (1 / 3)
    if 0.6 < step < 1.7:
        return row
    heads = max(1, round(row[3] * step))
    head_dim = row[2] // row[3]
    hidden = heads * head_dim if step > 1 or total > 3e7 else max(8, round(row[2] * step / 8) * 8)
    if hidden < row[2] and total < 3e7:
        heads = max(1, hidden // 64)
    layers = max(1, round(row[1] * step))
    feed, vocab = max(1, round(row[5] * step)), min(row[6], max(1, total // hidden // 3))
    return total, layers, hidden, heads, max(1, min(heads, row[4])), feed, vocab


def _ratio(a: int, b: int) -> float:
    import math

    return math.log(a / b)
