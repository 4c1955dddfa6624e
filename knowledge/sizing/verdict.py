"""Does it fit: the estimate against the budget, and what the user can do where it does not."""

from __future__ import annotations

from knowledge.facts import Evidence, Finding, Remedy
from knowledge.sizing.budget import Budget
from knowledge.sizing.parts import Parts
from knowledge.text import Text
from knowledge.verdicts import MemoryVerdict


def verdict(parts: Parts, budget: Budget) -> MemoryVerdict:
    """exceeds: expected more than there is. tight: the upper end is more, or expected more than is free now or than a
    server takes by itself. Else fits."""
    available = budget.available_bytes
    if available is None:
        return "unknown"
    if parts.total > available:
        return "exceeds"
    if parts.high > available or parts.total > available * budget.usual_share or (budget.now_bytes is not None and parts.total > budget.now_bytes):
        return "tight"
    return "fits"


def gib(size: float) -> str:
    return f"{size / 2**30:.1f}"


def finding(
    outcome: MemoryVerdict, parts: Parts, budget: Budget, subject: str, remedies: tuple[Remedy, ...]
) -> Finding | None:
    """memory.exceeds or memory.tight, or None."""
    available = budget.available_bytes
    if available is None or outcome not in ("exceeds", "tight"):
        return None
    evidence = (
        Evidence(fact=f"{round(available)} bytes available per device", source="machine"),
        Evidence(
            fact=f"{round(parts.total)} bytes expected, {round(parts.low)} to {round(parts.high)}", source="sizing"
        ),
    )
    need, low, high, have = gib(parts.total), gib(parts.low), gib(parts.high), gib(available)
    if outcome == "exceeds":
        text = Text(
            f"About {need} GiB per device are needed ({low} to {high}); {have} GiB are there.",
            f"每个设备约需 {need} GiB（{low} 至 {high}），而可用的只有 {have} GiB。",
        )
        return Finding(code="memory.exceeds", severity="error", subject=subject, because=text, evidence=evidence,
                       remedies=remedies)  # fmt: skip
    now = budget.now_bytes
    if now is not None and parts.total > now and parts.high <= available:
        text = Text(
            f"About {need} GiB are needed and {have} GiB can be had, but only {gib(now)} GiB are free now: close other "
            "programs first.",
            f"约需 {need} GiB，最多可用 {have} GiB，但目前只空闲 {gib(now)} GiB：请先关闭其他程序。",
        )
    else:
        text = Text(
            f"About {need} GiB of {have} GiB per device are needed, and up to {high} GiB in a bad case.",
            f"每个设备约需 {need} GiB，共有 {have} GiB，最坏情况下可能需要 {high} GiB。",
        )
    return Finding(code="memory.tight", severity="warning", subject=subject, because=text, evidence=evidence,
                   remedies=remedies)  # fmt: skip
