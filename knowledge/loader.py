"""How the knowledge base is read: strictly from its files, or from a compiled form that is bound to a digest of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import msgspec

from knowledge import documents
from knowledge.catalog import (
    Backend,
    Catalog,
    Condition,
    DeviceTable,
    Framework,
    Index,
    PackageFacts,
    Question,
    Scenario,
)
from knowledge.text import Text

T = TypeVar("T", bound=msgspec.Struct)

FORMAT = b"stackfit-catalog-2\n"
# Tables with a strict reader of their own beside the reasoning that uses them.
READ_ELSEWHERE = ("models", "pairs", "known_broken")
FOLDERS = ("backends", "devices", "frameworks", "packages", "scenarios")
COMPILED = "catalog.bin"
ELSEWHERE = frozenset({"models.yaml"})  # read by what it is for (sizing), not part of the catalogue


class LoadError(documents.BadInput):
    """A knowledge file that cannot be used; the sentence names the file, the key, what was found and what is allowed."""


class Questions(msgspec.Struct, forbid_unknown_fields=True):
    questions: tuple[Question, ...]
    checked: str | None = None
    sources: tuple[Any, ...] = ()


class Indexes(msgspec.Struct, forbid_unknown_fields=True):
    indexes: tuple[Index, ...]
    checked: str | None = None
    sources: tuple[Any, ...] = ()


def data() -> Traversable:
    """The folder with the knowledge files, wherever the package is installed."""
    return resources.files("knowledge").joinpath("data")


def sources(root: Traversable | None = None) -> Iterator[tuple[str, bytes]]:
    """Name and content of every knowledge file, in a fixed order."""
    root = root or data()
    names = [entry.name for entry in root.iterdir() if entry.name.endswith(".yaml") and entry.name not in ELSEWHERE]
    for name in sorted(names):
        yield name, root.joinpath(name).read_bytes()
    for folder in FOLDERS:
        place = root.joinpath(folder)
        if not place.is_dir():
            continue
        for name in sorted(entry.name for entry in place.iterdir() if entry.name.endswith(".yaml")):
            yield f"{folder}/{name}", place.joinpath(name).read_bytes()


def digest(root: Traversable | None = None) -> str:
    """Digest of all knowledge files and of the shape that they are read into."""
    return _digest(tuple(sources(root)))


def _digest(files: tuple[tuple[str, bytes], ...]) -> str:
    found = hashlib.blake2b(FORMAT, digest_size=16)
    for kind in (Catalog, Framework, Scenario, Question, Index, Backend, DeviceTable, PackageFacts):
        found.update(repr(kind.__struct_fields__).encode())
    for name, content in files:
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def load_catalog(cache: bytes | None = None, root: Traversable | None = None) -> Catalog:
    """The knowledge base: from CACHE or the shipped compiled form where they belong to these files, else from the files.

    Raises LoadError for a file that breaks a rule.
    """
    files = tuple(sources(root))
    wanted = _digest(files)
    shipped = (root or data()).joinpath(COMPILED)
    for compiled in (cache, shipped.read_bytes() if shipped.is_file() else None):
        found = _decoded(compiled, wanted)
        if found is not None:
            return found
    return build(files, wanted)


def load_from(compiled: bytes, root: Traversable | None = None) -> Catalog | None:
    """The catalogue in COMPILED, or None where it does not belong to the knowledge files of this program."""
    return _decoded(compiled, digest(root))


def compile_catalog(catalog: Catalog) -> bytes:
    """CATALOG in its compiled form, to be handed to `load_from`."""
    return FORMAT + catalog.digest.encode() + b"\n" + msgspec.msgpack.encode(catalog)


def _decoded(compiled: bytes | None, wanted: str) -> Catalog | None:
    head = FORMAT + wanted.encode() + b"\n"
    if compiled is None or not compiled.startswith(head):
        return None
    try:
        return msgspec.msgpack.decode(memoryview(compiled)[len(head) :], type=Catalog)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None  # a damaged cache is no answer: the files are read again


def build(files: tuple[tuple[str, bytes], ...], name: str = "") -> Catalog:
    """The catalogue of FILES (name and content). Raises LoadError; every rule that needs one file alone is kept here."""
    frameworks: dict[str, Framework] = {}
    scenarios: dict[str, Scenario] = {}
    backends: dict[str, Backend] = {}
    devices: dict[str, DeviceTable] = {}
    questions: dict[str, Question] = {}
    indexes: dict[str, Index] = {}
    packages: dict[str, PackageFacts] = {}
    for path, content in files:
        folder, _, stem = path.rpartition("/")
        stem = stem.removesuffix(".yaml")
        value = _parsed(path, content)
        if folder == "frameworks":
            _add(frameworks, _converted(value, Framework, path), path, stem)
        elif folder == "scenarios":
            _add(scenarios, _converted(value, Scenario, path), path, stem)
        elif folder == "backends":
            _add(backends, _converted(value, Backend, path), path, stem)
        elif folder == "devices":
            table = _converted(value, DeviceTable, path)
            if table.vendor != stem:
                raise LoadError(f"{path}: key `vendor`: found {table.vendor!r}; the file's name says {stem!r}.")
            devices[stem] = table
        elif folder == "packages":
            packages[stem] = _converted(value, PackageFacts, path)
        elif stem == "questions":
            for question in _converted(value, Questions, path).questions:
                _add(questions, question, path, question.id)
        elif stem == "indexes":
            for index in _converted(value, Indexes, path).indexes:
                _add(indexes, index, path, index.id)
        elif stem not in READ_ELSEWHERE:
            raise LoadError(f"{path}: no such knowledge file is known; there are questions, indexes and {FOLDERS}.")
    catalog = Catalog(
        frameworks=frameworks,
        scenarios=scenarios,
        backends=backends,
        devices=devices,
        questions=questions,
        indexes=indexes,
        packages=packages,
        digest=name,
        foundations=foundations(frameworks),
        owners=owners(frameworks),
    )
    problems = check(catalog)
    if problems:
        raise LoadError(problems[0])
    return catalog


def _parsed(path: str, content: bytes) -> Any:
    try:
        return documents.parse(content.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise LoadError(Text(f"{path}: is not UTF-8 text.", f"{path}：不是 UTF-8 文本。")) from None
    except documents.BadInput as error:
        raise LoadError(error.text) from None


def _converted(value: Any, kind: type[T], path: str) -> T:
    if not isinstance(value, dict):
        raise LoadError(documents.no_mapping(value, path).text)
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        from knowledge.refusals import explain

        raise LoadError(documents.within(path, explain(str(error), value, kind)).text) from None


def _add(table: dict[str, T], item: T, path: str, stem: str) -> None:
    name = getattr(item, "id")  # noqa: B009 - every kind that comes here has an id
    if name != stem:
        raise LoadError(f"{path}: key `id`: found {name!r}; the file's name says {stem!r}.")
    if name in table:
        raise LoadError(f"{path}: the id {name!r} is there twice.")
    table[name] = item


def overlay(catalog: Catalog, extra: Catalog) -> Catalog:
    """CATALOG with the entries of EXTRA laid over it: an administrator's own frameworks, scenarios and indexes."""
    frameworks = {**catalog.frameworks, **extra.frameworks}
    result = Catalog(
        frameworks=frameworks,
        scenarios={**catalog.scenarios, **extra.scenarios},
        backends={**catalog.backends, **extra.backends},
        devices={**catalog.devices, **extra.devices},
        questions={**catalog.questions, **extra.questions},
        indexes={**catalog.indexes, **extra.indexes},
        packages={**catalog.packages, **extra.packages},
        digest=f"{catalog.digest}+{extra.digest}",
        foundations=foundations(frameworks),
        owners=owners(frameworks),
    )
    problems = check(result)
    if problems:
        raise LoadError(problems[0])
    return result


def bases(framework: Framework) -> tuple[str, ...]:
    """Frameworks that FRAMEWORK may run on directly, by any of its builds."""
    names = dict.fromkeys((*framework.needs, *framework.one_of))
    for build in framework.builds:
        names.update(dict.fromkeys(build.uses))
    return tuple(names)


def owners(frameworks: dict[str, Framework]) -> dict[str, str]:
    """For each package the framework that it is the heart of: of several the one named like it, else with most builds."""
    found: dict[str, tuple[bool, int, str]] = {}
    for framework in frameworks.values():
        if not framework.packages:
            continue
        name = framework.packages[0].lower()
        pinning = sum(any(p.name.lower() == name for p in build.packages) for build in framework.builds)
        score = framework.id == name, pinning, framework.id
        if pinning and (name not in found or score > found[name]):
            found[name] = score
    return {name: score[2] for name, score in found.items()}


def foundations(frameworks: dict[str, Framework]) -> dict[str, tuple[str, ...]]:
    """For each framework all that it may run on, directly or through others."""
    known = owners(frameworks)
    direct: dict[str, tuple[str, ...]] = {}
    for name, framework in frameworks.items():
        # A build that pins another framework's own package (torch-npu: torch) stands on it as well.
        pinned = {known.get(package.name.lower()) for build in framework.builds for package in build.packages}
        direct[name] = (*bases(framework), *sorted(owner for owner in pinned if owner is not None and owner != name))
    found: dict[str, tuple[str, ...]] = {}
    for name, below in direct.items():
        seen = dict.fromkeys(below)
        stack = list(below)
        while stack:
            for item in direct.get(stack.pop(), ()):
                if item not in seen:
                    seen[item] = None
                    stack.append(item)
        found[name] = tuple(seen)
    return found


def check(catalog: Catalog) -> list[str]:
    """Every broken rule between and inside the entries of CATALOG, one sentence each; empty where all is well."""
    from knowledge import consistency

    return consistency.problems(catalog)


def conditions(value: Any) -> Iterator[Condition]:
    """Every condition inside VALUE, those inside combinators included."""
    if isinstance(value, Condition):
        yield value
        for inner in value.args.values():
            yield from _inside(inner)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from conditions(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from conditions(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from conditions(item)


def _inside(value: Any) -> Iterator[Condition]:
    """Conditions among the arguments of a combinator, where they are still plain mappings."""
    if isinstance(value, dict) and isinstance(value.get("word"), str):
        yield Condition(word=value["word"], args=value.get("args") or {})
        for inner in (value.get("args") or {}).values():
            yield from _inside(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _inside(item)
