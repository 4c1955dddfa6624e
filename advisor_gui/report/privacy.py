"""What of a report may leave the machine: no home folder, no user information in addresses, no device UUIDs."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

HOME = re.compile(r"(?:/home/[^/\s:;,'\"]+|/Users/[^/\s:;,'\"]+|/root)(?=/|$|[\s:;,'\"])|[A-Za-z]:\\Users\\[^\\\s:;,'\"]+")
USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


def clean(text: str) -> str:
    """TEXT with any home folder as ~ and without user information in addresses."""
    return USER_INFO.sub("", HOME.sub("~", text))


def shown(value: T) -> T:
    """VALUE as it may be shown to others: every string cleaned, every device UUID left out."""
    body = _walk(msgspec.to_builtins(value))
    for device in (body.get("machine") or {}).get("accelerators") or ():
        device["uuid"] = None
    return msgspec.convert(body, type(value))


def _walk(item: Any) -> Any:
    if isinstance(item, str):
        return clean(item)
    if isinstance(item, dict):
        return {key: _walk(inner) for key, inner in item.items()}
    if isinstance(item, (list, tuple)):
        return [_walk(inner) for inner in item]
    return item
