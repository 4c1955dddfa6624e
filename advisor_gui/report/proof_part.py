"""What was verified and what ran: the resolver's answer, smoke results with charts, and the lock."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from advisor_gui import wording
from advisor_gui.report.blocks import Bullets, Commands, Fact, Heading, Notice, Picture, Sayer, Table, Tone
from advisor_gui.report.value import Report
from knowledge.plan import Series, SmokeResult

LOG_LINES = 12


def fact(value: Report, say: Sayer) -> Fact:
    passed = [s for s in value.smoke if s.outcome == "passed"]
    failed = [s for s in value.smoke if s.outcome not in ("passed", "cannot_run")]
    label = say("Proof", "验证")
    verified = value.resolve is not None and value.resolve.outcome == "verified"
    note = say("the resolver accepted the plan", "解析器已接受该方案") if verified else ""
    if failed:
        return Fact(label=label, value=say(f"{failed[0].check} did not pass", f"{failed[0].check} 未通过"), tone="bad", note=note)
    if passed:
        names = say.joined([s.check for s in passed])
        return Fact(label=label, value=say(f"Ran here: {names}", f"已在本机运行：{names}"), tone="good", note=note)
    if verified:
        return Fact(label=label, value=say("Verified by the resolver, not run", "解析器已核实，尚未运行"), tone="info")
    return Fact(label=label, value=say("Not verified", "未核实"), tone="warn",
                note=say("neither resolved nor run on that machine", "尚未在那台电脑上解析或运行"))  # fmt: skip


def proof(value: Report, say: Sayer) -> tuple[Any, ...]:
    blocks: list[Any] = []
    resolved = value.resolve
    if resolved is not None:
        tone: Tone = {"verified": "good", "refused": "bad"}.get(resolved.outcome, "warn")  # type: ignore[assignment]
        size = say.text(wording.size(resolved.download_bytes)) if resolved.download_bytes else ""
        detail = [say(f"asked with {resolved.client}", f"使用 {resolved.client} 解析")]
        if resolved.packages:
            detail.append(say(f"{len(resolved.packages)} packages", f"{len(resolved.packages)} 个包"))
        if size:
            detail.append(say(f"{size} to download", f"需下载 {size}"))
        if resolved.fallback:
            detail.append(say("these are the pins of the fallback", "此处为备用方案的版本"))
        blocks.append(Notice(tone=tone, word=say.text(wording.RESOLVE_OUTCOME[resolved.outcome]), said=say.text(resolved.because),
                             detail=" · ".join(detail)))  # fmt: skip
        if resolved.replaced:
            heads = (say("Would be replaced", "将被替换"), say("Now", "现在"), say("Becomes", "变为"))
            blocks.append(Table(heads=heads, rows=tuple((r.name, r.version, r.becomes or say("removed", "删除")) for r in resolved.replaced)))
    for result in value.smoke:
        blocks += _smoke(result, say)
    if not blocks:
        blocks.append(
            Notice(tone="warn", word=say("Not verified", "未核实"),
                   said=say("Nobody has asked a resolver or run this stack on this machine yet.", "尚未询问解析器，也未在这台电脑上运行该技术栈。"))
        )  # fmt: skip
    return tuple(blocks)


def _smoke(result: SmokeResult, say: Sayer) -> list[Any]:
    tone: Tone = {"passed": "good", "cannot_run": "info", "cancelled": "warn"}.get(result.outcome, "bad")  # type: ignore[assignment]
    word = f"{result.check} · {say.text(wording.SMOKE_OUTCOME[result.outcome])}"
    detail = [say.text(result.proves)] if result.proves is not None else []
    detail += [say.text(result.limits)] if result.limits is not None else []
    blocks: list[Any] = [Heading(said=result.check), Notice(tone=tone, word=word, said=say.text(result.because), detail=" ".join(detail))]
    rows = [(say.text(m.label), say.text(wording.number(m.value, m.unit))) for m in result.measures]
    if result.install_s is not None:
        rows.append((say("Installing took", "安装用时"), say.text(wording.duration(result.install_s))))
    if result.run_s is not None:
        rows.append((say("Running took", "运行用时"), say.text(wording.duration(result.run_s))))
    if rows:
        blocks.append(Table(heads=(say("Measure", "指标"), say("Value", "值")), rows=tuple(rows), wide=(2, 1)))
    groups: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for one in result.series:
        groups[(one.kind, one.x_label.en, one.y_label.en, one.x_unit, one.y_unit)].append(one)
    blocks += [Picture(title=say.joined([say.text(s.label) for s in group]), series=tuple(group)) for group in groups.values()]
    said = []
    if result.started:
        said.append(say("Started: ", "开始于：") + result.started.replace("T", " ").replace("+00:00", " UTC"))
    if result.pins:
        said.append(say("Ran with: ", "运行所用：") + ", ".join((*((f"Python {result.python}",) if result.python else ()), *result.pins)))
    if result.after is not None and result.after.throttled:
        said.append(say("The device was throttled, so the numbers are low.", "设备曾降频，因此数值偏低。"))
    if said:
        blocks.append(Bullets(items=tuple(said)))
    if result.outcome not in ("passed", "cannot_run") and result.log_tail:
        blocks.append(Commands(title=say("Last lines of the log", "日志末尾"), lines=result.log_tail[-LOG_LINES:], small=True))
    return blocks


def lock(value: Report, say: Sayer) -> tuple[Any, ...]:
    if value.resolve is None or not value.resolve.lock:
        return ()
    said = say("Every package with its hashes; install with pip install --require-hashes -r requirements.txt.",
               "含哈希的全部软件包；用 pip install --require-hashes -r requirements.txt 安装。")  # fmt: skip
    return (said, Commands(title="requirements.txt", lines=tuple(value.resolve.lock.splitlines()), folded=True, small=True))
