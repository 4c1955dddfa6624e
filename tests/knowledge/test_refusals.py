"""A refused file is explained in both languages: key, what was found, and every value that is allowed."""

from __future__ import annotations

import re

import pytest

from knowledge import documents, loader, policy
from knowledge.documents import BadInput

CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accelerators: [{vendor: x, state: dead}]", ("accelerators.0.state", "'dead'", "usable", "driver_mismatch")),
        ("accelerators: [{vendor: x, memory_kind: fast}]", ("accelerators.0.memory_kind", "dedicated", "unified")),
        ("accelerators: [{kind: gpu}]", ("accelerators.0", "vendor")),
        ("memory: {total_bytes: lots}", ("memory.total_bytes", "'lots'")),
        ("memory: {total_bytes: -4}", ("memory.total_bytes", "-4", "10^19")),
        ("memory: {total_bytes: 1e400}", ("memory.total_bytes",)),
        ('"\\e[31m": 1', ("system", "cpu")),
        ("{schema: two}", ("schema", "'two'", "1")),
        ('{"system": {"os": "\\ud800"}}', ("U+D800",)),
        ("- 1", ()),
        ("a: [", ()),
    ],
)
def test_both_languages_name_key_value_and_what_is_allowed(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(BadInput) as caught:
        documents.machine(text, "m.yaml")
    said = caught.value.text
    assert CHINESE.search(said.zh)
    assert not CHINESE.search(said.en)
    for sentence in (said.en, said.zh):
        assert sentence.startswith("m.yaml")
        assert sentence.isprintable()
        assert all(word in sentence for word in words)


def test_a_wrong_answer_names_the_allowed_ones() -> None:
    with pytest.raises(BadInput) as caught:
        documents.answers("{training: {method: magic}}", "a.yaml")
    assert "full, lora, qlora, scratch, infer" in caught.value.text.en
    assert "full, lora, qlora, scratch, infer" in caught.value.text.zh


def test_large_yaml_is_refused_before_it_costs_minutes() -> None:
    text = "sources:\n" + "".join(f"  k{number}: v\n" for number in range(500_000))
    with pytest.raises(BadInput, match="larger than 4 MB"):
        documents.machine(text, "m.yaml")


def test_policies_are_refused_in_both_languages() -> None:
    with pytest.raises(BadInput) as caught:
        policy.read("{name: team, denied: [nosuch]}", "p.yaml", loader.load_catalog())
    assert "nosuch" in caught.value.text.zh
    assert CHINESE.search(caught.value.text.zh)
