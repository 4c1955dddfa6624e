"""The contents of a report in reading order, as plain blocks in one language; formats only lay them out."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

import msgspec

from advisor_gui import wording
from advisor_gui.report.value import Report
from knowledge.facts import Finding, Remedy
from knowledge.plan import Series, SmokeResult
from knowledge.text import Text
from knowledge.verdicts import Assessment, MemoryEstimate

Tone = Literal["good", "warn", "bad", "info", "plain"]
FIT_TONE: dict[str, Tone] = {"ready": "good", "after_changes": "warn", "undetermined": "info", "unsuitable": "bad"}
SEVERITY_TONE: dict[str, Tone] = {"error": "bad", "warning": "warn", "info": "info"}
PARTS = (
    ("weights", Text("Weights", "权重")), ("gradients", Text("Gradients", "梯度")), ("optimizer", Text("Optimizer", "优化器")),
    ("activations", Text("Activations", "激活值")), ("kv_cache", Text("KV cache", "KV 缓存")),
    ("overhead", Text("Overhead", "其他开销")),
)  # fmt: skip


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    label: str
    value: str
    tone: Tone = "plain"
    note: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    said: str
    commands: tuple[str, ...] = ()


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    tone: Tone
    word: str
    said: str
    detail: str = ""
    repairs: tuple[Repair, ...] = ()


class Commands(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    lines: tuple[str, ...]
    open: bool = False


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """The memory bar: shares of the widest value, in percent."""

    parts: tuple[tuple[str, str, float, int], ...]  # label, size, percent, colour number
    have_percent: float | None
    low_percent: float | None
    high_percent: float | None
    said: str
    tone: Tone


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    series: tuple[Series, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    blocks: tuple[Any, ...]  # str (a paragraph) | Fact tuple | Table | Notice | Commands | Bar | Picture


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    language: str
    title: str
    subtitle: str
    summary: tuple[Fact, ...]
    sections: tuple[Section, ...]
    foot: str


def contents(value: Report, language: str) -> Contents:
    """VALUE as blocks in LANGUAGE. Its strings must already be clean (`report.privacy.shown`)."""
    say = _Sayer(language)
    chosen = value.recommendation.chosen
    sections = [
        Section(id="stack", title=say("The recommended stack", "推荐的技术栈"), blocks=_stack(chosen, say)),
        Section(id="install", title=say("Install", "安装"), blocks=_commands(chosen, value, say)),
        Section(id="memory", title=say("Memory", "内存"), blocks=_memory(chosen.memory if chosen else None, say)),
        Section(id="proof", title=say("Verified and proven", "核实与验证"), blocks=_proof(value, say)),
        Section(id="reasons", title=say("Why: each requirement", "理由：逐项要求"), blocks=_verdicts(chosen, say)),
        Section(id="alternatives", title=say("Alternatives", "备选方案"), blocks=_others(value, say)),
        Section(id="ruled-out", title=say("What was ruled out", "已排除的方案"), blocks=_ruled_out(value, say)),
        Section(id="changes", title=say("What would change this", "什么会改变结论"), blocks=_changes(value, say)),
        Section(id="findings", title=say("Findings and repairs", "发现与修复"), blocks=_findings(value.findings, say)),
        Section(id="machine", title=say("The machine", "这台电脑"), blocks=_machine(value, say)),
        Section(id="lock", title=say("Lock", "锁定文件"), blocks=_lock(value, say)),
        Section(id="about", title=say("About this report", "关于本报告"), blocks=_about(value, say)),
    ]
    return Contents(
        language=language, title=value.title or say("Stack assessment", "技术栈评估"), subtitle=_subtitle(value, say),
        summary=_summary(value, say), sections=tuple(s for s in sections if s.blocks),
        foot=f"Stackfit {value.program_version} · {value.created[:10]}",
    )  # fmt: skip


class _Sayer:
    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, en: str, zh: str) -> str:
        return zh if self.language == "zh" else en

    def text(self, value: Text) -> str:
        return value.said(self.language)


def _subtitle(value: Report, say: _Sayer) -> str:
    system, cpu = value.machine.system, value.machine.cpu
    name = " ".join(w for w in ((system.distribution or system.os or "").capitalize(), system.release) if w)
    devices = ", ".join(
        f"{d.count} × {d.name or d.vendor}" if d.count > 1 else d.name or d.vendor for d in value.machine.accelerators or ()
    )
    return " · ".join(w for w in (name, cpu.model, devices) if w)


def _summary(value: Report, say: _Sayer) -> tuple[Fact, ...]:
    chosen, machine = value.recommendation.chosen, value.machine
    facts = [
        Fact(label=say("Project", "项目"), value=value.answers.scenario, note=_project(value, say)),
        Fact(label=say("Machine", "电脑"), value=_subtitle(value, say) or say("not known", "未知"),
             note=say("recorded elsewhere", "在别处记录") if machine.recorded else ""),
    ]  # fmt: skip
    if chosen is None:
        facts.append(Fact(label=say("Stack", "技术栈"), value=say("Nothing fits", "没有适合的方案"), tone="bad"))
        return tuple(facts)
    parts = " + ".join(" ".join(w for w in (c.framework, c.version) if w) for c in chosen.stack.components)
    python = f"Python {chosen.stack.python}" if chosen.stack.python else ""
    facts.append(Fact(label=say("Stack", "技术栈"), value=parts or chosen.framework, note=python))
    facts.append(
        Fact(label=say("Verdict", "结论"), value=say.text(wording.FIT[chosen.fit]), tone=FIT_TONE[chosen.fit],
             note=say.text(chosen.why[0]) if chosen.why else "")
    )  # fmt: skip
    if chosen.memory is not None and chosen.memory.total_bytes is not None:
        tone: Tone = {"fits": "good", "tight": "warn", "exceeds": "bad"}.get(chosen.memory.verdict, "info")  # type: ignore[assignment]
        facts.append(Fact(label=say("Memory", "内存"), value=_needs(chosen.memory, say), tone=tone))
    facts.append(_proof_fact(value, say))
    return tuple(facts)


def _project(value: Report, say: _Sayer) -> str:
    answers = value.answers
    said = [answers.task, answers.framework]
    if answers.model.params is not None or answers.model.name:
        said.append(" ".join(str(w) for w in (answers.model.name, answers.model.params) if w is not None))
    said += [answers.training.method, answers.target.kind if answers.target.kind != "this-machine" else None]
    return " · ".join(str(w) for w in said if w)


def _proof_fact(value: Report, say: _Sayer) -> Fact:
    passed = [s for s in value.smoke if s.outcome == "passed"]
    failed = [s for s in value.smoke if s.outcome not in ("passed", "cannot_run")]
    label = say("Proof", "验证")
    if failed:
        return Fact(label=label, value=say(f"{failed[0].check} did not pass", f"{failed[0].check} 未通过"), tone="bad")
    if passed:
        names = ", ".join(s.check for s in passed)
        return Fact(label=label, value=say(f"Ran here: {names}", f"已在本机运行：{names}"), tone="good")
    if value.resolve is not None and value.resolve.outcome == "verified":
        return Fact(label=label, value=say("Verified by the resolver, not run", "解析器已核实，尚未运行"), tone="info")
    return Fact(label=label, value=say("Not verified", "未核实"), tone="warn")


def _stack(chosen: Assessment | None, say: _Sayer) -> tuple[Any, ...]:
    if chosen is None:
        return (say("No candidate of this scenario fits this machine. The reasons stand below.",
                    "此场景的候选方案都不适合这台电脑，原因见下文。"),)  # fmt: skip
    blocks: list[Any] = [say.text(sentence) for sentence in chosen.why]
    rows = tuple(
        (say.text(wording.ROLE.get(c.role, Text(c.role, c.role))), c.framework, c.version or "", c.device or "")
        for c in chosen.stack.components
    )
    heads = (say("Role", "角色"), say("Framework", "框架"), say("Version", "版本"), say("Runs on", "运行于"))
    if rows:
        blocks.append(Table(heads=heads, rows=rows))
    blocks += [
        Notice(tone="info", word=say("Assumed", "假定"), said=say.text(a.because)) for a in chosen.assumptions
    ]
    blocks += [
        Notice(tone="warn", word=say("Before it works", "使用前"), said=say.text(v.because), repairs=_repairs(v.remedies, say))
        for v in chosen.verdicts if v.outcome in ("unmet", "unknown")
    ]  # fmt: skip
    return tuple(blocks)


def _repairs(remedies: tuple[Remedy, ...], say: _Sayer) -> tuple[Repair, ...]:
    return tuple(Repair(said=say.text(r.text), commands=r.commands) for r in remedies)


def _commands(chosen: Assessment | None, value: Report, say: _Sayer) -> tuple[Any, ...]:
    if chosen is None or chosen.install is None:
        return ()
    wanted = (value.answers.tools.packages, value.answers.tools.shell)
    blocks: list[Any] = []
    for client, shells in chosen.install.commands.items():
        for shell, lines in shells.items():
            first = not blocks if wanted[0] is None else (client, shell) == wanted or (client == wanted[0] and wanted[1] is None)
            blocks.append(Commands(title=f"{client} · {shell}", lines=tuple(lines), open=first))
    if chosen.install.environment:
        rows = tuple(chosen.install.environment.items())
        blocks.append(Table(heads=(say("Variable", "变量"), say("Value", "值")), rows=rows))
    return tuple(blocks)


def _needs(memory: MemoryEstimate, say: _Sayer) -> str:
    total, low, high, have = (
        say.text(wording.size(v)) for v in (memory.total_bytes, memory.low_bytes, memory.high_bytes, memory.available_bytes)
    )
    verdict = say.text(wording.MEMORY_VERDICT[memory.verdict])
    return say(f"{total} ({low} to {high}) of {have}: {verdict}", f"需要 {total}（{low} 至 {high}），共有 {have}：{verdict}")


def _memory(memory: MemoryEstimate | None, say: _Sayer) -> tuple[Any, ...]:
    if memory is None or not memory.total_bytes:
        return ()
    scale = max(memory.total_bytes, memory.high_bytes or 0, memory.available_bytes or 0)
    parts = tuple(
        (say.text(label), say.text(wording.size(size)), 100 * size / scale, place)
        for place, (part, label) in enumerate(PARTS)
        if (size := getattr(memory.components, f"{part}_bytes"))
    )

    def share(value: int | None) -> float | None:
        return None if value is None else 100 * value / scale

    tone: Tone = {"fits": "good", "tight": "warn", "exceeds": "bad"}.get(memory.verdict, "info")  # type: ignore[assignment]
    blocks: list[Any] = [
        Bar(parts=parts, have_percent=share(memory.available_bytes), low_percent=share(memory.low_bytes),
            high_percent=share(memory.high_bytes), said=_needs(memory, say), tone=tone)
    ]  # fmt: skip
    blocks += [say.text(a.because) for a in memory.assumptions]
    blocks += _findings(memory.findings, say)
    return tuple(blocks)


def _proof(value: Report, say: _Sayer) -> tuple[Any, ...]:
    blocks: list[Any] = []
    if value.resolve is not None:
        word = say.text(wording.RESOLVE_OUTCOME[value.resolve.outcome])
        tone: Tone = {"verified": "good", "refused": "bad"}.get(value.resolve.outcome, "warn")  # type: ignore[assignment]
        size = say.text(wording.size(value.resolve.download_bytes)) if value.resolve.download_bytes else ""
        detail = say(f"{len(value.resolve.packages)} packages, {size} to download", f"{len(value.resolve.packages)} 个包，需下载 {size}")
        blocks.append(Notice(tone=tone, word=word, said=say.text(value.resolve.because), detail=detail if size else ""))
    for result in value.smoke:
        blocks += _smoke(result, say)
    if not blocks:
        blocks.append(
            Notice(tone="warn", word=say("Not verified", "未核实"),
                   said=say("Nobody has asked a resolver or run this stack on this machine yet.", "尚未询问解析器，也未在这台电脑上运行该技术栈。"))
        )  # fmt: skip
    return tuple(blocks)


def _smoke(result: SmokeResult, say: _Sayer) -> list[Any]:
    tone: Tone = {"passed": "good", "cannot_run": "info", "cancelled": "warn"}.get(result.outcome, "bad")  # type: ignore[assignment]
    word = f"{result.check} · {say.text(wording.SMOKE_OUTCOME[result.outcome])}"
    detail = say.text(result.proves) if result.proves is not None else ""
    blocks: list[Any] = [Notice(tone=tone, word=word, said=say.text(result.because), detail=detail)]
    if result.measures:
        rows = tuple((say.text(m.label), say.text(wording.number(m.value, m.unit))) for m in result.measures)
        blocks.append(Table(heads=(say("Measure", "指标"), say("Value", "值")), rows=rows))
    groups: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for one in result.series:
        groups[(one.kind, one.x_label.en, one.y_label.en, one.x_unit, one.y_unit)].append(one)
    blocks += [Picture(title=say.text(group[0].label), series=tuple(group)) for group in groups.values()]
    if result.pins:
        blocks.append(say("Ran with: ", "运行所用：") + ", ".join(result.pins))
    return blocks


def _verdicts(chosen: Assessment | None, say: _Sayer) -> tuple[Any, ...]:
    if chosen is None or not chosen.verdicts:
        return ()
    heads = (say("Requirement", "要求"), say("Outcome", "结果"), say("Because", "原因"), say("Evidence", "依据"), say("Source", "来源"))
    rows = tuple(
        (v.code, say.text(wording.OUTCOME[v.outcome]), say.text(v.because),
         "; ".join(f"{e.fact} ({e.source})" for e in v.evidence), f"{v.source.url} ({v.source.date})" if v.source else "")
        for v in chosen.verdicts
    )  # fmt: skip
    return (Table(heads=heads, rows=rows),)


def _others(value: Report, say: _Sayer) -> tuple[Any, ...]:
    rows = []
    for other in value.recommendation.others:
        own = next((c for c in other.stack.components if c.framework == other.framework), None)
        rows.append((
            other.framework, say.text(wording.FIT[other.fit]), (own.version or "") if own else "", (own.device or "") if own else "",
            say.text(wording.size(other.memory.total_bytes)) if other.memory is not None else "",
            say.text(other.why[0]) if other.why else "",
        ))  # fmt: skip
    heads = (say("Framework", "框架"), say("Fit", "适合程度"), say("Version", "版本"), say("Runs on", "运行于"),
             say("Memory", "内存"), say("Why", "理由"))  # fmt: skip
    return (Table(heads=heads, rows=tuple(rows)),) if rows else ()


def _ruled_out(value: Report, say: _Sayer) -> tuple[Any, ...]:
    rows = []
    for other in value.recommendation.unsuitable:
        for verdict in [v for v in other.verdicts if v.outcome in ("unmet", "unknown")][:2]:
            rows.append((other.framework, verdict.code, say.text(verdict.because)))
    chosen = value.recommendation.chosen
    for build in chosen.ruled_out if chosen is not None else ():
        for verdict in [v for v in build.verdicts if v.outcome in ("unmet", "unknown")][:1]:
            rows.append((" · ".join(w for w in (build.build, build.index_id) if w), verdict.code, say.text(verdict.because)))
    return (Table(heads=(say("What", "对象"), say("Code", "代码"), say("Reason", "原因")), rows=tuple(rows)),) if rows else ()


def _changes(value: Report, say: _Sayer) -> tuple[Any, ...]:
    return tuple(say.text(change.text) for change in value.recommendation.what_would_change)


def _findings(found: tuple[Finding, ...], say: _Sayer) -> tuple[Any, ...]:
    return tuple(
        Notice(
            tone=SEVERITY_TONE[f.severity], word=say.text(wording.SEVERITY[f.severity]), said=say.text(f.because),
            detail=" · ".join(w for w in (f.code, f.subject, "; ".join(f"{e.fact} ({e.source})" for e in f.evidence[:3])) if w),
            repairs=_repairs(f.remedies, say),
        )
        for f in found
    )  # fmt: skip


def _machine(value: Report, say: _Sayer) -> tuple[Any, ...]:
    body = msgspec.to_builtins(value.machine)
    rows = []
    for part in ("system", "cpu", "memory", "disk", "accelerators", "software", "network"):
        rows += [(key, said, source(value.machine.sources, key)) for key, said in leaves(body.get(part), part)]
    blocks: list[Any] = [Table(heads=(say("Fact", "事实"), say("Value", "值"), say("Read from", "读取自")), rows=tuple(rows))]
    if value.machine.pythons:
        heads = ("Python", say("Kind", "类型"), say("Path", "路径"), say("Packages", "包"))
        blocks.append(Table(heads=heads, rows=tuple(
            (p.version or "", p.kind or "", p.path or "", str(len(p.packages)) if p.packages is not None else "")
            for p in value.machine.pythons
        )))  # fmt: skip
    blocks += _findings(value.machine.findings, say)
    return tuple(blocks)


def leaves(value: Any, path: str) -> list[tuple[str, str]]:
    """Dotted key and text of every known value below VALUE; sizes in bytes are said in words."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, f"{path}.{key}")]
    if isinstance(value, (list, tuple)):
        if all(not isinstance(v, (dict, list)) for v in value):
            return [(path, ", ".join(str(v) for v in value))] if value else []
        return [leaf for place, inner in enumerate(value) for leaf in leaves(inner, f"{path}.{place}")]
    if path.endswith("_bytes") and isinstance(value, int) and value >= 1024:
        return [(path, wording.size(value).en)]
    return [(path, str(value))]


def source(sources: dict[str, str], key: str) -> str:
    """The source of KEY or of the nearest fact above it."""
    while key:
        if key in sources:
            return sources[key]
        key = key.rpartition(".")[0]
    return ""


def _lock(value: Report, say: _Sayer) -> tuple[Any, ...]:
    if value.resolve is None or not value.resolve.lock:
        return ()
    return (Commands(title="requirements.txt", lines=tuple(value.resolve.lock.splitlines())),)


def _about(value: Report, say: _Sayer) -> tuple[Any, ...]:
    blocks: list[Any] = []
    checked, age = value.recommendation.knowledge_checked, value.recommendation.knowledge_age_days
    if checked:
        old = age is not None and age > 90
        blocks.append(
            Notice(
                tone="warn" if old else "info", word=say("Knowledge", "知识"),
                said=say(f"Checked on {checked}" + (f", {age} days before this report: it may be out of date." if old else "."),
                         f"核对于 {checked}" + (f"，距本报告 {age} 天，可能已过时。" if old else "。")),
            )
        )  # fmt: skip
    if value.policy is not None:
        said = "; ".join(say.text(r) for r in value.policy.rules) or value.policy.name
        blocks.append(Notice(tone="info", word=say("Team policy", "团队策略"), said=said, detail=value.policy.contact or ""))
    blocks.append(
        say(f"Made by Stackfit {value.program_version} on {value.created}. Verified means that the resolver accepted the plan on this "
            "machine; proven means that it ran there. What is not known is said to be not known.",
            f"由 Stackfit {value.program_version} 于 {value.created} 生成。“已核实”表示解析器在这台电脑上接受了该方案；"
            "“已验证”表示它在那里运行过。未知的内容均如实标明。")
    )  # fmt: skip
    return tuple(blocks)
