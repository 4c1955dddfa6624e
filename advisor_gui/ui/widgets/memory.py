"""Memory that a model needs, by component, as one bar against what there is."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label, toned
from advisor_gui.ui.theme import SPACE, Tokens
from knowledge.verdicts import MemoryEstimate

PARTS = ("weights", "gradients", "optimizer", "activations", "kv_cache", "overhead")


def part_colour(tokens: Tokens, part: str) -> QColor:
    """Distinct at both brightnesses; the legend names each, so nothing is said by colour alone."""
    light = {"weights": "#1f5fd1", "gradients": "#7a4fc9", "optimizer": "#b0468f", "activations": "#c76a1b",
             "kv_cache": "#1d8a7a", "overhead": "#7b8494"}  # fmt: skip
    dark = {"weights": "#7aa7ff", "gradients": "#b399f0", "optimizer": "#e58ac6", "activations": "#f0a860",
            "kv_cache": "#62d0bf", "overhead": "#8d97a8"}  # fmt: skip
    return QColor((dark if tokens.dark else light)[part])


class MemoryBar(QWidget):
    """The bar, its legend and the sentence; hidden where there is no estimate."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.estimate: MemoryEstimate | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        self.title = label(size="strong")
        self.bar = _Bar(self)
        self.legend = _Legend(self)
        self.sentence = label("")
        for widget in (self.title, self.bar, self.legend, self.sentence):
            column.addWidget(widget)
        context.words.changed.connect(self.say)
        context.look.changed.connect(self.update)
        self.hide()

    def say(self) -> None:
        self.show_memory(self.estimate)

    def show_memory(self, estimate: MemoryEstimate | None) -> None:
        self.estimate = estimate
        self.setVisible(estimate is not None and estimate.total_bytes is not None)
        if estimate is None or estimate.total_bytes is None:
            return
        words = self.context.words
        self.title.setText(words("memory.title"))
        key = "needs" if estimate.available_bytes is not None else "needs_unknown"
        said = words(
            f"memory.{key}", total=wording.size(estimate.total_bytes), low=wording.size(estimate.low_bytes),
            high=wording.size(estimate.high_bytes), have=wording.size(estimate.available_bytes),
            verdict=wording.MEMORY_VERDICT[estimate.verdict],
        )  # fmt: skip
        self.sentence.setText(said)
        kind = {"fits": "good", "tight": "warn", "exceeds": "bad"}.get(estimate.verdict, "muted")
        toned(self.sentence, kind)
        self.bar.setAccessibleName(said)
        self.legend.updateGeometry()
        self.bar.update()
        self.legend.update()

    def parts(self) -> list[tuple[str, int]]:
        if self.estimate is None:
            return []
        held = self.estimate.components
        return [(part, size) for part in PARTS if (size := getattr(held, f"{part}_bytes"))]


class _Bar(QWidget):
    def __init__(self, owner: MemoryBar) -> None:
        super().__init__(owner)
        self.owner = owner
        self.setFixedHeight(22)

    def paintEvent(self, _event: QPaintEvent) -> None:
        estimate = self.owner.estimate
        if estimate is None or not estimate.total_bytes:
            return
        tokens = self.owner.context.look.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        have = estimate.available_bytes
        scale = max(estimate.high_bytes or 0, estimate.total_bytes, have or 0) or 1
        width, height = self.width() - 1.0, self.height() - 6.0
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.raised))
        painter.drawRoundedRect(QRectF(0, 3, width, height), 4, 4)
        if have:
            painter.setBrush(QColor(tokens.line))
            painter.drawRoundedRect(QRectF(0, 3, width * have / scale, height), 4, 4)
        left = 0.0
        for part, size in self.owner.parts():
            across = width * size / scale
            painter.setBrush(part_colour(tokens, part))
            painter.drawRect(QRectF(left, 3, max(1.0, across - 1), height))
            left += across
        if estimate.low_bytes and estimate.high_bytes:  # the range, as a bracket over the end of the bar
            low, high = width * estimate.low_bytes / scale, width * estimate.high_bytes / scale
            painter.setPen(QPen(QColor(tokens.text), 1))
            middle = 3 + height / 2
            painter.drawLine(QRectF(low, middle, max(1.0, high - low), 0).topLeft(), QRectF(high, middle, 0, 0).topLeft())
            for x in (low, high):
                painter.drawLine(QRectF(x, 6, 0, 0).topLeft(), QRectF(x, height, 0, 0).topLeft())
        if have:
            painter.setPen(QPen(QColor(tokens.text), 2))
            x = min(width - 1, width * have / scale)
            painter.drawLine(QRectF(x, 0, 0, 0).topLeft(), QRectF(x, self.height(), 0, 0).topLeft())
        painter.end()


class _Legend(QWidget):
    """Coloured squares with names and sizes, flowing over as many lines as they need."""

    GAP, LINE = 14.0, 20.0

    def __init__(self, owner: MemoryBar) -> None:
        super().__init__(owner)
        self.owner = owner
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def _places(self, width: float) -> list[tuple[float, float, str, str]]:
        metrics = QFontMetricsF(self.font())
        x = y = 0.0
        found = []
        for part, size in self.owner.parts():
            text = f"{self.owner.context.words(f'memory.{part}')} {self.owner.context.words.text(wording.size(size))}"
            need = 14 + metrics.horizontalAdvance(text)
            if x and x + need > width:
                x, y = 0.0, y + self.LINE
            found.append((x, y, part, text))
            x += need + self.GAP
        return found

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return int((places[-1][1] if places else 0) + self.LINE)

    def sizeHint(self) -> QSize:
        width = max(200, self.width())
        return QSize(width, self.heightForWidth(width))

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens = self.owner.context.look.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for x, y, part, text in self._places(self.width()):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(part_colour(tokens, part))
            painter.drawRoundedRect(QRectF(x, y + 5, 9, 9), 2, 2)
            painter.setPen(QColor(tokens.muted))
            painter.drawText(QRectF(x + 14, y, self.width(), self.LINE), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()
