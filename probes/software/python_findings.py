"""What a search for Pythons has to say about itself: what it could not read, and environments that cannot start."""

from __future__ import annotations

from knowledge.facts import Evidence, Finding
from knowledge.text import Text


def search_stopped(count: int, limit_s: float) -> Finding:
    return Finding(
        code="python.search_stopped", severity="info", subject="pythons",
        because=Text(
            f"Looking for Pythons took longer than {limit_s:g} seconds and was stopped after {count}; "
            "others may not be listed. Name one with --python PATH.",
            f"查找 Python 用时超过 {limit_s:g} 秒，在找到 {count} 个之后停止，可能还有未列出的。"
            "可用 --python 路径 指定。",
        ),
    )  # fmt: skip


def not_found(path: str) -> Finding:
    return Finding(
        code="python.not_found", severity="error", subject=path,
        because=Text(
            f"There is no Python at {path}: it is neither a Python program nor an environment's folder "
            "(pyvenv.cfg, conda-meta).",
            f"{path} 处没有 Python：既不是 Python 程序，也不是环境目录（没有 pyvenv.cfg 或 conda-meta）。",
        ),
    )  # fmt: skip


def unreadable(folder: str) -> Finding:
    return Finding(
        code="python.unreadable", severity="info", subject=folder,
        because=Text(
            f"The packages in {folder} are not known: this user may not list the folder.",
            f"无法得知 {folder} 中的软件包：当前用户没有列出该目录的权限。",
        ),
        evidence=(Evidence(fact="permission denied", source=folder),),
    )  # fmt: skip


def base_missing(program: str, home: str, source: str) -> Finding:
    return Finding(
        code="python.base_missing", severity="warning", subject=program,
        because=Text(
            f"This environment was made from a Python in {home} that is no longer there, so it cannot start. "
            "Make it anew.",
            f"该环境基于 {home} 中的 Python 创建，而那个 Python 已不存在，因此无法启动。请重新创建环境。",
        ),
        evidence=(Evidence(fact=f"home = {home}", source=source),),
    )  # fmt: skip
