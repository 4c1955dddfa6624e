"""Runs of smoke tests in one SQLite file: what ran, where, with which measures; compared, and written as CSV."""

from __future__ import annotations

import contextlib
import csv
import io
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal

import msgspec

from knowledge.facts import MachineProfile
from knowledge.plan import SmokeResult

SCHEMA_VERSION = 2
MIGRATIONS: dict[int, tuple[str, ...]] = {
    # version reached: statements that lead there from the one before
    1: (
        "CREATE TABLE run (id INTEGER PRIMARY KEY, started TEXT NOT NULL, check_id TEXT NOT NULL,"
        " outcome TEXT NOT NULL,"
        " because_en TEXT NOT NULL, plan_hash TEXT, python TEXT, install_s REAL, run_s REAL, result BLOB NOT NULL)",
        "CREATE TABLE measure (run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, id TEXT NOT NULL,"
        " value REAL NOT NULL, unit TEXT NOT NULL, better TEXT NOT NULL, PRIMARY KEY (run, id))",
        "CREATE INDEX run_by_check ON run (check_id, started)",
    ),
    2: ("ALTER TABLE run ADD COLUMN machine BLOB", "ALTER TABLE run ADD COLUMN device TEXT"),
}


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `machine`: facts of the machine (no names, no serial numbers). `device`: told by a run on a target."""

    id: int
    result: SmokeResult
    machine: dict[str, str] = {}
    device: str | None = None


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One measure in two runs. `ratio` is after ÷ before (None where before is 0)."""

    id: str
    unit: str
    before: float
    after: float
    ratio: float | None
    verdict: Literal["better", "worse", "same", "changed"]


class History:
    """The runs in the file at PATH. Raises OSError with one sentence where the file cannot be used."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._as_os_error():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=5.0)
            try:
                # Write-ahead logging: a program killed in mid-write leaves the last finished state, also for readers.
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA foreign_keys=ON")
                self._migrate()
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def add(self, result: SmokeResult, machine: MachineProfile | None = None, device: str | None = None) -> int:
        """Keep RESULT; the id of the run."""
        facts = msgspec.json.encode(machine_facts(machine)) if machine is not None else None
        with self._as_os_error(), self._database as database:
            cursor = database.execute(
                "INSERT INTO run (started, check_id, outcome, because_en, plan_hash, python, install_s, run_s, result,"
                " machine, device) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    result.started or "",
                    result.check,
                    result.outcome,
                    result.because.en,
                    result.plan_hash,
                    result.python,
                    result.install_s,
                    result.run_s,
                    msgspec.json.encode(result),
                    facts,
                    device,
                ),
            )
            number = int(cursor.lastrowid or 0)
            database.executemany(
                "INSERT INTO measure VALUES (?, ?, ?, ?, ?)",
                [(number, m.id, m.value, m.unit, m.better) for m in {m.id: m for m in result.measures}.values()],
            )
        return number

    def runs(self, check: str | None = None, limit: int = 200) -> tuple[Run, ...]:
        """The latest runs (of one check), newest first."""
        where = "WHERE check_id = ?" if check is not None else ""
        values: tuple[object, ...] = (check, limit) if check is not None else (limit,)
        with self._as_os_error():
            rows = self._database.execute(
                f"SELECT id, result, machine, device FROM run {where} ORDER BY id DESC LIMIT ?",  # noqa: S608 - constants
                values,
            ).fetchall()
        return tuple(run for run in (_run(*row) for row in rows) if run is not None)

    def run(self, number: int) -> Run | None:
        with self._as_os_error():
            row = self._database.execute(
                "SELECT id, result, machine, device FROM run WHERE id = ?", (number,)
            ).fetchone()
        return _run(*row) if row is not None else None

    def previous(self, number: int) -> Run | None:
        """The passed run of the same check before run NUMBER: what it is compared with."""
        with self._as_os_error():
            row = self._database.execute(
                "SELECT b.id, b.result, b.machine, b.device FROM run a JOIN run b"
                " ON b.check_id = a.check_id AND b.id < a.id"
                " AND b.outcome = 'passed' AND b.device IS a.device WHERE a.id = ?"
                " ORDER BY b.id DESC LIMIT 1",
                (number,),
            ).fetchone()
        return _run(*row) if row is not None else None

    def remove(self, number: int) -> None:
        with self._as_os_error(), self._database as database:
            database.execute("DELETE FROM run WHERE id = ?", (number,))

    def csv(self, check: str | None = None) -> str:
        """One line per run and measure, with a heading."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(
            [
                "run",
                "started",
                "check",
                "outcome",
                "plan_hash",
                "python",
                "install_s",
                "run_s",
                "measure",
                "value",
                "unit",
            ]
        )
        for run in reversed(self.runs(check, limit=100_000)):
            found = run.result
            about = [
                run.id,
                found.started,
                found.check,
                found.outcome,
                found.plan_hash,
                found.python,
                found.install_s,
                found.run_s,
            ]
            for measure in found.measures or (None,):
                tail = [measure.id, repr(measure.value), measure.unit] if measure is not None else ["", "", ""]
                # A leading sign would be read as a formula by a spreadsheet, and a target's result is a stranger's.
                writer.writerow([_plain(value) for value in (*about, *tail)])
        return out.getvalue()

    def _migrate(self) -> None:
        have = int(self._database.execute("PRAGMA user_version").fetchone()[0])
        if have > SCHEMA_VERSION:
            raise OSError(f"{self.path}: was written by a newer version of this program (schema {have}).")
        for version in range(have + 1, SCHEMA_VERSION + 1):
            with self._database as database:
                database.execute("BEGIN IMMEDIATE")
                now = int(database.execute("PRAGMA user_version").fetchone()[0])
                if now < version:  # another program may have done it meanwhile
                    for statement in MIGRATIONS[version]:
                        database.execute(statement)
                    database.execute(f"PRAGMA user_version = {version}")

    @contextlib.contextmanager
    def _as_os_error(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: the history cannot be used: {error}.") from None


def compare(before: SmokeResult, after: SmokeResult, *, tolerance: float = 0.15) -> tuple[Change, ...]:
    """Measures that both runs took. Within TOLERANCE (a share) two values count as the same: machines are noisy."""
    old = {m.id: m for m in before.measures}
    changes = []
    for measure in after.measures:
        first = old.get(measure.id)
        if first is None or first.unit != measure.unit:
            continue
        ratio = measure.value / first.value if first.value else None
        changes.append(
            Change(
                id=measure.id,
                unit=measure.unit,
                before=first.value,
                after=measure.value,
                ratio=ratio,
                verdict=_verdict(first.value, measure.value, measure.better, tolerance),
            )
        )
    return tuple(changes)


def _verdict(
    before: float, after: float, better: str, tolerance: float
) -> Literal["better", "worse", "same", "changed"]:
    if abs(after - before) <= tolerance * abs(before):
        return "same"
    if better == "neither":
        return "changed"
    return "better" if (after > before) == (better == "higher") else "worse"


def machine_facts(machine: MachineProfile) -> dict[str, str]:
    """What a run has to be read with: system, processor, memory, accelerators; without addresses and ids."""
    system, cpu, memory = machine.system, machine.cpu, machine.memory
    facts = {
        "os": " ".join(w for w in (system.distribution or system.os, system.release) if w),
        "arch": system.arch,
        "cpu": cpu.model,
        "usable_cpus": cpu.usable_cpus,
        "memory_bytes": memory.total_bytes,
    }
    found = {name: str(value) for name, value in facts.items() if value not in (None, "")}
    for place, device in enumerate(machine.accelerators or ()):
        words = (device.vendor, device.name, device.target, device.driver_version)
        found[f"accelerator.{place}"] = " ".join(w for w in words if w)
    return found


def _plain(value: object) -> object:
    text = value if isinstance(value, str) else None
    return f"'{text}" if text and text[0] in "=+-@\t\r" and not _is_number(text) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _run(number: int, result: bytes, machine: bytes | None, device: str | None) -> Run | None:
    try:
        return Run(
            id=number,
            result=msgspec.json.decode(result, type=SmokeResult),
            machine=msgspec.json.decode(machine, type=dict[str, str]) if machine else {},
            device=device,
        )
    except msgspec.DecodeError:
        return None  # a row that a later or damaged version wrote is left alone, and left out
