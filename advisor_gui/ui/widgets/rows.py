"""Rows of a list with two lines: a name, and below it a mark with its words."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from advisor_gui.ui.context import Context
from advisor_gui.ui.theme import SIZE_PT, SPACE

SECOND = int(Qt.ItemDataRole.UserRole) + 1  # the words of the second line
TONE = int(Qt.ItemDataRole.UserRole) + 2  # the token that colours its mark; the words say the same


class TwoLines(QStyledItemDelegate):
    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self.context = context

    def _fonts(self, option: QStyleOptionViewItem) -> tuple[QFont, QFont]:
        small = QFont(option.font)
        small.setPointSizeF(SIZE_PT["small"])
        return option.font, small

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        name, small = self._fonts(option)
        return QSize(120, round(QFontMetricsF(name).height() + QFontMetricsF(small).height()) + 2 * SPACE[1])

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        t = self.context.look.tokens
        name, small = self._fonts(option)
        box = QRectF(option.rect).adjusted(2, 1, -2, -1)
        state = option.state
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        if chosen or state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(t.accent_soft if chosen else t.raised))
            painter.drawRoundedRect(box, 6, 6)
        inner = box.adjusted(SPACE[1], SPACE[0], -SPACE[1], -SPACE[0])
        high = QFontMetricsF(name).height()
        painter.setPen(QColor(t.text))
        painter.setFont(name)
        said = QFontMetricsF(name).elidedText(str(index.data()), Qt.TextElideMode.ElideRight, inner.width())
        painter.drawText(QRectF(inner.x(), inner.y(), inner.width(), high), Qt.AlignmentFlag.AlignVCenter, said)
        below = QRectF(inner.x(), inner.y() + high, inner.width(), inner.height() - high)
        tone = index.data(TONE)
        if tone:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(t, tone)))
            painter.drawEllipse(QRectF(below.x(), below.center().y() - 3.5, 7, 7))
        painter.setPen(QColor(t.muted))
        painter.setFont(small)
        painter.drawText(below.adjusted(13, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, str(index.data(SECOND) or ""))
        painter.restore()
