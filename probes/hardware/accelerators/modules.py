"""The vendors that are asked, in the order in which their devices are listed."""

from __future__ import annotations

from types import ModuleType


def vendors() -> tuple[ModuleType, ...]:
    """Modules with VENDOR and read(context). Named one by one, so that a packaged program holds them all."""
    from probes.hardware.accelerators import amd, apple, huawei, intel, nvidia, others

    return (nvidia, amd, intel, apple, huawei, others)
