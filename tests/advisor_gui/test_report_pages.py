"""Reports as people open them: a browser that loads nothing, a PDF whose words are found, machines side by side."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest

from advisor_gui import report, schemas, session
from advisor_gui.report.value import Report
from knowledge.answers import Answers
from knowledge.catalog import Catalog
from knowledge.facts import Accelerator, Cpu, Disk, MachineProfile, Memory, Package, Python, System
from probes.progress import Progress

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-domain-reliability", "--hide-scrollbars",
)  # fmt: skip
LOADS = (
    '<img src="http://counted.test/a.png"><script src="http://counted.test/b.js"></script>'
    '<link rel=stylesheet href="http://counted.test/c.css"><style>@import "http://counted.test/d.css";</style>'
    '<svg><image href="http://counted.test/e.svg"/></svg><iframe src="http://counted.test/f"></iframe>'
)
LONG = "/data/" + "a-very-long-folder-name/" * 14 + "bin/python"
GPU = Accelerator(vendor="nvidia", name="NVIDIA GeForce RTX 4090", memory_bytes=24 << 30, memory_kind="dedicated", target="8.9",
                  driver_version="570.10", driver_api_max="12.8", state="usable")  # fmt: skip


def machine(words: str = "Ryzen", gpu: Accelerator = GPU) -> MachineProfile:
    flags = ("sse4_1", "sse4_2", "ssse3", "popcnt", "avx", "avx2", "fma", "f16c")
    packages = tuple(Package(name=f"package-{n}", version="1.0") for n in range(400))
    return MachineProfile(
        system=System(os="linux", distribution="ubuntu", release="24.04", arch="x86_64", libc="glibc", libc_version="2.39"),
        cpu=Cpu(vendor="amd", model=words, physical_cores=8, logical_cpus=16, usable_cpus=16.0, flags=flags),
        memory=Memory(total_bytes=64 << 30, available_bytes=48 << 30), disk=Disk(free_bytes=10**12), accelerators=(gpu,),
        pythons=(Python(path=LONG, version="3.12.3", kind="venv", arch="x86_64", bits=64, packages=packages),), recorded=True,
    )  # fmt: skip


def advised(catalog: Catalog, words: str = "Ryzen", title: str | None = None) -> Report:
    answers = session.answers_from(scenario="llm-finetuning", settings=("model.params=7B",))
    found = session.recommend(catalog, machine(words), answers, what_if=True)
    return session.report(machine(words), answers, found, title=title, knowledge=catalog)


@pytest.fixture
def counted() -> Iterator[tuple[int, list[str]]]:
    """A proxy that lets nothing through and keeps what was asked for."""
    asked: list[str] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(403)

        do_CONNECT = do_HEAD = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, asked
    server.shutdown()
    thread.join()
    server.server_close()


def browse(page: Path, folder: Path, *options: str) -> str:
    """The page's elements as the browser built them."""
    assert CHROMIUM is not None
    argv = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'chromium'}", *options, "--dump-dom", page.as_uri()]
    return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.ci
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_browser_asks_for_nothing(catalog: Catalog, tmp_path: Path, counted: tuple[int, list[str]]) -> None:
    port, asked = counted
    proxy = (f"--proxy-server=127.0.0.1:{port}", "--proxy-bypass-list=<-loopback>")

    def ours() -> list[str]:
        return [a for a in asked if "counted.test" in a]

    control = tmp_path / "control.html"
    control.write_text(f"<!DOCTYPE html><title>x</title>{LOADS}", encoding="utf-8")
    browse(control, tmp_path, *proxy)
    assert ours(), "the proxy sees what a page loads"
    asked.clear()
    page = tmp_path / "report.html"
    page.write_bytes(report.render(advised(catalog, LOADS, LOADS), "html", "zh"))
    built = browse(page, tmp_path, *proxy)
    assert not ours()
    assert "counted.test" in built
    assert not re.search(r"<(script|img|iframe|link|image|object|embed)\b", built)


@pytest.mark.ci
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [500, 900])
def test_nothing_is_wider_than_the_page(catalog: Catalog, tmp_path: Path, width: int) -> None:
    text = report.render(advised(catalog, "x" * 300, "W" * 120), "html", "en").decode()
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    measure = "<script>document.title = document.documentElement.scrollWidth + ' of ' + document.documentElement.clientWidth</script></body>"
    page = tmp_path / "report.html"
    page.write_text(text.replace("</body>", measure), encoding="utf-8")
    found = re.search(r"<title>(\d+) of (\d+)</title>", browse(page, tmp_path, f"--window-size={width},1000"))
    assert found is not None
    assert int(found[1]) <= int(found[2])


def test_links_and_places_of_the_page(catalog: Catalog) -> None:
    text = report.render(advised(catalog), "html", "en").decode()
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    links = re.findall(r'href="([^"]+)"', text)
    assert {link[1:] for link in links if link.startswith("#")} == set(ids)
    assert all(link.startswith(("#", "https://")) for link in links)
    assert "Hugging Face TRL" in text
    assert "NVIDIA GPU (CUDA)" in text


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not here")
@pytest.mark.parametrize(("language", "phrases"), [
    ("en", ("The recommended stack", "Hugging Face TRL", "Alternatives side by side", "What would change this", "Fine-tune a language model")),
    ("zh", ("推荐的技术栈", "备选方案对比", "微调大语言模型", "NVIDIA GeForce RTX 4090", "什么会改变结论")),
])  # fmt: skip
def test_the_words_of_a_pdf_are_found(catalog: Catalog, tmp_path: Path, language: str, phrases: tuple[str, ...]) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(report.render(advised(catalog), "pdf", language))
    text = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, text=True, check=True).stdout
    for phrase in phrases:
        assert phrase in text
    flat = re.sub(r"\s", "", text)
    pages = text.count("\f")
    assert all(f"{page}/{pages}" in flat for page in range(1, pages + 1))
    assert "python -m pip install" in text
    assert "\u200b" not in "".join(line for line in text.splitlines() if "pip install" in line)


def test_json_of_a_real_assessment_opens_again(catalog: Catalog) -> None:
    value = advised(catalog)
    raw = report.render(value, "json", "en")
    jsonschema.validate(json.loads(raw), schemas.schema("report"))
    again = msgspec.json.decode(raw, type=Report)
    assert again == value
    for suffix in ("html", "md", "pdf"):
        assert report.render(again, suffix, "zh") == report.render(value, suffix, "zh")


def fleet_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    folder.mkdir()
    old = msgspec.structs.replace(GPU, name="NVIDIA GeForce GTX 1080 Ti", target="6.1", memory_bytes=11 << 30, driver_version="535.10")
    for name, one in (("node-a", machine()), ("node-b", machine(gpu=old))):
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(one))
    (folder / "node-c.json").write_text('{"system": ', encoding="utf-8")
    return folder


@pytest.mark.parametrize("language", ["en", "zh"])
def test_machines_side_by_side(catalog: Catalog, tmp_path: Path, language: str) -> None:
    from advisor_gui import fleet

    answers = session.answers_from(scenario="llm-finetuning", settings=("model.params=7B",))
    found = fleet.examine(catalog, fleet.files([str(fleet_folder(tmp_path))]), answers, Progress())
    advice = session.recommend(catalog, machine(), answers)
    value = session.report(machine(), answers, advice, knowledge=catalog, machines=found)
    text = report.render(value, "html", language).decode()
    for word in ("node-a", "node-b", "node-c", "GTX 1080 Ti", "TRL"):
        assert word in text
    assert ("Machines side by side" if language == "en" else "各台电脑对比") in text
    assert report.render(value, "pdf", language).startswith(b"%PDF")
    jsonschema.validate(json.loads(report.render(value, "json", language)), schemas.schema("report"))


def test_the_command_compares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from advisor_gui import cli

    def run(*argv: str) -> int:
        return cli.main(list(argv), window=lambda _: 0, self_test=lambda: 0)

    folder, out = str(fleet_folder(tmp_path)), str(tmp_path / "fleet.md")
    assert run("report", "--lang", "en", "--scenario", "llm-finetuning", "--out", out, "--compare", folder) == 0
    assert "node-b" in Path(out).read_text(encoding="utf-8")
    assert run("report", "--out", out, "--compare", folder, "--verify") == 2
    assert run("report", "--out", out, "--compare", str(tmp_path / "fleet" / "node-c.json")) == 2
    one = str(tmp_path / "fleet" / "node-a.json")
    assert run("report", "--lang", "en", "--machine", one, "--scenario", "llm-serving", "--against", "Ollama", "--out", out) == 0
    assert "Ollama" in Path(out).read_text(encoding="utf-8")
    assert run("report", "--machine", one, "--against", "no-such", "--out", out) == 2
    capsys.readouterr()


def test_frameworks_asked_for_stand_beside_the_stack(catalog: Catalog) -> None:
    answers = session.answers_from(scenario="llm-serving", settings=("model.params=7B",))
    advice = session.recommend(catalog, machine(), answers)
    against = session.plain_assessments((session.assess(catalog, machine(), "ollama", answers),))
    value = session.report(machine(), answers, advice, knowledge=catalog, compared=against)
    text = report.render(value, "md", "en").decode()
    heads = next(line for line in text.splitlines() if line.startswith("|  |"))
    assert "Ollama" in heads
    assert Answers().scenario != answers.scenario
