"""The contents of a report in reading order, as plain blocks in one language; formats only lay them out."""

from __future__ import annotations

from advisor_gui import wording
from advisor_gui.report import advice_part, fleet_part, machine_part, memory_part, names, proof_part
from advisor_gui.report.blocks import Bullets, Contents, Fact, Notice, Sayer, Section, Table, Tone
from advisor_gui.report.value import Report
from knowledge.documents import BadInput, count
from knowledge.verdicts import Assessment

FIT_TONE: dict[str, Tone] = {"ready": "good", "after_changes": "warn", "undetermined": "info", "unsuitable": "bad"}


def contents(value: Report, language: str) -> Contents:
    """VALUE as blocks in LANGUAGE. Its strings must already be clean (`report.privacy.shown`)."""
    say = Sayer(language)
    if value.fleet is not None:
        return _fleet(value, say)
    chosen = value.recommendation.chosen
    sections = (
        Section(id="project", title=say("The project", "项目"), blocks=_project(value, say)),
        Section(id="stack", title=say("The recommended stack", "推荐的技术栈"), blocks=advice_part.stack(value, say)),
        Section(id="install", title=say("Install", "安装"), blocks=advice_part.commands(chosen, value, say)),
        Section(id="memory", title=say("Memory", "内存"), blocks=memory_part.memory(chosen.memory if chosen else None, say)),
        Section(id="proof", title=say("Verified and proven", "核实与验证"), blocks=proof_part.proof(value, say)),
        Section(id="reasons", title=say("Why: each requirement", "理由：逐项要求"), blocks=advice_part.reasons(chosen, say)),
        Section(id="alternatives", title=say("Alternatives side by side", "备选方案对比"), blocks=advice_part.alternatives(value, say)),
        Section(id="ruled-out", title=say("What was ruled out", "已排除的方案"), blocks=advice_part.ruled_out(value, say)),
        Section(id="changes", title=say("What would change this", "什么会改变结论"), blocks=advice_part.changes(value, say)),
        Section(id="findings", title=say("Findings and repairs", "发现与修复"), blocks=machine_part.findings(value.findings, say)),
        Section(id="machine", title=say("The machine", "这台电脑"), blocks=machine_part.machine(value, say)),
        Section(id="about", title=say("About this report", "关于本报告"), blocks=_about(value, say)),
        Section(id="sources", title=say("Sources", "资料来源"), blocks=_sources(value, say)),
        Section(id="lock", title=say("Lock", "锁定文件"), blocks=proof_part.lock(value, say)),
        Section(id="readings", title=say("All readings", "全部读数"), blocks=machine_part.readings(value, say)),
    )
    return Contents(
        language=language, title=value.title or say("Stack assessment", "技术栈评估"), subtitle=machine_part.in_a_line(value.machine),
        verdict=_verdict(value, say), summary=_summary(value, say), next_steps=_next(value, say),
        sections=tuple(s for s in sections if s.blocks), foot=_foot(value),
    )  # fmt: skip


def _fleet(value: Report, say: Sayer) -> Contents:
    sections = (
        Section(id="project", title=say("The project", "项目"), blocks=_project(value, say)),
        *fleet_part.sections(value, say),
        Section(id="about", title=say("About this report", "关于本报告"), blocks=_about(value, say)),
    )
    scenario = _scenario(value, say)
    return Contents(
        language=say.language, title=value.title or say("Machines compared", "多机对比"), subtitle=scenario,
        verdict=fleet_part.verdict(value, say), summary=fleet_part.summary(value, scenario, say), next_steps=(),
        sections=tuple(s for s in sections if s.blocks), foot=_foot(value),
    )  # fmt: skip


def _foot(value: Report) -> str:
    return f"Stackfit {value.program_version} · {value.created[:10]}"


def _scenario(value: Report, say: Sayer) -> str:
    return say.text(value.scenario_title) if value.scenario_title is not None else value.answers.scenario


def _stack_name(value: Report, chosen: Assessment) -> str:
    """The frameworks of the stack, the chosen one first, without what only comes along."""
    rest = [c.framework for c in chosen.stack.components if c.framework != chosen.framework]
    return " + ".join(names.short(value, f) for f in (chosen.framework, *rest))


def _verdict(value: Report, say: Sayer) -> Notice:
    chosen = value.recommendation.chosen
    if chosen is None:
        said = [say("No candidate of this scenario fits this machine.", "此场景的候选方案都不适合这台电脑。")]
        nearest = next(iter(value.recommendation.unsuitable), None)
        against = [say.text(v.because) for v in nearest.verdicts if v.outcome == "unmet"] if nearest is not None else []
        if nearest is not None and against:
            said += [names.short(value, nearest.framework) + say(": ", "：") + say(" ", "").join(against[:3])]
        return Notice(tone="bad", word=say("Nothing fits yet", "暂无适合的方案"), said=say(" ", "").join(said))
    return Notice(
        tone=FIT_TONE[chosen.fit], word=f"{_stack_name(value, chosen)} · {say.text(wording.FIT[chosen.fit])}",
        said=" ".join(say.text(w) for w in chosen.why) if say.language == "en" else "".join(say.text(w) for w in chosen.why),
    )  # fmt: skip


def _summary(value: Report, say: Sayer) -> tuple[Fact, ...]:
    chosen, machine = value.recommendation.chosen, value.machine
    note = say("described by a file, not this computer", "来自文件描述，并非本机") if machine.recorded else ""
    facts = [
        Fact(label=say("Project", "项目"), value=_scenario(value, say), note=" · ".join(_model(value, say))),
        Fact(label=say("Machine", "电脑"), value=machine_part.devices_in_a_line(machine) or machine.cpu.model or say("not known", "未知"),
             note=" · ".join(w for w in (machine_part.system_in_a_line(machine), note) if w)),
    ]  # fmt: skip
    if chosen is not None:
        parts = ", ".join(
            " ".join(w for w in (names.short(value, c.framework), c.version) if w) for c in chosen.stack.components
        )
        python = f"Python {chosen.stack.python}" if chosen.stack.python else ""
        facts.append(Fact(label=say("Versions", "版本"), value=parts or names.framework(value, chosen.framework), note=python))
        if chosen.memory is not None and chosen.memory.total_bytes is not None:
            facts.append(memory_part.fact(chosen.memory, say))
    facts.append(proof_part.fact(value, say))
    pains = [f for f in value.findings if f.severity in ("error", "warning")]
    facts.append(
        Fact(label=say("Findings", "发现"), tone="warn" if pains else "good",
             value=say(f"{len(pains)} to look at", f"{len(pains)} 项需要留意") if pains else say("nothing wrong was found", "未发现问题"),
             note=say.text(pains[0].because) if pains else "")
    )  # fmt: skip
    return tuple(facts)


def _model(value: Report, say: Sayer) -> list[str]:
    answers = value.answers
    said: list[str | None] = [answers.model.name]
    try:
        params = count(answers.model.params)
    except BadInput:
        params = None
    if params is not None:
        size = say.text(wording.parameters(params))
        said.append(say(f"{size} parameters", f"{size} 参数"))
    said.append(say.text(names.METHODS[answers.training.method]) if answers.training.method in names.METHODS else None)
    if answers.target.kind != "this-machine":
        said.append(say("for ", "用于") + say.text(names.TARGETS[answers.target.kind]))
    return [w for w in said if w]


def _next(value: Report, say: Sayer) -> tuple[str, ...]:
    """What the reader does with this, in order."""
    chosen = value.recommendation.chosen
    steps: list[str] = []
    for verdict in chosen.verdicts if chosen is not None else ():
        if verdict.outcome == "unmet" and verdict.remedies:
            steps.append(say.text(verdict.remedies[0].text))
    if chosen is None:
        steps += [say.text(c.text) for c in value.recommendation.what_would_change[:3]]
        return tuple(dict.fromkeys(steps))
    if chosen.install is not None and chosen.install.commands:
        steps.append(say("Install with the commands of the section “Install”.", "按“安装”一节的命令安装。"))
    verified = value.resolve is not None and value.resolve.outcome == "verified"
    if not verified and not any(s.outcome == "passed" for s in value.smoke):
        steps.append(
            say("Verify it there: stackfit resolve, then stackfit smoke, with the same project.",
                "在目标电脑上核实：用同一项目运行 stackfit resolve，再运行 stackfit smoke。")
        )  # fmt: skip
    steps.append(say("Start from a project that runs: stackfit starter --out DIR.", "从可运行的起步项目开始：stackfit starter --out DIR。"))
    return tuple(dict.fromkeys(steps))


def _project(value: Report, say: Sayer) -> tuple[object, ...]:
    heads = (say("Question", "问题"), say("Answer", "回答"))
    rows = [(say("Scenario", "场景"), _scenario(value, say))]
    for key, said in machine_part.leaves(machine_part.given(value.answers), ""):
        if key not in ("scenario", "schema", "target.kind") or (key == "target.kind" and said != "this-machine"):
            label = value.questions.get(key)
            rows.append((say.text(label) if label is not None else key, _answer(key, said, value, say)))
    blocks: list[object] = [Table(heads=heads, rows=tuple(rows), wide=(1, 2))]
    left = [say.text(value.questions[q]) for q in value.recommendation.open_questions if q in value.questions]
    if left:
        blocks.append(say("Left open, so usual values were taken: ", "未回答，因此采用常用值：") + " · ".join(left))
    return tuple(blocks)


def _answer(key: str, said: str, value: Report, say: Sayer) -> str:
    if key == "training.method" and said in names.METHODS:
        return say.text(names.METHODS[said])
    if key == "target.kind" and said in names.TARGETS:
        return say.text(names.TARGETS[said])
    if key == "framework":
        return names.framework(value, said)
    return {"True": say("yes", "是"), "False": say("no", "否")}.get(said, said)


def _about(value: Report, say: Sayer) -> tuple[object, ...]:
    blocks: list[object] = []
    checked, age = value.recommendation.knowledge_checked, value.recommendation.knowledge_age_days
    if checked:
        old = age is not None and age > 90
        late = say(f", {age} days before this report: it may be out of date.", f"，距本报告 {age} 天，可能已过时。") if old else say(".", "。")
        said = say(f"The oldest fact used was checked on {checked}", f"所用知识中最早核对于 {checked}") + late
        blocks.append(Notice(tone="warn" if old else "info", word=say("Knowledge", "知识库"), said=said))
    if value.policy is not None:
        rules = tuple(say.text(r) for r in value.policy.rules)
        blocks.append(Notice(tone="info", word=say("Team policy: ", "团队策略：") + value.policy.name,
                             said=say("This advice obeys it.", "本建议遵守该策略。"), detail=value.policy.contact or ""))  # fmt: skip
        if rules:
            blocks.append(Bullets(items=rules))
    if value.machine.overrides and value.fleet is None:
        said = say("Not read but stated: ", "以下事实并非读取所得，而是由用户指定：") + say.joined(value.machine.overrides)
        blocks.append(Notice(tone="info", word=say("Stated by the user", "由用户指定"), said=say.sentence(said)))
    moment = value.created.replace("T", " ").replace("+00:00", " UTC")
    blocks.append(
        say(f"Made by Stackfit {value.program_version} on {moment}. “Verified” means that the resolver accepted the plan on that "
            "machine; “proven” means that it ran there. What is not known is said to be not known.",
            f"由 Stackfit {value.program_version} 于 {moment} 生成。“已核实”表示解析器在那台电脑上接受了该方案；"
            "“已验证”表示它在那里运行过。未知的内容均如实标明。")
    )  # fmt: skip
    return tuple(blocks)


def _sources(value: Report, say: Sayer) -> tuple[object, ...]:
    """Every address that the advice rests on, with the day on which it was read."""
    every = [a for a in (value.recommendation.chosen, *value.recommendation.others, *value.recommendation.unsuitable) if a is not None]
    found: dict[str, str] = {}
    for one in every:
        for source in (*one.sources, *(v.source for v in one.verdicts if v.source is not None)):
            found[source.url] = max(found.get(source.url, ""), source.date)
    for finding in value.findings:
        if finding.source is not None:
            found[finding.source.url] = finding.source.date
    rows = tuple(sorted(found.items()))
    heads, title = (say("Source", "来源"), say("Read", "核对日期")), say(f"{len(rows)} sources", f"{len(rows)} 项来源")
    return (Table(heads=heads, rows=rows, wide=(5, 1), lead=False, title=title),) if rows else ()
