"""The order of the pages and what each needs before it can say something; no toolkit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

STEPS = ("machine", "project", "recommendation", "proof", "report")
TOOLS = ("frameworks", "fleet", "settings")
PAGES = STEPS + TOOLS
FileKind = Literal["document", "machine", "model"]
Page = Literal["machine", "project", "recommendation", "proof", "report", "frameworks", "fleet", "settings"]


def following(page: str) -> str | None:
    """The step after PAGE, or None where it is the last or no step."""
    if page not in STEPS or page == STEPS[-1]:
        return None
    return STEPS[STEPS.index(page) + 1]


def preceding(page: str) -> str | None:
    if page not in STEPS or page == STEPS[0]:
        return None
    return STEPS[STEPS.index(page) - 1]


def ready(page: str, *, has_machine: bool, has_recommendation: bool, has_proof: bool) -> bool:
    """Whether PAGE already holds a result (the rail marks it)."""
    return {
        "machine": has_machine, "project": has_recommendation, "recommendation": has_recommendation, "proof": has_proof,
    }.get(page, False)  # fmt: skip


def kind_of_file(path: str) -> FileKind | None:
    """What a file or folder given to the window is, by its ending and, for JSON, by its first words; None: nothing we open."""
    place = Path(path)
    ending = place.suffix.lower()
    if place.is_dir():
        if (place / "recording.json").is_file():
            return "machine"
        return "model" if (place / "config.json").is_file() else None
    if ending == ".stackfit":
        return "document"
    if ending in (".gguf", ".safetensors", ".onnx"):
        return "model"
    if ending == ".json":
        try:
            with place.open("rb") as stream:
                head = stream.read(65536)
        except OSError:
            return "machine"  # opening it says what is wrong
        if any(word in head for word in (b'"model_type"', b'"architectures"', b'"hidden_size"', b'"num_hidden_layers"')):
            return "model"
        return "document" if b'"recommendation"' in head else "machine"
    return "machine" if ending in (".yaml", ".yml", ".zip") else None
