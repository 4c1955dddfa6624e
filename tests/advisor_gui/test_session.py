"""Writing keeps the old file until the new one is whole; reading outside files says what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from advisor_gui import session
from knowledge.documents import BadInput


def test_old_file_stays_where_the_folder_is_read_only(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        target = Path("/proc/version")  # root may write everywhere but here
    else:
        folder = tmp_path / "ro"
        folder.mkdir()
        target = folder / "report.html"
        target.write_text("old")
        folder.chmod(0o500)
    with pytest.raises(session.CouldNot) as caught:
        session.write_whole(target, b"new")
    assert str(target) in str(caught.value)


def test_whole_file_takes_the_place_of_the_old(tmp_path: Path) -> None:
    target = tmp_path / "a" / "report.html"
    session.write_whole(target, b"one")
    session.write_whole(target, b"two")
    assert target.read_bytes() == b"two"
    assert [p.name for p in target.parent.iterdir()] == ["report.html"]


def test_full_disk_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "report.html"
    target.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(session.CouldNot, match="No space left"):
        session.write_whole(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".report")] == []


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"\xc3\x28"])
def test_text_that_is_no_text(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="UTF-8"):
        session.read_text(path, "a machine file")


def test_a_fifo_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(BadInput, match="regular"):
        session.read_text(path, "a machine file")


@pytest.mark.parametrize(("have", "language"), [({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "de_DE"}, "en"), ({}, "en"),
                                                ({"LC_ALL": "C", "LANG": "zh_CN"}, "en")])  # fmt: skip
def test_language_of_the_system(have: dict[str, str], language: str) -> None:
    assert session.default_language(have) == language
