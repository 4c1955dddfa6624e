"""A stack drawn as layers: what the user touches on top, what it stands on below."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from advisor_gui import wording
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import emptied, label
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.advice import framework_name
from knowledge.text import Text
from knowledge.verdicts import Assessment

ORDER = (
    "scheduler", "tracking", "server", "high-level", "finetuning", "rl", "distribution", "export", "runtime", "quantisation",
    "kernels", "core",
)  # fmt: skip
# What a build runs on, as its makers write it; "any" says nothing.
DEVICE = {"any": "", "cpu": "CPU", "cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "metal": "Metal", "vulkan": "Vulkan",
          "cann": "CANN", "directml": "DirectML", "tpu": "TPU", "npu": "NPU"}  # fmt: skip


class Layers(QWidget):
    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(SPACE[0])

    def show_assessment(self, value: Assessment | None) -> None:
        emptied(self.column)
        if value is None:
            return
        words = self.context.words
        parts = sorted(value.stack.components, key=lambda c: ORDER.index(c.role) if c.role in ORDER else len(ORDER) // 2)
        for one in parts:
            role = words.text(wording.ROLE.get(one.role, Text(one.role, one.role)))
            device = DEVICE.get(one.device or "any", one.device or "")
            what = " · ".join(w for w in (one.version, device) if w)
            layer = self._layer(framework_name(self.context, one.framework), role, what)
            layer.setToolTip(one.build or "")
            self.column.addWidget(layer)
        if value.stack.python:
            self.column.addWidget(self._layer(words("recommendation.python", version=value.stack.python), "", ""))

    def _layer(self, name: str, role: str, what: str) -> QFrame:
        frame = QFrame()
        frame.setProperty("kind", "layer")
        across = QHBoxLayout(frame)
        across.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(label(name, size="strong"))
        if what:
            column.addWidget(label(what, "muted", size="small"))
        across.addLayout(column, 1)
        if role:
            across.addWidget(label(role, "muted", size="small", wrap=False))
        frame.setAccessibleName(", ".join(w for w in (role, name, what) if w))
        return frame
