"""How busy and how warm this machine is at one moment: what a measurement has to be read with."""

from __future__ import annotations

import os
from pathlib import Path

from knowledge.plan import MachineState


def now(*, throttle_events_before: int | None = None) -> MachineState:
    """Load, memory and the hottest CPU sensor, each None where it cannot be read.

    THROTTLE_EVENTS_BEFORE: what `throttle_events` said before a run; `throttled` then says whether heat slowed the run.
    """
    import psutil

    before, after = throttle_events_before, throttle_events()
    load = None
    if hasattr(os, "getloadavg"):
        try:
            load = round(os.getloadavg()[0], 2)
        except OSError:
            load = None
    return MachineState(
        load_1min=load,
        temperature_c=_temperature(),
        available_bytes=int(psutil.virtual_memory().available),
        throttled=None if before is None or after is None else after > before,
    )


def memory_to_lend() -> int:
    """Bytes that a check may use without making this machine unusable: nine tenths of what is free now."""
    import psutil

    return int(psutil.virtual_memory().available * 0.9)


def _temperature() -> float | None:
    readings = []
    for zone in Path("/sys/class/thermal").glob("thermal_zone*"):
        try:
            if (zone / "type").read_text().strip() in ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal"):
                readings.append(int((zone / "temp").read_text()) / 1000)
        except (OSError, ValueError):
            continue
    return max(readings) if readings else None


def throttle_events() -> int | None:
    """How often heat slowed the processor since this machine started; None where the system does not count it."""
    counts = []
    for file in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/thermal_throttle/package_throttle_count"):
        try:
            counts.append(int(file.read_text()))
        except (OSError, ValueError):
            continue
    return sum(counts) if counts else None
