"""Clean environments: made whole or not at all, reused, shared by two programs, and nothing left by killed ones."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import tiny_wheels as wheels

from knowledge.documents import BadInput
from knowledge.facts import Package
from knowledge.plan import InstallPlan, PackageSettings, PlannedPackage, SmokeResult
from probes import child
from probes.progress import Cancelled, Progress
from probes.proof import checks, lock, resolve, sandbox, smoke, uv

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX processes")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageSettings:
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    wheels.make(tmp_path / "w", "core", "2.0", needs=("part",))
    wheels.make(tmp_path / "w", "part", "1.5")
    return PackageSettings(find_links=(str(tmp_path / "w"),), no_index=True)


@pytest.fixture
def locked(settings: PackageSettings) -> str:
    plan = InstallPlan(packages=(PlannedPackage(name="core", requirement="core==2.0", index_id="pypi"),))
    result = resolve.resolve(plan, settings)
    assert result.lock is not None, result
    return result.lock


def test_made_once_then_reused(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    boxes = sandbox.Sandboxes(tmp_path / "e")
    first = boxes.ensure(locked, sys.executable, settings)
    assert not first.reused and first.install_s > 0 and first.pins == ("core==2.0", "part==1.5")
    done = child.run([first.python, "-I", "-c", "import core, part; print(core.__version__)"], limit_s=20)
    assert done.stdout.strip() == "2.0"
    again = boxes.ensure(locked, sys.executable, settings)
    assert again.reused and again.path == first.path
    listed = boxes.every(sizes=True)
    assert [e.key for e in listed] == [first.key] and listed[0].size_bytes
    assert boxes.remove(first.key) > 0
    assert boxes.every() == ()
    with pytest.raises(BadInput):
        boxes.remove("../../etc")


def test_half_made_is_never_reused(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    boxes = sandbox.Sandboxes(tmp_path / "e")
    made = boxes.ensure(locked, sys.executable, settings)
    (Path(made.path) / sandbox.MARKER).unlink()
    dead = tmp_path / "e" / ".making-0123abcd-999999999"
    dead.mkdir()
    assert boxes.every() == ()
    again = boxes.ensure(locked, sys.executable, settings)
    assert not again.reused and Path(again.python).exists()
    assert not dead.exists()


def test_a_wrong_hash_is_refused_and_leaves_nothing(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    wrong = locked.replace(lock.read(locked)[0].hashes[0], "sha256:" + "0" * 64)
    boxes = sandbox.Sandboxes(tmp_path / "e")
    with pytest.raises(sandbox.NotBuilt) as caught:
        boxes.ensure(wrong, sys.executable, settings)
    assert "hash" in caught.value.text.en and caught.value.text.zh
    assert [p for p in (tmp_path / "e").iterdir() if p.is_dir()] == []


@pytest.mark.parametrize(
    "text", ["core==1.0\n", "--index-url http://x\n", "core @ http://x --hash=sha256:" + "0" * 64, "", "-e ."]
)
def test_a_lock_is_pins_and_hashes_only(tmp_path: Path, settings: PackageSettings, text: str) -> None:
    with pytest.raises(BadInput):
        sandbox.Sandboxes(tmp_path / "e").ensure(text, sys.executable, settings)


def test_no_room_is_said_before(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    with pytest.raises(sandbox.NotBuilt) as caught:
        sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings, download_bytes=10**15)
    assert "GB free" in caught.value.text.en


def test_a_folder_that_cannot_be_used(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(sandbox.NotBuilt) as caught:
        sandbox.Sandboxes(tmp_path / "file" / "e").ensure(locked, sys.executable, settings)
    assert "cannot be used" in caught.value.text.en


def slow_uv(folder: Path) -> Path:
    """A program in uv's place that starts a grandchild and hangs."""
    program = folder / "slow-uv"
    program.write_text(
        f"#!{sys.executable} -IS\nimport subprocess, time\nsubprocess.Popen(['sleep', '93'])\ntime.sleep(94)\n"
    )
    program.chmod(0o755)
    return program


def left_running() -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "93"]]


@posix
def test_cancel_leaves_nothing(
    tmp_path: Path, settings: PackageSettings, locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(slow_uv(tmp_path))
    monkeypatch.setattr(uv, "find", lambda: program)
    progress = Progress()
    timer = threading.Timer(0.5, progress.cancel)
    timer.start()
    began = time.perf_counter()
    with pytest.raises(Cancelled):
        sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings, progress)
    timer.join()
    assert time.perf_counter() - began < 1.5
    assert left_running() == []
    assert [p for p in (tmp_path / "e").iterdir() if p.is_dir()] == []


@posix
def test_kill_of_the_program_leaves_no_process_and_the_next_run_works(
    tmp_path: Path, settings: PackageSettings, locked: str
) -> None:
    root = Path(__file__).parents[3]
    script = tmp_path / "program.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from knowledge.plan import PackageSettings\n"
        "from probes.proof import sandbox, uv\n"
        f"uv.find = lambda: {str(slow_uv(tmp_path))!r}\n"
        f"sandbox.Sandboxes({str(tmp_path / 'e')!r}).ensure({locked!r}, sys.executable, PackageSettings())\n"
    )
    program = subprocess.Popen([sys.executable, str(script)])
    try:
        until = time.monotonic() + 15
        while not left_running() and time.monotonic() < until:
            time.sleep(0.05)
        assert left_running()
    finally:
        program.kill()
        program.wait()
    until = time.monotonic() + 5
    while left_running() and time.monotonic() < until:
        time.sleep(0.05)
    assert left_running() == []
    made = sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings)
    assert not made.reused
    assert sorted(p.name for p in (tmp_path / "e").iterdir() if p.is_dir()) == [made.key]


@posix
def test_kill_of_uv_is_said(
    tmp_path: Path, settings: PackageSettings, locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dying-uv"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(uv, "find", lambda: str(program))
    with pytest.raises(sandbox.NotBuilt) as caught:
        sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings)
    assert "SIGKILL" in caught.value.text.en


def test_two_at_once_make_one(tmp_path: Path, settings: PackageSettings, locked: str) -> None:
    made: list[sandbox.Environment] = []
    workers = [
        threading.Thread(
            target=lambda: made.append(sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings))
        )
        for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len({e.path for e in made}) == 1
    assert sorted(e.reused for e in made) == [False, True, True]


def test_downloads_are_shown_with_a_share() -> None:
    steps: list[tuple[str, float | None]] = []
    watch = sandbox._Downloads(Progress(on_step=lambda text, share: steps.append((text.en, share))), 200_000_000)
    for line in ("Downloading torch (95.4MiB)", "noise", " Downloaded torch", " Downloaded unknown"):
        watch.line(line)
    assert steps == [("Downloading: 100 / 200 MB", pytest.approx(0.45, abs=0.01))]


def test_what_an_environment_would_lose_is_what_uv_would_replace(
    tmp_path: Path, settings: PackageSettings, locked: str
) -> None:
    made = sandbox.Sandboxes(tmp_path / "e").ensure(locked, sys.executable, settings)
    wheels.make(tmp_path / "w", "core", "3.0", needs=("part",))
    wheels.make(tmp_path / "w", "part", "9.9")  # newer, but the environment's one still fits: it stays
    plan = InstallPlan(packages=(PlannedPackage(name="core", requirement="core==3.0", index_id="pypi"),))
    existing = (Package(name="core", version="2.0"), Package(name="part", version="1.5"))
    result = resolve.resolve(plan, settings, python_path=made.python, existing=existing)
    assert [(r.name, r.version, r.becomes) for r in result.replaced] == [("core", "2.0", "3.0")]


def test_a_whole_smoke_test_and_bytecode_that_a_full_disk_broke(
    tmp_path: Path, settings: PackageSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = checks.read(Path(__file__).with_name("bad_checks") / "imports_core.py")
    monkeypatch.setattr(checks, "find", lambda _: check)

    def once() -> SmokeResult:
        return smoke.smoke("core", machine=None, settings=settings, folder=tmp_path / "e")

    first = once()
    assert first.outcome == "passed" and first.because.en == "Got 2.0.", first
    assert first.pins == ("core==2.0", "part==1.5") and first.plan_hash and first.install_s
    compiled = next((tmp_path / "e").glob("*/venv/lib/*/site-packages/core/__pycache__/*.pyc"))
    compiled.write_bytes(compiled.read_bytes()[:40])
    again = once()
    assert again.outcome == "passed" and again.install_s == 0
