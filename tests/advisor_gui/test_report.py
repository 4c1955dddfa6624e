"""The report: every format from one value, hostile words stay words, nothing private, and JSON opens again."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import jsonschema
import msgspec
import pytest

from advisor_gui import report, schemas, session
from advisor_gui.report import markdown_text, privacy
from advisor_gui.report.value import Report
from knowledge.answers import Answers
from knowledge.facts import Accelerator, Cpu, Evidence, Finding, MachineProfile, Package, Python, Remedy, System
from knowledge.plan import Measure, Series, SmokeResult
from knowledge.text import Text, plain
from knowledge.verdicts import Assessment, MemoryComponents, MemoryEstimate, Recommendation, RuledOut, Stack, Verdict

HOSTILE = '<script>alert(1)</script><img src=x onerror=alert(2)>"\'&{{7*7}}{% raw %} #set page() $x$ \u202eevil\u202c 😀'


def value(words: str = "RTX") -> Report:
    verdict = Verdict(code="driver.too_old", outcome="unmet", subject=words, because=plain(words),
                      evidence=(Evidence(fact=words, source="/home/alice/x"),),
                      remedies=(Remedy(code="update_driver", text=plain(words), commands=(f"echo {words}",)),))  # fmt: skip
    memory = MemoryEstimate(method="lora", components=MemoryComponents(weights_bytes=14 << 30, activations_bytes=2 << 30),
                            total_bytes=16 << 30, low_bytes=15 << 30, high_bytes=20 << 30, available_bytes=24 << 30, verdict="fits")  # fmt: skip
    chosen = Assessment(framework="pytorch", fit="ready", why=(Text("It runs.", "能运行。"),), stack=Stack(python="3.12"),
                        verdicts=(verdict,), memory=memory, ruled_out=(RuledOut(build=words, verdicts=(verdict,)),))  # fmt: skip
    packages = tuple(Package(name=f"package-{n}", version="1.0") for n in range(400))
    machine = MachineProfile(
        system=System(os="linux", distribution="debian", release="12"), cpu=Cpu(model=words),
        accelerators=(Accelerator(vendor="nvidia", name=words, uuid="GPU-12345678-1234-1234-1234-123456789abc"),),
        pythons=(Python(path="/home/alice/" + "x" * 300 + "/bin/python", version="3.12.1", packages=packages),),
    )  # fmt: skip
    points = tuple((float(n), float(n % 7 + 1)) for n in range(80))
    series = Series(id="l", label=plain(words), x_label=Text("call", "调用"), y_label=Text("time", "时间"), x_unit="", y_unit="ms",
                    points=points, kind="histogram")  # fmt: skip
    smoke = SmokeResult(check="torch-quickstart", outcome="passed", because=plain(words), series=(series,),
                        measures=(Measure(id="a", value=0.98, unit="ratio", label=Text("accuracy", "准确率")),))  # fmt: skip
    finding = Finding(code="driver.too_old", severity="warning", subject=words, because=plain(words), remedies=verdict.remedies)
    found = Recommendation(scenario="rapid-prototyping", chosen=chosen, unsuitable=(chosen,), knowledge_checked="2026-11-30",
                           knowledge_age_days=120)  # fmt: skip
    return session.report(machine, Answers(), found, (finding,), smoke_results=(smoke,), title=words)


class Page(HTMLParser):
    """Collects tags and attributes; a document that does not nest is refused."""

    VOID = frozenset({"meta", "br", "col", "img", "input", "hr", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_html_holds_hostile_words_as_text(language: str) -> None:
    text = report.render(value(HOSTILE), "html", language).decode()
    page = Page()
    page.feed(text)
    assert page.open == []
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "iframe", "object", "link", "form"}
    for _, attributes in page.tags:
        assert not [a for a in attributes if a.startswith("on")]
        for where in ("src", "href", "xlink:href"):
            assert (attributes.get(where) or "#").startswith("#")
    assert "url(" not in text
    assert "{{7*7}}" in text


def test_markdown_starts_no_markup_from_data() -> None:
    text = report.render(value(HOSTILE), "md", "en").decode()
    outside = re.sub(r"(`{3,})\n.*?\n\1", "", text, flags=re.S)
    assert not re.search(r"(?<!\\)<(?!br>)", outside)
    assert not re.search(r"(?<!\\)!\[", outside)


def test_a_fence_is_longer_than_what_it_holds() -> None:
    fenced = markdown_text.fenced(("```", "rm", "`````"))
    assert fenced[0] == "``````"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("words", ["RTX 5090", HOSTILE])
def test_pdf_is_made(language: str, words: str) -> None:
    assert report.render(value(words), "pdf", language).startswith(b"%PDF")


def test_json_round_trips_and_fits_its_schema() -> None:
    raw = report.render(value(HOSTILE), "json", "en")
    jsonschema.validate(json.loads(raw), schemas.schema("report"))
    again = msgspec.json.decode(raw, type=Report)
    assert report.render(again, "json", "zh") == raw


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_nothing_private(suffix: str) -> None:
    text = report.render(value(), suffix, "en").decode()
    assert "alice" not in text
    assert "GPU-1234" not in text


@pytest.mark.parametrize(("text", "clean"), [
    ("/home/alice/p", "~/p"), ("/Users/bob/p", "~/p"), (r"C:\Users\Carol\p", r"~\p"), ("/root/.cache", "~/.cache"),
    ("https://me:secret@example.org/simple", "https://example.org/simple"), ("https://build7/simple", "https://private-host/simple"),
    ("http://10.1.2.3:8080/x", "http://private-host:8080/x"), ("https://pypi.corp/simple", "https://private-host/simple"),
    ("http://localhost:8000/", "http://localhost:8000/"), ("mac 00:1a:2b:3c:4d:5e up", "mac – up"),
    ("GPU-12345678-1234-1234-1234-123456789abc", "–"), ("Serial: C02XY12345", "Serial: –"), ("/homes/x", "/homes/x"), ("/rooted", "/rooted"),
])  # fmt: skip
def test_cleaning(text: str, clean: str) -> None:
    assert privacy.clean(text) == clean


def test_every_text_is_said_in_the_language() -> None:
    english = report.render(value(), "html", "en").decode()
    assert not re.search(r"[\u4e00-\u9fff]", english.replace("能运行。", ""))
    assert "推荐的技术栈" in report.render(value(), "html", "zh").decode()
