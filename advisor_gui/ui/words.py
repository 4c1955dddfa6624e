"""The labels of the window by key, in the language that is chosen, changeable while the program runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from knowledge.text import Text


def load() -> dict[str, Text]:
    """All labels: each file of `i18n/` holds {key: {en, zh}}; the key is `file.key`."""
    found: dict[str, Text] = {}
    decoder = msgspec.json.Decoder(dict[str, Text])
    for file in sorted(Path(__file__).with_name("i18n").glob("*.json")):
        found |= {f"{file.stem}.{key}": text for key, text in decoder.decode(file.read_bytes()).items()}
    return found


class Words(QObject):
    """Says labels and Texts in the chosen language; `changed` asks every page to say its own again."""

    changed = Signal()

    def __init__(self, language: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.language = language
        self._labels = load()

    def choose(self, language: str) -> None:
        if language != self.language:
            self.language = language
            self.changed.emit()

    def __call__(self, key: str, **values: object) -> str:
        """The label of KEY with its {names} filled. A missing key is a programming error and raises KeyError."""
        said = self._labels[key].said(self.language)
        return said.format(**{k: self.text(v) if isinstance(v, Text) else v for k, v in values.items()}) if values else said

    def text(self, value: Text) -> str:
        return value.said(self.language)
