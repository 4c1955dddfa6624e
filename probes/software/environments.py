"""Every Python on the machine and the packages in it, read from files; no Python that was found is ever run."""

from __future__ import annotations

from knowledge.facts import Finding, Python
from probes.host import Host


def pythons(host: Host) -> tuple[tuple[Python, ...] | None, tuple[Finding, ...], dict[str, str]]:
    """All Pythons of HOST with their packages, what could not be read, and the source of each; None: not known."""
    return None, (), {}
