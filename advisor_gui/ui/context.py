"""What every page is handed: the open assessment, background work, words and colours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from advisor_gui.desk import Desk
from advisor_gui.ui.jobs import Jobs
from advisor_gui.ui.theme import Tokens
from advisor_gui.ui.words import Words


class Look(QObject):
    """The colour tokens in force; `changed` asks painted widgets to paint again."""

    changed = Signal()

    def __init__(self, tokens: Tokens, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.tokens = tokens

    def choose(self, tokens: Tokens) -> None:
        if tokens is not self.tokens:
            self.tokens = tokens
            self.changed.emit()


@dataclass(frozen=True)
class Context:
    """Given to pages by the main window; pages never reach for anything else.

    `go` shows a page by its name, `say` shows a short message at the foot, `complain` shows a sentence that needs reading.
    """

    desk: Desk
    jobs: Jobs
    words: Words
    look: Look
    settings: Settings
    go: Callable[[str], None]
    say: Callable[[str], None]
    complain: Callable[[str], None]
    actions: dict[str, Callable[..., object]] = field(default_factory=dict)


from advisor_gui.ui.settings import Settings  # noqa: E402 - a type for the annotation above, kept in its own module
