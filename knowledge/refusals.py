"""How a strict reader's complaint becomes one sentence: the dotted key, what was found there and what is allowed."""

from __future__ import annotations

import re
import types
import typing
from typing import Any

import msgspec

from knowledge.documents import printable
from knowledge.text import Text

KINDS = {
    "int": Text("a whole number", "整数"),
    "float": Text("a number", "数字"),
    "str": Text("text", "文本"),
    "bool": Text("true or false", "true 或 false"),
    "array": Text("a list", "列表"),
    "object": Text("a mapping of keys", "键值映射"),
    "null": Text("nothing (null)", "空值（null）"),
}


def explain(message: str, value: Any, kind: type[msgspec.Struct]) -> Text:
    """MESSAGE of msgspec about VALUE read as KIND, as a sentence with the dotted key and the value that was found."""
    said, _, path = message.partition(" - at `")
    keys = re.findall(r"\.([A-Za-z_][\w-]*)|\[(\d+|\.\.\.)\]", path.rstrip("`"))
    dotted: list[str] = []
    found = value
    for word, number in keys:
        dotted.append(word or number)
        if isinstance(found, dict):
            found = found.get(word)
        elif isinstance(found, list) and number.isdigit() and int(number) < len(found):
            found = found[int(number)]
    names = [word or number for word, number in keys]
    place = f"key `{'.'.join(dotted)}`" if dotted else "top level"
    ort = f"键 `{'.'.join(dotted)}`" if dotted else "顶层"
    unknown = re.search(r"unknown field `([^`]*)`", said)
    if unknown is not None:
        name, allowed = printable(unknown.group(1)), ", ".join(_fields(_at(kind, names)))
        return Text(
            f"{place}: unknown key `{name}`{f'; allowed are {allowed}' if allowed else ''}.",
            f"{ort}：未知的键 `{name}`{f'；允许的键有 {allowed}' if allowed else ''}。",
        )
    missing = re.search(r"missing required field `([^`]*)`", said)
    if missing is not None:
        return Text(
            f"{place}: the key `{missing.group(1)}` is needed and not there.", f"{ort}：缺少必需的键 `{missing.group(1)}`。"
        )
    shown = str(found).lower() if isinstance(found, bool) else "null" if found is None else printable(repr(found))
    choices = _choices(_at(kind, names))
    if choices and "enum" in said:
        listed = ", ".join(choices)
        return Text(f"{place}: found {shown}; allowed are {listed}.", f"{ort}：发现 {shown}；允许的值有 {listed}。")
    wanted = re.match(r"Expected `([^`]+)`", said)
    parts = [KINDS[word] for word in wanted.group(1).split(" | ") if word in KINDS] if wanted is not None else []
    if parts:
        return Text(
            f"{place}: found {shown}; allowed is {' or '.join(p.en for p in parts)}.",
            f"{ort}：发现 {shown}；应为{'或'.join(p.zh for p in parts)}。",
        )
    return Text(f"{place}: {said[:1].lower()}{said[1:]}, found {shown}.", f"{ort}：值 {shown} 不符合要求（{said}）。")


def found_kind(value: Any) -> Text:
    """What VALUE is, in words: a list, text, a number, nothing."""
    kinds = ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (list, "array"), (dict, "object"))
    if value is None:
        return Text("nothing", "空内容")
    return next((KINDS[name] for kind, name in kinds if isinstance(value, kind)), Text(type(value).__name__, type(value).__name__))


def _at(kind: Any, path: list[str]) -> list[Any]:
    """The alternatives allowed at PATH of KIND, unions opened; empty where the path leads out of known types."""
    open_types = _alternatives(kind)
    for word in path:
        inner: list[Any] = []
        for one in open_types:
            if isinstance(one, type) and issubclass(one, msgspec.Struct):
                hints = typing.get_type_hints(one)
                names = dict(zip(one.__struct_encode_fields__, one.__struct_fields__, strict=True))
                if word in names:
                    inner += _alternatives(hints[names[word]])
            elif typing.get_origin(one) in (tuple, list, dict, frozenset, set):
                arguments = [a for a in typing.get_args(one) if a is not Ellipsis]
                inner += _alternatives(arguments[-1]) if arguments else []
        open_types = inner
    return open_types


def _alternatives(kind: Any) -> list[Any]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [one for part in typing.get_args(kind) for one in _alternatives(part)]
    return [kind]


def _fields(open_types: list[Any]) -> list[str]:
    structs = [one for one in open_types if isinstance(one, type) and issubclass(one, msgspec.Struct)]
    return list(dict.fromkeys(name for one in structs for name in one.__struct_encode_fields__))


def _choices(open_types: list[Any]) -> list[str]:
    return [str(word) for one in open_types if typing.get_origin(one) is typing.Literal for word in typing.get_args(one)]
