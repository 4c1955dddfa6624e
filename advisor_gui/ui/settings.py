"""What the window remembers between starts: language, theme, place, recent files. A broken file never stops a start."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from advisor_gui import session


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    language: Literal["en", "zh"] | None = None  # None: the system's
    theme: Literal["system", "light", "dark"] = "system"
    geometry: str | None = None  # Qt's own bytes, hexadecimal
    page: str = "machine"
    recent: tuple[str, ...] = ()
    hint_dismissed: bool = False
    reduced_motion: bool = False
    shell: Literal["bash", "powershell", "cmd"] | None = None
    client: str | None = None
    policy: str | None = None


class Settings:
    """Reads once, writes at each change."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "window.json"
        self.fault: str | None = None
        self.now = Remembered()
        try:
            self.now = msgspec.json.decode(self.path.read_bytes(), type=Remembered)
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            # Kept beside, so that nothing the user set is lost without a trace.
            self.fault = f"{self.path}: {error}"
            try:
                self.path.replace(self.path.with_suffix(".broken.json"))
            except OSError as second:
                self.fault += f"; {second}"

    def change(self, **values: object) -> None:
        self.now = msgspec.structs.replace(self.now, **values)
        try:
            session.write_whole(self.path, msgspec.json.format(msgspec.json.encode(self.now), indent=1))
        except session.CouldNot as error:
            self.fault = str(error)
            return
        if {"geometry", "theme"} & set(values):
            self._keep_first_frame()

    def _keep_first_frame(self) -> None:
        """Brightness and place in two plain lines, which the next start can read before it has loaded anything."""
        theme = self.now.theme if self.now.theme != "system" else ""
        try:
            (self.path.parent / "first-frame").write_text(f"{theme}\n{self.now.geometry or ''}\n", encoding="ascii")
        except OSError as error:
            self.fault = str(error)

    def opened(self, path: str) -> None:
        self.change(recent=(path, *(p for p in self.now.recent if p != path))[:8])
