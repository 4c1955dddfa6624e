"""A live value: a number, a bar and the last minute as a line."""

from __future__ import annotations

from collections import deque

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleValueChangeEvent, QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from advisor_gui.ui.context import Context

KEEP = 60  # samples, one a second


class Sparkline(QWidget):
    """Shares between 0 and 1 over the last minute; drawn only when a value arrives."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.values: deque[float] = deque(maxlen=KEEP)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(36)
        context.look.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(160, 36)

    def add(self, share: float | None, said: str) -> None:
        """One more value; None leaves a flat gap at zero out of the line."""
        if share is not None:
            self.values.append(min(1.0, max(0.0, share)))
        self.setAccessibleDescription(said)
        QAccessible.updateAccessibility(QAccessibleValueChangeEvent(self, said))
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = self.context.look.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(t.raised))
        painter.drawRoundedRect(box, 4, 4)
        if len(self.values) >= 2:
            step = box.width() / (KEEP - 1)
            left = box.right() - step * (len(self.values) - 1)
            points = [
                QPointF(left + step * i, box.bottom() - 2 - (box.height() - 4) * v) for i, v in enumerate(self.values)
            ]
            soft = QColor(t.accent)
            soft.setAlpha(48)
            painter.setBrush(soft)
            painter.drawPolygon(
                QPolygonF([QPointF(points[0].x(), box.bottom()), *points, QPointF(points[-1].x(), box.bottom())])
            )
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(t.accent), 1.5))
            painter.drawPolyline(points)
        painter.end()


class Bar(QWidget):
    """A share as a thin bar with its words for screen readers."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.share: float | None = None
        self.setFixedHeight(6)
        context.look.changed.connect(self.update)

    def set(self, share: float | None, said: str) -> None:
        self.share = None if share is None else min(1.0, max(0.0, share))
        self.setAccessibleName(said)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        t = self.context.look.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(t.line))
        painter.drawRoundedRect(QRectF(self.rect()), 3, 3)
        if self.share:
            tone = t.bad if self.share > 0.95 else t.warn if self.share > 0.85 else t.accent
            painter.setBrush(QColor(tone))
            painter.drawRoundedRect(QRectF(0, 0, max(6.0, self.width() * self.share), self.height()), 3, 3)
        painter.end()
