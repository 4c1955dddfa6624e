"""How long reading the knowledge base and advising take, and how the cost grows with catalogue and fleet.

Run by hand: `python benchmarks/bench_advice.py`. Numbers are medians of process time in one run on one machine.
"""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable

import msgspec

from knowledge import advise, loader
from knowledge.answers import Answers
from knowledge.facts import Accelerator, MachineProfile, Python, System

TODAY = datetime.date(2026, 12, 1)
DRIVERS = ("470.57.02", "535.104.05", "550.54.14", "570.86.10", "580.95.05")
TARGETS = ("6.1", "7.5", "8.0", "8.6", "8.9", "9.0", "12.0")
MINORS = ("3.10.12", "3.11.9", "3.12.3", "3.13.5")


def milliseconds(work: Callable[[], object], repeats: int = 15) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return statistics.median(times)


def machine(number: int) -> MachineProfile:
    card = Accelerator(
        vendor="nvidia", name="NVIDIA test card", target=TARGETS[number % len(TARGETS)], memory_kind="dedicated",
        driver_version=DRIVERS[number % len(DRIVERS)], memory_bytes=24 * 2**30, state="usable",
    )  # fmt: skip
    return MachineProfile(
        system=System(os="linux", arch="x86_64", libc="glibc", libc_version="2.35", kernel="6.8.0"),
        accelerators=(card,) if number % 4 else (),
        pythons=(Python(path="/usr/bin/python3", version=MINORS[number % len(MINORS)], bits=64, free_threaded=False),),
    )


def fleet(catalog: loader.Catalog, size: int) -> float:
    start = time.process_time()
    for number in range(size):
        advise.advise(catalog, machine(number), Answers(), today=TODAY)
    return time.process_time() - start


def larger(catalog: loader.Catalog, factor: int) -> loader.Catalog:
    """CATALOG with every framework there FACTOR times under other names, none of them in a scenario."""
    frameworks = dict(catalog.frameworks)
    for copy in range(1, factor):
        for name, framework in catalog.frameworks.items():
            frameworks[f"{name}-{copy}"] = msgspec.structs.replace(framework, id=f"{name}-{copy}", aliases=())
    return msgspec.structs.replace(catalog, frameworks=frameworks)


def main() -> None:
    catalog = loader.load_catalog()
    compiled = loader.compile_catalog(catalog)
    print(f"catalogue from its files   {milliseconds(lambda: loader.build(tuple(loader.sources())), 3):8.1f} ms")
    print(f"catalogue from compiled    {milliseconds(lambda: loader.load_from(compiled)):8.1f} ms (limit 60)")
    for scenario in sorted(catalog.scenarios):
        took = milliseconds(lambda s=scenario: advise.advise(catalog, machine(3), Answers(scenario=s), today=TODAY))  # type: ignore[misc]
        print(f"one decision, {scenario:<24} {took:6.1f} ms (limit 5)")
    print(f"fleet of 1000              {fleet(catalog, 1000):8.2f} s (limit 8)")
    for factor in (1, 3, 10):
        whole = larger(catalog, factor)
        packed = loader.compile_catalog(whole)
        size = milliseconds(lambda p=packed: msgspec.msgpack.decode(p[p.index(b"\n", 40) + 1 :], type=loader.Catalog), 5)  # type: ignore[misc]
        print(f"catalogue x {factor:<2}: decode {size:6.1f} ms, fleet of 100 {fleet(whole, 100):5.2f} s")


if __name__ == "__main__":
    main()
