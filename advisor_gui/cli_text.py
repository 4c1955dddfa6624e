"""How answers look in a terminal: tables and short paragraphs, in both languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor_gui import wording
from knowledge.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge.answers import Answers
    from knowledge.catalog import Catalog
    from knowledge.facts import Finding, MachineProfile, Remedy
    from knowledge.plan import CheckInfo, ResolveResult, SmokeResult
    from knowledge.verdicts import Assessment, MemoryEstimate, Recommendation

FIT_STYLE = {"ready": "green", "after_changes": "yellow", "undetermined": "cyan", "unsuitable": "red"}
SEVERITY_STYLE = {"error": "bold red", "warning": "yellow", "info": "cyan"}
SMOKE_STYLE = {"passed": "bold green", "cannot_run": "cyan", "cancelled": "yellow"}


def console() -> Console:
    import shutil
    import sys

    from rich.console import Console

    # A pipe has no width; long commands must not be folded there, since people copy them.
    width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 160
    return Console(highlight=False, markup=False, emoji=False, width=width, soft_wrap=False)


def colon(language: str) -> str:
    return "：" if language == "zh" else ": "


def heading(out: Console, title: Text, language: str) -> None:
    out.print()
    out.print(title.said(language), style="bold")


def rows(out: Console, pairs: Iterable[tuple[Text, str]], language: str) -> None:
    """Label and value lines; rows without a value are left out."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in pairs:
        if value:
            table.add_row(label.said(language), value)
    out.print(table)


def machine(value: MachineProfile, language: str) -> None:
    out = console()
    system, cpu, memory = value.system, value.cpu, value.memory
    heading(out, Text("This computer", "这台电脑") if not value.recorded else Text("Recorded computer", "记录中的电脑"), language)
    name = " ".join(w for w in (system.distribution or system.os, system.release) if w)
    where = ", ".join(w for w in (
        system.arch, system.libc and f"{system.libc} {system.libc_version or ''}".strip(),
        f"WSL{system.wsl}" if system.wsl else None, system.container, system.sandbox,
    ) if w)  # fmt: skip
    cores = ", ".join(w for w in (
        f"{cpu.physical_cores} cores" if cpu.physical_cores else None,
        f"{cpu.logical_cpus} threads" if cpu.logical_cpus else None,
        f"{cpu.usable_cpus:g} usable" if cpu.usable_cpus is not None else None,
    ) if w)  # fmt: skip
    ram = wording.size(memory.total_bytes).said(language)
    if memory.limit_bytes:
        limit = wording.size(memory.limit_bytes).said(language)
        ram += Text(f" (limit {limit})", f"（上限 {limit}）").said(language)
    rows(out, [
        (Text("System", "系统"), f"{name} ({where})" if where else name),
        (Text("Kernel", "内核"), system.kernel or ""),
        (Text("Processor", "处理器"), " · ".join(w for w in (cpu.model, cores) if w)),
        (Text("Memory", "内存"), ram),
        (Text("Free disk", "可用磁盘"), wording.size(value.disk.free_bytes).said(language)),
    ], language)  # fmt: skip
    heading(out, Text("Accelerators", "加速器"), language)
    if value.accelerators is None:
        out.print(Text("  not known", "  未知").said(language))
    elif not value.accelerators:
        out.print(Text("  none found", "  未发现").said(language))
    for device in value.accelerators or ():
        facts = [
            f"{device.count} ×" if device.count > 1 else "", device.name or device.vendor, device.mig or "",
            wording.size(device.memory_bytes).said(language) if device.memory_bytes else "",
            device.target or "",
            Text(f"driver {device.driver_version}", f"驱动 {device.driver_version}").said(language)
            if device.driver_version else "",
            wording.STATE[device.state].said(language),
        ]  # fmt: skip
        out.print("  " + " · ".join(f for f in facts if f).replace("× ·", "×"))
    if value.pythons is not None:
        heading(out, Text("Python environments", "Python 环境"), language)
        for python in value.pythons[:20]:
            known = {p.name.lower(): p.version for p in python.packages or ()}
            frameworks = ", ".join(f"{n} {known[n]}" for n in ("torch", "tensorflow", "jax", "onnxruntime") if n in known)
            out.print(f"  {python.version or '?':9} {python.path or '?'}  {frameworks}".rstrip())
        if len(value.pythons) > 20:
            more = len(value.pythons) - 20
            out.print(Text(f"  and {more} more", f"  另有 {more} 个").said(language))
    findings(value.findings, language)


def findings(value: Sequence[Finding], language: str, *, silent_when_none: bool = False) -> None:
    out = console()
    if not value:
        if not silent_when_none:
            out.print()
            out.print(Text("Nothing to mend was found.", "没有发现需要修复的问题。").said(language), style="green")
        return
    heading(out, Text("Findings", "发现"), language)
    for finding in value:
        word = wording.SEVERITY[finding.severity].said(language)
        out.print(f"  {word}{colon(language)}{finding.because.said(language)}", style=SEVERITY_STYLE[finding.severity])
        where = "; ".join(dict.fromkeys(f"{e.fact} ({e.source})" for e in finding.evidence[:3]))
        out.print(f"      {finding.code} · {finding.subject}" + (f" · {where}" if where else ""), style="dim")
        remedies(out, finding.remedies, language)


def remedies(out: Console, value: Sequence[Remedy], language: str, indent: str = "      ") -> None:
    for remedy in value:
        out.print(f"{indent}→ {remedy.text.said(language)}")
        for command in remedy.commands:
            out.print(f"{indent}    {command}", style="bold", soft_wrap=True)


def recommendation(
    value: Recommendation, knowledge: Catalog, answers: Answers, language: str, system: str | None = None
) -> None:
    """SYSTEM: the machine's operating system, which decides the shell that commands are shown for."""
    out = console()
    scenario = knowledge.scenarios.get(value.scenario)
    title = scenario.title.said(language) if scenario is not None else value.scenario
    heading(out, Text(f"Recommendation · {title}", f"推荐 · {title}"), language)
    if value.chosen is None:
        out.print(Text("Nothing in this scenario fits this machine.", "此场景下没有适合本机的方案。").said(language), style="red")
    else:
        assessment(value.chosen, knowledge, answers, language, system, title=False)
    if value.others:
        heading(out, Text("Alternatives", "备选"), language)
        for other in value.others:
            why = other.why[0].said(language) if other.why else ""
            fit = wording.FIT[other.fit].said(language)
            stop = "。" if language == "zh" else ". "
            out.print(f"  {_name(knowledge, other.framework)} — {fit}{stop}{why}", style=None)
    if value.unsuitable:
        heading(out, Text("Ruled out", "已排除"), language)
        for other in value.unsuitable:
            why = next((v.because.said(language) for v in other.verdicts if v.outcome in ("unmet", "unknown")), "")
            out.print(f"  {_name(knowledge, other.framework)} — {why}")
    if value.what_would_change:
        heading(out, Text("What would change this", "什么会改变结论"), language)
        for change in value.what_would_change:
            out.print(f"  {change.text.said(language)}")
    findings(value.findings, language, silent_when_none=True)
    age = value.knowledge_age_days
    if value.knowledge_checked:
        old = age is not None and age > 90
        note = Text(
            f"Knowledge checked {value.knowledge_checked}" + (f", {age} days ago: may be out of date." if old else "."),
            f"知识核对于 {value.knowledge_checked}" + (f"，已过 {age} 天，可能过时。" if old else "。"),
        )
        out.print()
        out.print(note.said(language), style="yellow" if old else "dim")


def _name(knowledge: Catalog, framework: str) -> str:
    entry = knowledge.frameworks.get(framework)
    return entry.name if entry is not None else framework


def assessment(
    value: Assessment, knowledge: Catalog, answers: Answers, language: str, system: str | None = None, *, title: bool = True
) -> None:
    out = console()
    if title:
        heading(out, Text(_name(knowledge, value.framework), _name(knowledge, value.framework)), language)
    out.print(f"  {_name(knowledge, value.framework)}{colon(language)}{wording.FIT[value.fit].said(language)}", style=FIT_STYLE[value.fit])
    for sentence in value.why:
        out.print(f"  {sentence.said(language)}")
    if value.stack.components:
        rows(out, [
            (wording.ROLE.get(c.role, Text(c.role, c.role)),
             " ".join(w for w in (_name(knowledge, c.framework), c.version, f"({c.device})" if c.device else "") if w))
            for c in value.stack.components
        ] + [(Text("Python", "Python"), value.stack.python or "")], language)  # fmt: skip
    for verdict in value.verdicts:
        if verdict.outcome in ("unmet", "unknown"):
            out.print(f"  ! {verdict.because.said(language)} [{verdict.code}]", style="yellow")
            remedies(out, verdict.remedies, language)
    for assumption in value.assumptions:
        out.print(f"  ~ {assumption.because.said(language)}", style="dim")
    if value.memory is not None:
        memory(value.memory, language, with_findings=False)  # they stand among the findings of the answer
    commands(value, answers, language, system)


def commands(value: Assessment, answers: Answers, language: str, system: str | None = None) -> None:
    if value.install is None or not value.install.commands:
        return
    out = console()
    have = value.install.commands
    client = answers.tools.packages if answers.tools.packages in have else next(iter(have))
    shells = have[client or next(iter(have))]
    usual = "powershell" if system == "windows" else "bash"
    shell = answers.tools.shell or usual
    shell = shell if shell in shells else next(iter(shells))
    heading(out, Text(f"Install ({client}, {shell})", f"安装（{client}，{shell}）"), language)
    for line in shells[shell]:
        out.print(f"  {line}", soft_wrap=True)
    out.print(Text("  Not verified yet: `stackfit resolve` asks the resolver, `stackfit smoke` proves it.",
                   "  尚未核实：`stackfit resolve` 询问解析器，`stackfit smoke` 实际验证。").said(language), style="dim")  # fmt: skip


def memory(value: MemoryEstimate, language: str, *, with_findings: bool = True) -> None:
    out = console()
    heading(out, Text("Memory per device", "每个设备的内存"), language)
    parts = value.components
    labels = (
        (Text("Weights", "权重"), parts.weights_bytes), (Text("Gradients", "梯度"), parts.gradients_bytes),
        (Text("Optimizer", "优化器"), parts.optimizer_bytes), (Text("Activations", "激活值"), parts.activations_bytes),
        (Text("KV cache", "KV 缓存"), parts.kv_cache_bytes), (Text("Overhead", "其他开销"), parts.overhead_bytes),
    )  # fmt: skip
    rows(out, [(label, wording.size(size).said(language)) for label, size in labels if size], language)
    low, high, total, have = (wording.size(v).said(language) for v in (
        value.low_bytes, value.high_bytes, value.total_bytes, value.available_bytes))  # fmt: skip
    word = wording.MEMORY_VERDICT[value.verdict].said(language)
    out.print(Text(f"  {total} ({low} to {high}) of {have}: {word}", f"  需要 {total}（{low} 至 {high}），共有 {have}：{word}").said(language),
              style={"fits": "green", "tight": "yellow", "exceeds": "red"}.get(value.verdict))  # fmt: skip
    for assumption in value.assumptions:
        out.print(f"  ~ {assumption.because.said(language)}", style="dim")
    _limits(value, language)
    if with_findings:
        findings(value.findings, language, silent_when_none=True)


def _limits(value: MemoryEstimate, language: str) -> None:
    """The most that fits, and how fast it may be."""
    most, fast = value.limits, value.time
    lines: list[tuple[Text, str]] = []
    if most is not None:
        numbers = (
            (Text("Largest batch", "最大批量"), most.batch), (Text("Longest sequence", "最长序列"), most.sequence_length),
            (Text("Longest context", "最长上下文"), most.context), (Text("Most requests", "最多并发"), most.concurrency),
            (Text("Largest model", "最大模型"), most.parameters), (Text("Fewest devices", "最少设备数"), most.devices),
        )  # fmt: skip
        said = {most.parameters: wording.parameters(most.parameters).said(language)} if most.parameters else {}
        lines += [(label, said.get(number, f"{number:,}")) for label, number in numbers if number]
    if fast is not None:
        speeds = ((Text("Tokens per second", "每秒词元"), fast.tokens_per_s),
                  (Text("Trained tokens per second", "每秒训练词元"), fast.training_tokens_per_s))  # fmt: skip
        lines += [(label, f"{number:,.0f}") for label, number in speeds if number]
    if lines:
        out = console()
        heading(out, Text("The most that fits", "最大可用"), language)
        rows(out, lines, language)
        for basis in fast.basis if fast is not None else ():
            out.print(f"  ~ {basis.said(language)}", style="dim")


def resolved(value: ResolveResult, language: str) -> None:
    out = console()
    style = {"verified": "bold green", "refused": "red"}.get(value.outcome, "yellow")
    out.print(f"{wording.RESOLVE_OUTCOME[value.outcome].said(language)} ({value.client})", style=style)
    out.print(f"  {value.because.said(language)}")
    if value.packages:
        total = len(value.packages)
        down = wording.size(value.download_bytes).said(language)
        out.print(Text(f"  {total} packages, {down} to download", f"  {total} 个包，需下载 {down}").said(language))
    for lost in value.replaced:
        becomes = lost.becomes or Text("removed", "被移除").said(language)
        out.print(f"  {lost.name} {lost.version} → {becomes}")
    findings(value.findings, language, silent_when_none=True)


def checks(value: Sequence[CheckInfo], language: str) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, padding=(0, 2))
    for title in (Text("Check", "检查"), Text("Scenario", "场景"), Text("Here", "本机"), Text("What it is", "说明")):
        table.add_column(title.said(language), overflow="fold")
    for check in value:
        here = Text("yes", "可以").said(language) if check.runs_here else check.because.said(language)
        table.add_row(check.id, check.scenario, here, check.title.said(language))
    out.print(table)


def smoke(value: SmokeResult, language: str) -> None:
    out = console()
    heading(out, Text(f"Smoke test · {value.check}", f"冒烟测试 · {value.check}"), language)
    style = SMOKE_STYLE.get(value.outcome, "bold red")
    out.print(f"  {wording.SMOKE_OUTCOME[value.outcome].said(language)}{colon(language)}{value.because.said(language)}", style=style)
    rows(out, [(m.label, wording.number(m.value, m.unit).said(language)) for m in value.measures], language)
    times = [(Text("Installing", "安装"), value.install_s), (Text("Running", "运行"), value.run_s)]
    rows(out, [(label, wording.duration(t).said(language)) for label, t in times if t is not None], language)
    if value.outcome not in ("passed", "cannot_run"):
        for line in value.log_tail[-15:]:
            out.print(f"    {line}", style="dim")
    findings(value.findings, language, silent_when_none=True)


def written(path: Path, language: str) -> None:
    out = console()
    out.print()
    out.print(Text(f"Report: {path}", f"报告：{path}").said(language), style="bold", soft_wrap=True)


def knowledge_check(problems: Sequence[str], language: str) -> None:
    out = console()
    for problem in problems:
        out.print(problem, style="red", soft_wrap=True)
    if not problems:
        out.print(Text("The knowledge base is consistent.", "知识库一致。").said(language), style="green")


def knowledge_list(entries: Sequence[dict[str, Any]], language: str) -> None:
    from rich.table import Table

    out = console()
    table = Table(box=None, padding=(0, 2))
    for title in ("id", Text("name", "名称").said(language), Text("status", "状态").said(language),
                  Text("roles", "角色").said(language), Text("checked", "核对日期").said(language)):  # fmt: skip
        table.add_column(title)
    for row in entries:
        table.add_row(row["id"], row["name"], row["status"], ", ".join(row["roles"]), row["checked"])
    out.print(table)


def entry(value: Any, language: str) -> None:
    """A framework or scenario as YAML, sentences in one language."""
    import yaml

    from knowledge.text import localised

    print(yaml.safe_dump(localised(value, language), allow_unicode=True, sort_keys=False, width=110))


def fleet(value: Any, language: str) -> None:
    from rich.table import Table

    out = console()
    best = (*value.everywhere, *value.after_changes)[:4]
    table = Table(box=None, padding=(0, 2))
    for title in (Text("Machine", "电脑"), Text("System", "系统"), Text("Accelerators", "加速器"), Text("Memory", "内存")):
        table.add_column(title.said(language), overflow="fold")
    for framework in best:
        table.add_column(framework, overflow="fold")
    for row in value.rows:
        fits = [wording.FIT[row.fits[f]].said(language) if f in row.fits else "" for f in best]
        table.add_row(row.name, row.fault or row.system, row.accelerators, row.memory, *fits)
    out.print(table)
    out.print()
    if value.everywhere:
        names = ", ".join(value.everywhere[:5])
        out.print(Text(f"Runs on all of them: {names}", f"在所有电脑上都能运行：{names}").said(language), style="green")
    elif value.after_changes:
        names = ", ".join(value.after_changes[:5])
        out.print(Text(f"Runs on all of them after changes: {names}", f"调整后可在所有电脑上运行：{names}").said(language), style="yellow")
    else:
        out.print(Text("No single stack of this scenario runs on all of them.", "此场景下没有能在所有电脑上运行的方案。").said(language), style="red")


def policy(value: Any, language: str) -> None:
    out = console()
    out.print(Text(f"The policy {value.name!r} can be followed.", f"策略 {value.name!r} 可以执行。").said(language), style="green")
    rows(out, [
        (Text("Indexes", "索引"), "; ".join(f"{k}: {v}" for k, v in value.indexes.items())),
        (Text("Approved versions", "批准的版本"), "; ".join(f"{k}{v}" for k, v in value.approved.items())),
        (Text("Not wanted", "不使用"), ", ".join(value.denied)),
        (Text("Licence", "许可证"), value.licence or ""),
        (Text("Reason", "理由"), value.reason or ""),
    ], language)  # fmt: skip


def wheelhouse(value: Any, language: str) -> None:
    size = wording.size(value.size_bytes).said(language)
    count = len(value.files)
    console().print(Text(f"{value.folder}: {count} files, {size}", f"{value.folder}：{count} 个文件，{size}").said(language), soft_wrap=True)


def refresh(value: Any, language: str) -> None:
    from rich.table import Table

    out = console()
    if value.differences:
        table = Table(box=None, padding=(0, 2))
        for title in (Text("Package", "包"), Text("Fact", "事实"), Text("Stored", "已存"), Text("Now", "现在")):
            table.add_column(title.said(language), overflow="fold")
        for one in value.differences:
            table.add_row(one.package, one.fact, one.stored, one.found)
        out.print(table)
    for sentence in value.unanswered:
        out.print(sentence, style="yellow")
    changed, asked = len(value.differences), value.asked
    out.print(Text(f"{asked} packages asked for, {changed} facts differ.", f"查询了 {asked} 个包，{changed} 项事实不同。").said(language))
