"""Live values for the meters: processor, memory and each accelerator, cheap, once a second, surviving a lost device."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from knowledge.facts import Accelerator
from knowledge.text import Text
from probes import child

ANSWER_WAIT_S = 0.15  # how long one sample waits for the helper; later answers are shown by the next sample
ANSWER_LIMIT_S = 3.0  # a helper that is silent for longer is ended and started anew
START_LIMIT_S = 10.0  # the first answer may take the driver seconds
MAX_STARTS = 4
FORGIVEN_S = 60.0
STALE_S = 6.0
CORE_SHARE = 0.01  # of one core, that the helper may use: it is asked less often where an answer costs more
MAX_LINE_BYTES = 256_000

State = Literal["ok", "asleep", "gone", "unanswered"]


class AcceleratorSample(msgspec.Struct, frozen=True, kw_only=True):
    """One device at one moment; None where it does not tell. `because` says why a state is not "ok"."""

    vendor: str
    kind: Literal["gpu", "npu"] = "gpu"
    name: str | None = None
    pci_address: str | None = None
    uuid: str | None = None
    state: State = "ok"
    load_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    because: Text | None = None


class LiveSample(msgspec.Struct, frozen=True, kw_only=True):
    """The machine at one moment. `because` says why a value ("cpu_percent", "memory", "accelerators") is missing."""

    taken_s: float  # monotonic clock
    cpu_percent: tuple[float, ...] | None = None  # per logical CPU, since the sample before
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    accelerators: tuple[AcceleratorSample, ...] = ()
    because: dict[str, Text] = {}

    def of(self, device: Accelerator) -> AcceleratorSample | None:
        """The sample of DEVICE, by UUID or PCI address; by vendor and kind where there is one of these only."""
        for one in self.accelerators:
            if (device.uuid and one.uuid == device.uuid) or (
                device.pci_address and one.pci_address and _same_place(one.pci_address, device.pci_address)
            ):
                return one
        if device.uuid or device.pci_address:
            return None
        alike = [one for one in self.accelerators if (one.vendor, one.kind) == (device.vendor, device.kind)]
        return alike[0] if len(alike) == 1 else None


class Sampler:
    """Takes samples of this machine. One thread at a time may use it; `close` leaves no process and no thread.

    HELPER: the argument list of the device helper, ROOT: where /sys is (both for tests); WANTED: whether there are
    devices to ask for (default: looked for at the first sample).
    """

    def __init__(self, *, helper: Sequence[str] | None = None, root: str = "/", wanted: bool | None = None) -> None:
        self._helper = _Helper(tuple(helper) if helper is not None else helper_command())
        self._root = root
        self._wanted = wanted
        self._times: list[tuple[float, float]] | None = None  # busy and all seconds of each CPU
        self._known: tuple[AcceleratorSample, ...] = ()
        self._known_s = 0.0

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sample(self) -> LiveSample:
        """The machine now; returns within about 0.2 s. The first has no processor load: that needs two."""
        because: dict[str, Text] = {}
        if self._wanted is None:
            self._wanted = devices_to_ask(self._root)
        if self._wanted:
            self._helper.ask()
        load = self._processor(because)
        used, total = _memory(because)
        devices = self._devices(because) if self._wanted else ()
        return LiveSample(
            taken_s=time.monotonic(), cpu_percent=load, memory_used_bytes=used, memory_total_bytes=total,
            accelerators=devices, because=because,
        )  # fmt: skip

    def close(self) -> None:
        """End the helper. Samples may be taken afterwards; they start it anew."""
        self._helper.close()

    def _processor(self, because: dict[str, Text]) -> tuple[float, ...] | None:
        import psutil

        before = self._times
        try:
            rows = psutil.cpu_times(percpu=True)
        except (OSError, RuntimeError, NotImplementedError, ValueError, IndexError, psutil.Error) as error:
            because["cpu_percent"] = Text(
                f"The processor's load cannot be read here ({type(error).__name__}).",
                f"无法在此读取处理器负载（{type(error).__name__}）。",
            )
            return None
        self._times = [(_busy(row), sum(row) - _guest(row)) for row in rows]
        if before is None or len(before) != len(self._times):
            because["cpu_percent"] = _FIRST
            return None
        loads = []
        for (busy_before, all_before), (busy, everything) in zip(before, self._times, strict=True):
            passed = everything - all_before
            loads.append(max(0.0, min(100.0, 100 * (busy - busy_before) / passed)) if passed > 0 else 0.0)
        return tuple(loads)

    def _devices(self, because: dict[str, Text]) -> tuple[AcceleratorSample, ...]:
        answer = self._helper.answer(ANSWER_WAIT_S)
        now = time.monotonic()
        if answer is not None:
            self._known, self._known_s = _device_samples(answer), now
        if self._helper.failed is not None:
            because["accelerators"] = self._helper.failed
        if now - self._known_s <= STALE_S and self._helper.failed is None:
            return self._known
        reason = because.setdefault("accelerators", _SILENT)
        return tuple(
            AcceleratorSample(
                vendor=one.vendor, kind=one.kind, name=one.name, pci_address=one.pci_address, uuid=one.uuid,
                state="unanswered", because=reason,
            )
            for one in self._known
        )  # fmt: skip


class _Helper:
    """The child that reads devices: started when first asked, asked without waiting, restarted a few times."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._arrived = threading.Condition()
        self._line: bytes | None = None  # the newest answer that was not taken yet
        self._broken = False  # the reader met the end of the output, or output that is no answer
        self._starts = 0
        self._started_s = 0.0
        self._asked_s: float | None = None
        self._answered = False
        self._rest_until_s = 0.0
        self.failed: Text | None = None

    def ask(self) -> None:
        """Send a request, unless one is under way, the helper may rest, or it failed for good."""
        now = time.monotonic()
        if self.failed is not None or now < self._rest_until_s:
            return
        if self._process is not None and self._stuck(now):
            self.close()
        if self._process is None and not self._start():
            return
        if self._asked_s is None and self._process is not None and self._process.stdin is not None:
            try:
                self._process.stdin.write(b"sample\n")
                self._process.stdin.flush()
                self._asked_s = now
            except OSError:  # it ended meanwhile; the next request starts it anew
                self.close()

    def answer(self, wait_s: float) -> dict[str, Any] | None:
        """The newest answer, waited for at most WAIT_S; None where there is none yet."""
        with self._arrived:
            if self._line is None and self._asked_s is not None and not self._broken:
                self._arrived.wait(wait_s)
            line, self._line = self._line, None
        if line is None:
            return None
        self._asked_s, self._answered = None, True
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self._broken = True
            return None
        if time.monotonic() - self._started_s > FORGIVEN_S:
            self._starts = 1  # it has worked for a while
        cost = answer.get("cpu_s")
        if isinstance(cost, (int, float)) and 0 < cost < 60:
            self._rest_until_s = time.monotonic() + min(cost / CORE_SHARE, STALE_S - 1) - 1.0
        return answer

    def close(self) -> None:
        """End the child and its group, and the thread that reads it."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
            child.end_group(process)
        if self._reader is not None:
            self._reader.join(timeout=2.0)
            self._reader = None
        if process is not None and process.stdout is not None:
            process.stdout.close()
        with self._arrived:
            self._line, self._broken, self._asked_s, self._answered = None, False, None, False

    def _stuck(self, now: float) -> bool:
        if self._broken:
            return True
        limit = ANSWER_LIMIT_S if self._answered else START_LIMIT_S
        return self._asked_s is not None and now - self._asked_s > limit

    def _start(self) -> bool:
        if self._starts >= MAX_STARTS:
            self.failed = Text(
                f"The device helper ended or was silent {MAX_STARTS} times; live values of accelerators are off.",
                f"设备采样辅助进程已 {MAX_STARTS} 次退出或没有回应，因此关闭加速器实时数据。",
            )
            return False
        self._starts += 1
        self._started_s = time.monotonic()
        try:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env=_plain_environment(), start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
                | getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )  # fmt: skip
        except OSError as error:
            self.failed = Text(
                f"The device helper could not be started ({error.strerror or error}).",
                f"无法启动设备采样辅助进程（{error.strerror or error}）。",
            )
            return False
        self._process = process
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True, name="live-devices")
        self._reader.start()
        return True

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Keeps the newest line; more than one answer's worth without a newline is no answer."""
        assert process.stdout is not None
        while True:
            try:
                line = process.stdout.readline(MAX_LINE_BYTES)
            except (OSError, ValueError):
                line = b""
            with self._arrived:
                good = line.endswith(b"\n") and self._asked_s is not None and self._line is None
                if good:
                    self._line = line
                else:
                    self._broken = True  # the end, a flood, or words that nobody asked for
                self._arrived.notify_all()
                if not good:
                    return


_FIRST = Text("The load is known from the second sample on.", "从第二次采样起才有负载数据。")
_SILENT = Text("The devices have not answered yet.", "设备尚未回应。")


def helper_command() -> tuple[str, ...]:
    """How the device helper is started: as a script by our own Python, or by the packaged program itself."""
    if getattr(sys, "frozen", False):
        return (sys.executable, "--probe-child", "live")
    # -P: the script's folder does not come onto sys.path, where our module names could hide others.
    return (sys.executable, "-P", str(Path(__file__).with_name("live_devices.py")))


def devices_to_ask(root: str = "/") -> bool:
    """Whether a driver is there that tells live values: NVIDIA's, or Linux's for AMD and Intel."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("SYSTEMROOT", "C:\\Windows"), "System32")
        return (folder / "nvml.dll").exists() or (folder / "nvcuda.dll").exists()
    base = Path(root)
    if any((base / place).exists() for place in ("proc/driver/nvidia", "dev/nvidiactl", "dev/dxg")):
        return True
    for pattern in ("sys/class/drm/card[0-9]*/device/vendor", "sys/class/accel/accel[0-9]*/device/vendor"):
        for file in base.glob(pattern):
            with contextlib.suppress(OSError):
                if file.read_text(encoding="ascii", errors="replace").strip() in ("0x1002", "0x8086"):
                    return True
    return False


def _device_samples(answer: dict[str, Any]) -> tuple[AcceleratorSample, ...]:
    """The devices of ANSWER; an entry that is not one is left out."""
    devices = answer.get("devices")
    samples = []
    for one in devices if isinstance(devices, list) else ():
        try:
            sample = msgspec.convert(_rounded(one), AcceleratorSample)
        except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
            continue
        samples.append(msgspec.structs.replace(sample, because=_STATES.get(sample.state)))
    return tuple(samples)


def _rounded(one: Any) -> Any:
    if not isinstance(one, dict):
        return one
    whole = ("memory_used_bytes", "memory_total_bytes")
    return {k: int(v) if k in whole and isinstance(v, float) else v for k, v in one.items()}


_STATES = {
    "asleep": Text(
        "The device sleeps to save power; asking it would wake it.", "设备正在休眠以节省电力，查询会将其唤醒。"
    ),
    "gone": Text("The device no longer answers its driver.", "设备已不再响应驱动程序。"),
}


def _memory(because: dict[str, Text]) -> tuple[int | None, int | None]:
    import psutil

    try:
        memory = psutil.virtual_memory()
    except (OSError, RuntimeError, NotImplementedError, ValueError, psutil.Error) as error:
        because["memory"] = Text(
            f"The memory in use cannot be read here ({type(error).__name__}).",
            f"无法在此读取内存使用量（{type(error).__name__}）。",
        )
        return None, None
    return memory.total - memory.available, memory.total


def _guest(row: Any) -> float:
    """Time of guests, which Linux counts in user and nice as well."""
    return float(getattr(row, "guest", 0.0) + getattr(row, "guest_nice", 0.0))


def _busy(row: Any) -> float:
    return float(sum(row) - _guest(row) - row.idle - getattr(row, "iowait", 0.0))


def _same_place(one: str, other: str) -> bool:
    """Whether two PCI addresses name one place; the domain may be missing or longer in one of them."""
    first, second = one.lower().split(":"), other.lower().split(":")
    if len(first) < 2 or len(second) < 2 or first[-2:] != second[-2:]:
        return False
    domains = [parts[0].lstrip("0") for parts in (first, second) if len(parts) == 3]
    return len(set(domains)) < 2


def _plain_environment() -> dict[str, str]:
    """Ours without what would change the helper's Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
