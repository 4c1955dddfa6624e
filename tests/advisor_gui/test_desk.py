"""The open assessment without a window: who is told what, what a supposition may not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advisor_gui import session
from advisor_gui.desk import Desk
from knowledge.documents import BadInput
from knowledge.facts import Accelerator, Cpu, MachineProfile, Memory, System

MACHINE = MachineProfile(
    system=System(os="linux", distribution="ubuntu", release="24.04", arch="x86_64", libc="glibc", libc_version="2.39"),
    cpu=Cpu(vendor="amd", physical_cores=16, logical_cpus=32, flags=("sse4_1", "sse4_2", "ssse3", "popcnt", "avx", "avx2", "fma", "f16c")),
    memory=Memory(total_bytes=67_200_000_000),
    accelerators=(
        Accelerator(kind="gpu", vendor="nvidia", name="NVIDIA GeForce RTX 5090", memory_bytes=34_190_917_632, memory_kind="dedicated",
                    target="12.0", driver_version="570.86.10", driver_api_max="12.8", state="usable"),
    ),
)  # fmt: skip


@pytest.fixture
def desk(catalog: Any, tmp_path: Path) -> Desk:
    made = Desk(session.Folders(cache=tmp_path, data=tmp_path, config=tmp_path))
    made.set_catalog(catalog)
    made.set_machine(MACHINE)
    return made


def test_listeners_hear_each_topic(desk: Desk) -> None:
    heard: list[str] = []
    desk.listen(heard.append)
    desk.answer("scenario", "llm-finetuning")
    assert heard == ["answers", "recommendation"]
    desk.answer("scenario", "llm-finetuning")
    assert heard == ["answers", "recommendation"], "an answer that changes nothing is no news"


def test_a_wrong_answer_leaves_everything_as_it_was(desk: Desk) -> None:
    before = desk.answers
    with pytest.raises(BadInput):
        desk.answer("model.params", "much")
    assert desk.answers is before and not desk.unsaved


def test_a_supposition_is_no_fact(desk: Desk) -> None:
    desk.answer("scenario", "llm-finetuning")
    desk.answer("model.params", "7B")
    assert desk.catalog is not None and desk.machine is not None
    facts = desk.recommendation
    changes = session.recommend(desk.catalog, desk.machine, desk.answers, what_if=True).what_would_change
    change = next(c for c in changes if "driver" in c.fact)
    desk.suppose(change)
    assert desk.supposition is not None and desk.supposition.recommendation is desk.shown
    assert desk.recommendation is facts and desk.machine is MACHINE, "what is saved and reported stays the facts"
    assert not desk.here
    desk.suppose(None)
    assert desk.shown is facts and desk.here


def test_a_new_answer_ends_a_supposition(desk: Desk) -> None:
    assert desk.catalog is not None and desk.machine is not None
    desk.answer("model.params", "7B")
    change = session.recommend(desk.catalog, desk.machine, desk.answers, what_if=True).what_would_change[0]
    desk.suppose(change)
    desk.answer("scenario", "research")
    assert desk.supposition is None
