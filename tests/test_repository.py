"""What must hold of the tree itself: folders, locks, hosts, documentation that names real commands."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from advisor_gui import cli

ROOT = Path(__file__).resolve().parent.parent


def tracked() -> list[Path]:
    """Files under version control; outside a checkout (an unpacked archive) there is nothing to ask."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.decode().split("\0") if name]


def test_packaging_is_no_package() -> None:
    """Else it would hide the library of the same name, for us and for every tool that needs it."""
    assert not (ROOT / "packaging" / "__init__.py").exists()
    import packaging.version

    assert ROOT not in Path(packaging.version.__file__).parents or ".venv" in packaging.version.__file__


def test_locks_hold_hashes_and_no_addresses() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        pins = re.findall(r"^([A-Za-z0-9_.-]+)==", text, re.M)
        assert len(pins) > 10
        blocks = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
        assert all("--hash=sha256:" in block for block in blocks), name


def test_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = {n.lower().replace("_", "-") for n in re.findall(r"^([A-Za-z0-9_.-]+)==", (ROOT / "requirements.txt").read_text(), re.M)}
    asked = [*project["dependencies"], *project["optional-dependencies"]["gui"]]
    names = {re.match(r"[A-Za-z0-9_.-]+", one).group().lower().replace("_", "-") for one in asked}  # type: ignore[union-attr]
    assert names <= locked


def test_no_registry_host_and_no_path_of_one_machine() -> None:
    hosts = [a + r"\." + b for a, b in (("pypi", "org"), ("pythonhosted", "org"), ("registry\\.npmjs", "org"), ("deb\\.debian", "org"))]
    pattern = re.compile("|".join(hosts))
    for path in tracked():
        if path.suffix in (".png", ".otf", ".onnx", ".npz", ".ico") or not path.is_file():
            continue
        found = pattern.search(path.read_text(encoding="utf-8", errors="replace"))
        assert found is None, f"{path}: {found.group()}"


def test_readme_names_real_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"^\./stackfit +([a-z]+)", text, re.M)) - {"test"}
    known = next(a for a in cli.parser()._actions if a.dest == "command").choices
    assert known is not None
    assert commands
    assert commands <= set(known)
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link


def test_every_python_file_opens_with_a_sentence() -> None:
    import ast

    for path in tracked():
        if path.suffix == ".py" and path.parts[len(ROOT.parts)] in ("advisor_gui", "knowledge", "probes"):
            source = path.read_text(encoding="utf-8")
            if source.strip():
                said = ast.get_docstring(ast.parse(source))
                assert said and len(said) > 15, path
