"""What must hold between the entries of the knowledge base: ids, words, codes, versions, steps and sources."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from knowledge.answers import Answers
from knowledge.catalog import Build, Catalog, Framework, PackageFacts, Remedy, Scenario
from knowledge.plan import Step
from knowledge.predicates import ARGUMENTS
from knowledge.quoting import VARIABLES, is_name, is_url, is_version
from knowledge.remedies import CODES as REMEDIES
from knowledge.versions import specifier

PLATFORM = re.compile(r"(linux|windows|macos)-(x86_64|aarch64)|(linux)-(armv7l|ppc64le|riscv64|loongarch64|s390x)|any")
PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}(-[0-9a-f]{4})?")
MINOR = re.compile(r"3\.\d{1,2}t?")

# The verdict and finding codes of the program; a knowledge file may name no other.
CODES = frozenset(
    f"{group}.{name}"
    for group, names in {
        "driver": "too_old library_mismatch missing module_missing",
        "accel": "arch_not_built arch_too_old vendor_unsupported hidden permission mixed no_bf16 no_fp8 no_int8 "
        "memory_shared partitioned disabled none no_fp64 count_mismatch unlicensed unknown",
        "cpu": "feature_missing limited",
        "os": "unsupported too_old long_paths pagefile runtime_missing",
        "arch": "unsupported",
        "libc": "too_old musl",
        "system": "sandboxed shm_small",
        "python": "no_wheel too_old too_new 32bit free_threaded emulated",
        "package": "cpu_build gpu_build arch_not_built duplicate_variant pair_mismatch numpy_abi driver_too_old conflict "
        "source_only known_broken",
        "toolkit": "missing mismatch",
        "memory": "exceeds tight not_sharded",
        "disk": "exceeds",
        "project": "archived superseded renamed maintenance unverified licence",
        "network": "index_unreachable mirror_incomplete certificate proxy_scheme offline",
    }.items()
    for name in names.split()
)


def problems(catalog: Catalog) -> list[str]:
    """One sentence for every broken rule."""
    return list(_problems(catalog))


def _problems(catalog: Catalog) -> Iterator[str]:
    names: dict[str, str] = {}
    for framework in catalog.frameworks.values():
        where = f"frameworks/{framework.id}.yaml"
        for alias in (framework.id, *framework.aliases):
            if names.setdefault(alias, framework.id) != framework.id:
                yield f"{where}: key `aliases`: {alias!r} already belongs to {names[alias]!r}."
        yield from _framework(catalog, framework, where)
    for scenario in catalog.scenarios.values():
        yield from _scenario(catalog, scenario, f"scenarios/{scenario.id}.yaml")
    for question in catalog.questions.values():
        where = f"questions.yaml: question {question.id!r}"
        if not is_answer(question.key):
            yield f"{where}: key `key`: {question.key!r} is no key of the answers file."
        yield from _words(question, where)
    for index in catalog.indexes.values():
        if index.url is not None and not is_url(index.url):
            yield f"indexes.yaml: index {index.id!r}: key `url`: {index.url!r} is not a plain https address."
        if index.mirrors is not None and index.mirrors not in catalog.indexes:
            yield f"indexes.yaml: index {index.id!r}: key `mirrors`: there is no index {index.mirrors!r}."
    for backend in catalog.backends.values():
        where = f"backends/{backend.id}.yaml"
        yield from _dates(backend, where)
        for toolkit in backend.toolkits:
            if specifier(toolkit.versions) is None:
                yield f"{where}: key `versions`: {toolkit.versions!r} is no version specifier."
    for table in catalog.devices.values():
        where = f"devices/{table.vendor}.yaml"
        yield from _dates(table, where)
        for row in table.families:
            for entry in row.pci_ids:
                if not PCI.fullmatch(entry):
                    yield f"{where}: key `pci_ids`: {entry!r} is no id such as 10de:2684 or range such as 10de:2680-26ff."
    for name, facts in catalog.packages.items():
        yield from _packages(facts, f"packages/{name}.yaml")


def is_answer(key: str) -> bool:
    """Whether KEY is a dotted key of the answers file."""
    import typing

    kind: Any = Answers
    for word in key.split("."):
        hints = typing.get_type_hints(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else {}
        if word not in hints:
            return False
        kind = hints[word]
        parts = [part for part in get_args(kind) if isinstance(part, type) and issubclass(part, msgspec.Struct)]
        kind = parts[0] if parts else kind
    return True


def _dates(value: Any, where: str) -> Iterator[str]:
    """Dates are ISO days, or a year and month, or a year."""
    if isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            inner = getattr(value, name)
            if name in ("date", "checked") and isinstance(inner, str):
                if name == "checked" and not _is_day(inner):
                    yield f"{where}: key `checked`: found {inner!r}; an ISO day such as 2026-11-30 is needed."
                elif not re.match(r"\d{4}", inner):
                    yield f"{where}: key `date`: found {inner!r}; a year, month or day is needed."
            else:
                yield from _dates(inner, where)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _dates(item, where)


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _words(value: Any, where: str) -> Iterator[str]:
    """Conditions use known words with known arguments, and remedies known codes."""
    from knowledge.loader import conditions

    for condition in conditions(value):
        kind = ARGUMENTS.get(condition.word)
        if kind is None:
            yield f"{where}: unknown word {condition.word!r}; known are {', '.join(sorted(ARGUMENTS))}."
            continue
        try:
            msgspec.convert(condition.args, kind, strict=True)
        except msgspec.ValidationError as error:
            yield f"{where}: word `{condition.word}`: {error}."
        if condition.word == "answer" and not is_answer(str(condition.args.get("key"))):
            yield f"{where}: word `answer`: {condition.args.get('key')!r} is no key of the answers file."
        spec = condition.args.get("spec")
        if isinstance(spec, str) and specifier(spec) is None:
            yield f"{where}: word `{condition.word}`: {spec!r} is no version specifier."
    for remedy in _remedies(value):
        if remedy.code not in REMEDIES:
            yield f"{where}: unknown remedy {remedy.code!r}; known are {', '.join(sorted(REMEDIES))}."


def _remedies(value: Any) -> Iterator[Remedy]:
    if isinstance(value, Remedy):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _remedies(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _remedies(item)


def _framework(catalog: Catalog, framework: Framework, where: str) -> Iterator[str]:
    yield from _dates(framework, where)
    yield from _words(framework, where)
    for key in ("needs", "one_of"):
        for name in getattr(framework, key):
            if name not in catalog.frameworks:
                yield f"{where}: key `{key}`: there is no framework {name!r}."
    for name in framework.status.successors:
        if name not in catalog.frameworks:
            yield f"{where}: key `status.successors`: there is no framework {name!r}."
    if not framework.sources:
        yield f"{where}: key `sources`: at least one source is needed."
    seen: set[str] = set()
    for requirement in framework.requires:
        if requirement.code not in CODES:
            yield f"{where}: key `requires`: unknown code {requirement.code!r}."
    for build in framework.builds:
        place = f"{where}: build {build.id!r}"
        if build.id in seen:
            yield f"{place}: the id is there twice."
        seen.add(build.id)
        yield from _build(catalog, build, place)


def _build(catalog: Catalog, build: Build, place: str) -> Iterator[str]:
    if build.index not in catalog.indexes:
        yield f"{place}: key `index`: there is no index {build.index!r}."
    for platform in build.platforms:
        if not PLATFORM.fullmatch(platform):
            yield f"{place}: key `platforms`: {platform!r} is no platform such as linux-x86_64."
    for minor in build.pythons:
        if not MINOR.fullmatch(minor):
            yield f"{place}: key `pythons`: {minor!r} is no minor such as 3.12 or 3.14t."
    for package in build.packages:
        if not is_name(package.name) or not is_version(package.version):
            yield f"{place}: key `packages`: {package.name!r} {package.version!r} is no name with an exact version."
        if any(not is_name(extra) for extra in package.extras):
            yield f"{place}: key `packages`: {package.name!r} has an extra that is no name."
        if package.index is not None and package.index not in catalog.indexes:
            yield f"{place}: key `packages`: {package.name!r}: there is no index {package.index!r}."
    for requirement in build.requires:
        if requirement.code not in CODES:
            yield f"{place}: key `requires`: unknown code {requirement.code!r}."
    for name, spec in build.uses.items():
        if name not in catalog.frameworks:
            yield f"{place}: key `uses`: there is no framework {name!r}."
        if specifier(spec) is None:
            yield f"{place}: key `uses`: {spec!r} is no version specifier."
    for variable in build.environment:
        if variable not in VARIABLES:
            yield f"{place}: key `environment`: {variable!r} is none of the variables that a plan may set."
    for step in build.steps:
        try:
            msgspec.convert(step, Step, strict=True)
        except msgspec.ValidationError as error:
            yield f"{place}: key `steps`: {error}."


def _packages(facts: PackageFacts, where: str) -> Iterator[str]:
    """Bounds that can be read, names as indexes compare them (or a row would never be found), known words and remedies."""
    yield from _dates(facts, where)
    yield from _words(facts, where)
    bounded = [
        (row.package, row.versions)
        for part in (facts.defaults, facts.contents, facts.together, facts.retired, facts.broken)
        for row in part
    ]
    for package, versions in bounded:
        if versions and specifier(versions) is None:
            yield f"{where}: package {package!r}: key `versions`: {versions!r} is no version specifier."
    for together in facts.together:
        for other, bounds in (*together.beside.items(), *together.toolkits.items()):
            if specifier(bounds) is None:
                yield f"{where}: package {together.package!r}: key `with`: {bounds!r} for {other!r} is no version specifier."
    names = [package for package, _ in bounded]
    names += [name for row in facts.variants for name in (*row.packages, *row.keep.values())]
    names += [name for row in facts.plugins for name in (row.package, *row.plugins)]
    names += [name for row in facts.together for name in row.beside]
    for name in names:
        if name != re.sub(r"[-_.]+", "-", name).lower():
            yield f"{where}: package {name!r}: write it as indexes compare it, in lower case with hyphens."
    for variants in facts.variants:
        for kept in variants.keep.values():
            if kept not in variants.packages:
                yield f"{where}: module {variants.module!r}: key `keep`: {kept!r} is none of its packages."


def _scenario(catalog: Catalog, scenario: Scenario, where: str) -> Iterator[str]:
    yield from _dates(scenario, where)
    yield from _words(scenario, where)
    for candidate in scenario.candidates:
        if candidate.framework not in catalog.frameworks:
            yield f"{where}: key `candidates`: there is no framework {candidate.framework!r}."
    for preference in scenario.preferences:
        for name in preference.frameworks:
            if name not in catalog.frameworks:
                yield f"{where}: key `preferences`: there is no framework {name!r}."
    for companion in scenario.companions:
        if companion.framework not in catalog.frameworks:
            yield f"{where}: key `companions`: there is no framework {companion.framework!r}."
    for question in scenario.questions:
        if question not in catalog.questions:
            yield f"{where}: key `questions`: there is no question {question!r}."
    for key in scenario.defaults:
        if not is_answer(key):
            yield f"{where}: key `defaults`: {key!r} is no key of the answers file."
