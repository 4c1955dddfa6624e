"""The harness: every way in which a check can end is a result, and nothing of it is left running."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from knowledge.plan import SmokeResult
from probes.progress import Progress
from probes.proof import checks, harness

BAD = Path(__file__).with_name("bad_checks")
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX processes")


def run(name: str, **options: object) -> SmokeResult:
    check = checks.read(BAD / f"{name}.py")
    limits = harness.Limits(
        time_s=float(options.pop("time_s", 20)), memory_bytes=options.pop("memory_bytes", None), threads=1
    )  # type: ignore[arg-type]
    return harness.run_check(check, sys.executable, limits=limits, **options)  # type: ignore[arg-type]


def sleepers(seconds: int) -> list[int]:
    """Processes that a bad check started: each sleeps for a number of seconds that nothing else uses."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(f"time.sleep({seconds})" in word for word in process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


def test_a_good_check_tells_everything() -> None:
    steps = []
    progress = Progress(on_step=lambda text, share: steps.append((text.zh, share)))
    result = run("good", progress=progress)
    assert (result.outcome, result.because.zh) == ("passed", "好。")
    assert steps == [("一半", 0.5)]
    assert [m.id for m in result.measures][:1] == ["m"] and result.measures[0].better == "lower"
    assert result.series[0].points == ((1.0, 2.0), (2.0, 3.0))
    assert result.evidence[0].fact == "f 1"
    assert "chatter on standard output" in result.log_tail
    assert result.python == ".".join(map(str, sys.version_info[:3]))
    assert result.pins == ()
    assert result.before is not None and result.after is not None and result.started is not None


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("no_result", "failed", "without saying a result"),
        ("exits_three", "failed", "exit code 3: why it ended"),
        ("raises_memory", "out_of_memory", "allocate memory"),
        ("missing_module", "failed", "no_such_module_anywhere cannot be imported"),
        ("cannot", "cannot_run", "Needs a tail"),
        ("says_no", "failed", "The answer is no"),
        ("floods", "passed", "Flooded"),
        ("binary", "passed", "Binary"),
    ],
)
def test_every_end_is_a_result(name: str, outcome: str, words: str) -> None:
    result = run(name)
    assert result.outcome == outcome
    assert words in result.because.en
    assert result.because.zh


def test_binary_output_is_neither_believed_nor_shown_raw() -> None:
    result = run("binary")
    assert all(m.id == "peak_memory" for m in result.measures)
    assert all(line.isprintable() or "\t" in line for line in result.log_tail)


@posix
@pytest.mark.parametrize(("name", "signal"), [("segfault", "SIGSEGV"), ("aborts", "SIGABRT")])
def test_a_crash_is_named_by_its_signal(name: str, signal: str) -> None:
    result = run(name)
    assert result.outcome == "crashed"
    assert signal in result.because.en and signal in result.because.zh


@posix
def test_a_time_limit_ends_the_whole_family() -> None:
    began = time.perf_counter()
    result = run("hang", time_s=1.0)
    assert result.outcome == "timed_out"
    assert time.perf_counter() - began < 4.0
    assert sleepers(97) == []


@posix
def test_cancel_ends_the_whole_family_within_half_a_second() -> None:
    cancelled_at: list[float] = []
    progress = Progress()

    def cancelled() -> bool:
        if time.perf_counter() - began > 0.7 and not cancelled_at:
            cancelled_at.append(time.perf_counter())
            progress.cancel()
        return Progress.cancelled(progress)

    began = time.perf_counter()
    progress.cancelled = cancelled  # type: ignore[method-assign]
    result = run("hang", progress=progress)
    assert result.outcome == "cancelled"
    assert time.perf_counter() - cancelled_at[0] < 0.6
    assert sleepers(97) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of a family is counted on Linux")
def test_a_memory_limit_is_said() -> None:
    result = run("fills_memory", memory_bytes=300_000_000)
    assert result.outcome == "out_of_memory"
    assert "0.3 GB" in result.because.en


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are taken in on Linux")
def test_orphans_in_sessions_of_their_own_are_ended() -> None:
    before = {p.pid for p in psutil.process_iter()}
    assert run("forks").outcome == "passed"
    mine = os.getuid() if hasattr(os, "getuid") else None
    left = [
        p for p in psutil.process_iter(["cmdline", "uids"])
        if p.pid not in before and any("forks.py" in w for w in p.info["cmdline"] or ()) and p.info["uids"].real == mine
    ]  # fmt: skip
    assert left == []


def test_the_environment_is_scrubbed_and_the_plan_cannot_load_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("SECRET_TOKEN", "x")
    plan = {"TF_X": "yes", "LD_PRELOAD": "/evil.so", "PATH": "/evil", "PIP_INDEX_URL": "http://evil"}
    result = run("environment", variables=plan)
    names = json.loads(result.evidence[0].fact) if result.evidence[0].fact.endswith("]") else result.evidence[0].fact
    assert "SECRET_TOKEN" not in names and "PIP_INDEX_URL" not in names
    assert result.evidence[1].fact == "1"
    assert result.evidence[2].fact == "yes"


def test_a_python_that_is_not_there() -> None:
    check = checks.read(BAD / "good.py")
    result = harness.run_check(check, "/nowhere/python", limits=harness.Limits(time_s=5))
    assert result.outcome == "failed"
    assert "could not be started" in result.because.en


@posix
def test_killing_the_program_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    root = Path(__file__).parents[3]
    script.write_text(
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from pathlib import Path\n"
        "from probes.proof import checks, harness\n"
        f"check = checks.read(Path({str(BAD / 'hang.py')!r}))\n"
        "harness.run_check(check, sys.executable, limits=harness.Limits(time_s=60))\n"
    )
    program = subprocess.Popen([sys.executable, str(script)])
    try:
        until = time.monotonic() + 15
        while not sleepers(97) and time.monotonic() < until:
            time.sleep(0.05)
        assert sleepers(97)
    finally:
        program.kill()
        program.wait()
    until = time.monotonic() + 5
    while sleepers(97) and time.monotonic() < until:
        time.sleep(0.05)
    assert sleepers(97) == []


@posix
def test_the_family_is_found_by_ps_as_by_proc() -> None:
    import importlib.util

    path = Path(__file__).parents[3] / "probes" / "proof" / "supervisor.py"
    spec = importlib.util.spec_from_file_location("supervisor_under_test", path)
    assert spec is not None and spec.loader is not None
    supervisor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(supervisor)
    if not Path("/bin/ps").exists():
        pytest.skip("no ps here")
    child = subprocess.Popen(["sleep", "30"])
    try:
        assert child.pid in supervisor._descendants_by_ps(os.getpid())
        assert child.pid in supervisor._descendants(os.getpid())
    finally:
        child.kill()
        child.wait()


def test_overhead_of_the_harness() -> None:
    began = time.perf_counter()
    run("good")
    assert time.perf_counter() - began < 3.0  # 0.3 s on a quiet machine; benchmarks/sandbox.py measures it


def test_folders_of_killed_programs_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    from probes.proof import family

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("sf-999999999-abc", f"sf-{os.getpid()}-abc", "sf-notes"):
        (tmp_path / name).mkdir()
    family.sweep()
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("sf-")) == [
        f"sf-{os.getpid()}-abc",
        "sf-notes",
    ]
