"""The estimate: model, work and machine together, the layout that is best, its memory, and what can be done."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from knowledge.answers import Answers
from knowledge.facts import Accelerator, Evidence, Finding, MachineProfile
from knowledge.remedies import remedy
from knowledge.sizing import advice, budget, layout, models, parts, verdict, work
from knowledge.sizing.budget import Budget
from knowledge.sizing.description import ModelDescription
from knowledge.sizing.layout import Layout
from knowledge.sizing.parts import Parts
from knowledge.sizing.work import SHARDING, Work
from knowledge.text import Text
from knowledge.verdicts import Assumption, MemoryEstimate, MemoryPlan

GOOD = ("fits", "tight")
OTHER_TARGETS = ("android", "ios", "browser", "microcontroller")
# vLLM takes 0.92 of the card unless told otherwise (docs.vllm.ai, CacheConfig); other servers take about as much.
SERVER_SHARE = 0.92


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """All that an estimate stands on."""

    model: ModelDescription
    work: Work
    budget: Budget
    devices: int
    per_node: int
    assumptions: tuple[Assumption, ...] = ()


def estimate(
    machine: MachineProfile,
    answers: Answers,
    catalog: Any = None,
    *,
    model: ModelDescription | None = None,
    device: Accelerator | Literal["cpu"] | None = None,
    details: bool = False,
    measured: dict[str, float] | None = None,
    today: Any = None,
) -> MemoryEstimate | None:
    """Memory per device for the model in ANSWERS (or MODEL) on MACHINE; None where no model is named.

    DEVICE pins the accelerator, or the processor; without it the best accelerator is taken. DETAILS adds what the most
    is that fits, and a bound of the time from CATALOG's table of devices or from MEASURED speeds of a smoke run
    (`memory_bandwidth_bytes_per_s`, `matrix_flops_per_s`). Raises BadInput for numbers that no model or machine has.
    """
    found = case(machine, answers, model=model, device=device)
    if found is None:
        return None
    chosen, shown = choose(found)
    said = _said(found, chosen, shown)
    if not details:
        return said
    from knowledge.sizing import inverse, timing

    return msgspec.structs.replace(
        said, limits=inverse.largest(found), time=timing.time_bound(found, catalog, measured)
    )


def case(
    machine: MachineProfile,
    answers: Answers,
    *,
    model: ModelDescription | None = None,
    device: Accelerator | Literal["cpu"] | None = None,
) -> Case | None:
    """Inputs of an estimate, resolved; None where no model is named."""
    if model is None:
        model = models.of_answers(answers)
    if model is None:
        return None
    found = budget.budget(machine, device)
    cluster = answers.cluster
    if found.device is not None and found.device.mig:
        cluster = None  # slices of a card are not joined: each does its own work
    if found.where == "cpu" and device is None and cluster is not None and (cluster.gpus_per_node or 0) > 0:
        found = budget.elsewhere(machine)
    if answers.target.kind in OTHER_TARGETS and machine.system.os in ("linux", "windows", "macos", None):
        found = budget.elsewhere(machine)
    devices, per_node = found.devices, found.devices
    if cluster is not None and (cluster.nodes or cluster.gpus_per_node) and found.where != "cpu":
        per_node = cluster.gpus_per_node or found.devices
        devices = per_node * (cluster.nodes or 1)
    own = found.where in ("dedicated", "unknown")
    what, notes = work.resolve(answers, model, cpu=found.where == "cpu", own_memory=own)
    what = msgspec.structs.replace(what, cpu=found.where == "cpu")
    if what.method == "infer" and what.engine == "server" and found.where == "dedicated":
        found = msgspec.structs.replace(found, usual_share=SERVER_SHARE)
    return Case(
        model=model, work=what, budget=found, devices=max(1, devices), per_node=max(1, per_node),
        assumptions=(*found.assumptions, *notes),
    )  # fmt: skip


def layouts(found: Case) -> list[Layout]:
    if found.budget.device is not None and found.budget.device.mig:
        return [Layout(data=1 if found.work.trains else found.devices)]
    if found.work.trains:
        return layout.for_training(found.work, found.devices, found.per_node)
    return layout.for_inference(found.model, found.work, found.devices, found.per_node)


def choose(found: Case) -> tuple[Layout, Parts]:
    """The layout that spreads least among those that fit; else the first that is tight; else the one needing least."""
    where = found.budget.where
    sized = [(one, parts.parts(found.model, found.work, one, where)) for one in layouts(found)]
    # The buffers of several devices may be what is too much: then one device alone does the work.
    alone = [(Layout(), parts.parts(found.model, found.work, Layout(), where))] if found.devices > 1 else []
    for wanted in GOOD:
        for one, needed in [*sized, *alone]:
            if verdict.verdict(needed, found.budget) == wanted:
                return one, needed
    if found.budget.available_bytes is None:
        return sized[0]
    return min(sized, key=lambda pair: pair[1].total)


def fits(found: Case) -> bool:
    """Whether some layout holds the work, be it tightly."""
    return verdict.verdict(choose(found)[1], found.budget) in GOOD


def _said(found: Case, chosen: Layout, needed: Parts) -> MemoryEstimate:
    outcome = verdict.verdict(needed, found.budget)
    model, what = found.model, found.work
    findings: list[Finding] = []
    subject = model.name or "model"
    whole = Layout(data=found.devices, per_node=found.per_node)
    if outcome in ("exceeds", "tight"):
        offers = advice.remedies(found, chosen, needed)
        said = verdict.finding(outcome, needed, found.budget, subject, offers)
        if said is not None:
            findings.append(said)
    findings += _sharing(found, chosen, whole, subject)
    findings += _devices(found, chosen, subject)
    assumptions = [*found.assumptions]
    if not model.exact:
        assumptions += [Assumption(fact="model", assumed=_shape(model), because=note) for note in model.notes]
    offloads = advice.offload_host(found, chosen)
    return MemoryEstimate(
        method=what.method, components=needed.components(), host_bytes=None if offloads is None else round(offloads),
        total_bytes=sum(msgspec.structs.astuple(needed.components())), low_bytes=round(needed.low),
        high_bytes=round(needed.high), available_bytes=found.budget.available_bytes, verdict=outcome,
        plan=_plan(found, chosen), assumptions=tuple(assumptions), findings=tuple(findings),
    )  # fmt: skip


def _plan(found: Case, chosen: Layout) -> MemoryPlan:
    what = found.work
    from knowledge.sizing import inverse

    context = concurrency = batch = None
    if found.budget.available_bytes is not None:
        if what.trains:
            batch = inverse.largest_batch(found, chosen)
        elif found.model.cache_layers:
            context = inverse.largest_context(found, chosen)
            concurrency = inverse.largest_concurrency(found, chosen)
    form = {"qlora": "nf4", "infer": what.weight_format}.get(what.method, what.precision)
    return MemoryPlan(
        tensor_parallel=chosen.tensor, data_parallel=chosen.data, pipeline_parallel=chosen.pipeline,
        sharding=chosen.sharding, offload=chosen.offload, max_batch=batch or None, max_context=context or None,
        max_concurrency=concurrency or None,
        weight_format=form,
    )  # fmt: skip


def _shape(model: ModelDescription) -> str:
    return f"{model.layers} layers, hidden {model.hidden}, {model.kv_heads} key-value heads, vocabulary {model.vocab}"


def _sharing(found: Case, chosen: Layout, whole: Layout, subject: str) -> list[Finding]:
    """memory.not_sharded: a whole copy on each device does not fit, however many devices there are."""
    if not found.work.trains or found.devices < 2 or found.budget.available_bytes is None:
        return []
    if found.work.framework in SHARDING and found.work.method != "qlora":
        return []
    if found.budget.device is not None and found.budget.device.mig:
        return []
    alone = parts.parts(found.model, found.work, whole, found.budget.where)
    if alone.total <= found.budget.available_bytes:
        return []
    spread = chosen.sharding is not None
    quantised = found.work.method == "qlora"
    need, have = verdict.gib(alone.total), verdict.gib(found.budget.available_bytes)
    if quantised:
        text = Text(
            f"Data parallelism and ZeRO keep all 4-bit weights on each of the {found.devices} devices: {need} GiB on a "
            f"device with {have} GiB. The memory of several devices does not add up that way; FSDP splits the weights.",
            f"数据并行和 ZeRO 会在 {found.devices} 个设备上各保留一份完整的 4 位权重：每个 {have} GiB 的设备需要 "
            f"{need} GiB。这样多个设备的显存并不能相加；FSDP 才会拆分权重。",
        )
    else:
        text = Text(
            f"Plain data parallelism keeps all states on each of the {found.devices} devices: {need} GiB on a device "
            f"with {have} GiB. Sharding (FSDP or ZeRO-3) splits them.",
            f"普通数据并行会在 {found.devices} 个设备上各保留一份完整状态：每个 {have} GiB 的设备上需要 {need} GiB。"
            "分片（FSDP 或 ZeRO-3）会把它们拆开。",
        )
    method = "FSDP" if quantised or chosen.sharding == "fsdp" else "ZeRO-3"
    offer = (remedy("shard", {"devices": str(found.devices), "method": method}),)
    evidence = (Evidence(fact=f"{found.devices} devices of {found.budget.available_bytes} bytes", source="machine"),)
    return [Finding(code="memory.not_sharded", severity="info" if spread else "warning", subject=subject, because=text,
                    evidence=evidence, remedies=offer)]  # fmt: skip


def _devices(found: Case, chosen: Layout, subject: str) -> list[Finding]:
    """accel.count_mismatch where heads cannot be split by the number of devices; accel.mixed where cards differ."""
    said: list[Finding] = []
    model, devices = found.model, min(found.devices, found.per_node)
    sliced = found.budget.device is not None and found.budget.device.mig is not None
    splits = not sliced and found.work.method == "infer" and found.work.engine in ("server", "unknown") and model.vocab
    if splits and devices > 1 and not layout.divides(model, devices):
        even = max(t for t in range(1, devices) if layout.divides(model, t))
        text = Text(
            f"{model.heads} attention heads ({model.kv_heads} for keys and values) cannot be split over {devices} "
            f"devices; tensor parallel {even} is possible (--tensor-parallel-size {even}), or pipeline parallel over "
            "all.",
            f"{model.heads} 个注意力头（键值头 {model.kv_heads} 个）无法均分到 {devices} 个设备；可用张量并行 {even}"
            f"（--tensor-parallel-size {even}），或在全部设备上使用流水线并行。",
        )
        evidence = (Evidence(fact=f"{model.heads} heads, {devices} devices", source="answers"),)
        said.append(
            Finding(code="accel.count_mismatch", severity="warning", subject=subject, because=text, evidence=evidence,
                    remedies=(remedy("shard", {"devices": str(even)}),))
        )  # fmt: skip
    if found.budget.device is not None and found.budget.device.mig and devices > 1:
        text = Text(
            f"The {devices} slices of a card cannot be joined for one model; each is used by itself.",
            f"{devices} 个 GPU 切片无法合并用于同一个模型；每个切片单独使用。",
        )
        said.append(Finding(code="accel.partitioned", severity="info", subject=subject, because=text))
    if found.budget.other_devices and found.devices <= found.budget.devices and found.budget.device is not None:
        name = found.budget.device.name or found.budget.device.vendor
        text = Text(
            f"The machine holds different GPUs; the plan uses {found.budget.devices} x {name}, since the smallest card "
            "of a mixed set would limit all.",
            f"这台机器装有不同的 GPU；方案使用 {found.budget.devices} 个 {name}，因为混用时最小的一块会限制全部。",
        )
        said.append(Finding(code="accel.mixed", severity="info", subject=name, because=text))
    if found.budget.where in ("shared", "unified") and found.budget.assumptions:
        note = found.budget.assumptions[0]
        named = found.budget.device.name if found.budget.device is not None else None
        evidence = (Evidence(fact=f"{note.fact} = {note.assumed} bytes", source="assumed"),)
        said.append(Finding(code="accel.memory_shared", severity="info", subject=named or subject,
                            because=note.because, evidence=evidence))  # fmt: skip
    return said
