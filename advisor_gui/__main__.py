"""The two doors of the program: the command line, and the window where there is a display and nothing was asked."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Windows consoles may be cp1252, and a Chinese sentence must not end the program.
        if hasattr(stream, "reconfigure") and (stream.encoding or "").lower().replace("-", "") != "utf8":
            stream.reconfigure(encoding="utf-8", errors="replace")
    from advisor_gui import cli

    return cli.main(sys.argv[1:] if argv is None else argv, window=_open_window, self_test=_self_test)


def _open_window(file: str | None) -> int:
    from advisor_gui.ui import app

    return app.main(file)


def _self_test() -> int:
    from advisor_gui import selftest

    return selftest.main()


def window() -> int:
    """Start the window (double click)."""
    return main(["window", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
