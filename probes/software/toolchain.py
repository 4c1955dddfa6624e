"""Toolkits, compilers and clients by version, from the files that they leave behind."""

from __future__ import annotations

from knowledge.facts import Finding, Software
from probes.host import Host


def software(host: Host, *, deep: bool = False) -> tuple[Software, tuple[Finding, ...], dict[str, str]]:
    """Software of HOST, what could not be read, and the source of each fact. DEEP also runs slow programs."""
    return Software(), (), {}
