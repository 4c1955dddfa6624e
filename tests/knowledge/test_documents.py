"""Files from outside are read strictly, and each refusal names file, key, what was found and what is allowed."""

from __future__ import annotations

import time

import pytest

from knowledge import documents
from knowledge.documents import BadInput


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{schema: 2}", ("m.yaml", "schema", "2", "1")),
        ("{system: {os: 3}}", ("m.yaml", "system.os", "3")),
        ("{cpu: {cores: 4}}", ("cpu", "cores", "physical_cores")),
        ("accelerators: [{vendor: nvidia, memory_bytes: -1}]", ("accelerators.0.memory_bytes", "-1")),
        ("accelerators: [{vendor: nvidia, count: 0}]", ("accelerators.0.count", "0")),
        ("accelerators: [{vendor: x, state: dead}]", ("accelerators.0.state", "dead")),
        ("memory: {total_bytes: .inf}", ("memory.total_bytes",)),
        ("a: [", ("m.yaml", "line")),
        ("{a: 1, a: 2}", ("m.yaml", "twice")),
        ("[1, 2]", ("mapping",)),
        ("\x00\x01", ("binary",)),
        ("!!python/object/apply:os.system [ls]", ("m.yaml",)),
        ("", ("mapping",)),
    ],
)
def test_bad_machine_files_are_named(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(BadInput) as caught:
        documents.machine(text, "m.yaml")
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_alias_bomb_is_refused_quickly() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
    )
    began = time.monotonic()
    with pytest.raises(BadInput):
        documents.machine(bomb, "bomb.yaml")
    assert time.monotonic() - began < 20


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadInput):
        documents.machine('{"a":' * 5000 + "1" + "}" * 5000, "deep.json")


def test_huge_text_is_refused_without_parsing() -> None:
    with pytest.raises(BadInput, match="larger"):
        documents.machine("x" * 50_000_000, "huge.yaml")


def test_names_of_architectures_are_read_as_one() -> None:
    machine = documents.machine("{system: {os: Darwin, arch: arm64}, pythons: [{version: '3.12.1', arch: amd64}]}", "m")
    assert (machine.system.os, machine.system.arch) == ("macos", "aarch64")
    assert machine.pythons is not None
    assert machine.pythons[0].arch == "x86_64"


def test_absent_and_none_are_two_answers() -> None:
    assert documents.machine("{}", "m").accelerators is None
    assert documents.machine("{accelerators: []}", "m").accelerators == ()


@pytest.mark.parametrize(("text", "number"), [("7B", 7_000_000_000), ("350M", 350_000_000), (7.0e9, 7_000_000_000),
                                              ("7.0e+9", 7_000_000_000), ("1.5b", 1_500_000_000), (12, 12)])  # fmt: skip
def test_parameter_counts(text: object, number: int) -> None:
    assert documents.count(text) == number  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["seven", "-7B", "0", "1e400", "7Q", "", True, -3, float("nan"), 1e16])
def test_absurd_parameter_counts(text: object) -> None:
    with pytest.raises(BadInput):
        documents.count(text)  # type: ignore[arg-type]


def test_settings_are_laid_over_answers() -> None:
    value = documents.with_setting({"training": {"method": "full"}}, "training.sequence_length=4096")
    assert value == {"training": {"method": "full", "sequence_length": 4096}}
    with pytest.raises(BadInput):
        documents.with_setting({}, "no-equals-sign")
    with pytest.raises(BadInput):
        documents.with_setting({}, "__class__.x=1")


@pytest.mark.parametrize("text", ["{training: {batch_size: 0}}", "{model: {params: -1}}", "{serving: {latency_ms: .nan}}",
                                  "{scenario: 3}", "{training: {method: magic}}", "{model: {layers: -5}}"])  # fmt: skip
def test_bad_answers(text: str) -> None:
    with pytest.raises(BadInput):
        documents.answers(text, "a.yaml")
