"""Where the program keeps its own things."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Folders(NamedTuple):
    """This user's folders; all of it may be deleted without losing a document of the user."""

    cache: Path
    data: Path
    config: Path


def folders() -> Folders:
    """This user's folders; STACKFIT_HOME puts all of them below one place (tests, portable use)."""
    home = os.environ.get("STACKFIT_HOME")
    if home:
        base = Path(home)
        return Folders(cache=base / "cache", data=base / "data", config=base / "config")
    import platformdirs

    places = platformdirs.PlatformDirs("stackfit", appauthor=False)
    return Folders(
        cache=Path(places.user_cache_dir), data=Path(places.user_data_dir), config=Path(places.user_config_dir)
    )
