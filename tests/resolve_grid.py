"""Every recommended plan over platform x Python x device, asked of the real resolver: `python -m tests.resolve_grid`.

Vendor indexes are answered from the stored release facts on a loopback index, the rest by the configured default index.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from knowledge import advise, loader
from knowledge.answers import Answers, Model, Serving, Training
from knowledge.catalog import Catalog
from knowledge.facts import Accelerator, Cpu, Disk, MachineProfile, Memory, Python, Software, System
from knowledge.plan import InstallPackages, InstallPlan, PackageSettings
from probes.proof import asking, platforms
from probes.proof.interpreters import Interpreter
from tests import loopback_index, release_facts

TODAY = datetime.date(2026, 12, 1)
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
LINUX = System(
    os="linux",
    distribution="ubuntu",
    release="24.04",
    arch="x86_64",
    libc="glibc",
    libc_version="2.39",
    kernel="6.14.0",
)
SYSTEMS = {
    "linux-x86_64": LINUX,
    "linux-aarch64": msgspec.structs.replace(LINUX, arch="aarch64"),
    "windows-x86_64": System(os="windows", release="11", build="10.0.26100", arch="x86_64"),
    "macos-aarch64": System(os="macos", release="15.5", arch="aarch64"),
}
GIB = 2**30
CARDS = {
    "cuda": Accelerator(kind="gpu", vendor="nvidia", name="NVIDIA GeForce RTX 4090", memory_bytes=24 * GIB,
                        memory_kind="dedicated", target="8.9", driver_version="581.57", driver_api_max="13.0", state="usable"),
    "cuda12": Accelerator(kind="gpu", vendor="nvidia", name="NVIDIA GeForce RTX 3090", memory_bytes=24 * GIB,
                          memory_kind="dedicated", target="8.6", driver_version="561.09", driver_api_max="12.6", state="usable"),
    "rocm": Accelerator(kind="gpu", vendor="amd", name="AMD Radeon RX 9070 XT", memory_bytes=16 * GIB,
                        memory_kind="dedicated", target="gfx1201", state="usable"),
    "xpu": Accelerator(kind="gpu", vendor="intel", name="Intel Arc B580 Graphics", memory_bytes=12 * GIB,
                       memory_kind="dedicated", state="usable"),
    "metal": Accelerator(kind="gpu", vendor="apple", name="Apple M3", memory_kind="unified", state="usable"),
}  # fmt: skip
DEVICES = {
    "linux-x86_64": ("cpu", "cuda", "cuda12", "rocm", "xpu"), "linux-aarch64": ("cpu", "cuda"),
    "windows-x86_64": ("cpu", "cuda", "cuda12", "rocm", "xpu"), "macos-aarch64": ("cpu", "metal"),
}  # fmt: skip
PROJECTS = {
    "prototype": Answers(scenario="rapid-prototyping", task="vision"),
    "qlora": Answers(scenario="llm-finetuning", model=Model(params="7B"), training=Training(method="qlora")),
    "serve": Answers(
        scenario="llm-serving", model=Model(params="8B"), serving=Serving(concurrency=4, context_length=8192)
    ),
}


class Cell(NamedTuple):
    platform: str
    python: str
    device: str
    project: str


class Row(NamedTuple):
    """`outcome`: resolved, refused, no plan (said before), no wheel plan (an archive, an image, a program)."""

    cell: Cell
    framework: str
    fit: str
    plan_python: str
    pins: tuple[str, ...]
    indexes: tuple[str, ...]
    outcome: str
    why: str = ""


def machine(cell: Cell) -> MachineProfile:
    arm = cell.platform.endswith("aarch64")
    cards = () if cell.device == "cpu" else (CARDS[cell.device],)
    return MachineProfile(
        system=SYSTEMS[cell.platform],
        cpu=Cpu(physical_cores=8, logical_cpus=16, usable_cpus=16, flags=None if arm else ("sse4_2", "avx", "avx2", "fma", "f16c")),
        memory=Memory(total_bytes=64 * GIB),
        disk=Disk(free_bytes=900 * 10**9),
        software=Software(vc_redist=True),
        accelerators=cards,
        pythons=(Python(path="/opt/python/bin/python3", version=f"{cell.python}.5", kind="system", bits=64, free_threaded=False,
                        arch="aarch64" if arm else "x86_64"),),
    )  # fmt: skip


def cells(projects: tuple[str, ...] = tuple(PROJECTS)) -> Iterator[Cell]:
    for platform, devices in DEVICES.items():
        for device in devices:
            for python in PYTHONS:
                for project in projects:
                    yield Cell(platform, python, device, project)


def ask(plan: InstallPlan, profile: MachineProfile, address: str) -> str | None:
    """None where uv finds a set of wheels for PLAN on that machine, else its reason."""
    packages = tuple(
        msgspec.structs.replace(p, index_url=f"{address}/{p.index_id}" if p.index_url is not None else None)
        for p in plan.packages
    )
    python = Interpreter(path=sys.executable, version=plan.python or "3.12")
    built = any(isinstance(s, InstallPackages) and not s.build_isolation for s in plan.steps)

    def answer(build: bool) -> asking.Answer:
        return asking.ask_uv(
            packages, PackageSettings(), python, platform=platforms.of(profile), exact_python=False, build=build,
            macos=profile.system.release if profile.system.os == "macos" else None,
        )  # fmt: skip

    found = answer(built)
    if found.refused is not None and found.refused.kind == "source_only":
        # The printed commands guard the pins alone: what these need may be a source archive of plain Python.
        guarded = {n for s in plan.steps if isinstance(s, InstallPackages) for n in s.only_binary}
        pinned = {p.name for p in plan.packages}
        if not any(word.strip("'\",.") in guarded | pinned for word in found.refused.text.en.split()[:1]):
            found = answer(True)
    return found.refused.text.en if found.refused is not None else None


def table(catalog: Catalog, wanted: list[Cell], limit_s: float = 400.0) -> list[Row]:
    """One row for each cell; equal plans are asked for once. Cells past LIMIT_S are "not asked"."""
    ends = time.monotonic() + limit_s
    planned = []
    for cell in wanted:
        profile = machine(cell)
        chosen = advise.advise(catalog, profile, PROJECTS[cell.project], today=TODAY).chosen
        if chosen is not None and any(
            v.outcome == "unmet" and any(r.code == "use_wsl2" for r in v.remedies) for v in chosen.verdicts
        ):
            profile = msgspec.structs.replace(profile, system=LINUX)  # what the plan says first: it is for WSL2
        planned.append((cell, profile, chosen))
    questions: dict[tuple[str, str, tuple[str, ...]], tuple[InstallPlan, MachineProfile]] = {}
    for cell, profile, chosen in planned:
        if chosen is not None and chosen.install is not None and chosen.install.packages:
            plan = chosen.install
            questions[
                cell.platform, plan.python or "", tuple(p.requirement + "@" + p.index_id for p in plan.packages)
            ] = (plan, profile)
    stubs = loopback_index.Stubs(release_facts.read(), loopback_index.torch_pairs(catalog))
    with loopback_index.serve(stubs) as address, ThreadPoolExecutor(3) as pool:

        def one(item: tuple[InstallPlan, MachineProfile]) -> tuple[str, str]:
            if time.monotonic() > ends:
                return "not asked", "out of time"
            why = ask(*item, address)
            return ("resolved", "") if why is None else ("refused", why)

        said = dict(zip(questions, pool.map(one, questions.values()), strict=True))
    rows = []
    for cell, _, chosen in planned:
        if chosen is None:
            rows.append(Row(cell, "-", "-", "", (), (), "no plan"))
            continue
        plan_ = chosen.install
        if plan_ is None or not plan_.packages:
            rows.append(Row(cell, chosen.framework, chosen.fit, "", (), (), "no wheel plan"))
            continue
        pins = tuple(p.requirement for p in plan_.packages)
        indexes = tuple(dict.fromkeys(p.index_id for p in plan_.packages))
        key = cell.platform, plan_.python or "", tuple(p.requirement + "@" + p.index_id for p in plan_.packages)
        rows.append(Row(cell, chosen.framework, chosen.fit, plan_.python or "", pins, indexes, *said[key]))
    return rows


def printed(rows: list[Row]) -> str:
    """ROWS as a Markdown table."""
    lines = [
        "| Platform | Python | Device | Project | Framework | Fit | Plan's Python | Indexes | Pins | Outcome |",
        "|" + " --- |" * 10,
    ]
    for row in rows:
        outcome = f"{row.outcome}: {row.why}" if row.why else row.outcome
        lines.append(
            f"| {row.cell.platform} | {row.cell.python} | {row.cell.device} | {row.cell.project} | {row.framework} | {row.fit} | "
            f"{row.plan_python} | {', '.join(row.indexes)} | {', '.join(row.pins)} | {' '.join(outcome.split())} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    chosen_projects = tuple(sys.argv[1:]) or tuple(PROJECTS)
    found = table(loader.load_catalog(), list(cells(chosen_projects)))
    print(printed(found))
    counts: dict[str, int] = {}
    for entry in found:
        counts[entry.outcome] = counts.get(entry.outcome, 0) + 1
    print("\n" + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    sys.exit(1 if counts.get("refused") else 0)
