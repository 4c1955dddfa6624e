"""A plan pins nothing that the stored release facts do not hold for its platform and Python; old knowledge says its age."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import yaml

from knowledge import advise, documents, loader
from knowledge.answers import Answers
from tests import loopback_index, release_facts, resolve_grid

CATALOG = loader.load_catalog()
RELEASES = release_facts.read()
TODAY = datetime.date(2026, 12, 1)
MACHINES = yaml.safe_load((Path(release_facts.TABLE).parent / "machines.yaml").read_text(encoding="utf-8"))
SCENARIOS = sorted(CATALOG.scenarios)


def wrong_pins(plan, platform: str) -> list[str]:
    """Pins of PLAN that no stored release serves (a package built from source has no wheel to look for)."""
    built = {r for s in plan.steps if getattr(s, "build_isolation", True) is False for r in s.requirements}
    sources = {p.name for f in CATALOG.frameworks.values() for b in f.builds for p in b.packages if p.source_only}
    asked = [p for p in plan.packages if p.requirement not in built and p.name not in sources]
    found = (release_facts.missing(RELEASES, p.index_id, p.requirement, platform, plan.python) for p in asked)
    return [said for said in found if said is not None]


def test_the_table_is_that_of_the_catalogue():
    assert release_facts.derive(CATALOG) == RELEASES, "python -m tests.release_facts, then read the difference"


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_no_plan_pins_what_was_never_released_there(name):
    machine = documents.machine(yaml.safe_dump(MACHINES[name]), name)
    platform = f"{machine.system.os}-{machine.system.arch}"
    wrong = set()
    for scenario in SCENARIOS:
        found = advise.advise(CATALOG, machine, Answers(scenario=scenario), today=TODAY)
        for choice in (found.chosen, *found.others):
            if choice is not None and choice.fit == "ready" and choice.install is not None and choice.install.python:
                wrong.update(f"{choice.framework}: {said}" for said in wrong_pins(choice.install, platform))
    assert not wrong, "\n".join(sorted(wrong))


def test_grid_plans_pin_what_was_released():
    wrong, looked = set(), 0
    for cell in resolve_grid.cells(("prototype",)):
        machine = resolve_grid.machine(cell)
        chosen = advise.advise(CATALOG, machine, resolve_grid.PROJECTS[cell.project], today=TODAY).chosen
        if chosen is not None and chosen.install is not None and chosen.install.python:
            looked += 1
            wrong.update(wrong_pins(chosen.install, cell.platform))
    assert looked > 40
    assert not wrong, "\n".join(sorted(wrong))


def test_a_version_that_is_not_stored_is_found():
    known = next(r for r in RELEASES if r.package == "torch" and r.platform == "linux-x86_64")
    good = release_facts.missing(RELEASES, known.index_id, f"torch=={known.version}", known.platform, known.pythons[0])
    assert good is None
    assert release_facts.missing(RELEASES, known.index_id, "torch==99.0", known.platform, known.pythons[0])
    assert release_facts.missing(RELEASES, known.index_id, f"torch=={known.version}", known.platform, "3.6")
    assert release_facts.missing(RELEASES, known.index_id, f"torch=={known.version}", "plan9-mips", known.pythons[0])


def test_the_loopback_index_serves_what_is_stored_and_nothing_else():
    from urllib.error import HTTPError
    from urllib.request import urlopen

    stubs = loopback_index.Stubs(RELEASES, loopback_index.torch_pairs(CATALOG))
    with loopback_index.serve(stubs) as address:
        page = urlopen(f"{address}/cu128/torch/").read().decode()
        assert "manylinux" in page and "data-core-metadata" in page
        file = page.split('href="')[1].split("#")[0]
        assert "Requires-Dist: sympy" in urlopen(f"{address}/cu128/torch/{file}.metadata").read().decode()
        for path in ("/cu128/no-such/", f"/cu128/torch/{file}"):
            with pytest.raises(HTTPError) as raised:
                urlopen(address + path)
            raised.value.close()


@pytest.mark.slow
def test_every_plan_of_the_grid_resolves():
    rows = resolve_grid.table(CATALOG, list(resolve_grid.cells()))
    refused = [f"{row.cell}: {row.framework} {row.pins}: {row.why}" for row in rows if row.outcome == "refused"]
    assert not refused, "\n".join(refused)
    assert sum(row.outcome == "resolved" for row in rows) > 100


@pytest.mark.parametrize(("days", "old"), [(60, False), (91, True), (400, True)])
def test_the_age_of_the_knowledge_is_said_from_the_91st_day(days, old):
    machine = resolve_grid.machine(resolve_grid.Cell("linux-x86_64", "3.12", "cuda", "prototype"))
    answers = resolve_grid.PROJECTS["prototype"]
    checked = datetime.date.fromisoformat(advise.advise(CATALOG, machine, answers, today=TODAY).knowledge_checked)
    found = advise.advise(CATALOG, machine, answers, today=checked + datetime.timedelta(days=days))
    assert found.knowledge_age_days == days
    said = [finding for finding in found.findings if finding.subject == "knowledge"]
    assert bool(said) is old
    for finding in said:
        assert str(days) in finding.because.en and str(days) in finding.because.zh


def test_a_loopback_index_is_no_index_of_a_plan_outside_tests():
    from probes.proof import asking

    with pytest.raises(documents.BadInput, match="https"):
        asking.checked_index("http://127.0.0.1:8000/cu128")


@pytest.mark.slow
def test_the_resolver_refuses_parts_that_do_not_belong_together():
    cell = resolve_grid.Cell("linux-x86_64", "3.12", "xpu", "prototype")
    machine = resolve_grid.machine(cell)
    plan = advise.advise(CATALOG, machine, resolve_grid.PROJECTS[cell.project], today=TODAY).chosen.install
    pairs = loopback_index.torch_pairs(CATALOG)
    pairs = {key: "99.0" if key[1] == "torchvision" else value for key, value in pairs.items()}
    with loopback_index.serve(loopback_index.Stubs(RELEASES, pairs)) as address:
        assert "torch" in (resolve_grid.ask(plan, machine, address) or "")
    with loopback_index.serve(loopback_index.Stubs([], {})) as address:
        assert resolve_grid.ask(plan, machine, address)
