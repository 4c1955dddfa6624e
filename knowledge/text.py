"""A sentence for people, in the two languages of the program."""

from __future__ import annotations

from typing import Any

import msgspec

LANGUAGES = ("en", "zh")


class Text(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message; both languages say the same. Values are filled in before, so a Text is always complete."""

    en: str
    zh: str

    def said(self, language: str) -> str:
        """The sentence in LANGUAGE ("en" or "zh")."""
        return self.zh if language == "zh" else self.en

    def filled(self, **values: object) -> Text:
        """The same message with its {names} replaced, in both languages."""
        return Text(self.en.format(**values), self.zh.format(**values))


def plain(word: object) -> Text:
    """A name or number that is the same in every language."""
    return Text(str(word), str(word))


def localised(value: Any, language: str) -> Any:
    """VALUE as JSON-ready builtins, each Text replaced by its sentence in LANGUAGE."""

    def walk(item: Any) -> Any:
        if isinstance(item, Text):
            return item.said(language)
        if isinstance(item, msgspec.Struct):
            pairs = zip(item.__struct_encode_fields__, item.__struct_fields__, strict=True)
            body = {name: walk(getattr(item, field)) for name, field in pairs}
            config = item.__struct_config__
            return {config.tag_field: config.tag, **body} if config.tag_field is not None else body
        if isinstance(item, dict):
            return {str(key): walk(inner) for key, inner in item.items()}
        if isinstance(item, (list, tuple, frozenset, set)):
            return [walk(inner) for inner in item]
        return msgspec.to_builtins(item)

    return walk(value)
