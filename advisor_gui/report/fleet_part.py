"""Several machines in one report: what runs on all of them, and each beside the others."""

from __future__ import annotations

from typing import Any

from advisor_gui import wording
from advisor_gui.report import memory_part, names
from advisor_gui.report.blocks import Commands, Fact, Notice, Sayer, Section, Table
from advisor_gui.report.value import Report


def verdict(value: Report, say: Sayer) -> Notice:
    fleet = value.fleet
    assert fleet is not None
    every, later = ([names.framework(value, f) for f in ids] for ids in (fleet.everywhere, fleet.after_changes))
    if every:
        return Notice(tone="good", word=say(f"{every[0]} runs on every machine", f"{every[0]} 可在每台电脑上运行"),
                      said=_also(every[1:], later, say))  # fmt: skip
    if later:
        return Notice(tone="warn", word=say(f"{later[0]} runs on every machine after changes", f"{later[0]} 经调整后可在每台电脑上运行"),
                      said=_also([], later[1:], say))  # fmt: skip
    return Notice(tone="bad", word=say("Nothing runs on every machine", "没有方案能在每台电脑上运行"),
                  said=say("Each machine has its own stack; the table says which and why.", "每台电脑各有适合的方案，见下表。"))  # fmt: skip


def _also(every: list[str], later: list[str], say: Sayer) -> str:
    said = []
    if every:
        said.append(say(f"So do {say.joined(every)}.", f"{say.joined(every)} 同样可以。"))
    if later:
        said.append(say(f"After changes also: {say.joined(later)}.", f"调整后还可用：{say.joined(later)}。"))
    return say(" ", "").join(said) or say("No other framework of the scenario does.", "该场景的其他框架都做不到。")


def summary(value: Report, scenario: str, say: Sayer) -> tuple[Fact, ...]:
    fleet = value.fleet
    assert fleet is not None
    good = [r for r in fleet.rows if r.fault is None]
    bad = [r.name for r in fleet.rows if r.fault is not None]
    fits = [r.chosen.fit for r in good if r.chosen is not None]
    ready = sum(f == "ready" for f in fits)
    return (
        Fact(label=say("Project", "项目"), value=scenario),
        Fact(label=say("Machines", "电脑"), value=say(f"{len(good)} compared", f"对比 {len(good)} 台"), tone="warn" if bad else "plain",
             note=say(f"not readable: {say.joined(bad)}", f"无法读取：{say.joined(bad)}") if bad else ""),
        Fact(label=say("Ready today", "现在可用"), value=say(f"{ready} of {len(good)}", f"{ready} / {len(good)} 台"),
             tone="good" if ready == len(good) else "warn"),
        Fact(label=say("After changes", "调整后可用"), value=str(sum(f == "after_changes" for f in fits))),
    )  # fmt: skip


def sections(value: Report, say: Sayer) -> tuple[Section, ...]:
    return (
        Section(id="machines", title=say("Machines side by side", "各台电脑对比"), blocks=_machines(value, say)),
        Section(id="matrix", title=say("Frameworks on each machine", "各框架在每台电脑上的情况"), blocks=_matrix(value, say)),
        Section(id="needs", title=say("What is missing where", "各处还缺什么"), blocks=_needs(value, say)),
        Section(id="plans", title=say("Install", "安装"), blocks=_plans(value, say)),
    )


def _machines(value: Report, say: Sayer) -> tuple[Any, ...]:
    heads = (say("Machine", "电脑"), say("System", "系统"), say("Accelerators", "加速器"), say("Recommended", "推荐"), say("Memory", "内存"))
    rows = []
    for row in value.fleet.rows if value.fleet is not None else ():
        if row.fault is not None:
            rows.append((row.name, "", "", row.fault, ""))
            continue
        one = row.chosen
        stack = say("nothing fits", "没有适合的方案")
        if one is not None:
            parts = [" ".join(w for w in (names.short(value, c.framework), c.version) if w) for c in one.stack.components]
            stack = f"{say.text(wording.FIT[one.fit])}\n{say.joined(parts)}"
        memory = memory_part.needs(one.memory, say) if one is not None and one.memory is not None and one.memory.total_bytes else row.memory
        driver = "\n" + say("driver ", "驱动 ") + row.driver if row.driver else ""
        rows.append((row.name, row.system, row.accelerators + driver, stack, memory))
    return (Table(heads=heads, rows=tuple(rows), wide=(1.5, 1.6, 2, 3, 2)),) if rows else ()


def _matrix(value: Report, say: Sayer) -> tuple[Any, ...]:
    fleet = value.fleet
    assert fleet is not None
    good = [r for r in fleet.rows if r.fault is None]
    ids = list(dict.fromkeys(f for r in good for f in r.fits))
    if not good or not ids:
        return ()
    if len(good) <= 5:
        heads = (say("Framework", "框架"), *(r.name for r in good))
        rows = tuple((names.framework(value, f), *(say.text(wording.FIT[r.fits[f]]) if f in r.fits else "" for r in good)) for f in ids)
        return (Table(heads=heads, rows=rows, wide=(1.4, *(1.0 for _ in good))),)
    # Many machines: how many of them, not a column for each.
    heads = (say("Framework", "框架"), *(say.text(wording.FIT[k]) for k in wording.FIT))
    rows = tuple((names.framework(value, f), *(str(sum(r.fits.get(f) == k for r in good)) for k in wording.FIT)) for f in ids)
    return (Table(heads=heads, rows=rows),)


def _needs(value: Report, say: Sayer) -> tuple[Any, ...]:
    """Reasons, each with the machines and frameworks that it concerns."""
    groups: dict[str, dict[str, list[str]]] = {}
    for row in value.fleet.rows if value.fleet is not None else ():
        for framework, because in row.needs.items():
            groups.setdefault(say.text(because), {}).setdefault(row.name, []).append(names.framework(value, framework))
    rows = tuple((why, "\n".join(f"{name}: {say.joined(who)}" for name, who in where.items())) for why, where in groups.items())
    heads = (say("Reason", "原因"), say("Where", "涉及"))
    return (Table(heads=heads, rows=rows, wide=(1.4, 1), lead=False),) if rows else ()


def _plans(value: Report, say: Sayer) -> tuple[Any, ...]:
    """One plan for all machines that share it, each in the shell of its system."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in value.fleet.rows if value.fleet is not None else ():
        if row.chosen is None or row.chosen.install is None:
            continue
        commands = row.chosen.install.commands
        shells = commands.get(value.answers.tools.packages or "pip") or next(iter(commands.values()), {})
        wanted = value.answers.tools.shell or ("powershell" if "windows" in row.system.lower() else "bash")
        lines = shells.get(wanted) or next(iter(shells.values()), ())
        if lines:
            groups.setdefault(tuple(lines), []).append(row.name)
    return tuple(Commands(title=say.joined(who), lines=lines) for lines, who in groups.items())
