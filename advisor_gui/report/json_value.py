"""The report as JSON: the value itself with both languages, so that it opens again."""

from __future__ import annotations

import msgspec

from advisor_gui.report.value import Report

NAME, SUFFIX = "JSON", "json"


def render(value: Report, _language: str) -> bytes:
    from advisor_gui.report.privacy import shown

    return msgspec.json.format(msgspec.json.encode(shown(value)), indent=1) + b"\n"
