"""A starter project for a recommended stack: scripts that run, pins, configuration, tests, and what the cluster needs.

The scripts are fixed texts; everything that a user answered reaches them through `config.json`. So no name from
outside can become code. Files of other formats are written by a serializer or quoted by `starter.quoting`.
"""

from __future__ import annotations

from pathlib import Path

from advisor_gui.starter import families, files
from knowledge.answers import Answers
from knowledge.documents import BadInput
from knowledge.facts import MachineProfile
from knowledge.text import Text
from knowledge.verdicts import Recommendation

MARK = ".stackfit-starter.json"


def write(
    found: Recommendation, answers: Answers, machine: MachineProfile, folder: Path, language: str, lock: str | None = None
) -> list[Path]:
    """Write the project into FOLDER and return what was written, paths relative to it.

    FOLDER must be absent, empty, or an earlier starter project. Raises BadInput otherwise, OSError where writing fails.
    """
    chosen = found.chosen
    assert chosen is not None
    if folder.exists() and not folder.is_dir():
        raise BadInput(Text(f"{folder}: is a file; a folder is needed.", f"{folder}：是文件，需要文件夹。"))
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise BadInput(
            Text(
                f"{folder}: is not empty and no starter project; give a new folder.",
                f"{folder}：非空且不是起步项目；请指定新的文件夹。",
            )
        )
    family = families.of(chosen)
    made = files.contents(family, chosen, answers, machine, language, lock)
    written = []
    for name, content in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        written.append(Path(name))
    (folder / MARK).write_text('{"schema": 1}\n', encoding="utf-8")
    return written
