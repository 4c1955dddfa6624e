"""A chart in the window: the drawn SVG, values on hover, and export as SVG or PNG."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QFileDialog, QMenu, QSizePolicy, QToolTip, QWidget

from advisor_gui import charts, session
from advisor_gui.ui.context import Context
from knowledge.plan import Series


class ChartView(QWidget):
    def __init__(self, context: Context, series: tuple[Series, ...], names: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.context, self.series, self.names = context, series, names
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        context.words.changed.connect(self.draw)
        context.look.changed.connect(self.draw)
        self.draw()

    def draw(self) -> None:
        t = self.context.look.tokens
        tones = ("#7aa7ff", "#f0a860", "#62d0bf", "#b399f0", "#e58ac6") if t.dark else charts.Colours().series
        colours = charts.Colours(text=t.text, muted=t.muted, line=t.line, series=tones)
        self.chart = charts.draw(self.series, self.context.words.language, colours, names=self.names)
        self.renderer = QSvgRenderer(QByteArray(self.chart.svg.encode()))
        self.setAccessibleName(self.chart.alternative)
        self.update()

    def heightForWidth(self, width: int) -> int:
        return round(min(width, 760) * self.chart.height / self.chart.width)

    def sizeHint(self) -> QSize:
        return QSize(560, round(560 * self.chart.height / self.chart.width))

    def _box(self) -> QRectF:
        width = min(float(self.width()), 760.0, self.height() * self.chart.width / self.chart.height)
        return QRectF(0, 0, width, width * self.chart.height / self.chart.width)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.renderer.render(painter, self._box())
        painter.end()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if not self.chart.marks:
            return
        scale = self.chart.width / (self._box().width() or 1)
        x, y = event.position().x() * scale, event.position().y() * scale
        near = min(self.chart.marks, key=lambda m: (m.x - x) ** 2 + (m.y - y) ** 2)
        close = (near.x - x) ** 2 + (near.y - y) ** 2 < 30**2
        QToolTip.showText(event.globalPosition().toPoint(), near.said if close else "", self)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.addAction(self.context.words("proof.save_chart"), self.save)
        menu.exec(event.globalPos())
        menu.deleteLater()

    def save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "", "chart.svg", "SVG (*.svg);;PNG (*.png)")
        if not path:
            return
        try:
            session.write_whole(Path(path), self.png() if path.lower().endswith(".png") else self.chart.svg.encode())
        except session.CouldNot as error:
            self.context.complain(self.context.words.text(error.text))

    def png(self) -> bytes:
        """The chart at twice its size."""
        from PySide6.QtCore import QBuffer

        image = QImage(round(self.chart.width * 2), round(self.chart.height * 2), QImage.Format.Format_ARGB32)
        image.fill(self.context.look.tokens.surface)
        painter = QPainter(image)
        self.renderer.render(painter)
        painter.end()
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")  # type: ignore[call-overload]
        return bytes(buffer.data().data())
