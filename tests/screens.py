"""Renders every page in light and dark, both languages and three sizes, for people to look at.

`python -m tests.screens OUT [PAGE …]` writes PNG files below OUT (a folder that git ignores by default: artifacts/screens).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"small": (960, 640), "normal": (1280, 800)}


def main() -> int:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "artifacts" / "screens"
    only = sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with tempfile.TemporaryDirectory() as home:
        os.environ["STACKFIT_HOME"] = home
        return shoot(out, only)


def shoot(out: Path, only: list[str]) -> int:
    from advisor_gui import flow, session
    from advisor_gui.ui import app as program

    app = program.application(["stackfit"])
    made = program.build(app, session.folders())
    window = made.window
    window.show()
    made.begin(os.environ.get("STACKFIT_SCREENS_MACHINE"))
    wait(app, lambda: made.desk.recommendation is not None and not made.jobs.running("scan"), 60)
    for setting in filter(None, os.environ.get("STACKFIT_SCREENS_SET", "").split(";")):
        key, _, value = setting.partition("=")
        made.desk.answer(key, value)
    for page in flow.PAGES:
        if only and page not in only:
            continue
        for theme in ("light", "dark"):
            for language in ("en", "zh"):
                for size, (wide, high) in SIZES.items():
                    if theme == "dark" and size == "small":
                        continue
                    made.settings.change(theme=theme, language=language)
                    made.restyle()
                    made.words.choose(language)
                    window.resize(wide, high)
                    window.show_page(page)
                    wait(app, lambda: not (made.jobs.running("judge") or made.jobs.running("preview") or made.jobs.running("what-if")), 20)
                    wait(app, lambda: False, 0.7 if page in ("report", "machine") else 0.15)
                    window.grab().save(str(out / f"{page}-{theme}-{language}-{size}.png"))
    made.desk.unsaved = False
    window.close()
    return 0


def wait(app: object, done: object, limit_s: float) -> None:
    """Let the window work until DONE() or the limit."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end and not done():  # type: ignore[operator]
        app.processEvents()  # type: ignore[attr-defined]
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
