"""The advice in a report: the stack, its commands, the reasons, the alternatives side by side, what was ruled out and why."""

from __future__ import annotations

from typing import Any

from advisor_gui import wording
from advisor_gui.report import machine_part, memory_part, names
from advisor_gui.report.blocks import Bullets, Commands, Heading, Notice, Reason, Reasons, Sayer, Table, Tone
from advisor_gui.report.value import Report
from knowledge.text import Text
from knowledge.verdicts import Assessment, Verdict

OUTCOME_TONE: dict[str, Tone] = {"met": "good", "unmet": "bad", "unknown": "warn", "not_applicable": "plain"}
BUILDS_SHOWN = 5
SIDE_BY_SIDE = 3  # alternatives beside the chosen stack: more columns than four cannot be read on paper
SHELL_NAMES = {"bash": "bash", "powershell": "PowerShell", "cmd": "cmd"}
CLIENT_NAMES = {"pip": "pip", "uv": "uv", "conda": "conda", "docker": "Docker"}


def stack(value: Report, say: Sayer) -> tuple[Any, ...]:
    chosen = value.recommendation.chosen
    if chosen is None:
        return ()
    blocks: list[Any] = []
    note = value.frameworks.get(chosen.framework)
    if note is not None:
        blocks.append(say.text(note.summary))
    rows = tuple(
        (say.text(wording.ROLE.get(c.role, Text(c.role, c.role))), names.framework(value, c.framework), c.version or "",
         names.device(c.device, say.language))
        for c in chosen.stack.components
    )  # fmt: skip
    heads = (say("Role", "角色"), say("Framework", "框架"), say("Version", "版本"), say("Runs on", "运行于"))
    if rows:
        blocks.append(Table(heads=heads, rows=rows, wide=(3, 4, 2, 3)))
    blocks += [
        Notice(tone="warn", word=say("Before it works", "使用前"), said=say.text(v.because), repairs=machine_part.repairs(v.remedies, say))
        for v in chosen.verdicts if v.outcome in ("unmet", "unknown")
    ]  # fmt: skip
    if chosen.assumptions:
        blocks += [Heading(said=say("Assumed", "假定")), Bullets(items=tuple(say.text(a.because) for a in chosen.assumptions))]
    return tuple(blocks)


def commands(chosen: Assessment | None, value: Report, say: Sayer) -> tuple[Any, ...]:
    """The commands for the reader's client and shell first; other clients stand after them, other systems' shells not at all."""
    if chosen is None or chosen.install is None:
        return ()
    tools, plan = value.answers.tools, chosen.install
    system = value.machine.system.os
    shells = {"windows": ("powershell", "cmd"), None: ("bash", "powershell", "cmd")}.get(system, ("bash",))
    shells = (tools.shell,) if tools.shell is not None else shells
    order = sorted(plan.commands, key=lambda client: (client != (tools.packages or "pip"), list(plan.commands).index(client)))
    blocks: list[Any] = []
    for client in order:
        here = [s for s in shells if s in plan.commands[client]] or list(plan.commands[client])[:1]
        for shell in here:
            title = f"{CLIENT_NAMES.get(client, client)} · {SHELL_NAMES.get(shell, shell)}"
            blocks.append(Commands(title=title, lines=tuple(plan.commands[client][shell]), folded=bool(blocks)))
    if len(blocks) > 1:
        blocks.insert(0, say("One of these is enough; the first is the one asked for or the usual one.", "任选其一即可；第一组为指定或常用的方式。"))
    if plan.environment:
        heads = (say("Variable", "变量"), say("Value", "值"))
        blocks.append(Table(heads=heads, rows=tuple(plan.environment.items()), wide=(1, 2)))
    return tuple(blocks)


def reason(verdict: Verdict, say: Sayer) -> Reason:
    source = verdict.source
    url = source.url if source is not None and source.url.startswith("https://") else ""
    return Reason(
        tone=OUTCOME_TONE[verdict.outcome], word=say.text(wording.OUTCOME[verdict.outcome]), title=say.text(names.requirement(verdict.code)),
        said=say.text(verdict.because), evidence=machine_part.evidence(verdict.evidence),
        source=f"{source.url} ({source.date})" if source is not None else "", url=url,
    )  # fmt: skip


def reasons(chosen: Assessment | None, say: Sayer) -> tuple[Any, ...]:
    if chosen is None or not chosen.verdicts:
        return ()
    order = {"unmet": 0, "unknown": 1, "met": 2, "not_applicable": 3}
    return (Reasons(items=tuple(reason(v, say) for v in sorted(chosen.verdicts, key=lambda v: order[v.outcome]))),)


def alternatives(value: Report, say: Sayer) -> tuple[Any, ...]:
    chosen = value.recommendation.chosen
    others = [a for a in value.recommendation.others if a.framework not in {c.framework for c in value.compared}]
    columns = [*((chosen,) if chosen is not None else ()), *value.compared, *others][: SIDE_BY_SIDE + 1]
    if len(columns) < 2:
        return _rest(columns, value, say)
    rows = [(label, *(cell(one) for one in columns)) for label, cell in _aspects(value, say)]
    heads = ("", *(names.short(value, a.framework) for a in columns))
    shown = {a.framework for a in columns}
    kept = tuple(r for r in rows if any(r[1:]))
    table = Table(heads=heads, rows=kept, wide=(1.25, *(2.0 for _ in columns)))
    return (table, *_rest([a for a in others if a.framework not in shown], value, say))


def _rest(others: list[Assessment], value: Report, say: Sayer) -> tuple[Any, ...]:
    rest = [a for a in others if a is not value.recommendation.chosen]
    if not rest:
        return ()
    rows = tuple(
        (names.framework(value, a.framework), say.text(wording.FIT[a.fit]), _version(a), say.text(a.why[0]) if a.why else "") for a in rest
    )
    heads = (say("Framework", "框架"), say("Fit", "适合程度"), say("Version", "版本"), say("Why", "理由"))
    return (Heading(said=say("Others that can be used", "其他可用方案")), Table(heads=heads, rows=rows, wide=(2, 2, 1.4, 4)))


def _version(one: Assessment) -> str:
    return next((c.version or "" for c in one.stack.components if c.framework == one.framework), "")


def _aspects(value: Report, say: Sayer) -> tuple[tuple[str, Any], ...]:
    """What is compared: label, and the function that says it of one assessment."""

    def parts(one: Assessment) -> str:
        return say.joined([" ".join(w for w in (names.short(value, c.framework), c.version) if w) for c in one.stack.components])

    def why(one: Assessment) -> str:
        note = value.frameworks.get(one.framework)
        return say.text(one.why[0]) if one.why else say.text(note.summary) if note is not None else ""

    def device(one: Assessment) -> str:
        every = [c.device for c in one.stack.components if c.device is not None]
        ids = [d for d in every if d != "any"] or every
        return say.joined(list(dict.fromkeys(names.device(d, say.language) for d in ids)))

    def changes(one: Assessment) -> str:
        unmet = [v for v in one.verdicts if v.outcome in ("unmet", "unknown")]
        return " ".join(say.text(v.remedies[0].text if v.remedies else v.because) for v in unmet[:3])

    def notes(field: str) -> Any:
        def said(one: Assessment) -> str:
            note = value.frameworks.get(one.framework)
            return "\n".join(say.text(t) for t in (getattr(note, field) if note is not None else ())[:3])

        return said

    return (
        (say("Fit", "适合程度"), lambda one: say.text(wording.FIT[one.fit])),
        (say("Why", "理由"), why),
        (say("Stack", "组成"), parts),
        (say("Runs on", "运行于"), device),
        ("Python", lambda one: one.stack.python or ""),
        (say("Memory", "内存"), lambda one: memory_part.needs(one.memory, say) if one.memory is not None and one.memory.total_bytes else ""),
        (say("First", "先要"), changes),
        (say("Strengths", "优点"), notes("strengths")),
        (say("Weaknesses", "缺点"), notes("weaknesses")),
        (say("Licence", "许可证"), lambda one: value.frameworks[one.framework].licence if one.framework in value.frameworks else ""),
    )


def ruled_out(value: Report, say: Sayer) -> tuple[Any, ...]:
    """Frameworks and builds that do not fit, those with the same reason in one row."""
    groups: dict[str, list[str]] = {}
    for other in value.recommendation.unsuitable:
        against = {outcome: [say.text(v.because) for v in other.verdicts if v.outcome == outcome] for outcome in ("unmet", "unknown")}
        said = against["unmet"] or against["unknown"]
        if not said and other.why:
            said = [say.text(other.why[0])]
        groups.setdefault("\n".join(dict.fromkeys(said[:2])), []).append(names.framework(value, other.framework))
    blocks: list[Any] = []
    heads = (say("Framework", "框架"), say("Reason", "原因"))
    rows = tuple((say.joined(list(dict.fromkeys(who))), why) for why, who in groups.items())
    if rows:
        blocks.append(Table(heads=heads, rows=rows, wide=(1, 2.4)))
    blocks += _builds(value, say)
    return tuple(blocks)


def _builds(value: Report, say: Sayer) -> list[Any]:
    chosen = value.recommendation.chosen
    groups: dict[str, list[str]] = {}
    for build in chosen.ruled_out if chosen is not None else ():
        against = [v for v in build.verdicts if v.outcome in ("unmet", "unknown")]
        too = say("It would run too; the chosen build was preferred.", "同样可以运行；所选构建更优先。")
        why = say.text(against[0].because) if against else too
        framework, _, rest = build.build.partition(" ")
        groups.setdefault(why, []).append(f"{names.framework(value, framework)} {rest}".strip())
    if not groups:
        return []
    heads = (say("Build", "构建"), say("Reason", "原因"))
    rows = tuple((_few(list(dict.fromkeys(who)), say), why) for why, who in groups.items())
    return [Heading(said=say("Other builds of the chosen framework", "所选框架的其他构建")), Table(heads=heads, rows=rows, wide=(1, 2.4))]


def _few(who: list[str], say: Sayer) -> str:
    """The first of WHO and how many there are besides: the JSON report holds them all."""
    if len(who) <= BUILDS_SHOWN:
        return say.joined(who)
    more = len(who) - BUILDS_SHOWN + 1
    return say.joined(who[: BUILDS_SHOWN - 1]) + say(f" and {more} more", f" 等另外 {more} 个")


def changes(value: Report, say: Sayer) -> tuple[Any, ...]:
    said = tuple(_proper(say.text(change.text), change.unlocks, value) for change in value.recommendation.what_would_change)
    return (Bullets(items=said),) if said else ()


def _proper(sentence: str, ids: tuple[str, ...], value: Report) -> str:
    """SENTENCE with framework ids replaced by proper names."""
    for id_ in sorted(ids, key=len, reverse=True):
        for before in (" ", "：", "、"):
            sentence = sentence.replace(f"{before}{id_}", f"{before}{names.framework(value, id_)}")
    return sentence
