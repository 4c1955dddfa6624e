"""The command line: exit codes, one sentence for bad input, JSON that its own schema accepts, no traceback ever."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from advisor_gui import cli, schemas
from advisor_gui.__main__ import main

MACHINE = """
schema: 1
system: {os: linux, distribution: ubuntu, release: "24.04", arch: x86_64, libc: glibc, libc_version: "2.39"}
cpu: {vendor: intel, physical_cores: 8, logical_cpus: 16, flags: [sse4_2, avx, avx2, fma]}
memory: {total_bytes: 68719476736}
accelerators:
  - {kind: gpu, vendor: nvidia, name: NVIDIA GeForce RTX 4090, memory_bytes: 25769803776, memory_kind: dedicated,
     target: "8.9", driver_version: "580.95.05", driver_api_max: "13.0", state: usable}
pythons: [{path: /usr/bin/python3, version: "3.12.3", kind: system, arch: x86_64, bits: 64}]
"""


@pytest.fixture
def machine(tmp_path: Path) -> str:
    path = tmp_path / "machine.yaml"
    path.write_text(MACHINE, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    out = capsys.readouterr()
    assert "Traceback" not in out.err
    return code, out.out, out.err


@pytest.mark.parametrize(
    ("argv", "schema"),
    [
        (("probe",), "machine"), (("advise", "--scenario", "rapid-prototyping"), "recommendation"),
        (("advise", "--scenario", "llm-finetuning", "--set", "model.params=7B"), "recommendation"),
        (("assess", "pytorch"), "assessment"), (("doctor",), "findings"),
        (("size", "--model", "7B", "--method", "lora"), "memory"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
def test_answers_fit_their_schemas(
    capsys: pytest.CaptureFixture[str], machine: str, argv: tuple[str, ...], schema: str, language: str
) -> None:
    code, out, _ = run(capsys, *argv, "--machine", machine, "--format", "json", "--lang", language)
    assert code in (0, 1)
    body = json.loads(out)
    assert body["schema"] == 1
    jsonschema.validate(body, schemas.schema(schema))


@pytest.mark.parametrize(
    "argv",
    [
        ("frob",), ("advise", "--scenario", "no-such"), ("advise", "--set", "training.method=magic"), ("assess",),
        ("assess", "no-such-framework"), ("probe", "--machine", "/no/such/file"), ("probe", "--machine", "/"),
        ("size",), ("size", "--model", "7Q"), ("smoke", "no-such-check"), ("smoke", "--machine", "x"), ("schema", "nothing"),
        ("knowledge", "show"), ("advise", "--answers", "/dev/zero"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_two(capsys: pytest.CaptureFixture[str], argv: tuple[str, ...]) -> None:
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1


def test_text_is_in_the_language_that_was_asked_for(capsys: pytest.CaptureFixture[str], machine: str) -> None:
    argv = ("advise", "--scenario", "rapid-prototyping", "--machine", machine)
    _, english, _ = run(capsys, *argv, "--lang", "en")
    _, chinese, _ = run(capsys, *argv, "--lang", "zh")
    assert "Recommendation" in english
    assert "推荐" in chinese
    assert "Recommendation" not in chinese


def test_same_advice_in_both_languages(capsys: pytest.CaptureFixture[str], machine: str) -> None:
    def pins(language: str) -> object:
        _, out, _ = run(capsys, "advise", "--scenario", "llm-serving", "--machine", machine, "--format", "json", "--lang", language)
        chosen = json.loads(out)["chosen"]
        return chosen["framework"], chosen["install"]["packages"], [v["code"] for v in chosen["verdicts"]]

    assert pins("en") == pins("zh")


def test_alias_is_answered_under_the_id(capsys: pytest.CaptureFixture[str], machine: str) -> None:
    _, out, _ = run(capsys, "assess", "Torch", "--machine", machine, "--format", "json")
    assert json.loads(out)["framework"] == "pytorch"


def test_no_display_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = run(capsys)
    assert code == 3
    assert "stackfit go" in err


@pytest.mark.parametrize("name", cli.SCHEMAS)
def test_every_schema_is_a_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.schema(name))


@pytest.mark.parametrize("limit", ["-5", "nan", "inf", "abc", "0"])
def test_a_time_limit_is_a_positive_number(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["smoke", "onnxruntime-embedded", f"--limit={limit}", "--lang", "zh"]
    assert cli.main(argv, window=lambda _: 0, self_test=lambda: 0) == cli.BAD
    said = capsys.readouterr().err
    assert limit in said
    assert "604800" in said
    assert "应为" in said


def test_a_model_that_is_nothing_known_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("nosuch", "-3", "yes"):
        assert cli.main(["size", f"--model={name}"], window=lambda _: 0, self_test=lambda: 0) == cli.BAD
        assert name in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def left(*_: object) -> int:
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            raise SystemExit(1)  # noqa: B904 - as the table printer does it

    monkeypatch.setattr(cli, "_main", left)
    assert cli.main([], window=lambda _: 0, self_test=lambda: 0) == cli.OK


def test_a_full_disk_below_the_output_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cli, "_main", full)
    assert cli.main(["--lang=en"], window=lambda _: 0, self_test=lambda: 0) == cli.COULD_NOT
    assert capsys.readouterr().err == "The output could not be written: no space left on the device.\n"
