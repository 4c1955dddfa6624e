"""The icons of the program: one set, drawn as strokes on a 24 × 24 grid and coloured by the theme."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

# Path data only: stroke 1.75, round caps, no fill.
STROKES = {
    "machine": "M4 5h16v10H4z M9 19h6 M12 15v4",
    "project": "M6 3h9l4 4v14H6z M14 3v5h5 M9 12h7 M9 16h7",
    "recommendation": "M12 3l8 4.5v9L12 21l-8-4.5v-9z M4 7.5l8 4.5 8-4.5 M12 12v9",
    "proof": "M12 3a9 9 0 1 0 0.01 0z M8 12.5l3 3 5-6",
    "report": "M5 4h14v16H5z M8 15v2 M12 11v6 M16 8v9",
    "frameworks": "M4 5h7v6H4z M13 5h7v6h-7z M4 13h7v6H4z M13 13h7v6h-7z",
    "fleet": "M3 4h18v5H3z M3 10h18v5H3z M3 16h18v5H3z M6 6.5h1 M6 12.5h1 M6 18.5h1",
    "settings": "M4 7h10 M18 7h2 M14 5v4 M4 12h3 M11 12h9 M9 10v4 M4 17h8 M16 17h4 M14 15v4",
    "copy": "M8 8h11v12H8z M5 16V4h10",
    "check": "M5 12.5l4.5 4.5L19 7.5",
    "warning": "M12 4l9 16H3z M12 10v4 M12 17v0.5",
    "error": "M12 3a9 9 0 1 0 0.01 0z M9 9l6 6 M15 9l-6 6",
    "info": "M12 3a9 9 0 1 0 0.01 0z M12 11v6 M12 7.5v0.5",
    "cpu": "M6 6h12v12H6z M10 10h4v4h-4z M9 3v3 M15 3v3 M9 18v3 M15 18v3 M3 9h3 M3 15h3 M18 9h3 M18 15h3",
    "memory": "M3 7h18v9H3z M7 16v3 M12 16v3 M17 16v3 M7 10v3 M12 10v3 M17 10v3",
    "gpu": "M3 6h18v10H3z M3 6v14 M12 8a3 3 0 1 0 0.01 0z M17 9v4 M7 16v3 M11 16v3",
    "disk": "M4 5h16v14H4z M4 14h16 M16 16.5h1",
    "python": "M12 3c-4 0-4 2-4 4v2h5 M8 9H6c-2 0-3 1.500-3 4s1 4 3 4h2v-2.500c0-1.500 1-2.500 2.500-2.500h4"
    " M12 21c4 0 4-2 4-4v-2h-5 M16 15h2c2 0 3-1.500 3-4s-1-4-3-4h-2v2.500c0 1.500-1 2.500-2.500 2.500",
    "play": "M8 5l11 7-11 7z",
    "stop": "M7 7h10v10H7z",
    "save": "M5 4h11l3 3v13H5z M8 4v5h7V4 M8 20v-7h8v7",
    "open": "M3 6h6l2 3h10v10H3z",
    "refresh": "M19 8a8 8 0 1 0 1 6 M20 3v5h-5",
    "chevron": "M9 6l6 6-6 6",
    "link": "M10 14l8-8 M13 5h6v6 M17 14v5H5V7h5",
}


def svg(name: str, colour: str) -> bytes:
    """The icon NAME in COLOUR. An unknown name raises KeyError."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" '
        f'stroke="{colour}" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="{STROKES[name]}"/></svg>'
    ).encode()


def pixmap(name: str, colour: str, size: int = 20, ratio: float = 2.0) -> QPixmap:
    """The icon at SIZE logical pixels, sharp at RATIO device pixels each."""
    made = QPixmap(round(size * ratio), round(size * ratio))
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    QSvgRenderer(QByteArray(svg(name, colour))).render(painter, QRectF(0, 0, made.width(), made.height()))
    painter.end()
    made.setDevicePixelRatio(ratio)
    return made


def icon(name: str, colour: str, chosen: str | None = None) -> QIcon:
    """The icon for a button; CHOSEN is its colour while the button is checked."""
    made = QIcon(pixmap(name, colour))
    if chosen is not None:
        made.addPixmap(pixmap(name, chosen), QIcon.Mode.Normal, QIcon.State.On)
    return made
