"""Stored release facts: which package versions have wheels for which platform and Python, and from which index.

`python -m tests.release_facts` writes the table anew from the catalogue's builds; read the difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from knowledge.catalog import Catalog

TABLE = Path(__file__).resolve().parent / "golden" / "releases.tsv"
HEAD = "index\tpackage\tversion\tplatform\tpythons\tglibc_min\tmacos_min"


class Release(NamedTuple):
    """`pythons`: minors with a wheel ("3.12", "3.14t"); `platform`: as in a build, or "any"; "" for no floor."""

    index_id: str
    package: str
    version: str
    platform: str
    pythons: tuple[str, ...]
    glibc_min: str
    macos_min: str


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def derive(catalog: Catalog) -> list[Release]:
    """The facts that the builds of CATALOG state, one row for each floor."""
    found: dict[tuple[str, str, str, str, str, str], set[str]] = {}
    for framework in catalog.frameworks.values():
        for build in framework.builds:
            for package in build.packages:
                for platform in build.platforms:
                    key = (
                        package.index or build.index, normal(package.name), package.version, platform,
                        build.glibc_min or "" if platform.startswith("linux") else "",
                        build.macos_min or "" if platform.startswith("macos") else "",
                    )  # fmt: skip
                    found.setdefault(key, set()).update(build.pythons)
    return [
        Release(key[0], key[1], key[2], key[3], tuple(sorted(pythons, key=minor)), key[4], key[5])
        for key, pythons in sorted(found.items())
    ]


def minor(python: str) -> tuple[int, bool]:
    return int(python.rstrip("t").split(".")[1]), python.endswith("t")


def write(releases: Iterable[Release], place: Path = TABLE) -> None:
    lines = ["\t".join(",".join(v) if isinstance(v, tuple) else v for v in r) for r in releases]
    place.write_text("\n".join((HEAD, *lines)) + "\n", encoding="utf-8", newline="\n")


def read(place: Path = TABLE) -> list[Release]:
    head, *lines = place.read_text(encoding="utf-8").splitlines()
    assert head == HEAD, head
    rows = [line.split("\t") for line in lines]
    return [Release(r[0], r[1], r[2], r[3], tuple(p for p in r[4].split(",") if p), r[5], r[6]) for r in rows]


def missing(releases: Iterable[Release], index: str, requirement: str, platform: str, python: str) -> str | None:
    """None where a stored release serves REQUIREMENT ("name[extra]==1.2") there; else what is stored instead."""
    name, version = requirement.split("==")
    name = normal(name.split("[")[0])
    known = [r for r in releases if r.index_id == index and r.package == name and r.version == version]
    if any(r.platform in ("any", platform) and python in r.pythons for r in known):
        return None
    stored = "; ".join(f"{r.platform} {','.join(r.pythons)}" for r in known) or "no such release"
    return f"{requirement} from {index} for {platform}, Python {python}: {stored}"


if __name__ == "__main__":
    from knowledge import loader

    write(derive(loader.load_catalog()))
