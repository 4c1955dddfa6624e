"""A model's config.json, read as data: bounded in size and depth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from knowledge.documents import LIMIT_DEPTH, BadInput
from knowledge.text import Text

CONFIG_LIMIT_BYTES = 2_000_000
LIMIT_CONTAINERS = 50_000  # lists and mappings; the largest real configuration has a few thousand


def whole(place: Path, limit: int) -> bytes:
    """The bytes of PLACE. Raises BadInput where there are more than LIMIT."""
    size = place.stat().st_size
    if size > limit:
        raise BadInput(Text(
            f"{place}: is {size / 1e6:.0f} MB; such a file is at most {limit // 1_000_000} MB.",
            f"{place}：大小为 {size / 1e6:.0f} MB；这类文件最大 {limit // 1_000_000} MB。",
        ))  # fmt: skip
    return place.read_bytes()


def config(place: Path) -> dict[str, Any]:
    """The configuration at PLACE. Raises BadInput where it is no mapping, too large or too deep."""
    raw = whole(place, CONFIG_LIMIT_BYTES)
    if raw.count(b"[") + raw.count(b"{") > LIMIT_CONTAINERS:
        raise BadInput(Text(
            f"{place}: holds more than {LIMIT_CONTAINERS} lists and mappings, which no configuration does.",
            f"{place}：列表和映射超过 {LIMIT_CONTAINERS} 个，配置文件不会这样。",
        ))  # fmt: skip
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = str(error)[:120]
        raise BadInput(Text(f"{place}: is not JSON: {why}.", f"{place}：不是 JSON：{why}。")) from None
    except RecursionError:
        raise BadInput(Text(
            f"{place}: is nested deeper than any configuration ({LIMIT_DEPTH} levels).",
            f"{place}：嵌套过深，配置文件最多 {LIMIT_DEPTH} 层。",
        )) from None  # fmt: skip
    if not isinstance(value, dict):
        raise BadInput(Text(
            f"{place}: expected a mapping of keys, found {type(value).__name__}.",
            f"{place}：应为键值映射，读到的是 {type(value).__name__}。",
        ))  # fmt: skip
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > LIMIT_DEPTH:
            raise BadInput(Text(
                f"{place}: is nested deeper than any configuration ({LIMIT_DEPTH} levels).",
                f"{place}：嵌套过深，配置文件最多 {LIMIT_DEPTH} 层。",
            ))  # fmt: skip
        if isinstance(item, dict):
            stack.extend((v, depth + 1) for v in item.values() if isinstance(v, (dict, list)))
        else:
            stack.extend((v, depth + 1) for v in item if isinstance(v, (dict, list)))
    return value


def beside(place: Path) -> dict[str, Any] | None:
    """The configuration beside weights, where there is a readable one."""
    path = place.parent / "config.json"
    if not path.is_file():
        return None
    return config(path)
