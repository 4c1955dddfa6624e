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
LIMIT_YAML_BYTES = 4_000_000  # YAML is read at about 1 MB/s; JSON has the larger limit
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
        raise _no_count(value)
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)\s*([kKmMgGbBtT]?)\s*", value)
        if match is None:
            raise _no_count(value)
        number = float(match.group(1).replace("_", "")) * SUFFIXES[match.group(2).lower()]
    else:
        number = float(value)
    if not math.isfinite(number) or number < 1 or number > 1e15:
        shown = printable(repr(value))
        raise BadInput(Text(
            f"A parameter count lies between 1 and 10^15, not {shown}.", f"参数量应在 1 到 10^15 之间，而不是 {shown}。"
        ))  # fmt: skip
    return round(number)


def _no_count(value: object) -> BadInput:
    shown = printable(repr(value))
    return BadInput(Text(
        f"A parameter count is a number such as 7B or 7000000000, not {shown}.",
        f"参数量应为 7B 或 7000000000 这样的数字，而不是 {shown}。",
    ))  # fmt: skip


def parse(text: str, name: str) -> Any:
    """Builtins of a JSON or YAML TEXT; NAME is used in error sentences. Aliases, tags and deep nesting are refused."""
    if len(text) > LIMIT_BYTES:
        raise _too_large(name, LIMIT_BYTES)
    if "\x00" in text:
        raise BadInput(Text(
            f"{name}: the file is binary, not JSON or YAML text.", f"{name}：这是二进制文件，不是 JSON 或 YAML 文本。"
        ))  # fmt: skip
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text, object_pairs_hook=_unique)
        except _Twice as error:
            twice = printable(repr(error.args[0]))
            raise BadInput(Text(
                f"{name}: the key {twice} is there twice in one mapping.", f"{name}：键 {twice} 在同一层出现了两次。"
            )) from None  # fmt: skip
        except (ValueError, RecursionError) as error:
            # YAML's flow style begins like JSON; only a file that calls itself JSON gets JSON's complaint.
            value = _yaml(text, name, because=str(error) if name.endswith(".json") else None)
    else:
        value = _yaml(text, name)
    _shallow(value, name)
    return value


def _too_large(name: str, limit_bytes: int) -> BadInput:
    most = limit_bytes // 1_000_000
    return BadInput(Text(
        f"{name}: the file is larger than {most} MB, which no such file needs.",
        f"{name}：文件大于 {most} MB，这类文件不需要这么大。",
    ))  # fmt: skip


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

    if len(text) > LIMIT_YAML_BYTES:
        raise _too_large(name, LIMIT_YAML_BYTES)

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
        line = f"（第 {mark.line + 1} 行）" if mark is not None else ""
        problem = because or getattr(error, "problem", None) or str(error).split(";")[0] or type(error).__name__
        shown = printable(" ".join(str(problem).split()), 160)
        raise BadInput(Text(
            f"{name}: not readable as JSON or YAML{where}: {shown}.", f"{name}：无法按 JSON 或 YAML 读取{line}：{shown}。"
        )) from None  # fmt: skip


def _shallow(value: Any, name: str) -> None:
    """Refuses nesting and alias expansion that no real file has."""
    stack: list[tuple[Any, int]] = [(value, 0)]
    visited = 0
    while stack:
        item, depth = stack.pop()
        if isinstance(item, str):
            _encodable(item, name)
        visited += 1
        if depth > LIMIT_DEPTH or visited > 2_000_000:
            raise BadInput(Text(
                f"{name}: nested deeper or larger than any such file ({LIMIT_DEPTH} levels, 2 million values).",
                f"{name}：嵌套过深或内容过多（最多 {LIMIT_DEPTH} 层、200 万个值）。",
            ))  # fmt: skip
        if isinstance(item, dict):
            stack.extend((inner, depth + 1) for pair in item.items() for inner in pair)
        elif isinstance(item, list):
            stack.extend((inner, depth + 1) for inner in item)


def _encodable(word: str, name: str) -> None:
    """Refuses half characters (lone surrogates), which JSON can spell and no file or terminal can hold."""
    try:
        word.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(word[error.start]):04X}"
        raise BadInput(Text(
            f"{name}: found {half}, which is half a character; allowed is any text in UTF-8.",
            f"{name}：发现 {half}，这只是半个字符；应为 UTF-8 文本。",
        )) from None  # fmt: skip


def convert(value: Any, kind: type[T], name: str) -> T:
    """VALUE as KIND; raises BadInput naming NAME, the key, what was found and what is allowed."""
    if not isinstance(value, dict):
        raise no_mapping(value, name)
    schema = value.get("schema", 1)
    if schema != 1:
        shown = printable(repr(schema))
        raise BadInput(Text(
            f"{name}: key `schema`: found {shown}, this program reads 1.",
            f"{name}：键 `schema`：发现 {shown}，本程序只读取 1。",
        ))  # fmt: skip
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        from knowledge.refusals import explain

        raise within(name, explain(str(error), value, kind)) from None


def no_mapping(value: object, name: str) -> BadInput:
    """NAME holds VALUE where keys and values are expected."""
    from knowledge.refusals import found_kind

    found = found_kind(value)
    return BadInput(Text(
        f"{name}: expected a mapping of keys, found {found.en}.", f"{name}：应为键值映射，发现的是{found.zh}。"
    ))  # fmt: skip


def within(name: str, said: Text) -> BadInput:
    """What was SAID about a part, with the NAME of the file before it."""
    return BadInput(Text(f"{name}: {said.en}", f"{name}：{said.zh}"))


def printable(shown: str, limit: int = 80) -> str:
    """SHOWN without control and direction characters, cut to what a line can hold."""
    clean = "".join(c if c.isprintable() else "?" for c in shown)
    return clean if len(clean) <= limit else f"{clean[:limit]}…"


def machine(text: str, name: str) -> MachineProfile:
    """A machine file. arm64 and amd64 are read as aarch64 and x86_64; negative sizes and counts are refused."""
    value = parse(text, name)
    profile = convert(value, MachineProfile, name)
    for key, number in _numbers(msgspec.to_builtins(profile), ""):
        if number < 0 or not math.isfinite(number) or number > 1e19:
            shown, key = printable(repr(number)), printable(key)
            raise BadInput(Text(
                f"{name}: key `{key}`: found {shown}; allowed are sizes and counts from 0 to 10^19.",
                f"{name}：键 `{key}`：发现 {shown}；大小和数量应在 0 到 10^19 之间。",
            ))  # fmt: skip
    for place, device in enumerate(profile.accelerators or ()):
        if not 1 <= device.count <= 100_000:
            raise BadInput(Text(
                f"{name}: key `accelerators.{place}.count`: found {device.count}, allowed are 1 to 100000.",
                f"{name}：键 `accelerators.{place}.count`：发现 {device.count}，允许 1 到 100000。",
            ))  # fmt: skip
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
            shown = printable(repr(number))
            raise BadInput(Text(
                f"{name}: key `{key}`: found {shown}; allowed are positive numbers up to 10^18.",
                f"{name}：键 `{key}`：发现 {shown}；应为不超过 10^18 的正数。",
            ))  # fmt: skip
    mirror = value.needs.mirror
    if mirror is not None and not re.fullmatch(r"(https://)?[A-Za-z0-9][A-Za-z0-9.-]*(/[A-Za-z0-9._~/-]*)?", mirror):
        shown = printable(repr(mirror)[:80])
        raise BadInput(Text(
            f"{name}: key `needs.mirror`: found {shown}; allowed is a mirror's name or a plain https address.",
            f"{name}：键 `needs.mirror`：发现 {shown}；应为镜像名称或普通的 https 地址。",
        ))  # fmt: skip
    for key, size in (("model.params", value.model.params), ("model.active_params", value.model.active_params)):
        try:
            count(size)
        except BadInput as error:
            raise within(name, Text(f"key `{key}`: {error.text.en}", f"键 `{key}`：{error.text.zh}")) from None
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
        shown = printable(repr(assignment), 60)
        raise BadInput(Text(
            f"--set {shown}: write dotted.key=value, such as model.params=7B.",
            f"--set {shown}：请写成 点分键=值 的形式，例如 model.params=7B。",
        ))  # fmt: skip
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
