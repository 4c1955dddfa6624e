"""The check files: readable without running them, for old Pythons, complete in both languages, one at least per scenario."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from knowledge.documents import BadInput
from knowledge.facts import Accelerator, MachineProfile
from probes.proof import asking, checks

FILES = sorted(p for p in checks.FOLDER.glob("*.py") if p.name != "__init__.py")
SCENARIOS = {
    "rapid-prototyping", "distributed-training", "edge-inference", "research", "multimodal-long-context",
    "unified-train-serve", "llm-finetuning", "llm-serving", "reinforcement-learning", "production-serving",
    "classic-teaching",
}  # fmt: skip


@pytest.mark.parametrize("path", [*FILES, checks.FOLDER.parent / "driver.py", checks.FOLDER.parent / "supervisor.py"],
                         ids=lambda p: p.stem)  # fmt: skip
def test_top_level_is_standard_library_in_old_syntax(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert ast.get_docstring(tree)
    for node in tree.body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names, f"{path.name} imports {name} at top level"


def test_every_check_states_its_facts() -> None:
    known = checks.every()
    assert len(known) >= 20
    assert len({c.id for c in known}) == len(known)
    for check in known:
        assert check.id == Path(check.path).stem.replace("_", "-")
        for text in (check.title, check.proves, check.limits):
            assert text.en and text.zh and any("\u4e00" <= c <= "\u9fff" for c in text.zh)
        assert 10 <= check.limit_s <= 1200
        assert check.nearest is None or check.nearest in {c.id for c in known}
        for requirement in check.packages:
            asking.checked(requirement)
        assert set(check.platforms) <= {"linux", "darwin", "win32"}


def test_every_scenario_has_a_check() -> None:
    assert {c.scenario for c in checks.every()} == SCENARIOS


def test_the_three_first_checks_run_here() -> None:
    shown = {c.id: c for c in checks.info(MachineProfile())}
    for name in ("onnxruntime-embedded", "torch-quickstart", "export-parity"):
        assert shown[name].runs_here
        assert shown[name].because.zh


def test_an_unknown_check_names_near_ones() -> None:
    with pytest.raises(BadInput, match="torch-quickstart"):
        checks.find("torch-quikstart")


def test_needs_are_looked_for(tmp_path: Path) -> None:
    source = (Path(__file__).with_name("bad_checks") / "good.py").read_text()
    path = tmp_path / "good.py"
    path.write_text(source.replace("PACKAGES = ()", 'PACKAGES = ()\nNEEDS = ("nvidia",)'))
    check = checks.read(path)
    assert not checks.runs_here(check, MachineProfile())[0]
    gpu = MachineProfile(accelerators=(Accelerator(vendor="nvidia", state="usable"),))
    assert checks.runs_here(check, gpu)[0]
    path.write_text(source.replace("PACKAGES = ()", 'PACKAGES = ()\nPLATFORMS = ("nowhere",)'))
    assert not checks.runs_here(checks.read(path), gpu)[0]


@pytest.mark.parametrize("text", ["ID = 3", "x = (", "ID = open('/etc/passwd').read()", ""])
def test_a_file_that_is_no_check_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"bad\.py"):
        checks.read(path)


def test_the_generated_page_is_up_to_date() -> None:
    from probes.proof import catalogue

    page = Path(__file__).parents[3] / "docs" / "checks.md"
    assert page.read_text(encoding="utf-8") == catalogue.page(), "run: python -m probes.proof.catalogue"


def test_the_check_offered_first_is_the_plain_one() -> None:
    first: dict[str, str] = {}
    for check in checks.every():
        first.setdefault(check.scenario, check.id)
    assert first["rapid-prototyping"] == "torch-quickstart"
    assert first["edge-inference"] == "onnxruntime-embedded"
    assert first["unified-train-serve"] == "export-parity"
    assert first["llm-finetuning"] == "lora"
