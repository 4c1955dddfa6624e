"""Writes docs/probes.md: which fact is read where, on which system, and the recordings that it was read from.

    python -m tests.probes_table            write the page
    python -m tests.probes_table --check    exit 1 where the page is out of date
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from probes.machine import probe

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "probes.md"
START, END = "<!-- generated: python -m tests.probes_table -->", "<!-- end of the generated table -->"


def general(source: str) -> str:
    """SOURCE without what belongs to one machine: numbers of CPUs and cards, bus addresses, long argument lists."""
    text = re.sub(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[\d*]", "*", source)
    text = re.sub(r"/(cpu|card|node|nodes/|accel|policy)\d+", r"/\1*", text)
    text = re.sub(r"^/sys/fs/cgroup/.*/([^/]+)$", r"/sys/fs/cgroup/…/\1", text)
    text = re.sub(r"^/dev/cpuset/.*/([^/]+)$", r"/dev/cpuset/…/\1", text)
    text = re.sub(r"[0-9a-f]+\.npu", "*.npu", text)
    text = re.sub(r"--query-gpu=\S+", "--query-gpu=…", text)
    text = re.sub(r"(rocm-smi) -.*", r"\1 …", text)
    text = re.sub(r"\{4d36e968[^}]*\}", "{display}", text)
    return text if len(text) < 70 else text[:67] + "…"


def rows(folder: Path) -> list[tuple[str, str, str, int, str]]:
    """(fact, system, source, number of recordings, one of them) over all handed recordings."""
    place = ROOT / "tests" / "probes" / "hardware" / "test_recordings_read.py"
    spec = importlib.util.spec_from_file_location("recordings_read", place)
    assert spec is not None and spec.loader is not None
    recordings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recordings)
    seen: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for number, entry in enumerate(recordings._entries()):
        found = probe(recordings._lay_out(entry, folder / str(number)), environments=False)
        facts = {(re.sub(r"accelerators\.\d+\.", "accelerators[].", fact), general(source)) for fact, source in found.sources.items()}
        for fact, source in facts:
            if fact != "system.os":
                seen[fact, found.system.os or "?", source].append(entry["id"])
    return [(fact, system, source, len(ids), ids[0]) for (fact, system, source), ids in sorted(seen.items())]


def table(folder: Path) -> str:
    lines = [START, "", "| fact | system | source | recordings | for example |", "|---|---|---|---|---|"]
    for fact, system, source, number, example in rows(folder):
        cells = (fact, system, f"`{source}`".replace("|", "\\|"), str(number), example)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", END])


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        made = table(Path(scratch))
    new = re.sub(re.escape(START) + r".*" + re.escape(END), lambda _: made, text, flags=re.DOTALL)
    if "--check" in sys.argv:
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
