"""The checks: one file each, read for its facts without running it, and which of them can run on a machine."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

import msgspec

from knowledge.documents import BadInput
from knowledge.facts import MachineProfile
from knowledge.plan import CheckInfo
from knowledge.text import Text

FOLDER = Path(__file__).parent


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that stand at the top of a check file.

    `packages`: requirements it needs in its environment (none: it runs in the program's own). `platforms`: sys.platform
    words it runs on (empty: all). `needs`: nvidia, compiler, shared_python. `pythons`: the versions it was tried on, best
    first. `remove`: packages that come along and break at import beside this torch. `on_request`: long or heavy.
    """

    id: str
    title: Text
    scenario: str
    frameworks: tuple[str, ...]
    packages: tuple[str, ...]
    limit_s: float
    proves: Text
    limits: Text
    nearest: str | None = None
    platforms: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    memory_bytes: int | None = None
    environment: dict[str, str] = {}
    on_request: bool = False
    order: int = 50  # the check of a scenario that is offered first has the lowest
    path: str = ""


def read(path: Path) -> Check:
    """The facts of the check file at PATH, from its constants; nothing of it is run. Raises BadInput."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=path.name)
    except (OSError, SyntaxError, ValueError) as error:
        raise BadInput(Text(
            f"{path.name}: cannot be read as a check: {error}.",
            f"{path.name}：无法作为检查读取：{error}。",
        )) from None  # fmt: skip
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name.isupper() and name.lower() in Check.__struct_fields__:
                try:
                    found[name.lower()] = ast.literal_eval(node.value)
                except ValueError:
                    raise BadInput(Text(
                        f"{path.name}: {name} has to be a plain value.",
                        f"{path.name}：{name} 应为简单值。",
                    )) from None  # fmt: skip
    for name in ("title", "proves", "limits"):
        pair = found.get(name)
        if isinstance(pair, tuple) and len(pair) == 2:
            found[name] = {"en": pair[0], "zh": pair[1]}
    try:
        return msgspec.convert({**found, "path": str(path)}, Check)
    except msgspec.ValidationError as error:
        raise BadInput(Text(f"{path.name}: {error}.", f"{path.name}：{error}。")) from None


def every() -> tuple[Check, ...]:
    """All checks, in the order of their scenarios and names."""
    found = [read(p) for p in sorted(FOLDER.glob("*.py")) if not p.name.startswith("_")]
    return tuple(sorted(found, key=lambda c: (c.scenario, c.on_request, c.order, c.id)))


def find(check_id: str) -> Check:
    """The check of that id. Raises BadInput with near names."""
    known = {check.id: check for check in every()}
    wanted = check_id.strip().lower().replace("_", "-")
    if wanted in known:
        return known[wanted]
    import difflib

    near = difflib.get_close_matches(wanted, list(known), n=3)
    hint = f"; near names are {', '.join(near)}" if near else ""
    hint_zh = f"；相近的名称有 {', '.join(near)}" if near else ""
    raise BadInput(Text(
        f"{check_id[:60]!r} is no check{hint}. `stackfit smoke --list` shows all.",
        f"{check_id[:60]!r} 不是检查项{hint_zh}。`stackfit smoke --list` 列出全部。",
    ))  # fmt: skip


def runs_here(check: Check, machine: MachineProfile | None) -> tuple[bool, Text]:
    """Whether CHECK can run on MACHINE (which is this one), and why (not)."""
    if check.platforms and sys.platform not in check.platforms:
        names = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
        wanted = " / ".join(names.get(p, p) for p in check.platforms)
        return False, Text(f"Runs on {wanted} only.", f"只能在 {wanted} 上运行。")
    if "nvidia" in check.needs:
        devices = (machine.accelerators if machine is not None else None) or ()
        if not any(d.vendor == "nvidia" and d.state == "usable" for d in devices):
            return False, Text(
                "Needs an NVIDIA GPU that works; none was found.", "需要可用的 NVIDIA GPU；本机没有找到。"
            )
    if "compiler" in check.needs:
        import shutil

        if shutil.which("g++") is None and shutil.which("c++") is None and shutil.which("cl") is None:
            return False, Text("Needs a C++ compiler; none was found.", "需要 C++ 编译器；本机没有找到。")
    if not check.packages:
        return True, Text(
            "Runs in the program's own environment, without any download.", "在程序自身的环境中运行，无需下载。"
        )
    return True, Text("Runs in a clean environment that is made for it.", "在为它新建的干净环境中运行。")


def info(machine: MachineProfile | None) -> tuple[CheckInfo, ...]:
    """What `smoke --list` and the Proof page show."""
    shown = []
    for check in every():
        possible, because = runs_here(check, machine)
        shown.append(
            CheckInfo(
                id=check.id,
                title=check.title,
                scenario=check.scenario,
                runs_here=possible,
                because=because,
                frameworks=check.frameworks,
                packages=check.packages,
                limit_s=check.limit_s,
                proves=check.proves,
                nearest=check.nearest,
            )
        )
    return tuple(shown)
