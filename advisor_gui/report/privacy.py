"""What of a report may leave the machine: no home folder, no names of user or computer, no UUID, MAC or private host."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

HOME = re.compile(
    r"(?:/home/[^/\s:;,'\"]+|/Users/[^/\s:;,'\"]+|/var/home/[^/\s:;,'\"]+|(?<![\w.-])/root)(?=/|$|[\s:;,'\"])"
    r"|[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s:;,'\"]+"
)
USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
# Hosts that only mean something inside a network: a single word, a private ending, a private address.
PRIVATE_HOST = re.compile(
    r"(?<=://)(?!localhost\b|127\.)(?:[A-Za-z0-9_-]+|[A-Za-z0-9_.-]+\.(?:local|lan|internal|intranet|corp|home|localdomain|private)"
    r"|10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})(?=[:/\s'\"]|$)"
)
SHARE = re.compile(r"(?<![\\\w])\\\\[A-Za-z0-9_.-]+(?=\\)")
UUID = re.compile(r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
MAC = re.compile(r"(?<![0-9A-Fa-f:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Fa-f:-])")
SERIAL = re.compile(r"(?i)\b(serial(?: ?(?:number|no\.?))?|s/n|asset[ _-]?tag|machine[ _-]?id)(\s*[:=#]\s*)([^\s,;]+)")
# Accounts and computers that many people have: their names tell nothing, and replacing them would hide what is meant.
COMMON = frozenset({
    "root", "user", "users", "admin", "administrator", "localhost", "computer", "home", "ubuntu", "debian", "python", "test", "public",
    "default", "runner", "app", "main", "work", "linux", "windows", "server", "torch", "conda",
})  # fmt: skip


def clean(text: str) -> str:
    """TEXT with home folders as ~, and without user information, private hosts, UUIDs, MAC addresses and serial numbers."""
    text = USER_INFO.sub("", HOME.sub("~", text))
    text = PRIVATE_HOST.sub("private-host", text)
    text = SHARE.sub(r"\\\\private-host", text)
    text = SERIAL.sub(r"\1\2–", text)
    return MAC.sub("–", UUID.sub("–", text))


def own_words() -> tuple[str, ...]:
    """The user's and the computer's own names, as far as they tell something: to be left out of what leaves the machine."""
    import getpass
    import platform

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no such account, as in some containers: then there is no name to leave out
        user = ""
    computer = platform.node()
    found = (user, computer, computer.split(".")[0])
    return tuple(dict.fromkeys(w for w in found if len(w) > 2 and w.lower() not in COMMON))


def shown(value: T, words: tuple[str, ...] = ()) -> T:
    """VALUE as it may be shown to others: every string cleaned, WORDS and every device UUID left out."""
    names = None
    if words:
        ordered = sorted(words, key=len, reverse=True)
        # Only as a part of a path, an address or a name made of parts: a plain word may be one of the language.
        either = "|".join(map(re.escape, ordered))
        after, before, local = rf"(?<=[/\\@])(?:{either})(?![A-Za-z0-9])", rf"(?<![A-Za-z0-9])(?:{either})(?=[\\@])", rf"\b(?:{either})(?=\.local\b)"
        names = re.compile(f"{after}|{before}|{local}", re.IGNORECASE)
    body = _walk(msgspec.to_builtins(value), names)
    for device in (body.get("machine") or {}).get("accelerators") or ():
        device["uuid"] = None
    return msgspec.convert(body, type(value))


def _walk(item: Any, names: re.Pattern[str] | None) -> Any:
    if isinstance(item, str):
        text = clean(item)
        return names.sub("–", text) if names is not None else text
    if isinstance(item, dict):
        return {key: _walk(inner, names) for key, inner in item.items()}
    if isinstance(item, (list, tuple)):
        return [_walk(inner, names) for inner in item]
    return item
