"""How machine files and answers files are read: strictly, with one sentence that names file, key and what is allowed."""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeVar

import msgspec

from knowledge.answers import Answers
from knowledge.facts import ARCH_ALIASES, MachineProfile
from knowledge.text import Text, plain

T = TypeVar("T", bound=msgspec.Struct)

LIMIT_BYTES = 16_000_000  # a machine file of a full workstation is below 1 MB
LIMIT_DEPTH = 40
SUFFIXES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}


class BadInput(Exception):
    """A file or value from outside that cannot be used; `text` is one sentence for the user, in both languages."""

    def __init__(self, message: Text | str) -> None:
        self.text = message if isinstance(message, Text) else plain(message)
        super().__init__(self.text.en)


def count(value: str | int | float | None) -> int | None:
    """A parameter count: 7B, 7.0e+9 or 7000000000. Raises BadInput for anything that is no positive number."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise BadInput(f"A parameter count is a number such as 7B or 7000000000, not {value!r}.")
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)\s*([kKmMgGbBtT]?)\s*", value)
        if match is None:
            raise BadInput(f"A parameter count is a number such as 7B or 7000000000, not {value!r}.")
        number = float(match.group(1).replace("_", "")) * SUFFIXES[match.group(2).lower()]
    else:
        number = float(value)
    if not math.isfinite(number) or number < 1 or number > 1e15:
        raise BadInput(f"A parameter count lies between 1 and 10^15, not {value!r}.")
    return round(number)


def parse(text: str, name: str) -> Any:
    """Builtins of a JSON or YAML TEXT; NAME is used in error sentences. Aliases, tags and deep nesting are refused."""
    if len(text) > LIMIT_BYTES:
        raise BadInput(f"{name}: the file is larger than {LIMIT_BYTES // 1_000_000} MB, which no such file needs.")
    if "\x00" in text:
        raise BadInput(f"{name}: the file is binary, not JSON or YAML text.")
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text, object_pairs_hook=_unique)
        except _Twice as error:
            raise BadInput(f"{name}: the key {error.args[0]!r} is there twice in one mapping.") from None
        except (ValueError, RecursionError) as error:
            # YAML's flow style begins like JSON; only a file that calls itself JSON gets JSON's complaint.
            value = _yaml(text, name, because=str(error) if name.endswith(".json") else None)
    else:
        value = _yaml(text, name)
    _shallow(value, name)
    return value


class _Twice(Exception):
    """A key that stands twice in one mapping."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [key for key, _ in pairs]
        raise _Twice(next(key for key in names if names.count(key) > 1)[:80])
    return made


def _yaml(text: str, name: str, because: str | None = None) -> Any:
    import yaml

    class Strict(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """Safe YAML that refuses duplicate keys and, past a budget, aliases (billion laughs)."""

    def mapping(loader: Any, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = loader.construct_object(key_node, deep=True)
            if isinstance(key, (dict, list)):
                raise yaml.constructor.ConstructorError(None, None, "a key is a list or mapping", key_node.start_mark)
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is there twice", key_node.start_mark)
            seen.add(key)
        return yaml.SafeLoader.construct_mapping(loader, node, deep=deep)

    def build(loader: Any, node: Any) -> Any:
        value: dict[Any, Any] = {}
        yield value
        value.update(mapping(loader, node))

    Strict.add_constructor("tag:yaml.org,2002:map", build)
    # Dates stay text: a bare 2026-11-30 must not become a date object.
    Strict.yaml_implicit_resolvers = {
        first: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
        for first, rules in Strict.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load(text, Loader=Strict)  # noqa: S506 - a subclass of the safe loader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        problem = because or getattr(error, "problem", None) or type(error).__name__
        raise BadInput(f"{name}: not readable as JSON or YAML{where}: {str(problem)[:160]}.") from None


def _shallow(value: Any, name: str) -> None:
    """Refuses nesting and alias expansion that no real file has."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    visited = 0
    while stack:
        item, depth = stack.pop()
        visited += 1
        if depth > LIMIT_DEPTH or visited > 2_000_000:
            raise BadInput(f"{name}: nested deeper or larger than any such file ({LIMIT_DEPTH} levels, 2 million values).")
        if isinstance(item, dict):
            stack.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, list):
            stack.extend((inner, depth + 1) for inner in item)


def convert(value: Any, kind: type[T], name: str) -> T:
    """VALUE as KIND; raises BadInput naming NAME, the key, what was found and what is allowed."""
    if not isinstance(value, dict):
        raise BadInput(f"{name}: expected a mapping of keys, found {type(value).__name__}.")
    schema = value.get("schema", 1)
    if schema != 1:
        raise BadInput(f"{name}: key `schema`: found {schema!r}, this program reads 1.")
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise BadInput(f"{name}: {explain(str(error), value, kind)}") from None


def explain(message: str, value: Any, kind: type[msgspec.Struct]) -> str:
    """A msgspec message as a sentence with the dotted key and the value that was found."""
    text, _, path = message.partition(" - at `")
    keys = re.findall(r"\.([A-Za-z_][\w-]*)|\[(\d+|\.\.\.)\]", path.rstrip("`"))
    dotted, found = [], value
    for word, number in keys:
        dotted.append(word or number)
        if isinstance(found, dict):
            found = found.get(word)
        elif isinstance(found, list) and number.isdigit() and int(number) < len(found):
            found = found[int(number)]
    place = f"key `{'.'.join(dotted)}`" if dotted else "top level"
    unknown = re.search(r"unknown field `([^`]*)`", text)
    if unknown is not None:
        allowed = _fields(kind, [w for w, _ in keys if w])
        known = f"; allowed are {', '.join(allowed)}" if allowed else ""
        return f"{place}: unknown key `{unknown.group(1)[:80]}`{known}."
    shown = repr(found)
    return f"{place}: {text[:1].lower()}{text[1:]}, found {shown[:80]}{'…' if len(shown) > 80 else ''}."


def _fields(kind: Any, path: list[str]) -> list[str]:
    """Names allowed at PATH of KIND, or an empty list where the path leads out of known structs."""
    import typing

    for word in path:
        hints = typing.get_type_hints(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else {}
        kind = hints.get(word)
        stack = [kind]
        kind = None
        while stack:
            item = stack.pop()
            if isinstance(item, type) and issubclass(item, msgspec.Struct):
                kind = item
                break
            stack.extend(typing.get_args(item))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return list(kind.__struct_encode_fields__)
    return []


def machine(text: str, name: str) -> MachineProfile:
    """A machine file. arm64 and amd64 are read as aarch64 and x86_64; negative sizes and counts are refused."""
    value = parse(text, name)
    profile = convert(value, MachineProfile, name)
    for key, number in _numbers(msgspec.to_builtins(profile), ""):
        if number < 0 or not math.isfinite(number) or number > 1e19:
            raise BadInput(f"{name}: key `{key}`: found {number!r}, sizes and counts are not negative or absurd.")
    for place, device in enumerate(profile.accelerators or ()):
        if not 1 <= device.count <= 100_000:
            raise BadInput(f"{name}: key `accelerators.{place}.count`: found {device.count}, allowed are 1 to 100000.")
    system = profile.system
    arch = ARCH_ALIASES.get(str(system.arch).lower(), system.arch)
    operating_system = {"darwin": "macos"}.get(str(system.os).lower(), system.os)
    system = msgspec.structs.replace(system, arch=arch and arch.lower(), os=operating_system and operating_system.lower())
    pythons = profile.pythons
    if pythons is not None:
        pythons = tuple(
            msgspec.structs.replace(p, arch=ARCH_ALIASES.get(str(p.arch).lower(), p.arch)) for p in pythons
        )
    return msgspec.structs.replace(profile, system=system, pythons=pythons, recorded=True)


def answers(text: str, name: str) -> Answers:
    """An answers file."""
    return checked(convert(parse(text, name), Answers, name), name)


def checked(value: Answers, name: str) -> Answers:
    """VALUE, or BadInput where a number is zero or absurd."""
    for key, number in _numbers(msgspec.to_builtins(value), ""):
        if number <= 0 or not math.isfinite(number) or number > 1e18:
            raise BadInput(f"{name}: key `{key}`: found {number!r}, a positive number is needed.")
    for key, size in (("model.params", value.model.params), ("model.active_params", value.model.active_params)):
        try:
            count(size)
        except BadInput as error:
            raise BadInput(f"{name}: key `{key}`: {error}") from None
    return value


def _numbers(value: Any, path: str) -> list[tuple[str, float]]:
    """Every number below VALUE with its dotted key; booleans are not numbers."""
    if isinstance(value, dict):
        return [n for key, inner in value.items() for n in _numbers(inner, f"{path}.{key}" if path else str(key))]
    if isinstance(value, (list, tuple)):
        return [n for place, inner in enumerate(value) for n in _numbers(inner, f"{path}.{place}")]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [(path, value)]
    return []


def with_setting(value: dict[str, Any], assignment: str) -> dict[str, Any]:
    """VALUE with one `dotted.key=YAML` laid over it (options --set)."""
    key, mark, text = assignment.partition("=")
    if not mark or not re.fullmatch(r"[a-z][a-z_]*(\.[a-z][a-z_]*)*", key):
        raise BadInput(f"--set {assignment[:60]!r}: write dotted.key=value, such as model.params=7B.")
    found = parse(text, f"--set {key}") if text.strip() else None
    result = dict(value)
    place = result
    *parents, last = key.split(".")
    for parent in parents:
        inner = place.get(parent)
        place[parent] = dict(inner) if isinstance(inner, dict) else {}
        place = place[parent]
    place[last] = found
    return result
