"""Why not: the reasons behind a verdict as remedies and sentences."""

from __future__ import annotations

from knowledge.remedies import remedy

__all__ = ["remedy"]
