"""Writing a report or starter where it cannot be written: the old file stays, one clear sentence, nothing left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from advisor_gui import session
from knowledge.answers import Answers
from knowledge.facts import MachineProfile
from knowledge.verdicts import Assessment, Recommendation, Stack


def value() -> Any:
    chosen = Assessment(framework="pytorch", fit="ready", stack=Stack(python="3.12"))
    return session.report(MachineProfile(), Answers(), Recommendation(scenario="rapid-prototyping", chosen=chosen))


def test_a_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = value(), tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(session.CouldNot) as failed:
        session.write_report(made, str(path), "en")
    assert str(path) in failed.value.text.en
    assert "No space left" in failed.value.text.en
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".report")] == []


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="needs a small file system of its own")
@pytest.mark.ci
def test_a_really_full_file_system(tmp_path: Path) -> None:
    import subprocess

    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(place)], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        (place / "report.html").write_text("old", encoding="utf-8")
        with pytest.raises(session.CouldNot):
            session.write_report(value(), str(place / "report.html"), "en")
        assert (place / "report.html").read_text(encoding="utf-8") == "old"
        assert [p.name for p in place.iterdir()] == ["report.html"]
        found = Recommendation(scenario="x", chosen=Assessment(framework="pytorch", fit="ready"))
        with pytest.raises(session.CouldNot):
            session.write_starter(found, Answers(), MachineProfile(), place / "starter", "en")
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(session.CouldNot) as failed:
        session.write_report(value(), str(tmp_path / "report.md"), "zh")
    assert "report.md" in failed.value.text.en


@pytest.mark.skipif(os.name == "nt", reason="Windows locks open files; there the sentence is the same")
def test_a_reader_keeps_what_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old", encoding="utf-8")
    with path.open(encoding="utf-8") as reader:
        session.write_report(value(), str(path), "en")
        assert reader.read() == "old"
    assert path.read_text(encoding="utf-8").startswith("{")


def test_a_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    def denied(**_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    made = value()
    monkeypatch.setattr(tempfile, "mkstemp", denied)
    with pytest.raises(session.CouldNot, match="Permission denied"):
        session.write_report(made, str(tmp_path / "report.html"), "en")


def test_a_starter_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    found = Recommendation(scenario="x", chosen=Assessment(framework="pytorch", fit="ready"))
    with pytest.raises(session.CouldNot):
        session.write_starter(found, Answers(), MachineProfile(), tmp_path / "file" / "below", "en")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
