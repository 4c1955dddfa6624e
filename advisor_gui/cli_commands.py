"""What each command does: call a use-case, show its answer as text or JSON, return the exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from advisor_gui import session
from advisor_gui.cli import COULD_NOT, NO, OK
from knowledge.answers import Answers
from knowledge.documents import BadInput
from knowledge.facts import Finding, MachineProfile
from knowledge.text import Text, localised
from probes.progress import Progress


def run(options: argparse.Namespace) -> int:
    """Run the command of OPTIONS and return its exit code."""
    options.lang = options.lang or session.default_language()
    return COMMANDS[options.command](options)


def policy_of(options: argparse.Namespace, knowledge: Any) -> Any:
    """The team policy in force: by --policy, by the variable, or the administrator's."""
    from advisor_gui import team

    return team.load(knowledge, options.policy)


def show(options: argparse.Namespace, value: Any, text: Callable[[Any, str], None]) -> None:
    """VALUE on standard output, as JSON in the chosen language or by the TEXT renderer."""
    if options.format == "json":
        body = localised(value, options.lang)
        body = {"schema": 1, **body} if isinstance(body, dict) and body.get("schema") != 1 else body
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(body), indent=2).decode() + "\n")
        sys.stdout.flush()
    else:
        text(value, options.lang)


def progress(options: argparse.Namespace) -> Progress:
    """Steps on standard error, where they neither disturb JSON nor a pipe."""
    if options.format == "json" or not sys.stderr.isatty():
        return Progress()

    def step(text: Any, share: float | None) -> None:
        done = f" {share:4.0%}" if share is not None else ""
        sys.stderr.write(f"\r\033[2K{text.said(options.lang)}{done}")
        if share == 1:
            sys.stderr.write("\r\033[2K")
        sys.stderr.flush()

    return Progress(on_step=step)


def machine_of(options: argparse.Namespace, work: Progress, *, environments: bool = True) -> MachineProfile:
    return session.open_machine(options.machine, environments=environments, progress=work)


def answers_of(options: argparse.Namespace) -> Answers:
    return session.answers_from(
        options.answers, scenario=options.scenario, settings=options.set, framework=getattr(options, "framework", None)
    )


def only_here(options: argparse.Namespace, why: str) -> None:
    if options.machine:
        raise BadInput(Text(
            f"stackfit {options.command} takes no --machine: {why}.",
            f"stackfit {options.command} 不接受 --machine：它只针对本机。",
        ))  # fmt: skip


def probe(options: argparse.Namespace) -> int:
    """A machine file holds what was read; what only the catalogue knows of a device is shown to people alone."""
    found = machine_of(options, progress(options), environments=not options.no_environments)

    def text(value: MachineProfile, language: str) -> None:
        from advisor_gui import cli_text
        from knowledge import devices

        cli_text.machine(devices.complete(session.catalog(session.folders()), value), language)

    show(options, found, text)
    return OK


def record(options: argparse.Namespace) -> int:
    only_here(options, "it records the computer it runs on")
    session.record(options.out, progress(options))
    show(options, {"schema": 1, "file": options.out}, lambda v, _: print(v["file"]))
    return OK


def loud(findings: tuple[Finding, ...]) -> bool:
    return any(f.severity in ("error", "warning") for f in findings)


def doctor(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    work = progress(options)
    machine = machine_of(options, work, environments=options.python is None)
    if options.python is not None and not options.machine:
        machine = session.with_python(machine, options.python)
    found = session.doctor(session.catalog(session.folders()), machine, options.python)
    show(options, {"schema": 1, "findings": found}, lambda v, lang: cli_text.findings(v["findings"], lang))
    return NO if loud(found) else OK


def advise(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    answers = answers_of(options)
    knowledge = session.catalog(session.folders())
    session.known_scenario(knowledge, answers, options.answers or "--scenario")
    machine = machine_of(options, progress(options))
    found = session.recommend(knowledge, machine, answers, what_if=options.what_if, policy=policy_of(options, knowledge))
    show(options, found, lambda v, lang: cli_text.recommendation(v, knowledge, answers, lang, machine.system.os))
    return OK if found.chosen is not None and found.chosen.fit != "unsuitable" else NO


def assess(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    answers = session.answers_from(options.answers, scenario=options.scenario, settings=options.set)
    knowledge = session.catalog(session.folders())
    session.known_framework(knowledge, options.framework)
    machine = machine_of(options, progress(options))
    found = session.assess(knowledge, machine, options.framework, answers, policy=policy_of(options, knowledge))
    show(options, found, lambda v, lang: cli_text.assessment(v, knowledge, answers, lang, machine.system.os))
    return NO if found.fit == "unsuitable" else OK


def size(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    settings = list(options.set)
    model_file = None
    if options.model is not None:
        if Path(options.model).exists():
            model_file = options.model
        elif options.model[:1].isdigit():
            settings.append(f"model.params={options.model}")
        else:
            settings.append(f"model.name={json.dumps(options.model)}")
    if options.method is not None:
        settings.append(f"training.method={options.method}")
    answers = session.answers_from(options.answers, scenario=options.scenario, settings=settings)
    knowledge = session.catalog(session.folders())
    machine = machine_of(options, progress(options), environments=False)
    found = session.size(knowledge, machine, answers, model_file)
    show(options, found, cli_text.memory)
    return NO if found.verdict == "exceeds" else OK


def _assessment(options: argparse.Namespace, knowledge: Any, machine: MachineProfile) -> Any:
    """The assessment that resolve, smoke and wholeheouse work on: of --framework, else of the recommended stack."""
    if getattr(options, "framework", None) and not options.scenario and not options.answers:
        answers = session.answers_from(None, settings=options.set)
        return session.assess(knowledge, machine, options.framework, answers, policy=policy_of(options, knowledge))
    found = session.recommend(knowledge, machine, answers_of(options), policy=policy_of(options, knowledge)).chosen
    if found is None:
        raise session.CouldNot(Text(
            "No framework of this scenario fits this machine; `stackfit advise` says why.",
            "此场景下没有适合这台电脑的框架；`stackfit advise` 会说明原因。",
        ))  # fmt: skip
    return found


def resolve(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    knowledge = session.catalog(session.folders())
    work = progress(options)
    machine = machine_of(options, work)
    chosen = _assessment(options, knowledge, machine)
    found = session.resolve(chosen, machine, client=options.client, python=options.python, progress=work)
    if options.lock and found.lock:
        session.write_whole(Path(options.lock), found.lock.encode())
    show(options, found, cli_text.resolved)
    return {"verified": OK, "refused": NO}.get(found.outcome, COULD_NOT)


def smoke(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text

    only_here(options, "only the computer it runs on can prove")
    work = progress(options)
    machine = session.open_machine(None, environments=not options.list, progress=work)
    known = session.checks(machine)
    if options.list:
        show(options, {"schema": 1, "checks": known}, lambda v, lang: cli_text.checks(v["checks"], lang))
        return OK
    if options.script:
        return _own_code(options, machine, work)
    if options.result:
        return _device_result(options)
    wanted = [options.check] if options.check else None
    if wanted is None and options.all:
        wanted = [c.id for c in known if c.runs_here]
    if wanted is None:
        scenario = answers_of(options).scenario
        wanted = [c.id for c in known if c.scenario == scenario and c.runs_here][:1] or ["onnxruntime-embedded"]
    ids = {c.id for c in known}
    for check in wanted:
        if check not in ids:
            raise BadInput(Text(
                f"{check[:60]!r} is no check; allowed are {', '.join(sorted(ids))}.",
                f"{check[:60]!r} 不是检查项；允许的有 {', '.join(sorted(ids))}。",
            ))  # fmt: skip
    if options.bundle:
        from probes.proof import bundle

        folder = bundle.write(wanted[0], Path(options.bundle))
        show(options, {"schema": 1, "folder": str(folder)}, lambda v, _: print(v["folder"]))
        return OK
    chosen = None
    if options.framework or options.scenario or options.answers:
        chosen = _assessment(options, session.catalog(session.folders()), machine)
    results = []
    for check in wanted:
        result = session.smoke(
            check, machine, session.folders(), progress=work, assessment=chosen, python=options.python,
            limit_s=options.limit,
        )  # fmt: skip
        results.append(result)
        if len(wanted) > 1 and options.format == "text":
            cli_text.smoke(result, options.lang)
    if len(wanted) == 1:
        show(options, results[0], cli_text.smoke)
    elif options.format == "json":
        show(options, {"schema": 1, "results": results}, lambda *_: None)
    return _smoke_code(results)


def _own_code(options: argparse.Namespace, machine: Any, work: Any) -> int:
    """The user's script on the recommended stack (or in the environment at --python)."""
    from advisor_gui import cli_text

    chosen = None if options.python else _assessment(options, session.catalog(session.folders()), machine)
    result = session.own_code(
        options.script, machine, session.folders(), progress=work, assessment=chosen, python=options.python,
        limit_s=options.limit,
    )  # fmt: skip
    show(options, result, cli_text.smoke)
    return _smoke_code([result])


def _device_result(options: argparse.Namespace) -> int:
    """What a bundle brought back: kept in the history under its device, and shown."""
    from advisor_gui import cli_text
    from probes.proof import bundle, history

    result, device = bundle.read(options.result)
    try:
        with history.History(session.folders().data / "history.sqlite") as kept:
            kept.add(result, device=device)
    except OSError as error:
        raise session.CouldNot(str(error)) from None
    show(options, result, cli_text.smoke)
    return _smoke_code([result])


def _smoke_code(results: list[Any]) -> int:
    outcomes = {r.outcome for r in results}
    if outcomes <= {"passed"}:
        return OK
    return COULD_NOT if outcomes & {"not_built", "cancelled", "cannot_run"} and not outcomes & {"failed"} else NO


def report(options: argparse.Namespace) -> int:
    answers = answers_of(options)
    knowledge = session.catalog(session.folders())
    session.known_scenario(knowledge, answers, options.answers or "--scenario")
    if options.smoke or options.verify:
        only_here(options, "--smoke and --verify can only speak of the computer they run on")
    work = progress(options)
    if options.compare:
        return _fleet_report(options, knowledge, answers, work)
    machine = machine_of(options, work)
    value = _report(options, knowledge, machine, answers, work, options.smoke, options.verify, options.title)
    path = session.write_report(value, options.out, options.lang)
    show(options, {"schema": 1, "file": str(path)}, lambda v, _: print(v["file"]))
    return OK


def _report(
    options: argparse.Namespace, knowledge: Any, machine: MachineProfile, answers: Answers, work: Progress,
    smoke_checks: list[str], verify: bool, title: str | None,
) -> Any:  # fmt: skip
    found = session.recommend(knowledge, machine, answers, what_if=True, policy=policy_of(options, knowledge))
    resolved = None
    if verify and found.chosen is not None:
        resolved = session.resolve(found.chosen, machine, progress=work)
    results = tuple(
        session.smoke(check, machine, session.folders(), progress=work, assessment=None) for check in smoke_checks
    )
    findings = session.doctor(knowledge, machine)
    policy = policy_of(options, knowledge)
    against = tuple(
        session.assess(knowledge, machine, name, answers, policy=policy) for name in getattr(options, "against", ())
    )
    return session.report(
        machine, answers, found, findings, resolved=resolved, smoke_results=results, title=title, knowledge=knowledge,
        policy=policy, compared=session.plain_assessments(against),
    )  # fmt: skip


def _fleet_report(options: argparse.Namespace, knowledge: Any, answers: Answers, work: Progress) -> int:
    """The machines of --compare side by side; the first readable one is the machine of the document."""
    from advisor_gui import fleet as use_case

    if options.machine or options.smoke or options.verify or options.against:
        raise BadInput(Text(
            "stackfit report --compare takes no --machine, --smoke, --verify or --against: it is about many machines.",
            "stackfit report --compare 比较多台机器，不接受 --machine、--smoke、--verify 或 --against。",
        ))  # fmt: skip
    places = use_case.files(options.compare)
    found = use_case.examine(knowledge, places, answers, work)
    first = next((place for place, row in zip(places, found.rows, strict=True) if row.fault is None), None)
    if first is None:
        raise BadInput(Text(
            f"{', '.join(str(p) for p in places)}: none of them could be read. {found.rows[0].fault}",
            f"{', '.join(str(p) for p in places)}：都无法读取。{found.rows[0].fault}",
        ))  # fmt: skip
    machine = session.open_machine(str(first))
    advice = session.recommend(knowledge, machine, answers)
    value = session.report(machine, answers, advice, title=options.title, knowledge=knowledge, machines=found)
    path = session.write_report(value, options.out, options.lang)
    show(options, {"schema": 1, "file": str(path)}, lambda v, _: print(v["file"]))
    return OK


def go(options: argparse.Namespace) -> int:
    """The whole job in the terminal: what the window does, for a server."""
    from advisor_gui import cli_text

    only_here(options, "it proves the stack on the computer it runs on")
    answers = answers_of(options)
    knowledge = session.catalog(session.folders())
    session.known_scenario(knowledge, answers, options.answers or "--scenario")
    work = progress(options)
    machine = machine_of(options, work)
    value = _report(options, knowledge, machine, answers, work, ["onnxruntime-embedded"], False, None)
    if options.format == "text":
        from knowledge import devices

        cli_text.machine(devices.complete(knowledge, machine), options.lang)
        cli_text.findings(value.findings, options.lang)
        cli_text.recommendation(value.recommendation, knowledge, answers, options.lang, machine.system.os)
        cli_text.smoke(value.smoke[0], options.lang)
    path = session.write_report(value, options.out, options.lang)
    if options.format == "json":
        show(options, value, lambda *_: None)
    else:
        cli_text.written(path, options.lang)
    fit = value.recommendation.chosen
    return OK if fit is not None and value.smoke[0].outcome == "passed" else NO


def starter(options: argparse.Namespace) -> int:
    answers = answers_of(options)
    knowledge = session.catalog(session.folders())
    work = progress(options)
    machine = machine_of(options, work)
    found = session.recommend(knowledge, machine, answers, policy=policy_of(options, knowledge))
    lock = None
    if options.lock and found.chosen is not None:
        lock = session.resolve(found.chosen, machine, progress=work).lock
        if lock is None:
            raise session.CouldNot(Text(
                "The resolver gave no lock for this plan; `stackfit resolve` says why. Without --lock the starter is written.",
                "解析器没有给出此方案的锁定文件；`stackfit resolve` 会说明原因。不带 --lock 仍可生成起步项目。",
            ))  # fmt: skip
    written = session.write_starter(found, answers, machine, Path(options.out), options.lang, lock=lock)
    show(
        options, {"schema": 1, "folder": options.out, "files": [str(w) for w in written]},
        lambda v, _: print("\n".join(v["files"])),
    )  # fmt: skip
    return OK


def knowledge(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text
    from knowledge import loader

    if options.action == "refresh":
        from advisor_gui import refresh

        return refresh.run(options)
    if options.action == "check":
        try:
            problems = loader.check(loader.load_catalog())
        except loader.LoadError as error:
            problems = [str(error)]
        body = {"schema": 1, "problems": problems}
        show(options, body, lambda v, lang: cli_text.knowledge_check(v["problems"], lang))
        return NO if problems else OK
    have = session.catalog(session.folders())
    if options.action == "list":
        rows = [
            {"id": f.id, "name": f.name, "status": f.status.state, "roles": f.roles, "checked": f.checked}
            for f in sorted(have.frameworks.values(), key=lambda f: f.id)
        ]
        show(options, {"schema": 1, "frameworks": rows}, lambda v, lang: cli_text.knowledge_list(v["frameworks"], lang))
        return OK
    if not options.id:
        raise BadInput(Text(
            "stackfit knowledge show needs an id; `stackfit knowledge list` shows all.",
            "stackfit knowledge show 需要一个 id；`stackfit knowledge list` 列出全部。",
        ))  # fmt: skip
    entry = have.scenarios.get(options.id) or have.frameworks[session.known_framework(have, options.id)]
    show(options, entry, cli_text.entry)
    return OK


def fleet(options: argparse.Namespace) -> int:
    from advisor_gui import fleet as use_case

    return use_case.run(options)


def policy(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text, team

    found = team.load(session.catalog(session.folders()), options.file)
    show(options, found, cli_text.policy)
    return OK


def wheelhouse(options: argparse.Namespace) -> int:
    from advisor_gui import cli_text
    from probes.proof import wheelhouse as collector

    knowledge = session.catalog(session.folders())
    work = progress(options)
    machine = machine_of(options, work)
    chosen = _assessment(options, knowledge, machine)
    found = session.resolve(chosen, machine, progress=work)
    if found.lock is None:
        raise session.CouldNot(found.because)
    try:
        written = collector.make(
            found.lock, Path(options.out), session.package_settings(work), machine=machine, progress=work,
            python=found.plan.python if found.plan is not None else None,
        )  # fmt: skip
    except collector.NotMade as error:
        raise session.CouldNot(error.text) from None
    show(options, written, cli_text.wheelhouse)
    return OK


def schema(options: argparse.Namespace) -> int:
    from advisor_gui import schemas

    sys.stdout.write(schemas.text(options.name) + "\n")
    return OK


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "probe": probe, "record": record, "doctor": doctor, "advise": advise, "assess": assess, "size": size,
    "resolve": resolve, "smoke": smoke, "report": report, "starter": starter, "go": go, "knowledge": knowledge,
    "fleet": fleet, "policy": policy, "wheelhouse": wheelhouse, "schema": schema,
}  # fmt: skip
