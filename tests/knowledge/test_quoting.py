"""Arguments survive every shell, and nothing from outside becomes a command."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge import quoting
from knowledge.remedies import CODES, WORDINGS, remedy

HOSTILE = ["; rm -rf /", "$(id)", "`id`", "a b", "'", '"', "a'b\"c", "|x", "&& x", "%PATH%", "!x!", "\nid", "-rf", "é 中文", ""]


@pytest.mark.parametrize("word", [*HOSTILE, "torch==2.15.0", "https://download.pytorch.org/whl/cu126"])
def test_bash_hands_a_word_on(word):
    clean = "".join(c for c in word if c.isprintable())
    assert shlex.split(quoting.quoted(word)) == [clean]


@given(st.text(max_size=40))
def test_bash_hands_any_text_on(word):
    clean = "".join(c for c in word if c.isprintable())
    assert shlex.split(quoting.quoted(word)) == [clean]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize("word", HOSTILE)
def test_a_real_bash_agrees(word):
    clean = "".join(c for c in word if c.isprintable())
    line = quoting.line(["printf", "%s", word])
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == clean


@given(st.text(max_size=40))
def test_powershell_quotes_are_closed(word):
    found = quoting.quoted(word, "powershell")
    if found.startswith("'"):
        inner = found[1:-1]
        assert found.endswith("'")
        assert "'" not in inner.replace("''", "")
    else:
        assert not set(found) & set(" ;|&$`()<>\"'\n")


@given(st.text(max_size=40))
def test_cmd_has_no_expansion_and_no_open_quote(word):
    found = quoting.quoted(word, "cmd")
    assert "%" not in found and "!" not in found and "\n" not in found
    assert found.count('"') in (0, 2)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "PIP_INDEX_URL", "UV_INDEX_URL", "PYTHONPATH", "IFS"])
def test_no_variable_that_changes_what_runs(name):
    with pytest.raises(ValueError, match=name):
        quoting.assignment(name, "x")


def test_every_remedy_has_a_sentence_without_parameters():
    for code in CODES:
        found = remedy(code)
        assert found.text.en and found.text.zh and found.text.en != found.text.zh


def test_wordings_say_the_same_parameters_in_both_languages():
    import string

    for code, wordings in WORDINGS.items():
        for needed, en, zh in wordings:
            fields = [{name for _, name, _, _ in string.Formatter().parse(text) if name} for text in (en, zh)]
            assert fields[0] == fields[1] == set(needed.split()), code


def test_an_unknown_remedy_is_refused():
    with pytest.raises(ValueError, match="format_disk"):
        remedy("format_disk")


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("pin_version", {"package": "torch; id", "version": "2.0"}),
        ("pin_version", {"package": "torch", "version": "2.0; id"}),
        ("use_index", {"package": "torch", "index": "cu126", "index_url": "https://u:p@evil/x"}),
        ("use_index", {"package": "torch", "index": "evil; id"}),
        ("uninstall", {"package": "-r /etc/passwd"}),
        ("load_module", {"module": "nvidia; id"}),
        ("join_group", {"group": "video; id"}),
        ("set_env", {"name": "LD_PRELOAD", "value": "x"}),
        ("container_image", {"image": "ubuntu; id"}),
        ("install_system_package", {"package": "a; id", "manager": "apt"}),
    ],
)
def test_hostile_parameters_make_no_command(code, params):
    assert remedy(code, params).commands == ()


def test_commands_of_common_remedies():
    found = remedy("use_index", {"package": "torch", "version": "2.14.1", "index": "cu126", "python": "/v e/bin/python"})
    assert found.commands == (
        "'/v e/bin/python' -m pip install torch==2.14.1 --index-url https://download.pytorch.org/whl/cu126",
    )
    windows = remedy("uninstall", {"package": "onnxruntime", "python": "C:\\My Env\\python.exe", "os": "windows"})
    assert windows.commands == ("& 'C:\\My Env\\python.exe' -m pip uninstall -y onnxruntime",)
