"""A team's policy: where it is found, and checking it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from advisor_gui import session

if TYPE_CHECKING:
    from knowledge.catalog import Catalog
    from knowledge.policy import Policy

VARIABLE = "STACKFIT_POLICY"


def places() -> tuple[Path, ...]:
    """Where an administrator puts a policy for everybody on this computer."""
    if sys.platform == "win32":
        return (Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "Stackfit" / "policy.yaml",)
    if sys.platform == "darwin":
        return (Path("/Library/Application Support/Stackfit/policy.yaml"),)
    return (Path("/etc/stackfit/policy.yaml"),)


def find(given: str | None = None) -> str | None:
    """The policy's path: as given, else by the variable, else the administrator's; None where there is none."""
    if given:
        return given
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    return next((str(p) for p in places() if p.is_file()), None)


def load(knowledge: Catalog, given: str | None = None) -> Policy | None:
    """The policy in force, or None. Raises BadInput where it cannot be followed: half a policy is none."""
    path = find(given)
    if path is None:
        return None
    from knowledge import policy

    return policy.read(session.read_text(path, "a policy"), path, knowledge)
