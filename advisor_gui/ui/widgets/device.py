"""The cards of the Machine page: processor, memory, system and each accelerator, with their live meters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout

from advisor_gui import wording
from advisor_gui.ui import icons
from advisor_gui.ui.context import Context
from advisor_gui.ui.pages.base import label, pill, toned
from advisor_gui.ui.theme import SPACE
from advisor_gui.ui.widgets.meter import Bar, Sparkline
from knowledge.facts import Accelerator, MachineProfile

if TYPE_CHECKING:
    from probes.live import LiveSample

# Instruction sets that frameworks choose their kernels by, most telling first.
TELLING_FLAGS = (
    ("amx_tile", "AMX"), ("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX"), ("sve", "SVE"), ("asimd", "NEON"),
    ("avx512_bf16", "BF16"), ("bf16", "BF16"), ("avx512_fp16", "FP16"), ("f16c", "F16C"), ("sse4_2", "SSE4.2"),
)  # fmt: skip
STATE_KIND = {"usable": "pill-good", "unknown": "pill-info", "hidden": "pill-warn", "disabled": "pill-warn"}
SYSTEM_NAMES = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}


class Card(QFrame):
    """Icon, small heading, a name, lines of facts, and optional meters."""

    icon = "cpu"

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        self.setProperty("kind", "card")
        self.setMinimumHeight(150)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(SPACE[3], SPACE[2], SPACE[3], SPACE[2])
        self.column.setSpacing(SPACE[0])
        head = QHBoxLayout()
        head.setSpacing(SPACE[1])
        self.mark = QLabel()
        self.heading = label("", "muted", size="small", wrap=False)
        self.pill = pill()
        self.pill.hide()
        head.addWidget(self.mark)
        head.addWidget(self.heading, 1)
        head.addWidget(self.pill)
        self.column.addLayout(head)
        self.name = label(size="strong")
        self.facts = label("", "muted")
        self.column.addWidget(self.name)
        self.column.addWidget(self.facts)
        self.column.addStretch(1)
        self.live = label("", "muted", size="small", wrap=False)
        self.live.hide()
        self.bar = Bar(context)
        self.bar.hide()
        self.line = Sparkline(context)
        self.line.hide()
        for widget in (self.live, self.bar, self.line):
            self.column.addWidget(widget)
        context.look.changed.connect(self.paint)
        self.paint()

    def paint(self) -> None:
        self.mark.setPixmap(icons.pixmap(self.icon, self.context.look.tokens.muted, 18))

    def show_text(self, heading: str, name: str, facts: list[str]) -> None:
        self.heading.setText(heading)
        self.name.setText(name)
        self.facts.setText("\n".join(f for f in facts if f))
        self.setAccessibleName(f"{heading}: {name}")

    def show_live(self, said: str, bar: float | None, line: float | None) -> None:
        self.live.setText(said)
        self.live.setVisible(bool(said))
        self.bar.setVisible(bar is not None)
        self.bar.set(bar, said)
        self.line.setVisible(line is not None)
        self.line.add(line, said)


    def clear_live(self) -> None:
        """No meters: the card shows another machine."""
        for widget in (self.live, self.bar, self.line):
            widget.hide()
        self.line.values.clear()


class ProcessorCard(Card):
    icon = "cpu"

    def show_machine(self, machine: MachineProfile) -> None:
        words, cpu = self.context.words, machine.cpu
        count = ""
        if cpu.physical_cores and cpu.logical_cpus:
            count = words("machine.cores", cores=cpu.physical_cores, threads=cpu.logical_cpus)
        elif cpu.logical_cpus:
            count = words("machine.threads", threads=cpu.logical_cpus)
        if cpu.usable_cpus is not None and cpu.logical_cpus and cpu.usable_cpus < cpu.logical_cpus:
            count += " · " + words("machine.usable", usable=f"{cpu.usable_cpus:g}")
        flags = list(dict.fromkeys(name for flag, name in TELLING_FLAGS if flag in (cpu.flags or ())))
        self.show_text(
            words("machine.processor"), cpu.model or cpu.vendor or words("main.unknown"),
            [count, words("machine.instructions", flags=", ".join(flags[:4])) if flags else ""],
        )  # fmt: skip

    def sampled(self, sample: LiveSample) -> None:
        loads = sample.cpu_percent
        if loads:
            mean = sum(loads) / len(loads)
            self.show_live(self.context.words("machine.load", percent=f"{mean:.0f}"), None, mean / 100)


class RamCard(Card):
    icon = "memory"

    def show_machine(self, machine: MachineProfile) -> None:
        words, memory = self.context.words, machine.memory
        facts = []
        if memory.available_bytes is not None:
            facts.append(words("machine.available", available=wording.size(memory.available_bytes)))
        if memory.limit_bytes is not None:
            facts.append(words("machine.limit", limit=wording.size(memory.limit_bytes)))
        if memory.swap_bytes:
            facts.append(words("machine.swap", swap=wording.size(memory.swap_bytes)))
        self.show_text(words("machine.memory"), words.text(wording.size(memory.total_bytes)), [" · ".join(facts)])

    def sampled(self, sample: LiveSample) -> None:
        used, total = sample.memory_used_bytes, sample.memory_total_bytes
        if used is not None and total:
            said = self.context.words("machine.used", used=wording.size(used), total=wording.size(total))
            self.show_live(said, used / total, None)


class SystemCard(Card):
    icon = "machine"

    def show_machine(self, machine: MachineProfile) -> None:
        words, system = self.context.words, machine.system
        name = " ".join(
            w for w in ((system.distribution or "").capitalize() or SYSTEM_NAMES.get(system.os or "", system.os or ""),
                        system.release) if w
        )  # fmt: skip
        traits = [system.arch, f"{system.libc} {system.libc_version or ''}".strip() if system.libc else None]
        traits += [f"WSL{system.wsl}" if system.wsl else None, system.container, system.virtual, system.board]
        facts = [" · ".join(t for t in traits if t)]
        if machine.disk.free_bytes is not None:
            facts.append(words("machine.disk", free=wording.size(machine.disk.free_bytes)))
        self.show_text(words("machine.system"), name or words("main.unknown"), facts)


class DeviceCard(Card):
    icon = "gpu"
    _device: Accelerator | None = None

    def show_device(self, device: Accelerator | None, *, known: bool) -> None:
        self._device = device
        words = self.context.words
        if device is None:
            self.pill.hide()
            key = "no_accelerator" if known else "accelerators_unknown"
            self.show_text(
                words("machine.accelerator"), words(f"machine.{key}"),
                [words("machine.no_accelerator_hint")] if known else [],
            )  # fmt: skip
            return
        self.pill.setText(words.text(wording.STATE[device.state]))
        toned(self.pill, STATE_KIND.get(device.state, "pill-bad"))
        self.pill.show()
        memory = ""
        if device.memory_bytes is not None:
            memory = words.text(wording.size(device.memory_bytes))
        if device.memory_kind in ("shared", "unified"):
            memory = " ".join(w for w in (memory, words(f"machine.memory_kind_{device.memory_kind}")) if w)
        driver = words("machine.driver", version=device.driver_version) if device.driver_version else ""
        serves = words("machine.serves_cuda", version=device.driver_api_max) if device.driver_api_max else ""
        target = words("machine.target", target=device.target) if device.target else ""
        name = device.name or device.vendor
        if device.count > 1:
            name = f"{device.count} × {name}"
        self.show_text(
            words(f"machine.{device.kind}"), name + (f" · {device.mig}" if device.mig else ""),
            [" · ".join(w for w in (memory, target) if w), " · ".join(w for w in (driver, serves) if w)],
        )  # fmt: skip

    def sampled(self, sample: LiveSample) -> None:
        # By UUID or PCI address: drivers list the devices in another order than the profile.
        one = None if self._device is None else sample.of(self._device)
        if one is None:
            return
        words = self.context.words
        said = []
        if one.load_percent is not None:
            said.append(words("machine.load", percent=f"{one.load_percent:.0f}"))
        if one.temperature_c is not None:
            said.append(words("machine.temperature", degrees=f"{one.temperature_c:.0f}"))
        if one.power_w is not None:
            said.append(words("machine.power", watts=f"{one.power_w:.0f}"))
        share = None
        if one.memory_used_bytes is not None and one.memory_total_bytes:
            share = one.memory_used_bytes / one.memory_total_bytes
        if said or share is not None:
            self.show_live(" · ".join(said), share, None if one.load_percent is None else one.load_percent / 100)
