"""The strict reader of the knowledge base, its compiled form, and the rules between entries."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge import loader
from knowledge.loader import LoadError

INDEXES = b"""
indexes:
- {id: pypi, name: {en: Default, zh: "\xe9\xbb\x98\xe8\xae\xa4"}}
"""
FRAMEWORK = """
id: thing
name: Thing
checked: "2026-11-30"
status: {state: active, note: {en: Active., zh: 活跃。}, source: {url: 'https://example.org/thing', date: "2026-11-30"}}
roles: [core]
does: [train]
licence: {id: MIT, permissive: true}
summary: {en: A thing., zh: 一个东西。}
packages: [thing]
sources: [{url: 'https://example.org/thing', date: "2026-11-30"}]
builds:
- id: any
  version: "1.2.0"
  device: cpu
  platforms: [linux-x86_64]
  pythons: ["3.12"]
  packages: [{name: thing, version: "1.2.0"}]
"""


def build(text: str = FRAMEWORK, name: str = "frameworks/thing.yaml"):
    return loader.build((("indexes.yaml", INDEXES), (name, text.encode())))


@pytest.fixture(scope="module")
def catalog():
    return loader.load_catalog()


def test_a_small_file_is_read():
    found = build().frameworks["thing"]
    assert found.builds[0].packages[0].version == "1.2.0"
    assert found.summary.zh == "一个东西。"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: Thing", "nmae: Thing", ("frameworks/thing.yaml", "nmae")),
        ("name: Thing", "name: Thing\nname: Again", ("frameworks/thing.yaml", "twice")),
        ('version: "1.2.0"\n  device', "version: 1.2\n  device", ("frameworks/thing.yaml", "version", "1.2")),
        ("device: cpu", "device: gpu", ("frameworks/thing.yaml", "device")),
        ("id: thing\nname", "id: other\nname", ("frameworks/thing.yaml", "other", "thing")),
        ("platforms: [linux-x86_64]", "platforms: [linux-amd64]", ("frameworks/thing.yaml", "linux-amd64")),
        ('pythons: ["3.12"]', 'pythons: ["3.12.1"]', ("frameworks/thing.yaml", "3.12.1")),
        ("device: cpu", "device: cpu\n  index: nowhere", ("frameworks/thing.yaml", "nowhere")),
        ("device: cpu", 'device: cpu\n  uses: {absent: ">=1"}', ("frameworks/thing.yaml", "absent")),
        ("packages: [thing]", "packages: [thing]\nneeds: [absent]", ("frameworks/thing.yaml", "absent")),
        ("device: cpu", "device: cpu\n  environment: {LD_PRELOAD: /x}", ("frameworks/thing.yaml", "LD_PRELOAD")),
        ("device: cpu", "device: cpu\n  environment: {PATH: /x}", ("frameworks/thing.yaml", "PATH")),
        (
            "device: cpu",
            "device: cpu\n  requires: [{when: {word: moon, args: {}}, code: os.unsupported}]",
            ("frameworks/thing.yaml", "moon"),
        ),
        (
            "device: cpu",
            "device: cpu\n  requires: [{when: {word: os, args: {all: [linux]}}, code: os.unsupported}]",
            ("frameworks/thing.yaml", "os"),
        ),
        (
            "device: cpu",
            "device: cpu\n  requires: [{when: {word: os, args: {any: [linux]}}, code: os.wrong}]",
            ("frameworks/thing.yaml", "os.wrong"),
        ),
        (
            "device: cpu",
            "device: cpu\n  requires: [{when: {word: os, args: {any: [linux]}}, code: os.unsupported, "
            "remedies: [{code: format_disk}]}]",
            ("frameworks/thing.yaml", "format_disk"),
        ),
        (
            "device: cpu",
            "device: cpu\n  steps: [{step: run, command: 'rm -rf /'}]",
            ("frameworks/thing.yaml", "steps"),
        ),
        ('{name: thing, version: "1.2.0"}', '{name: "-e .", version: "1.2.0"}', ("frameworks/thing.yaml", "-e .")),
        ('{name: thing, version: "1.2.0"}', '{name: thing, version: "@ file"}', ("frameworks/thing.yaml", "@ file")),
        ('checked: "2026-11-30"', 'checked: "yesterday"', ("frameworks/thing.yaml", "yesterday")),
    ],
)
def test_a_broken_rule_names_file_and_key(old, new, words):
    assert old in FRAMEWORK
    with pytest.raises(LoadError) as caught:
        build(FRAMEWORK.replace(old, new))
    for word in words:
        assert word in str(caught.value)


def test_an_index_is_a_plain_https_address():
    text = INDEXES + b"- {id: evil, url: 'http://user:pw@host/', name: {en: E, zh: E}}\n"
    with pytest.raises(LoadError, match="evil"):
        loader.build((("indexes.yaml", text),))


def test_an_unknown_file_is_refused():
    with pytest.raises(LoadError, match="surprise"):
        loader.build((("indexes.yaml", INDEXES), ("surprise.yaml", b"a: 1")))


def test_not_utf8_is_a_sentence():
    with pytest.raises(LoadError, match="UTF-8"):
        loader.build((("indexes.yaml", b"\xff\xfe\x00"),))


def test_the_real_catalogue_keeps_every_rule(catalog):
    assert loader.check(catalog) == []
    assert {"pytorch", "tensorflow", "jax", "keras", "transformers", "onnxruntime"} <= set(catalog.frameworks)


def test_compiled_form_is_the_same_and_bound_to_its_sources(catalog):
    compiled = loader.compile_catalog(catalog)
    assert loader.load_from(compiled) == catalog
    assert loader.load_from(compiled[:-20]) is None
    assert loader.load_from(b"") is None
    other = loader.FORMAT + b"0" * 32 + compiled[len(loader.FORMAT) + 32 :]
    assert loader.load_from(other) is None


def test_compiled_form_is_stale_when_a_source_changes(tmp_path, catalog):
    (tmp_path / "frameworks").mkdir()
    (tmp_path / "indexes.yaml").write_bytes(INDEXES)
    place = tmp_path / "frameworks" / "thing.yaml"
    place.write_text(FRAMEWORK, encoding="utf-8")
    root = Path(tmp_path)
    first = loader.load_catalog(root=root)
    compiled = loader.compile_catalog(first)
    assert loader.load_from(compiled, root) == first
    place.write_text(FRAMEWORK.replace("1.2.0", "1.3.0"), encoding="utf-8")
    assert loader.load_from(compiled, root) is None
    assert loader.load_catalog(compiled, root).frameworks["thing"].builds[0].version == "1.3.0"


def test_an_overlay_adds_and_is_checked(catalog):
    extra = build(FRAMEWORK)
    whole = loader.overlay(catalog, extra)
    assert "thing" in whole.frameworks
    assert "pytorch" in whole.frameworks
    assert whole.digest != catalog.digest


def test_foundations_reach_far_below(catalog):
    assert "pytorch" in catalog.foundations["trl"]
    assert "pytorch" in catalog.foundations["transformers"]
