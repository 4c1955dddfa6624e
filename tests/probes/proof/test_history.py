"""The history of runs: kept whole through a kill, migrated, compared, written as CSV."""

from __future__ import annotations

import csv
import io
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from knowledge.facts import Accelerator, Cpu, MachineProfile, System
from knowledge.plan import Measure, SmokeResult
from knowledge.text import Text, plain
from probes.proof import history


def result(value: float = 1.0, *, check: str = "c", outcome: str = "passed", better: str = "lower") -> SmokeResult:
    measure = Measure(id="t", value=value, unit="s", label=plain("t"), better=better)  # type: ignore[arg-type]
    return SmokeResult(
        check=check, outcome=outcome, because=Text("Good.", "好。"), measures=(measure,), started="2026-12-01T00:00:00",  # type: ignore[arg-type]
        plan_hash="abc", run_s=2.0,
    )  # fmt: skip


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    machine = MachineProfile(
        system=System(os="linux"),
        cpu=Cpu(model="Fast"),
        accelerators=(Accelerator(vendor="nvidia", name="X", uuid="secret"),),
    )
    with history.History(tmp_path / "deep" / "h.sqlite") as runs:
        first = runs.add(result(1.0), machine)
        runs.add(result(9.0, outcome="failed"))
        second = runs.add(result(2.0), device="phone")
        third = runs.add(result(3.0))
        assert [r.id for r in runs.runs("c")] == [third, second, 2, first]
        found = runs.run(first)
        assert found is not None and found.result == result(1.0)
        assert found.machine["cpu"] == "Fast" and "secret" not in str(found.machine)
        before = runs.previous(third)
        assert before is not None and before.id == first
        runs.remove(first)
        assert runs.run(first) is None and runs.previous(third) is None


@pytest.mark.parametrize(
    ("before", "after", "better", "verdict"),
    [(1, 1.1, "lower", "same"), (1, 2, "lower", "worse"), (1, 2, "higher", "better"), (1, 2, "neither", "changed"),
     (2, 1, "lower", "better"), (0, 0, "lower", "same")],
)  # fmt: skip
def test_compare(before: float, after: float, better: str, verdict: str) -> None:
    change = history.compare(result(before, better=better), result(after, better=better))[0]
    assert change.verdict == verdict
    assert change.ratio == (after / before if before else None)


def test_csv_is_no_formula(tmp_path: Path) -> None:
    with history.History(tmp_path / "h.sqlite") as runs:
        runs.add(result(-1.5, check="=cmd()"))
        rows = list(csv.DictReader(io.StringIO(runs.csv())))
    assert rows[0]["check"] == "'=cmd()" and rows[0]["value"] == "-1.5"


def test_an_older_file_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    database = sqlite3.connect(path)
    for statement in history.MIGRATIONS[1]:
        database.execute(statement)
    database.execute("PRAGMA user_version = 1")
    import msgspec

    database.execute(
        "INSERT INTO run (started, check_id, outcome, because_en, result) VALUES ('', 'c', 'passed', '', ?)",
        (msgspec.json.encode(result()),),
    )
    database.commit()
    database.close()
    with history.History(path) as runs:
        assert runs.runs()[0].result.check == "c"
        runs.add(result(), device="board")


def test_a_newer_file_and_a_broken_one_are_said(tmp_path: Path) -> None:
    newer = tmp_path / "newer.sqlite"
    database = sqlite3.connect(newer)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(OSError, match="newer version"):
        history.History(newer)
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(b"not a database at all" * 100)
    with pytest.raises(OSError, match="cannot be used"):
        history.History(broken)


def test_a_kill_in_mid_write_keeps_what_was_finished(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    script = tmp_path / "writer.py"
    root = Path(__file__).parents[3]
    script.write_text(
        f"import sys; sys.path[:0] = [{str(root)!r}, {str(Path(__file__).parent)!r}]\n"
        "from test_history import history, result\n"
        f"runs = history.History({str(path)!r})\n"
        "while True:\n    runs.add(result())\n    print('one', flush=True)\n"
    )
    writer = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    for _ in range(3):
        assert writer.stdout.readline()
    time.sleep(0.05)
    writer.kill()
    writer.wait()
    writer.stdout.close()
    with history.History(path) as runs:
        assert len(runs.runs()) >= 3
        runs.add(result())
