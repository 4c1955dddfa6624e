"""What leaves the machine: none of the names and numbers planted in a recording stands in a report or a starter."""

from __future__ import annotations

import getpass
import json
import platform
from pathlib import Path

import msgspec
import pytest

from advisor_gui import report, session
from advisor_gui.report import privacy
from knowledge.answers import Answers
from knowledge.catalog import Catalog
from knowledge.facts import Evidence, Finding, MachineProfile, Network, Python, Remedy
from knowledge.plan import ResolveResult, SmokeResult
from knowledge.text import plain

USER, COMPUTER = "zhangwei7", "lab-titan42"
PLANTED = (
    USER, COMPUTER, "S3R14L98765", "GPU-9f1b2c3d-1111-2222-3333-444455556666", "9f1b2c3d-1111-2222-3333-444455556666",
    "0a:1b:2c:3d:4e:5f", "4c4c4544-0042-3510-8052-b9c04f4e3132", "hunter2", "b1946ac92492d2347c6235b4d2611184",
)  # fmt: skip
FILES = {
    "/etc/hostname": f"{COMPUTER}\n",
    "/etc/os-release": 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\n',
    "/etc/machine-id": "b1946ac92492d2347c6235b4d2611184\n",
    "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu sse4_2 avx avx2\n",
    "/proc/meminfo": "MemTotal: 65536000 kB\nMemAvailable: 50000000 kB\n",
    "/sys/class/dmi/id/product_serial": "S3R14L98765\n",
    "/sys/class/dmi/id/product_uuid": "4c4c4544-0042-3510-8052-b9c04f4e3132\n",
    "/sys/class/net/eth0/address": "0a:1b:2c:3d:4e:5f\n",
    f"/home/{USER}/.config/pip/pip.conf": f"[global]\nindex-url = https://{USER}:hunter2@{COMPUTER}.corp/simple\n",
    f"/home/{USER}/work/.venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.12.3\n",
    f"/home/{USER}/work/.venv/lib/python3.12/site-packages/torch-2.6.0+cu124.dist-info/METADATA":
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+cu124\n",
    f"/home/{USER}/work/.venv/bin/python": "",
    "/usr/bin/python3.12": "",
}
SMI = (
    "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-9f1b2c3d-1111-2222-3333-444455556666)\n"
    "    Serial Number : S3R14L98765\n    GPU UUID : GPU-9f1b2c3d-1111-2222-3333-444455556666\n"
)


@pytest.fixture
def recorded(tmp_path: Path) -> MachineProfile:
    """A machine whose personal details are known, as a recording that was written without neutral words."""
    folder = tmp_path / "recording"
    (folder / "cmd").mkdir(parents=True)
    (folder / "cmd" / "smi.txt").write_text(SMI, encoding="utf-8")
    (folder / "cmd" / "uname.txt").write_text(f"Linux {COMPUTER} 6.8.0 x86_64\n", encoding="utf-8")
    body = {
        "schema": 1, "os": "linux", "fs": "fs.json",
        "commands": [{"argv": ["nvidia-smi", "-L"], "line": "nvidia-smi -L", "rc": 0, "file": "cmd/smi.txt"},
                     {"argv": ["nvidia-smi", "-q"], "line": "nvidia-smi -q", "rc": 0, "file": "cmd/smi.txt"},
                     {"argv": ["uname", "-a"], "line": "uname -a", "rc": 0, "file": "cmd/uname.txt"}],
        "env": {"USER": USER, "HOME": f"/home/{USER}", "HOSTNAME": COMPUTER, "VIRTUAL_ENV": f"/home/{USER}/work/.venv"},
        "which": {}, "access": {}, "disk": {}, "calls": {},
    }  # fmt: skip
    (folder / "recording.json").write_text(json.dumps(body), encoding="utf-8")
    (folder / "fs.json").write_text(json.dumps({"files": FILES, "links": {}, "dirs": []}), encoding="utf-8")
    return session.open_machine(str(folder))


def bytes_of(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def test_nothing_planted_leaves_the_machine(
    catalog: Catalog, recorded: MachineProfile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: USER)
    monkeypatch.setattr(platform, "node", lambda: f"{COMPUTER}.corp")
    # What probes and tools may say, gathered in the places where free words can stand.
    words = (
        f"/home/{USER}/x {SMI} mac 0a:1b:2c:3d:4e:5f /opt/{USER}/env https://{USER}:hunter2@{COMPUTER}.corp/simple "
        f"\\\\{COMPUTER}\\share {USER}@{COMPUTER} serial: S3R14L98765 machine-id=b1946ac92492d2347c6235b4d2611184"
    )
    finding = Finding(code="driver.missing", severity="error", subject=words, because=plain(words), evidence=(Evidence(fact=words, source=words),),
                      remedies=(Remedy(code="reboot", text=plain(words), commands=(f"ls /home/{USER}",)),))  # fmt: skip
    machine = msgspec.structs.replace(
        recorded, findings=(*recorded.findings, finding), network=Network(index_url=f"https://{USER}:hunter2@{COMPUTER}.corp/simple"),
        pythons=(*(recorded.pythons or ()), Python(path=f"/srv/{USER}/env/bin/python", version="3.12.1", kind="venv")),
    )  # fmt: skip
    smoke = SmokeResult(check="x", outcome="failed", because=plain(words), log_tail=(words,))
    resolved = ResolveResult(outcome="refused", client="uv", because=plain(words))
    answers = Answers(scenario="rapid-prototyping")
    found = session.recommend(catalog, machine, answers, what_if=True)
    findings = (*session.doctor(catalog, machine), finding)
    value = session.report(machine, answers, found, findings, resolved=resolved, smoke_results=(smoke,), knowledge=catalog)
    for suffix in ("html", "md", "json"):
        text = report.render(value, suffix, "en").decode()
        assert "driver.missing" in text
        for word in PLANTED:
            assert word not in text, suffix
    assert report.render(value, "pdf", "en").startswith(b"%PDF")
    session.write_starter(found, answers, machine, tmp_path / "starter", "en")
    written = bytes_of(tmp_path / "starter")
    for word in PLANTED:
        assert word.encode() not in written


def test_words_of_the_language_stay() -> None:
    """A user called `torch` or a computer called `server` takes no word away; a path or an address with the name does."""
    value = Finding(code="c", severity="info", subject="amber", because=plain("amber light at /data/amber/x on amber@host"))
    found = privacy.shown(value, ("amber",))
    assert found.subject == "amber"
    assert found.because.en == "amber light at /data/–/x on –@host"


def test_common_names_are_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "root")
    monkeypatch.setattr(platform, "node", lambda: "localhost")
    assert privacy.own_words() == ()
