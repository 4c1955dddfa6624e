"""How this user installs packages: pip's, uv's and conda's own settings from their files and variables."""

from __future__ import annotations

from knowledge.facts import Network
from knowledge.plan import PackageSettings
from probes.host import Host


def settings(host: Host) -> PackageSettings:
    """The settings in force on HOST; `sources` says for each where it was read."""
    return PackageSettings()


def network(settings: PackageSettings) -> Network:
    """The part of SETTINGS that a machine profile holds, without user info in addresses."""
    return Network(index_url=settings.index_url)
