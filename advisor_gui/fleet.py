"""Many machines at once: one table, the verdict of a stack on each, and the stack that runs on all of them."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor_gui import session, wording
from knowledge.answers import Answers
from knowledge.documents import BadInput
from knowledge.facts import Base, MachineProfile
from knowledge.text import Text
from knowledge.verdicts import Assessment, Fit
from probes.progress import Progress

if TYPE_CHECKING:
    from knowledge.catalog import Catalog

SUFFIXES = (".yaml", ".yml", ".json", ".zip")


class Row(Base, frozen=True, kw_only=True):
    """One machine of a fleet. `fits`: framework id to its fit here; `needs`: what it takes before it works."""

    name: str
    system: str
    accelerators: str
    memory: str
    driver: str | None = None
    fits: dict[str, Fit] = {}
    needs: dict[str, Text] = {}
    fault: str | None = None
    chosen: Assessment | None = None  # the stack recommended here, without the builds that were ruled out


class Fleet(Base, frozen=True, kw_only=True):
    schema: int = 1
    scenario: str
    rows: tuple[Row, ...]
    everywhere: tuple[str, ...] = ()  # ready on every machine, best first
    after_changes: tuple[str, ...] = ()  # ready or after changes on every machine


def files(paths: Iterable[str]) -> list[Path]:
    """Profiles and recordings in PATHS; a folder with a recording.json is one recording. Raises BadInput where none is."""
    found: list[Path] = []
    for given in paths:
        place = Path(given)
        if not place.exists():
            raise BadInput(Text(f"{given}: there is no such file or folder.", f"{given}：没有这个文件或文件夹。"))
        if place.is_dir() and not (place / "recording.json").exists():
            inner = sorted(p for p in place.iterdir() if not p.name.startswith("."))
            found += [p for p in inner if p.suffix.lower() in SUFFIXES or (p / "recording.json").exists()]
        else:
            found.append(place)
    if not found:
        raise BadInput(Text(
            f"{', '.join(paths)}: no profile ({', '.join(SUFFIXES)}) and no recording was found there.",
            f"{', '.join(paths)}：没有找到机器文件（{', '.join(SUFFIXES)}）或机器记录。",
        ))  # fmt: skip
    return found


def examine(knowledge: Catalog, places: list[Path], answers: Answers, progress: Progress) -> Fleet:
    """Every machine of PLACES against the scenario's frameworks; a file that cannot be read is a row with its fault."""
    rows: list[Row] = []
    order: list[str] = []
    for number, place in enumerate(places):
        progress.check()
        progress.step(Text(f"Machine {number + 1} of {len(places)}", f"第 {number + 1} 台，共 {len(places)} 台"), number / len(places))
        try:
            machine = session.open_machine(str(place))
        except BadInput as error:
            rows.append(Row(name=place.stem, system="", accelerators="", memory="", fault=str(error)))
            continue
        rows.append(row(knowledge, place.stem, machine, answers, order))
    good = [r for r in rows if r.fault is None]

    def where(fits: tuple[Fit, ...]) -> tuple[str, ...]:
        return tuple(f for f in order if good and all(r.fits.get(f) in fits for r in good))

    everywhere = where(("ready",))
    later = tuple(f for f in where(("ready", "after_changes")) if f not in everywhere)
    return Fleet(scenario=answers.scenario, rows=tuple(rows), everywhere=everywhere, after_changes=later)


def row(knowledge: Catalog, name: str, machine: MachineProfile, answers: Answers, order: list[str]) -> Row:
    found = session.recommend(knowledge, machine, answers)
    one_by_one = [a for a in (found.chosen, *found.others, *found.unsuitable) if a is not None]
    for assessment in one_by_one:
        if assessment.framework not in order:
            order.append(assessment.framework)
    needs = {}
    for assessment in one_by_one:
        blocking = next((v for v in assessment.verdicts if v.outcome in ("unmet", "unknown")), None)
        if assessment.fit != "ready" and blocking is not None:
            needs[assessment.framework] = blocking.because
    devices = machine.accelerators
    said = "?" if devices is None else ", ".join(f"{d.count} × {d.name or d.vendor}" if d.count > 1 else d.name or d.vendor for d in devices)
    system = " ".join(w for w in (machine.system.distribution or machine.system.os, machine.system.release, machine.system.arch) if w)
    return Row(
        name=name, system=system, accelerators=said or "–", memory=wording.size(machine.memory.total_bytes).en,
        driver=next((d.driver_version for d in devices or () if d.driver_version), None),
        fits={a.framework: a.fit for a in one_by_one}, needs=needs,
        chosen=None if found.chosen is None else msgspec.structs.replace(found.chosen, ruled_out=()),
    )  # fmt: skip


def table(fleet: Fleet) -> str:
    """The fleet as CSV; a cell that a spreadsheet would run as a formula is written as text."""
    out = io.StringIO()
    writer = csv.writer(out)
    frameworks = sorted({f for r in fleet.rows for f in r.fits})
    writer.writerow(["machine", "system", "accelerators", "memory", "driver", *frameworks, "fault"])
    for one in fleet.rows:
        cells = [one.name, one.system, one.accelerators, one.memory, one.driver or "", *(one.fits.get(f, "") for f in frameworks), one.fault or ""]
        writer.writerow([f"'{c}" if c[:1] in ("=", "+", "-", "@", "\t") else c for c in cells])
    return out.getvalue()


def run(options: argparse.Namespace) -> int:
    """`stackfit fleet`."""
    from advisor_gui import cli_commands, cli_text

    answers = cli_commands.answers_of(options)
    knowledge = session.catalog(session.folders())
    session.known_scenario(knowledge, answers, options.answers or "--scenario")
    found = examine(knowledge, files(options.paths), answers, cli_commands.progress(options))
    if options.csv:
        session.write_whole(Path(options.csv), table(found).encode())
    cli_commands.show(options, found, lambda value, lang: cli_text.fleet(value, lang))
    return 0 if found.everywhere or found.after_changes else 1
