"""The pages of the window by name; each is made when it is first shown."""

from __future__ import annotations

from importlib import import_module

from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import Page


def make(name: str, context: Context) -> Page:
    """The page NAME of advisor_gui.flow.PAGES; its module holds one class `<Name>Page`."""
    module = import_module(f"advisor_gui.ui.pages.{name}")
    made = getattr(module, f"{name.capitalize()}Page")(context)
    assert isinstance(made, Page)
    return made
