"""The memory of the chosen stack: the bar, its parts, the most that fits, and what was assumed."""

from __future__ import annotations

from typing import Any

from advisor_gui import wording
from advisor_gui.report import machine_part, names
from advisor_gui.report.blocks import Bar, Bullets, Fact, Heading, Sayer, Table, Tone
from knowledge.text import Text
from knowledge.verdicts import MemoryEstimate

TONES: dict[str, Tone] = {"fits": "good", "tight": "warn", "exceeds": "bad"}
LIMITS = (
    ("batch", Text("Batch size", "批大小")), ("sequence_length", Text("Sequence length", "序列长度")),
    ("context", Text("Context", "上下文长度")), ("concurrency", Text("Requests at once", "并发请求数")),
    ("parameters", Text("Parameters", "参数量")), ("method", Text("Method", "训练方法")),
    ("weight_bits", Text("Bits of a weight", "权重位数")), ("devices", Text("Fewest devices", "最少设备数")),
    ("nodes", Text("Fewest nodes", "最少节点数")),
)  # fmt: skip
TIMES = (
    ("first_token_s", Text("First token after", "首个词元延迟"), "s"), ("tokens_per_s", Text("Tokens of all requests", "总吞吐"), "tokens/s"),
    ("step_s", Text("One step", "每步用时"), "s"), ("training_tokens_per_s", Text("Training", "训练吞吐"), "tokens/s"),
)  # fmt: skip
SHARDING = {"zero1": "ZeRO-1", "zero2": "ZeRO-2", "zero3": "ZeRO-3", "fsdp": "FSDP"}


def needs(memory: MemoryEstimate, say: Sayer) -> str:
    total, low, high = (say.text(wording.size(v)) for v in (memory.total_bytes, memory.low_bytes, memory.high_bytes))
    spread = say(f" ({low} to {high})", f"（{low} 至 {high}）") if memory.low_bytes and memory.high_bytes else ""
    verdict = say.text(wording.MEMORY_VERDICT[memory.verdict])
    if memory.available_bytes is None:
        return say(f"{total}{spread} needed; what there is is not known", f"需要 {total}{spread}；可用量未知")
    have = say.text(wording.size(memory.available_bytes))
    return say(f"{total}{spread} of {have}: {verdict}", f"需要 {total}{spread}，共有 {have}：{verdict}")


def fact(memory: MemoryEstimate, say: Sayer) -> Fact:
    plan = memory.plan
    devices = plan.tensor_parallel * plan.data_parallel * plan.pipeline_parallel
    note = say(f"on each of {devices} devices", f"共 {devices} 个设备，每个设备如此") if devices > 1 else ""
    return Fact(label=say("Memory", "内存"), value=needs(memory, say), tone=TONES.get(memory.verdict, "info"), note=note)


def memory(found: MemoryEstimate | None, say: Sayer) -> tuple[Any, ...]:
    if found is None or not found.total_bytes:
        return ()
    scale = max(found.total_bytes, found.high_bytes or 0, found.available_bytes or 0)
    parts = tuple(
        (say.text(label), say.text(wording.size(size)), 100 * size / scale, place)
        for place, (part, label) in enumerate(names.PARTS)
        if (size := getattr(found.components, f"{part}_bytes"))
    )

    def share(value: int | None) -> float | None:
        return None if value is None else 100 * value / scale

    blocks: list[Any] = [
        Bar(parts=parts, have_percent=share(found.available_bytes), low_percent=share(found.low_bytes),
            high_percent=share(found.high_bytes), said=needs(found, say), tone=TONES.get(found.verdict, "info"))
    ]  # fmt: skip
    rows = _plan(found, say) + _limits(found, say) + _times(found, say)
    if rows:
        blocks.append(Table(heads=(say("Plan", "方案"), say("Value", "值")), rows=tuple(rows), wide=(1, 2)))
    said = [say.text(a.because) for a in found.assumptions]
    said += [say.text(t) for t in (found.time.basis if found.time is not None else ())]
    if said:
        blocks += [Heading(said=say("Assumed", "假定")), Bullets(items=tuple(said))]
    return (*blocks, *machine_part.findings(found.findings, say))


def _plan(found: MemoryEstimate, say: Sayer) -> list[tuple[str, str]]:
    plan = found.plan
    rows = [(say("Method", "方法"), say.text(names.METHODS.get(found.method, Text(found.method, found.method))))]
    for size, label in ((plan.tensor_parallel, say("Tensor parallel", "张量并行")), (plan.pipeline_parallel, say("Pipeline parallel", "流水线并行")),
                        (plan.data_parallel, say("Data parallel", "数据并行"))):  # fmt: skip
        if size > 1:
            rows.append((label, str(size)))
    if plan.sharding:
        rows.append((say("Sharding", "分片"), SHARDING.get(plan.sharding, plan.sharding)))
    if plan.offload:
        rows.append((say("Kept in the computer's own memory", "放在主机内存中"), plan.offload))
    if plan.weight_format:
        rows.append((say("Weights in", "权重格式"), plan.weight_format))
    if found.host_bytes:
        rows.append((say("The computer's own memory", "主机内存"), say.text(wording.size(found.host_bytes))))
    if found.limits is None:
        for most, label in ((plan.max_batch, say("Largest batch", "最大批大小")), (plan.max_context, say("Longest context", "最长上下文")),
                            (plan.max_concurrency, say("Most requests at once", "最大并发请求数"))):  # fmt: skip
            if most:
                rows.append((label, f"{most:,}"))
    return rows


def _limits(found: MemoryEstimate, say: Sayer) -> list[tuple[str, str]]:
    rows = []
    for field, label in LIMITS:
        value = getattr(found.limits, field) if found.limits is not None else None
        if value is None:
            continue
        if field == "method":
            said = say.text(names.METHODS.get(value, Text(value, value)))
        elif field == "parameters":
            said = say.text(wording.parameters(value))
        else:
            said = f"{value:,}"
        known = field in ("devices", "nodes")
        name = say(label.en if known else f"At most: {label.en.lower()}", label.zh if known else f"上限：{label.zh}")
        rows.append((name, said))
    return rows


def _times(found: MemoryEstimate, say: Sayer) -> list[tuple[str, str]]:
    rows = []
    for field, label, unit in TIMES:
        value = getattr(found.time, field) if found.time is not None else None
        if value is not None:
            rows.append((say.text(label), say("about ", "约 ") + say.text(wording.number(value, unit))))
    return rows
