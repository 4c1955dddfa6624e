"""Recordings: every handed one read right, hostile ones refused in a sentence, and a recording of this machine says the same."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from knowledge.facts import MachineProfile
from probes.host import LocalHost
from probes.machine import probe
from probes.neutral import Neutral
from probes.recording import BadRecording, RecordedHost, record

SHARED = Path(__file__).parents[4] / "shared" / "recordings"


def _checker() -> Any:
    spec = importlib.util.spec_from_file_location("recordings_check", SHARED / "check.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries() -> list[dict[str, Any]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    listed = yaml.load((SHARED / "INDEX.yaml").read_text(encoding="utf-8"), loader)["recordings"]
    return [one for one in listed if not one.get("reference") and one.get("expect")]


def _lay_out(entry: dict[str, Any], place: Path) -> RecordedHost:
    place.mkdir(parents=True)
    folder = (SHARED / entry["path"]).resolve()
    for name in ("root", "cmd", "fs.json"):
        if (folder / name).exists():
            (place / name).symlink_to(folder / name)
    commands = [{"argv": c["argv"].split(" "), "line": c["argv"], "rc": c.get("rc", 0), "file": c["file"]} for c in entry.get("commands") or ()]
    about = {"schema": 1, "os": {"darwin": "macos"}.get(entry["os"], entry["os"]), "fs": entry["fs"], "commands": commands}
    (place / "recording.json").write_text(json.dumps(about))
    return RecordedHost(_copied(place))


def _copied(place: Path) -> Path:
    """Links out of a recording are data and not followed, so a test's short cut becomes a zip."""
    archive = place.with_suffix(".zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for top, _, names in os.walk(place, followlinks=True):
            for name in names:
                file = Path(top, name)
                if file.exists():
                    out.write(file, file.relative_to(place).as_posix())
    return archive


@pytest.mark.skipif(not SHARED.exists(), reason="the handed recordings are not here")
def test_no_fact_of_the_handed_recordings_is_wrong(tmp_path: Path) -> None:
    checker = _checker()
    wrong, tally = [], {"right": 0, "wrong": 0, "unknown": 0}
    for number, entry in enumerate(_entries()):
        found = probe(_lay_out(entry, tmp_path / str(number)), environments=False)
        assert not [one for one in found.findings if one.code == "probe.failed" and one.evidence[0].source.startswith("probe ")], entry["id"]
        for name, want, have, verdict in checker.facts(entry["expect"], json.loads(msgspec.json.encode(found))):
            tally[verdict] += 1
            if verdict == "wrong":
                wrong.append((entry["id"], name, want, have))
    assert wrong == []
    assert tally["unknown"] <= 0.03 * sum(tally.values())


def _zip(path: Path, **contents: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name.replace("__", "/").replace("_json", ".json"), text)
    return path


@pytest.mark.parametrize("about", ["", "{", "[]", "null", '{"schema": 2, "os": "linux"}', '{"schema": 1}', '{"schema": 1, "os": 3}',
                                   '{"schema": 1, "os": "linux", "commands": {}}', '{"schema": 1, "os": "linux", "commands": [3]}',
                                   '{"schema": 1, "os": "linux", "env": []}', '{"schema": 1, "os": "linux", "fs": "/etc"}',
                                   "[" * 100_000])  # fmt: skip
def test_bad_recordings_are_refused_in_one_sentence(tmp_path: Path, about: str) -> None:
    path = _zip(tmp_path / "bad.zip", recording_json=about)
    with pytest.raises(BadRecording) as refused:
        RecordedHost(path)
    said = str(refused.value)
    assert str(path) in said and "\n" not in said and len(said) < 400 + len(str(path))


def test_a_zip_may_not_lead_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.writestr("recording.json", '{"schema": 1, "os": "linux"}')
        archive.writestr("root/../../etc/passwd", "x")
    with pytest.raises(BadRecording, match="leads out"):
        RecordedHost(tmp_path / "out.zip")
    (tmp_path / "no.zip").write_bytes(b"PK\x03\x04garbage")
    with pytest.raises(BadRecording):
        RecordedHost(tmp_path / "no.zip")


def test_links_are_followed_inside_the_recording_only(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of this machine")
    folder = tmp_path / "machine"
    (folder / "root" / "proc").mkdir(parents=True)
    (folder / "recording.json").write_text('{"schema": 1, "os": "linux", "fs": "root"}')
    (folder / "root" / "proc" / "meminfo").symlink_to(secret)
    (folder / "root" / "proc" / "loop").symlink_to("loop")
    (folder / "cmd").symlink_to(tmp_path)
    host = RecordedHost(folder)
    assert host.read("/proc/meminfo").status == "missing"
    assert host.read("/proc/loop/x").status == "missing" and host.list("/proc/loop").status == "missing"
    assert probe(host).memory.total_bytes is None


def test_recording_of_this_machine_says_the_same(tmp_path: Path) -> None:
    out = tmp_path / "here.zip"
    record(LocalHost(), out)
    live, replayed = probe(LocalHost(), environments=False), probe(RecordedHost(out), environments=False)
    for part in ("system", "cpu", "accelerators"):
        assert getattr(replayed, part) == getattr(live, part), part
    assert replayed.memory.total_bytes == live.memory.total_bytes and replayed.memory.limit_bytes == live.memory.limit_bytes
    assert {f.code for f in replayed.findings} == {f.code for f in live.findings}


def test_personal_details_are_replaced() -> None:
    neutral = Neutral(system="linux", home="/home/maria", user="maria", computer="lab-pc7.example.org")
    text = neutral.text(
        "maria@lab-pc7 /home/maria/secret-project/.venv/lib/python3.12/site-packages https://maria:pw@wheels.corp.internal/simple "
        "Serial Number: C02XL0GTJGH5 aa:bb:cc:dd:ee:ff GPU-1b2c3d4e-1111-2222-3333-444455556666 10.20.30.40 550.54.14 "
        '"serial_number" : "XYZ123"\n<serial>1420123456789</serial>'
    )
    for personal in ("maria", "lab-pc7", "secret-project", "pw@", "corp.internal", "C02XL", "aa:bb:cc", "1b2c3d4e", "10.20.30", "XYZ123", "14201234"):
        assert personal not in text
    assert "550.54.14" in text and "/.venv/lib/python3.12/site-packages" in text
    assert neutral.path("/home/maria/secret-project/.venv") == "/home/user/folder1/.venv"
    windows = Neutral(system="windows", home="C:\\Users\\Maria", user="Maria", computer=None)
    assert windows.path("C:\\Users\\maria\\Diary\\.venv\\Scripts\\python.exe") == "C:\\Users\\user\\folder1\\.venv\\Scripts\\python.exe"


# --- damage ----------------------------------------------------------------------------------------------------------


class Damaged:
    """A recording whose answers are cut, swapped, garbled, missing or denied; seeded, so that a failure can be repeated."""

    recorded = True

    def __init__(self, host: RecordedHost, seed: int) -> None:
        self._host, self._random = host, random.Random(seed)
        self.os = host.os

    def _harm(self, reading: Any) -> Any:
        chance = self._random.random()
        if chance > 0.35 or not reading.ok:
            return reading
        text = reading.text
        place = self._random.randrange(len(text) + 1)
        ways = (
            lambda: text[:place], lambda: "", lambda: text[place:], lambda: text[:place] + "\x00\ufffd\u9f9f" + text[place:],
            lambda: text.replace("1", "99999999999999999999"), lambda: text.replace(":", ""), lambda: text.replace("\n", "\r"),
            lambda: text[::-1], lambda: text.replace("0", "-"), lambda: text.encode("utf-16-le").decode("latin-1"),
            lambda: text.replace(" ", "\t"), lambda: "\n".join(self._random.sample(text.splitlines()[:400], min(400, len(text.splitlines()[:400])))),
            lambda: "NaN", lambda: "[N/A]", lambda: text + text, lambda: text.upper(),
        )  # fmt: skip
        if chance < 0.02:
            return msgspec.structs.replace(reading, status="denied", text="", names=(), numbers=())
        if chance < 0.04:
            return msgspec.structs.replace(reading, status="missing", text="", names=(), numbers=())
        if reading.names:
            return msgspec.structs.replace(reading, names=tuple(self._random.sample(reading.names, len(reading.names) // 2)))
        return msgspec.structs.replace(reading, text=self._random.choice(ways)())

    def read(self, path: str) -> Any:
        return self._harm(self._host.read(path))

    def list(self, path: str) -> Any:
        return self._harm(self._host.list(path))

    def link(self, path: str) -> Any:
        return self._harm(self._host.link(path))

    def access(self, path: str) -> Any:
        return self._host.access(path)

    def disk(self, path: str) -> Any:
        return self._host.disk(path)

    def run(self, argv: Any, limit_s: float = 3.0) -> Any:
        return self._harm(self._host.run(argv))

    def env(self, name: str) -> Any:
        return self._host.env(name)

    def which(self, name: str) -> Any:
        return self._host.which(name)

    def call(self, name: str, arguments: str = "") -> Any:
        reading = self._host.call(name, arguments)
        return reading if name == "recorded_commands" else self._harm(reading)


def _plausible(found: MachineProfile) -> None:
    """Whatever was read, numbers stay within what a machine can have and no probe fell over."""
    fell = [one for one in found.findings if one.code == "probe.failed" and ("could not be read" in one.because.en) and "says" not in one.because.en]
    assert fell == [], fell
    cpu, memory = found.cpu, found.memory
    for number in (cpu.logical_cpus, cpu.physical_cores, cpu.sockets, cpu.numa_nodes, cpu.performance_cores):
        assert number is None or 0 < number <= 65_536
    assert cpu.usable_cpus is None or cpu.usable_cpus > 0
    for size in (memory.total_bytes, memory.available_bytes, memory.limit_bytes, memory.swap_bytes):
        assert size is None or 0 <= size <= 1 << 56
    if memory.total_bytes is not None and memory.available_bytes is not None:
        assert memory.available_bytes <= memory.total_bytes
    for card in found.accelerators or ():
        assert card.memory_bytes is None or 0 < card.memory_bytes <= 1 << 56
    assert msgspec.json.decode(msgspec.json.encode(found), type=MachineProfile) == found


def _mutate(tmp_path: Path, count: int, seed: int) -> None:
    entries = _entries()
    chosen = random.Random(seed)
    hosts: dict[int, RecordedHost] = {}
    for number in range(count):
        index = chosen.randrange(len(entries))
        if index not in hosts:
            hosts[index] = _lay_out(entries[index], tmp_path / str(index))
        whole = None
        damaged = probe(Damaged(hosts[index], seed * 1_000_003 + number), environments=False)
        _plausible(damaged)
        if damaged.accelerators:
            whole = probe(hosts[index], environments=False)
            vendors = {card.vendor for card in whole.accelerators or ()}
            assert {card.vendor for card in damaged.accelerators} <= vendors | {"unknown"} or _renamed(damaged, vendors), entries[index]["id"]


def _renamed(found: MachineProfile, vendors: set[str]) -> bool:
    """A damaged vendor number names another maker; that is what was read, with its number beside it."""
    return all(card.vendor in vendors or card.pci_id is not None for card in found.accelerators or ())


@pytest.mark.skipif(not SHARED.exists(), reason="the handed recordings are not here")
def test_damaged_recordings_break_no_probe(tmp_path: Path) -> None:
    _mutate(tmp_path, 250, seed=7)


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="the handed recordings are not here")
def test_ten_thousand_damaged_recordings(tmp_path: Path) -> None:
    _mutate(tmp_path, 10_000, seed=20261201)
