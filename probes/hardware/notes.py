"""What a probe has read: facts with the source of each, and findings on what could not be read; plus the few shapes
of text (numbers, sizes, lists of CPUs, keys and values) that Linux, Windows and vendor tools share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from knowledge.facts import Evidence, Finding, Remedy, Severity
from knowledge.text import Text
from probes.host import COMMANDS_CALL, Host, Reading

LIMIT_CPUS = 65_536
LIMIT_BYTES = 1 << 56  # 64 PiB; a larger number is damage, not memory


class Notes:
    """Facts of one part of the profile ("cpu") in the order of trust: the first reading of a fact stands."""

    def __init__(self, part: str) -> None:
        self.part = part
        self.facts: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.findings: list[Finding] = []

    def say(self, name: str, value: Any, source: str) -> None:
        """Keep VALUE unless it is None or the fact is known."""
        if value is not None and name not in self.facts and believable(value):
            self.facts[name] = value
            self.sources[f"{self.part}.{name}"] = source

    def get(self, name: str) -> Any:
        return self.facts.get(name)

    def drop(self, name: str) -> None:
        self.facts.pop(name, None)
        self.sources.pop(f"{self.part}.{name}", None)

    def find(
        self, code: str, severity: Severity, subject: str, because: Text, *evidence: tuple[str, str],
        remedies: tuple[Remedy, ...] = (),
    ) -> None:  # fmt: skip
        """A finding; each piece of EVIDENCE is (fact, source)."""
        said = tuple(Evidence(fact=fact[:300], source=source[:200]) for fact, source in evidence)
        self.findings.append(
            Finding(code=code, severity=severity, subject=subject, because=because, evidence=said, remedies=remedies)
        )


def believable(value: Any) -> bool:
    """Whether a number is one that a machine can have; a damaged or overflowing one is no fact."""
    return isinstance(value, bool) or not isinstance(value, (int, float)) or 0 <= value <= LIMIT_BYTES


def outputs(host: Host, program: str, *questions: tuple[str, ...]) -> list[Reading]:
    """Answers of PROGRAM to QUESTIONS (arguments). A recording gives all that it holds of the program, however asked.

    Failed commands are included: an error message is an answer too.
    """
    found: dict[str, Reading] = {}
    told = host.call(COMMANDS_CALL, program) if host.recorded else None
    if told is not None and told.ok:
        for line in json.loads(told.text):
            found[line] = host.run(line.split(" "))
    else:
        for arguments in questions:
            reading = host.run([program, *arguments])
            found[reading.source] = reading
    return [reading for reading in found.values() if reading.status in ("ok", "failed")]


def integer(text: str | None, limit: int = LIMIT_BYTES) -> int | None:
    """The number that TEXT is, decimal or 0x…; None for anything else and beyond LIMIT."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*([+-]?\d{1,20}|0[xX][0-9a-fA-F]{1,16})\s*", text)
    if match is None:
        return None
    number = int(match[1], 0 if "x" in match[1].lower() else 10)
    return number if 0 <= number <= limit else None


def size_bytes(text: str | None, *, thousand: bool = False) -> int | None:
    """Bytes of `24576 MiB`, `32 GB`, `16 384 Mo`, `128,5 MB`, `8K`; KB, MB and GB count in 1024 unless THOUSAND."""
    match = re.search(r"(?<![\d.,])(\d[\d.,'\u00a0\u202f ]*?)\s*([KMGTkmgt])(i)?(?:[BbOoБб](?:ytes)?)?(?![A-Za-z])", text or "")
    match = match or re.search(r"(?<![\d.,])(\d[\d.,'\u00a0\u202f ]*)()()\s*(?:[Bb]ytes|B)\b", text or "")
    if match is None:
        return None
    number = plain_number(match[1])
    if number is None:
        return None
    power = " KMGT".index((match[2] or " ").upper())
    result = round(number * (1000 if thousand and not match[3] else 1024) ** power)
    return result if 0 <= result <= LIMIT_BYTES else None


def plain_number(text: str) -> float | None:
    """A number with the separators of any language: 32,436 or 32.436 or 32 436 are thousands, 1.5 or 1,5 a fraction."""
    bare = re.sub(r"[\s'\u00a0\u202f\ufffd]", "", text).strip(".,")
    if re.fullmatch(r"\d{1,3}([.,]\d{3})+", bare):
        bare = re.sub(r"[.,]", "", bare)
    elif re.fullmatch(r"\d+[.,]\d+", bare):
        bare = bare.replace(",", ".")
    return float(bare) if re.fullmatch(r"\d{1,18}(\.\d{1,12})?", bare) else None


def cpu_list(text: str | None) -> frozenset[int] | None:
    """CPUs of `0-3,8,10-11`; an empty text is an empty set; None where it is no such list."""
    if text is None:
        return None
    cpus: set[int] = set()
    bare = text.strip().strip("\x00").strip()
    if not bare:
        return frozenset()
    for part in bare.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= LIMIT_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def cpu_mask(text: str | None) -> frozenset[int] | None:
    """CPUs of a mask such as `00000000,0000000f`; None where it is no mask."""
    words = (text or "").strip().split(",")
    if not words or not all(re.fullmatch(r"[0-9a-fA-F]{1,16}", word) for word in words) or len(words) > 2048:
        return None
    number = int("".join(word.rjust(8, "0") for word in words), 16)
    return frozenset(bit for bit in range(number.bit_length()) if number >> bit & 1)


def pairs(text: str, mark: str = ":") -> Iterator[tuple[str, str]]:
    """Key and value of each line that has MARK, both stripped."""
    for line in text.splitlines():
        key, found, value = line.partition(mark)
        if found:
            yield key.strip(), value.strip()


def blocks(text: str, mark: str = ":") -> list[dict[str, str]]:
    """Groups of keys and values that empty lines divide, as in /proc/cpuinfo; the first value of a key stands."""
    groups: list[dict[str, str]] = []
    for part in re.split(r"\n[ \t\r]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        group: dict[str, str] = {}
        for key, value in pairs(part, mark):
            group.setdefault(key, value)
        if group:
            groups.append(group)
    return groups


def cpuinfo_blocks(text: str) -> list[dict[str, str]]:
    """Blocks of /proc/cpuinfo; kernels that print no empty line begin one with each `processor`."""
    divided = re.sub(r"\n(?=processor[ \t]*:)", "\n\n", text)
    return blocks(divided)


def json_in(text: str) -> Any:
    """The JSON value in TEXT, which may have warnings before it; None where there is none."""
    for match in re.finditer(r"[{\[]", text[:20_000]):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            return value
    return None


def words_of(value: str | None) -> str | None:
    """VALUE with single spaces; None where nothing is left or it only says that it is not known."""
    bare = " ".join((value or "").replace("\x00", " ").split())
    return None if bare.lower() in NOTHING else bare


NOTHING = {
    "", "n/a", "[n/a]", "not available", "unknown", "[not supported]", "not supported", "none", "[unknown error]", "-",
    "requested functionality has been deprecated", "err!", "unknown error", "[gpu requires reset]", "not specified",
    "to be filled by o.e.m.", "default string", "system product name",
}  # fmt: skip
