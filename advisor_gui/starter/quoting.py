"""Values as words of other formats: TOML, shell, Dockerfile."""

from __future__ import annotations

import json
import re
import shlex


def toml_string(value: str) -> str:
    """VALUE as a TOML basic string (JSON's escapes are TOML's)."""
    return json.dumps(value.replace("\x7f", ""), ensure_ascii=True)


def toml_list(values: tuple[str, ...]) -> str:
    return "[\n" + "".join(f"  {toml_string(v)},\n" for v in values) + "]" if values else "[]"


def shell(value: str) -> str:
    """VALUE as one word of bash, on one line."""
    return shlex.quote(" ".join(value.split()))


def docker_json(words: tuple[str, ...]) -> str:
    """The exec form, which no shell reads."""
    return json.dumps(list(words), ensure_ascii=True)


def name(value: str) -> str:
    """VALUE as a plain project or job name: lower case letters, digits, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")[:40] or "starter"
