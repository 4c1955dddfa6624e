"""One smoke test from beginning to end: which environment it needs, making that, running the check there."""

from __future__ import annotations

import datetime
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from knowledge.facts import Finding, MachineProfile
from knowledge.plan import InstallPlan, PackageSettings, PlannedPackage, ResolveResult, SmokeResult
from knowledge.text import Text
from probes.progress import Cancelled, Progress
from probes.proof import asking, checks, family, harness, interpreters, lock, machine_state, own_code, resolve, sandbox

# The index that torch's CPU wheels come from; on Linux the plain name would bring 3 GB of CUDA.
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def smoke(
    check: str,
    *,
    machine: MachineProfile | None,
    settings: PackageSettings,
    folder: str | Path,
    plan: InstallPlan | None = None,
    python: str | None = None,
    limit_s: float | None = None,
    memory_bytes: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SmokeResult:
    """Run CHECK: in the environment at PYTHON (nothing is installed), in our own (embedded checks), or in a clean one.

    PLAN: the recommendation's packages; where the check uses one of them, it runs with the plan's pins.
    FOLDER: where environments are kept. Cancel, time limit, crash, no memory and no environment are results.
    Raises BadInput where there is no such check.
    """
    progress = progress or Progress()
    known = checks.find(check)
    possible, because = checks.runs_here(known, machine)
    if not possible and python is None:
        return _result(known, "cannot_run", because)
    limits = harness.Limits(
        time_s=limit_s or known.limit_s,
        memory_bytes=memory_bytes or known.memory_bytes or machine_state.memory_to_lend(),
        threads=threads or 1,
    )
    if python is not None:
        if not Path(python).is_file():
            return _result(known, "not_built", Text(f"There is no Python at {python}.", f"{python} 处没有 Python。"))
        variables = plan.environment if plan is not None else {}
        return harness.run_check(
            known, str(Path(python).absolute()), progress=progress, limits=limits, variables=variables, isolated=False
        )
    if not known.packages:
        frozen = bool(getattr(sys, "frozen", False))
        result = harness.run_check(
            known, sys.executable, progress=progress, limits=limits, prefix=(family.CHILD_SCRIPT,) if frozen else ()
        )
        return msgspec.structs.replace(result, pins=own_pins(known.frameworks))
    try:
        return _in_clean_environment(known, machine, settings, Path(folder), plan, limits, progress)
    except Cancelled:
        return _result(
            known, "cancelled", Text("Cancelled; nothing half-made is left.", "已取消；没有留下未完成的环境。")
        )


def _in_clean_environment(
    known: checks.Check,
    machine: MachineProfile | None,
    settings: PackageSettings,
    folder: Path,
    plan: InstallPlan | None,
    limits: harness.Limits,
    progress: Progress,
) -> SmokeResult:
    wanted = plan_for(known, machine, plan)
    progress.step(Text("Asking the resolver", "正在询问依赖解析器"), 0.0)
    library = interpreters.with_library(machine) if "shared_python" in known.needs else None
    if "shared_python" in known.needs and library is None:
        return _result(known, "cannot_run", Text("Needs a Python with its shared library.", "需要带共享库的 Python。"))
    path = library.path if library is not None else None
    built = _environment(wanted, machine, settings, folder, progress, remove=known.remove, python_path=path)
    if isinstance(built, _NotBuilt):
        return _result(known, "not_built", built.because, findings=built.findings, log_tail=built.log_tail)
    resolved, environment = built

    def run() -> SmokeResult:
        progress.step(Text("Running the check", "正在运行检查"), None)
        return harness.run_check(
            known,
            environment.python,
            progress=progress,
            limits=limits,
            variables={**wanted.environment, **known.environment},
            caches=str(Path(environment.path) / "compiled"),
        )

    result = run()
    if result.outcome == "failed" and "marshal data too short" in result.because.en:
        sandbox.forget_bytecode(environment)
        result = run()
    findings = (*resolved.findings, *result.findings)
    if resolved.fallback:
        findings = (
            Finding(code="proof.other_plan", severity="info", subject=known.id, because=resolved.because),
            *findings,
        )
    return msgspec.structs.replace(
        result, pins=environment.pins, plan_hash=environment.key, install_s=environment.install_s, findings=findings
    )


class _NotBuilt(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no environment."""

    because: Text
    findings: tuple[Finding, ...] = ()
    log_tail: tuple[str, ...] = ()


def _environment(
    plan: InstallPlan,
    machine: MachineProfile | None,
    settings: PackageSettings,
    folder: Path,
    progress: Progress,
    *,
    remove: Sequence[str] = (),
    python_path: str | None = None,
) -> tuple[ResolveResult, sandbox.Environment] | _NotBuilt:
    """The clean environment of PLAN, resolved and made (or reused), without the packages named in REMOVE."""
    resolved = resolve.resolve(plan, settings, machine=machine, python_path=python_path, progress=progress)
    if resolved.outcome != "verified" or resolved.lock is None:
        return _NotBuilt(because=resolved.because, findings=resolved.findings)
    resolved = _without(resolved, remove)
    assert resolved.lock is not None
    chosen = resolved.plan.python if resolved.plan is not None else None
    interpreter = interpreters.choose(chosen, machine, settings, python_path)
    if interpreter is None:
        absent = Text(f"Python {chosen} is not installed here.", f"本机没有安装 Python {chosen}。")
        return _NotBuilt(because=absent, findings=resolved.findings)
    try:
        environment = sandbox.Sandboxes(folder).ensure(
            resolved.lock, interpreter.path, settings, progress, download_bytes=resolved.download_bytes
        )
    except sandbox.NotBuilt as error:
        tail = tuple(error.detail.splitlines()[-harness.LOG_LINES :])
        return _NotBuilt(because=error.text, findings=resolved.findings, log_tail=tail)
    return resolved, environment


def own(
    script: str | Path,
    plan: InstallPlan | None,
    *,
    machine: MachineProfile | None,
    settings: PackageSettings,
    folder: str | Path,
    python: str | None = None,
    limit_s: float = 600.0,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> SmokeResult:
    """The user's own SCRIPT (or folder with main.py) in the clean environment of PLAN, or in the one at PYTHON.

    Findings name what it imports and the stack does not hold. Raises BadInput where there is no such script.
    """
    progress = progress or Progress()
    limits = harness.Limits(time_s=limit_s, memory_bytes=memory_bytes or machine_state.memory_to_lend(), threads=None)
    own_code.imports(script, None)  # raises BadInput before anything is installed
    started = _now()
    if python is not None:
        place = Path(python).absolute()  # it runs in a scratch folder, where a relative path would lead nowhere
        root = place.parent.parent
        return own_code.run(script, str(place), limits=limits, environment=root, progress=progress)
    failed: _NotBuilt | None = None
    if plan is None or not plan.packages:
        failed = _NotBuilt(because=Text("The plan holds no Python package.", "计划中没有 Python 软件包。"))
    else:
        try:
            built = _environment(plan, machine, settings, Path(folder), progress)
        except Cancelled:
            cancelled = Text("Cancelled; nothing half-made is left.", "已取消；没有留下未完成的环境。")
            return SmokeResult(check="own-code", outcome="cancelled", because=cancelled, started=started)
        if isinstance(built, _NotBuilt):
            failed = built
    if failed is not None:
        return SmokeResult(
            check="own-code", outcome="not_built", because=failed.because, findings=failed.findings,
            log_tail=failed.log_tail, started=started,
        )  # fmt: skip
    assert not isinstance(built, _NotBuilt)
    resolved, environment = built
    progress.step(Text("Running your code", "正在运行您的代码"), None)
    result = own_code.run(
        script, environment.python, limits=limits, environment=Path(environment.path) / "venv", progress=progress
    )
    return msgspec.structs.replace(
        result, pins=environment.pins, plan_hash=environment.key, install_s=environment.install_s,
        python=environment.python_version, findings=(*resolved.findings, *result.findings),
    )  # fmt: skip


def plan_for(known: checks.Check, machine: MachineProfile | None, plan: InstallPlan | None) -> InstallPlan:
    """What KNOWN is installed from: the recommendation's packages where it uses one of them, then its own others."""
    own = {canonicalize_name(asking.checked(r).name): r for r in known.packages}
    base: tuple[PlannedPackage, ...] = ()
    if plan is not None and any(canonicalize_name(p.name) in own for p in plan.packages):
        base = plan.packages
    have = {canonicalize_name(p.name) for p in base}
    cpu = _torch_from_cpu_index(machine)
    extra = []
    for name, requirement in own.items():
        if name in have:
            continue
        from_cpu = cpu and name == "torch"
        extra.append(
            PlannedPackage(
                name=name,
                requirement=requirement,
                index_id="cpu" if from_cpu else "pypi",
                index_url=TORCH_CPU_INDEX if from_cpu else None,
            )
        )
    # torch may be needed by another package without being asked for by name: then it has to be, or CUDA comes along.
    python = plan.python if base and plan is not None else (known.pythons[0] if known.pythons else None)
    environment = plan.environment if base and plan is not None else {}
    return InstallPlan(packages=(*base, *extra), python=python or default_python(), environment=environment)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def default_python() -> str:
    own = interpreters.own()
    return own.short if own is not None else "3.12"


def _torch_from_cpu_index(machine: MachineProfile | None) -> bool:
    """Linux without a working GPU: there the default torch is a CUDA build that nothing here could use."""
    if not sys.platform.startswith("linux"):
        return False
    devices = (machine.accelerators if machine is not None else None) or ()
    return not any(d.kind == "gpu" and d.state == "usable" and d.vendor == "nvidia" for d in devices)


def _without(resolved: ResolveResult, names: Sequence[str]) -> ResolveResult:
    """RESOLVED without packages that break at import beside this torch (known for the check, stated in it)."""
    gone = {canonicalize_name(name) for name in names}
    if not gone or resolved.lock is None:
        return resolved
    kept = tuple(p for p in resolved.packages if p.name not in gone)
    return msgspec.structs.replace(resolved, packages=kept, lock=lock.write(kept))


def own_pins(names: Sequence[str]) -> tuple[str, ...]:
    """name==version of those distributions that our own environment holds."""
    from importlib import metadata

    found = []
    for name in names:
        try:
            found.append(f"{canonicalize_name(name)}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return tuple(found)


def plan_hash(plan: InstallPlan) -> str:
    """24 hexadecimal digits that stand for the pins of PLAN."""
    words = "\n".join(sorted(p.requirement for p in plan.packages))
    return hashlib.sha256(words.encode()).hexdigest()[:24]


def _result(
    known: checks.Check,
    outcome: harness.Outcome,
    because: Text,
    *,
    findings: tuple[Finding, ...] = (),
    log_tail: tuple[str, ...] = (),
) -> SmokeResult:
    return SmokeResult(
        check=known.id,
        outcome=outcome,
        because=because,
        proves=known.proves,
        limits=known.limits,
        findings=findings,
        log_tail=log_tail,
        started=_now(),
    )
