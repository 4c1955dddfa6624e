"""The use-cases that the window and the command line share: read, probe, advise, verify, try, report."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from advisor_gui.places import Folders as Folders
from advisor_gui.places import folders as folders
from knowledge import documents
from knowledge.answers import Answers, Model
from knowledge.documents import BadInput
from knowledge.facts import Finding, MachineProfile
from knowledge.text import Text, plain
from probes.progress import Progress

if TYPE_CHECKING:
    from advisor_gui.fleet import Fleet
    from advisor_gui.report.value import Report
    from knowledge.catalog import Catalog
    from knowledge.plan import CheckInfo, PackageSettings, ResolveResult, SmokeResult
    from knowledge.policy import Policy
    from knowledge.verdicts import Assessment, AssessmentAnswer, Change, MemoryEstimate, Recommendation
    from probes.host import Host

DEFAULT_SCENARIO = "rapid-prototyping"
FILE_LIMIT_BYTES = 64_000_000


class CouldNot(Exception):
    """Something could not be done (probe, network, sandbox, writing); `text` is one sentence for the user."""

    def __init__(self, message: Text | str) -> None:
        self.text = message if isinstance(message, Text) else plain(message)
        super().__init__(self.text.en)


def version() -> str:
    from importlib import metadata

    try:
        return metadata.version("stackfit")
    except metadata.PackageNotFoundError:
        return "0"


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def now() -> str:
    """The moment in UTC, ISO 8601 to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def catalog(places: Folders) -> Catalog:
    """The knowledge base, from its compiled form where that is still the one of these sources."""
    from knowledge import loader

    compiled = places.cache / "catalog.bin"
    try:
        found = loader.load_from(compiled.read_bytes())
    except OSError:
        found = None
    if found is not None:
        return found
    fresh = loader.load_catalog()
    try:
        write_whole(compiled, loader.compile_catalog(fresh))
    except CouldNot:
        return fresh  # a read-only cache costs time, not the answer
    return fresh


def unwritable(path: Path | str, error: OSError, *, kept: bool = False) -> CouldNot:
    """Why PATH could not be written; KEPT: an old file there is as it was."""
    why = error.strerror or error
    old = ("", "") if not kept else (", the old file is as it was", "，原文件保持不变")
    return CouldNot(Text(f"{path}: cannot be written{old[0]}: {why}.", f"{path}：无法写入{old[1]}：{why}。"))


def write_whole(path: Path, content: bytes) -> None:
    """CONTENT at PATH, or the old file as it was: written beside it, flushed, then put in its place.

    Raises CouldNot with one sentence (full disk, read-only folder, a folder in the way).
    """
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise unwritable(path, error) from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if not path.exists():
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
        else:
            temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error, kept=True) from None


def read_text(path: str | Path, what: str) -> str:
    """Text of a small file. Raises BadInput where it is absent, unreadable, a folder, huge or not text."""
    place = Path(path)
    try:
        if place.is_dir():
            raise BadInput(Text(f"{path}: is a folder; {what} is a file.", f"{path}：是文件夹；此处需要文件。"))
        if not place.exists():
            raise BadInput(Text(f"{path}: there is no such file; {what} was looked for there.", f"{path}：没有这个文件。"))
        if not place.is_file():
            raise BadInput(Text(f"{path}: is not a regular file; {what} is one.", f"{path}：不是普通文件。"))
        if place.stat().st_size > FILE_LIMIT_BYTES:
            size_mb = place.stat().st_size // 1_000_000
            raise BadInput(Text(
                f"{path}: is {size_mb} MB; {what} is smaller than {FILE_LIMIT_BYTES // 1_000_000} MB.",
                f"{path}：大小为 {size_mb} MB；允许的上限是 {FILE_LIMIT_BYTES // 1_000_000} MB。",
            ))  # fmt: skip
        raw = place.read_bytes()
    except OSError as error:
        raise BadInput(Text(
            f"{path}: cannot be read: {error.strerror or error}.",
            f"{path}：无法读取：{error.strerror or error}。",
        )) from None  # fmt: skip
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(Text(f"{path}: is not UTF-8 text, as {what} is.", f"{path}：不是 UTF-8 文本。")) from None


def local_host(progress: Progress | None = None) -> Host:
    from probes.host import LocalHost

    return LocalHost(cancelled=progress.cancelled if progress is not None else None)


def open_machine(
    path: str | None, *, environments: bool = True, progress: Progress | None = None
) -> MachineProfile:
    """This machine (PATH None), a recording (folder or zip), or a machine file. Raises BadInput."""
    from probes import machine

    if path is None:
        return machine.probe(local_host(progress), environments=environments, progress=progress)
    place = Path(path)
    if place.is_dir() or _is_zip(place):
        from probes.recording import RecordedHost

        profile = machine.probe(RecordedHost(place), environments=environments, progress=progress)
        return msgspec.structs.replace(profile, recorded=True)
    return documents.machine(read_text(path, "a machine file"), str(path))


def _is_zip(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def record(out: str, progress: Progress) -> None:
    """A recording of this machine at OUT (a zip), personal details replaced."""
    from probes import recording

    try:
        recording.record(local_host(progress), Path(out), progress)
    except OSError as error:
        raise unwritable(out, error) from None


def answers_from(
    path: str | None = None, *, scenario: str | None = None, settings: Sequence[str] = (), framework: str | None = None
) -> Answers:
    """Answers of a file, with a scenario and `dotted.key=value` settings laid over them. Raises BadInput."""
    name = path or "--set"
    value: Any = documents.parse(read_text(path, "an answers file"), path) if path else {}
    if not isinstance(value, dict):
        raise BadInput(Text(
            f"{name}: expected a mapping of keys, found {type(value).__name__}.",
            f"{name}：应为键值映射，发现的是 {type(value).__name__}。",
        ))  # fmt: skip
    if scenario is not None:
        value = {**value, "scenario": scenario}
    for assignment in settings:
        value = documents.with_setting(value, assignment)
    if framework is not None:
        value = {**value, "framework": framework}
    return documents.checked(documents.convert(value, Answers, name), name)


def known_scenario(knowledge: Catalog, answers: Answers, name: str = "answers") -> None:
    """Raises BadInput where the answers name a scenario that the catalogue does not hold."""
    if answers.scenario not in knowledge.scenarios:
        allowed = ", ".join(sorted(knowledge.scenarios))
        raise BadInput(Text(
            f"{name}: key `scenario`: found {answers.scenario!r}; allowed are {allowed}.",
            f"{name}：键 `scenario`：发现 {answers.scenario!r}；允许的值有 {allowed}。",
        ))  # fmt: skip


def known_framework(knowledge: Catalog, name: str) -> str:
    """The id of a framework given by id, alias or name in any case. Raises BadInput with near names."""
    wanted = name.strip().lower().replace("_", "-").replace(" ", "-")
    for entry in knowledge.frameworks.values():
        known = {entry.id, entry.name, *entry.aliases}
        if wanted in {word.lower().replace("_", "-").replace(" ", "-") for word in known}:
            return entry.id
    import difflib

    near = difflib.get_close_matches(wanted, list(knowledge.frameworks), n=3)
    hint = f"; near names are {', '.join(near)}" if near else ""
    near_zh = f"；相近的名称有 {', '.join(near)}" if near else ""
    raise BadInput(Text(
        f"{name[:60]!r} is not in the catalogue{hint}. `stackfit knowledge list` shows all.",
        f"知识库中没有 {name[:60]!r}{near_zh}。`stackfit knowledge list` 列出全部。",
    ))  # fmt: skip


def recommend(
    knowledge: Catalog, machine: MachineProfile, answers: Answers, *, what_if: bool = False, policy: Policy | None = None
) -> Recommendation:
    from knowledge import advise

    known_scenario(knowledge, answers)
    if answers.framework is not None:
        answers = msgspec.structs.replace(answers, framework=known_framework(knowledge, answers.framework))
    return advise.advise(knowledge, machine, answers, today=today(), what_if=what_if, policy=policy)


def supposed(
    knowledge: Catalog, machine: MachineProfile, answers: Answers, change: Change
) -> tuple[MachineProfile, Answers, Recommendation] | None:
    """Machine, answers and advice with one CHANGE of `what_would_change` tried on; None where it no longer applies."""
    from knowledge import advise, changes, devices

    completed = devices.complete(knowledge, machine)
    before = advise.advise(knowledge, completed, answers, today=today())
    for trial in changes.trials(knowledge, completed, answers, before):
        if (trial.fact, trial.becomes) == (change.fact, change.becomes):
            return trial.machine, trial.answers, recommend(knowledge, trial.machine, trial.answers)
    return None


def assess(
    knowledge: Catalog, machine: MachineProfile, framework: str, answers: Answers, *, policy: Policy | None = None
) -> AssessmentAnswer:
    """One framework on one machine, with the findings on the machine that concern it."""
    from knowledge import advise
    from knowledge.verdicts import AssessmentAnswer

    wanted = known_framework(knowledge, framework)
    answers = msgspec.structs.replace(answers, framework=wanted)
    found = advise.assess(knowledge, machine, wanted, answers, today=today(), policy=policy)
    if isinstance(found, AssessmentAnswer):
        return found
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    return AssessmentAnswer(**fields)


def plain_assessments(found: Sequence[Assessment]) -> tuple[Assessment, ...]:
    """FOUND without what `stackfit assess` says beside the assessment."""
    from knowledge.verdicts import Assessment

    return tuple(Assessment(**{name: getattr(a, name) for name in Assessment.__struct_fields__}) for a in found)


def assess_all(
    knowledge: Catalog, machine: MachineProfile, answers: Answers, progress: Progress
) -> dict[str, Assessment]:
    """Every framework of the catalogue on this machine, by id."""
    from knowledge import advise

    found: dict[str, Assessment] = {}
    for name in knowledge.frameworks:
        progress.check()
        asked = msgspec.structs.replace(answers, framework=name)
        found[name] = advise.assess(knowledge, machine, name, asked, today=today())
    return found


def environments(places: Folders) -> tuple[int, int]:
    """Number of clean environments kept for smoke tests, and the bytes that they take."""
    from probes.proof import sandbox

    kept = sandbox.Sandboxes(places.cache / "environments").every(sizes=True)
    return len(kept), sum(e.size_bytes or 0 for e in kept)


def remove_environments(places: Folders) -> None:
    from probes.proof import sandbox

    boxes = sandbox.Sandboxes(places.cache / "environments")
    for kept in boxes.every():
        boxes.remove(kept.key)


def doctor(knowledge: Catalog, machine: MachineProfile, python: str | None = None) -> tuple[Finding, ...]:
    """Faults of the machine and of its environments (or of the one at PYTHON), in order of pain."""
    from knowledge import devices, diagnose

    completed = devices.complete(knowledge, machine)
    return diagnose.diagnose(knowledge, completed, today(), python=python)


def with_python(machine: MachineProfile, path: str) -> MachineProfile:
    """MACHINE with the environment at PATH read and first among its Pythons. Raises BadInput where there is none."""
    from probes.software import environments

    found, faults = environments.one_python(local_host(), path)
    if found is None:
        if faults:
            raise BadInput(faults[0].because)
        raise BadInput(Text(
            f"{path}: no Python environment was found there; give its python or its folder.",
            f"{path}：没有找到 Python 环境；请给出其 python 程序或所在文件夹。",
        ))  # fmt: skip
    rest = tuple(p for p in machine.pythons or () if p.path != found.path)
    return msgspec.structs.replace(machine, pythons=(found, *rest))


def size(knowledge: Catalog, machine: MachineProfile, answers: Answers, model_file: str | None = None) -> MemoryEstimate:
    """Memory of the model in the answers (or in MODEL_FILE). Raises BadInput where no model is named."""
    from knowledge import devices, sizing

    description = None
    if model_file is not None:
        from probes import model_files

        description = sizing.describe(model_files.read(model_file))
    found = sizing.estimate(
        devices.complete(knowledge, machine), answers, knowledge, model=description, details=True
    )
    if found is None and answers.model.name:
        name = documents.printable(repr(answers.model.name))
        raise BadInput(Text(
            f"{name} is no file here, no number of parameters and no known model; give a file, 7B, or both a name and model.params.",
            f"{name} 不是此处的文件、参数量或已知模型；请给出文件、7B 这样的数字，或同时给出名称和 model.params。",
        ))  # fmt: skip
    if found is None:
        raise BadInput(Text(
            "no model is named: give --model 7B, a model file, or model.params in the answers file.",
            "没有指定模型：请给出 --model 7B、模型文件，或在答案文件中写明 model.params。",
        ))  # fmt: skip
    return found


def model_answers(path: str) -> Model:
    """The shape that a model file tells, as answers. Raises BadInput."""
    from knowledge import sizing
    from probes import model_files

    found = sizing.describe(model_files.read(path))
    mixture = found.active_parameters < found.parameters
    return Model(
        name=found.name, params=found.parameters, file=Path(path).name, layers=found.layers, hidden=found.hidden,
        heads=found.heads, kv_heads=found.kv_heads, vocab=found.vocab or None, experts=found.experts or None,
        active_params=found.active_parameters if mixture else None, intermediate=found.intermediate or None,
        head_dim=found.head_dim or None,
    )  # fmt: skip


def package_settings(progress: Progress | None = None) -> PackageSettings:
    """How this user installs here: pip's and uv's own settings."""
    from probes.software import package_index

    return package_index.settings(local_host(progress))


def resolve(
    assessment: Assessment,
    machine: MachineProfile,
    *,
    client: str = "uv",
    python: str | None = None,
    progress: Progress,
) -> ResolveResult:
    """Ask the resolver, with this user's own settings, whether the plan installs here.

    PYTHON: an environment that it would go into; the answer then says what that would lose. Raises BadInput, CouldNot.
    """
    from probes.proof import resolve as resolver

    if assessment.install is None or not assessment.install.packages:
        raise CouldNot(Text(
            f"{assessment.framework}: the plan holds no Python package, so there is nothing to resolve.",
            f"{assessment.framework}：方案中没有 Python 包，因此无需解析。",
        ))  # fmt: skip
    into = (with_python(machine, python).pythons or (None,))[0] if python is not None else None
    return resolver.resolve(
        assessment.install, package_settings(progress), client=client, machine=machine, progress=progress,
        python_path=into.path if into is not None else None, existing=into.packages if into is not None else None,
    )  # fmt: skip


def checks(machine: MachineProfile) -> tuple[CheckInfo, ...]:
    from probes.proof import checks as check_catalogue

    return check_catalogue.info(machine)


def smoke(
    check: str,
    machine: MachineProfile,
    places: Folders,
    *,
    progress: Progress,
    assessment: Assessment | None = None,
    python: str | None = None,
    limit_s: float | None = None,
) -> SmokeResult:
    """Run one check: in a clean environment made for it, in the environment at PYTHON, or (embedded) in our own."""
    from probes.proof import smoke as proof

    result = proof.smoke(
        check,
        machine=machine,
        settings=package_settings(progress),
        folder=places.cache / "environments",
        plan=assessment.install if assessment is not None else None,
        python=python,
        limit_s=limit_s,
        progress=progress,
    )
    _keep(result, machine, places, progress)
    return result


def _keep(result: SmokeResult, machine: MachineProfile, places: Folders, progress: Progress) -> None:
    """RESULT in the history; a history that cannot be written costs the record, not the result."""
    from probes.proof import history

    try:
        with history.History(places.data / "history.sqlite") as runs:
            runs.add(result, machine)
    except OSError as error:
        progress.log(f"history: not kept: {error}")


def own_code(
    script: str,
    machine: MachineProfile,
    places: Folders,
    *,
    progress: Progress,
    assessment: Assessment | None = None,
    python: str | None = None,
    limit_s: float | None = None,
) -> SmokeResult:
    """Run the user's own script in the clean environment of the plan, or in the one at PYTHON. Raises BadInput."""
    from probes.proof import smoke as proof

    result = proof.own(
        script,
        assessment.install if assessment is not None else None,
        machine=machine,
        settings=package_settings(progress),
        folder=places.cache / "environments",
        python=python,
        limit_s=limit_s or 600.0,
        progress=progress,
    )
    _keep(result, machine, places, progress)
    return result


def runs(places: Folders, limit: int = 200) -> tuple[SmokeResult, ...]:
    """Earlier smoke runs of this user, newest first."""
    from probes.proof import history

    path = places.data / "history.sqlite"
    if not path.exists():
        return ()
    with history.History(path) as kept:
        return tuple(run.result for run in kept.runs(limit=limit))


def report(
    machine: MachineProfile,
    answers: Answers,
    recommendation: Recommendation,
    findings: tuple[Finding, ...] = (),
    *,
    resolved: ResolveResult | None = None,
    smoke_results: tuple[SmokeResult, ...] = (),
    title: str | None = None,
    knowledge: Catalog | None = None,
    policy: Policy | None = None,
    compared: tuple[Assessment, ...] = (),
    machines: Fleet | None = None,
) -> Report:
    """One value for every report format. It carries the catalogue's words for the ids in it, so it stands alone.

    COMPARED stands beside the recommended stack; MACHINES makes it a report on many machines, MACHINE being the first.
    """
    from advisor_gui.report import naming, privacy
    from advisor_gui.report.value import Report
    from knowledge import devices

    knowledge = knowledge or catalog(folders())
    value = Report(
        title=title,
        created=now(),
        program_version=version(),
        knowledge_checked=recommendation.knowledge_checked,
        machine=devices.complete(knowledge, machine),
        answers=answers,
        recommendation=recommendation,
        findings=findings,
        resolve=resolved,
        smoke=smoke_results,
        policy=naming.policy_note(policy) if policy is not None else None,
        compared=compared,
        fleet=machines,
    )
    return privacy.shown(naming.with_words(value, knowledge), privacy.own_words())


def write_report(value: Report, out: str, language: str) -> Path:
    """VALUE at OUT in the format of its suffix. Raises BadInput for an unknown suffix, CouldNot where writing fails."""
    from advisor_gui import report as formats

    path = Path(out)
    content = formats.render(value, path.suffix.lower().lstrip("."), language)
    write_whole(path, content)
    return path


def report_pages(value: Report, language: str) -> tuple[bytes, ...]:
    """The pages of the report as PNG pictures."""
    from advisor_gui.report import pdf_document

    return pdf_document.pages(value, language)


def write_starter(
    found: Recommendation, answers: Answers, machine: MachineProfile, folder: Path, language: str, *, lock: str | None = None
) -> tuple[Path, ...]:
    """A starter project for the chosen stack in FOLDER, with LOCK (hashes) where it was resolved.

    Raises CouldNot where nothing was chosen or writing fails.
    """
    from advisor_gui import starter

    if found.chosen is None:
        raise CouldNot(Text(
            "No framework of this scenario fits this machine, so there is nothing to start from.",
            "此场景下没有适合这台电脑的框架，因此无法生成起步项目。",
        ))  # fmt: skip
    try:
        return tuple(starter.write(found, answers, machine, folder, language, lock))
    except OSError as error:
        raise unwritable(folder, error) from None


def default_language(environment: dict[str, str] | None = None) -> str:
    """zh where this system speaks Chinese, else en."""
    have = os.environ if environment is None else environment
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if have.get(name):
            return "zh" if have[name].lower().startswith("zh") else "en"
    if sys.platform in ("win32", "darwin"):
        import locale

        return "zh" if (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"
    return "en"


def has_display(environment: dict[str, str] | None = None) -> bool:
    """Whether a window can be shown: always on Windows and macOS, elsewhere where a display server is named."""
    if sys.platform in ("win32", "darwin"):
        return True
    have = os.environ if environment is None else environment
    return bool(have.get("DISPLAY") or have.get("WAYLAND_DISPLAY") or have.get("QT_QPA_PLATFORM"))
