"""The helper behind the meters: a small program of its own that reads devices when asked and answers in JSON lines.

It runs as a child because a driver can hang or abort inside a call. It imports only the standard library (and NVML's
binding where there is an NVIDIA driver) and nothing of the rest of the program; the end of its input ends it, so that
it cannot outlive the program that asked.

One line in ("sample"), one line out: {"devices": [{vendor, pci_address, uuid, name, state, load_percent, …}],
"cpu_s": seconds of processor time that this answer cost, "errors": {"nvml": "library_not_found"}}.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
Device = dict[str, Any]


class Sysfs:
    """What Linux tells of AMD and Intel devices in files; ROOT is / but in tests."""

    def __init__(self, root: str = "/") -> None:
        self._root = Path(root)
        self._counters: dict[str, tuple[float, float]] = {}

    def devices(self) -> list[Device]:
        """One entry for each graphics card and neural processor that has a file of its own."""
        found: list[Device] = []
        for pattern in ("sys/class/drm/card[0-9]*", "sys/class/accel/accel[0-9]*"):
            for card in sorted(self._root.glob(pattern)):
                folder = card / "device"
                vendor = VENDORS.get(_text(folder / "vendor") or "")
                if "-" in card.name or vendor in (None, "nvidia"):
                    continue  # card0-HDMI-A-1 is a connector; NVIDIA is asked through its library
                one: Device = {"vendor": vendor, "pci_address": folder.resolve().name, "state": "ok"}
                if "accel" in pattern:
                    one["kind"] = "npu"
                if _text(folder / "power/runtime_status") == "suspended":
                    one["state"] = "asleep"  # reading its sensors would wake it and keep it awake
                elif vendor == "amd":
                    one |= self._amd(folder)
                else:
                    one |= self._intel(card, folder, one["pci_address"])
                found.append(one)
        return found

    def _amd(self, folder: Path) -> Device:
        return {
            "load_percent": _number(folder / "gpu_busy_percent"),
            "memory_used_bytes": _number(folder / "mem_info_vram_used"),
            "memory_total_bytes": _number(folder / "mem_info_vram_total"),
            **self._hwmon(folder),
        }

    def _intel(self, card: Path, folder: Path, address: str) -> Device:
        one = self._hwmon(folder)
        for clock in ("gt_act_freq_mhz", "device/tile0/gt0/freq0/act_freq", "device/npu_current_frequency_mhz"):
            value = _number(card / clock)
            if value is not None:
                one["clock_mhz"] = value
                break
        busy = _number(folder / "npu_busy_time_us")
        if busy is not None:
            rate = self._rate(f"{address} busy", busy / 1e6)
            one["load_percent"] = None if rate is None else max(0.0, min(100.0, rate * 100))
        used = _number(folder / "npu_memory_utilization")
        if used is not None:
            one["memory_used_bytes"] = used
        return one

    def _hwmon(self, folder: Path) -> Device:
        """Temperature in millidegrees, power in microwatts, clocks in hertz, energy in microjoules."""
        one: Device = {}
        for monitor in sorted((folder / "hwmon").glob("hwmon[0-9]*")):
            for key, names, unit in (
                ("temperature_c", ("temp1_input", "temp2_input"), 1e3),
                ("power_w", ("power1_average", "power1_input"), 1e6),
                ("clock_mhz", ("freq1_input",), 1e6),
                ("memory_clock_mhz", ("freq2_input",), 1e6),
            ):
                for name in names:
                    value = _number(monitor / name)
                    if value is not None:
                        one.setdefault(key, value / unit)
                        break
            energy = _number(monitor / "energy1_input")
            if energy is not None and "power_w" not in one:
                rate = self._rate(f"{monitor} energy", energy / 1e6)
                if rate is not None and rate >= 0:
                    one["power_w"] = rate
        return one

    def _rate(self, key: str, value: float) -> float | None:
        """Change of a counter in a second since it was read last; None the first time and after a reset."""
        now = time.monotonic()
        before = self._counters.get(key)
        self._counters[key] = (now, value)
        if before is None or now <= before[0] or value < before[1]:
            return None
        return (value - before[1]) / (now - before[0])


class Nvml:
    """NVIDIA's devices through their management library, opened when first asked and again after a device was lost."""

    def __init__(self) -> None:
        self._library: Any = None
        self.error: str | None = None
        self._last: dict[str, Device] = {}

    def devices(self) -> list[Device]:
        """One entry a device; those that were there before and are no more have the state "gone"."""
        if self.error is not None:
            return []
        if self._library is None and not self._open():
            return []
        nvml, found = self._library, []
        try:
            for index in range(nvml.nvmlDeviceGetCount()):
                found.append(self._device(index))
        except nvml.NVMLError:
            self._close()  # the driver was unloaded or a device fell off the bus: begin anew next time
        else:
            if any(one["state"] == "gone" for one in found):
                self._close()
        present = {one["pci_address"] for one in found}
        gone = [{**one, "state": "gone"} for address, one in self._last.items() if address not in present]
        for one in found:
            if one["state"] == "ok" and one["pci_address"]:
                kept = ("vendor", "pci_address", "uuid", "name")
                self._last[one["pci_address"]] = {key: one.get(key) for key in kept}
        return found + gone

    def _open(self) -> bool:
        try:
            import pynvml

            pynvml.nvmlInit()
        except ImportError:
            self.error = "binding_missing"
            return False
        except pynvml.NVMLError as error:
            # A driver may be loaded later; only a missing library stays missing.
            if getattr(error, "value", None) == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
                self.error = "library_not_found"
            return False
        self._library = pynvml
        return True

    def _close(self) -> None:
        if self._library is not None:
            with contextlib.suppress(self._library.NVMLError):
                self._library.nvmlShutdown()
        self._library = None

    def _device(self, index: int) -> Device:
        nvml = self._library
        lost = {nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_UNINITIALIZED}
        one: Device = {"vendor": "nvidia", "pci_address": None, "state": "ok"}

        def ask(name: str, *arguments: Any) -> Any:
            try:
                return getattr(nvml, name)(*arguments)
            except nvml.NVMLError as error:
                if getattr(error, "value", None) in lost:
                    one["state"] = "gone"
                return None  # "Not Supported" is an answer: this device does not tell
            except AttributeError:
                return None  # an older binding

        handle = ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            return one
        pci = ask("nvmlDeviceGetPciInfo", handle)
        if pci is not None:
            one["pci_address"] = address(_word(pci.busId))
        one["uuid"], one["name"] = _word(ask("nvmlDeviceGetUUID", handle)), _word(ask("nvmlDeviceGetName", handle))
        rates = ask("nvmlDeviceGetUtilizationRates", handle)
        one["load_percent"] = None if rates is None else rates.gpu
        memory = ask("nvmlDeviceGetMemoryInfo", handle)
        if memory is not None and memory.total:
            one["memory_used_bytes"], one["memory_total_bytes"] = memory.used, memory.total
        one["temperature_c"] = ask("nvmlDeviceGetTemperature", handle, nvml.NVML_TEMPERATURE_GPU)
        power = ask("nvmlDeviceGetPowerUsage", handle)
        one["power_w"] = None if power is None else power / 1000
        one["clock_mhz"] = ask("nvmlDeviceGetClockInfo", handle, nvml.NVML_CLOCK_SM)
        one["memory_clock_mhz"] = ask("nvmlDeviceGetClockInfo", handle, nvml.NVML_CLOCK_MEM)
        return one


def address(text: str | None) -> str | None:
    """0000:01:00.0 of NVML's 00000000:01:00.0, in lower case, as Linux writes it."""
    match = re.fullmatch(r"([0-9a-f]{1,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", (text or "").strip().lower())
    return f"{int(match[1], 16):04x}:{match[2]}" if match else None


def nvidia_asleep(root: str = "/") -> bool:
    """Whether every NVIDIA display device of this Linux machine is suspended, so that asking would wake it."""
    states = []
    for folder in Path(root, "sys/bus/pci/devices").glob("*"):
        if _text(folder / "vendor") == "0x10de" and (_text(folder / "class") or "").startswith("0x03"):
            states.append(_text(folder / "power/runtime_status"))
    return bool(states) and all(state == "suspended" for state in states)


def main(root: str = "/") -> int:
    """Answer requests on standard input until it ends."""
    requests: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    # A library of a driver may print; the answers keep the real output for themselves.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sysfs, nvml = Sysfs(root), Nvml()
    while requests.get():
        began = time.process_time()
        devices = sysfs.devices() if sys.platform.startswith("linux") else []
        if not nvidia_asleep(root):
            devices += nvml.devices()
        errors = {"nvml": nvml.error} if nvml.error else {}
        answer = {"devices": devices, "errors": errors, "cpu_s": time.process_time() - began}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def _listen(requests: SimpleQueue[str]) -> None:
    """Hands requests on; where the input ends, the program that asked is gone, and a hanging call must not keep us."""
    # By its number: a packaged program without a console has no sys.stdin, but may have been given an input.
    with contextlib.suppress(OSError), open(0, "rb", buffering=0, closefd=False) as asked:
        while asked.read(1024):
            requests.put("sample")
    os._exit(0)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # not there, not readable now (a sleeping or vanished device), or not for this user
        return None


def _number(path: Path) -> float | None:
    try:
        return float(_text(path) or "")
    except ValueError:
        return None


def _word(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


if __name__ == "__main__":
    sys.exit(main())
