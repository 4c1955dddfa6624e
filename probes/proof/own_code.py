"""The user's own script in a candidate environment: what it imports, what of that is missing, and how a run ends."""

from __future__ import annotations

import ast
import collections
import datetime
import shutil
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from knowledge.documents import BadInput
from knowledge.facts import Finding
from knowledge.plan import SmokeResult
from knowledge.text import Text
from probes.progress import Progress
from probes.proof import events, family, harness, machine_state

FILES_LIMIT = 2000
FILE_LIMIT_BYTES = 4_000_000


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """One top-level module that the code imports: where first, and what gives it (own, stdlib, a distribution, None)."""

    module: str
    file: str
    line: int
    given_by: str | None
    optional: bool = False  # inside try/except ImportError


def imports(path: str | Path, environment: str | Path | None) -> tuple[Import, ...]:
    """What the script or folder at PATH imports, by reading it; nothing is run.

    ENVIRONMENT: the folder of the virtual environment it shall run in (None: nothing but the standard library).
    Raises BadInput where PATH is not there or holds no Python that can be read.
    """
    root = Path(path)
    files = _files(root)
    own = {f.stem for f in files} | {f.parent.name for f in files if f.name == "__init__.py"}
    folder = root if root.is_dir() else root.parent
    own |= {p.name for p in folder.iterdir() if p.is_dir() and p.name.isidentifier()}
    known = modules(Path(environment)) if environment is not None else {}
    found: dict[str, Import] = {}
    unread: list[str] = []
    for file in files:
        try:
            tree = ast.parse(file.read_bytes(), filename=file.name)
        except (SyntaxError, ValueError, OSError) as error:
            unread.append(f"{file.name}: {error}")
            continue
        for module, line, optional in _imported(tree):
            first = found.get(module)
            if first is not None and (first.optional is False or optional):
                continue
            if module in sys.stdlib_module_names:
                given: str | None = "stdlib"
            elif module in known:
                given = known[module]
            else:
                given = "own" if module in own else None
            shown = file.name if root.is_file() else str(file.relative_to(root))
            found[module] = Import(module=module, file=shown, line=line, given_by=given, optional=optional)
    if unread and len(unread) == len(files):
        raise BadInput(Text(
            f"{root}: no file of it can be read as Python: {unread[0]}.",
            f"{root}：其中没有可以作为 Python 读取的文件：{unread[0]}。",
        ))  # fmt: skip
    return tuple(sorted(found.values(), key=lambda i: (i.given_by is not None, i.module)))


def modules(environment: Path) -> dict[str, str]:
    """Top-level module name to distribution name, from the metadata in the environment's folder."""
    places = [*environment.glob("lib/python*/site-packages"), environment / "Lib" / "site-packages"]
    known: dict[str, str] = {}
    for place in places:
        for info in place.glob("*.dist-info"):
            name = canonicalize_name(info.name.removesuffix(".dist-info").rsplit("-", 1)[0])
            try:
                record = (info / "RECORD").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            for line in record.splitlines():
                first = line.split(",", 1)[0].strip('"').split("/")[0]
                module = first.split(".")[0] if first.endswith((".py", ".so", ".pyd")) else first
                if module.isidentifier() and not first.endswith((".dist-info", ".data", ".libs")):
                    known.setdefault(module, name)
    return known


def missing(found: tuple[Import, ...]) -> tuple[Finding, ...]:
    """One finding for each module that neither the environment nor the code itself gives."""
    findings = []
    for item in found:
        if item.given_by is not None:
            continue
        where = f"{item.file}:{item.line}"
        findings.append(
            Finding(
                code="package.missing", severity="info" if item.optional else "warning", subject=item.module,
                because=Text(
                    f"{where} imports {item.module}, which this stack does not hold.",
                    f"{where} 导入了 {item.module}，而此技术栈中没有它。",
                ),
            )
        )  # fmt: skip
    return tuple(findings)


def run(
    script: str | Path,
    python_path: str,
    *,
    limits: harness.Limits,
    environment: str | Path | None = None,
    arguments: tuple[str, ...] = (),
    progress: Progress | None = None,
) -> SmokeResult:
    """Run SCRIPT with the Python at PYTHON_PATH, in its own folder, under LIMITS; what happens is the result."""
    progress = progress or Progress()
    path = Path(script).absolute()
    if path.is_dir():
        path = next(
            (path / n for n in ("__main__.py", "main.py", "train.py") if (path / n).is_file()), path / "main.py"
        )
    if not path.is_file():
        raise BadInput(Text(
            f"{script}: there is no script there (in a folder: __main__.py, main.py or train.py).",
            f"{script}：那里没有脚本（文件夹内应有 __main__.py、main.py 或 train.py）。",
        ))  # fmt: skip
    findings = missing(imports(script, environment)) if environment is not None else ()
    log: collections.deque[str] = collections.deque(maxlen=harness.LOG_LINES)

    def heard(line: str) -> None:
        clean = "".join(c if c.isprintable() or c == "\t" else "·" for c in line[: harness.LINE_CHARACTERS]).rstrip()
        log.append(clean)
        progress.log(clean)

    scratch = tempfile.mkdtemp(prefix=family.scratch_prefix())
    before, throttles = machine_state.now(), machine_state.throttle_events()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    began = time.perf_counter()
    try:
        ran = family.run(
            # -P would keep the script's own folder out, and its modules with it; PYTHON* variables are already gone.
            [python_path, str(path), *arguments], python=python_path, limit_s=limits.time_s,
            environment=harness.child_environment(python_path, scratch, limits, {}), folder=str(path.parent),
            memory_limit_bytes=limits.memory_bytes, cancelled=progress.cancelled, on_stdout=heard, on_stderr=heard,
        )  # fmt: skip
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    outcome, because = harness.judge(ran, events.Heard(), limits)
    if ran.done.ended == "exited" and ran.done.rc == 0:
        outcome, because = "passed", Text("The script ran to its end.", "脚本已运行至结束。")
    return SmokeResult(
        check="own-code", outcome=outcome, because=because, started=started, run_s=time.perf_counter() - began,
        before=before, after=machine_state.now(throttle_events_before=throttles), log_tail=tuple(log), findings=findings,
        proves=Text("Your own code runs on this stack.", "您自己的代码可以在此技术栈上运行。"),
    )  # fmt: skip


def _files(root: Path) -> list[Path]:
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise BadInput(Text(f"{root}: there is no such script or folder.", f"{root}：没有这个脚本或文件夹。"))
    skip = {".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist", ".tox"}
    files = []
    for path in sorted(root.rglob("*.py")):
        if not skip & set(path.relative_to(root).parts) and path.is_file() and path.stat().st_size < FILE_LIMIT_BYTES:
            files.append(path)
        if len(files) >= FILES_LIMIT:
            break
    if not files:
        raise BadInput(Text(f"{root}: holds no Python file.", f"{root}：不含 Python 文件。"))
    return files


def _imported(tree: ast.AST) -> list[tuple[str, int, bool]]:
    """(top-level module, line, optional) of every absolute import in TREE."""
    found = []
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, optional = stack.pop()
        if isinstance(node, ast.Import):
            found += [(alias.name.split(".")[0], node.lineno, optional) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.append((node.module.split(".")[0], node.lineno, optional))
        guarded = isinstance(node, ast.Try) and any(_catches_import(handler) for handler in node.handlers)
        body = set(map(id, node.body)) if isinstance(node, ast.Try) else set()
        stack += [(inner, optional or (guarded and id(inner) in body)) for inner in ast.iter_child_nodes(node)]
    return sorted(found, key=lambda item: item[1])


def _catches_import(handler: ast.ExceptHandler) -> bool:
    names = (
        {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type is not None else {"Exception"}
    )
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception"})
