"""The device helper: files of Linux laid out by hand, and NVML's library played by a stand-in."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest

from probes import live_devices
from probes.live_devices import Nvml, Sysfs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sysfs is Linux's")


def card(root: Path, name: str, pci: str, files: dict[str, str]) -> Path:
    device = root / "sys/devices" / pci
    for path, text in files.items():
        place = device / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
    folder = root / "sys/class" / name
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(device)
    return device


AMD = {
    "vendor": "0x1002",
    "gpu_busy_percent": "42",
    "mem_info_vram_used": "1073741824",
    "mem_info_vram_total": "17163091968",
    "hwmon/hwmon3/temp1_input": "54000",
    "hwmon/hwmon3/power1_average": "95000000",
    "hwmon/hwmon3/freq1_input": "2100000000",
}


def test_an_amd_card(tmp_path: Path) -> None:
    card(tmp_path, "drm/card1", "0000:03:00.0", AMD)
    (tmp_path / "sys/class/drm/card1-HDMI-A-1").mkdir()
    assert Sysfs(str(tmp_path)).devices() == [
        {
            "vendor": "amd",
            "pci_address": "0000:03:00.0",
            "state": "ok",
            "load_percent": 42.0,
            "memory_used_bytes": 1073741824.0,
            "memory_total_bytes": 17163091968.0,
            "temperature_c": 54.0,
            "power_w": 95.0,
            "clock_mhz": 2100.0,
        }
    ]


def test_a_sleeping_card_is_not_woken(tmp_path: Path) -> None:
    device = card(tmp_path, "drm/card1", "0000:03:00.0", {**AMD, "power/runtime_status": "suspended"})
    (device / "gpu_busy_percent").chmod(0)  # reading it would fail the test as another user than root
    assert Sysfs(str(tmp_path)).devices() == [{"vendor": "amd", "pci_address": "0000:03:00.0", "state": "asleep"}]


def test_power_of_an_intel_card_comes_from_its_energy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"vendor": "0x8086", "hwmon/hwmon1/energy1_input": "1000000", "tile0/gt0/freq0/act_freq": "2400"}
    device = card(tmp_path, "drm/card0", "0000:00:02.0", files)
    clock = iter([10.0, 12.0, 14.0])
    monkeypatch.setattr(live_devices.time, "monotonic", lambda: next(clock))
    sysfs = Sysfs(str(tmp_path))
    assert "power_w" not in sysfs.devices()[0]
    (device / "hwmon/hwmon1/energy1_input").write_text("61000000")
    one = sysfs.devices()[0]
    assert (one["power_w"], one["clock_mhz"]) == (30.0, 2400.0)
    (device / "hwmon/hwmon1/energy1_input").write_text("5")  # the counter began anew
    assert "power_w" not in sysfs.devices()[0]


def test_load_of_an_intel_npu_comes_from_its_busy_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = card(tmp_path, "accel/accel0", "0000:00:0b.0", {"vendor": "0x8086", "npu_busy_time_us": "0"})
    clock = iter([0.0, 1.0])
    monkeypatch.setattr(live_devices.time, "monotonic", lambda: next(clock))
    sysfs = Sysfs(str(tmp_path))
    sysfs.devices()
    (device / "npu_busy_time_us").write_text("250000")
    one = sysfs.devices()[0]
    assert (one["kind"], one["load_percent"]) == ("npu", 25.0)


@pytest.mark.parametrize("text", ["", "garbage", "N/A", "\udcff"])
def test_files_that_hold_no_number_tell_nothing(tmp_path: Path, text: str) -> None:
    device = card(tmp_path, "drm/card0", "0000:03:00.0", {"vendor": "0x1002"})
    (device / "gpu_busy_percent").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert Sysfs(str(tmp_path)).devices()[0]["load_percent"] is None


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


def library(count: int = 1) -> types.ModuleType:
    """A stand-in for NVML's binding with COUNT devices; tests change its functions."""
    module = types.ModuleType("pynvml")

    def refuse(value: int) -> Callable[..., None]:
        def function(*_: object) -> None:
            raise NVMLError(value)

        return function

    values = {
        "NVMLError": NVMLError,
        "NVML_ERROR_LIBRARY_NOT_FOUND": 12,
        "NVML_ERROR_GPU_IS_LOST": 15,
        "NVML_ERROR_NOT_FOUND": 6,
        "NVML_ERROR_UNINITIALIZED": 1,
        "NVML_TEMPERATURE_GPU": 0,
        "NVML_CLOCK_SM": 1,
        "NVML_CLOCK_MEM": 2,
        "refuse": refuse,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: count,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetPciInfo": lambda h: types.SimpleNamespace(busId=f"00000000:0{h + 1}:00.0".encode()),
        "nvmlDeviceGetUUID": lambda h: f"GPU-{h}",
        "nvmlDeviceGetName": lambda h: b"NVIDIA Card",
        "nvmlDeviceGetUtilizationRates": lambda h: types.SimpleNamespace(gpu=12),
        "nvmlDeviceGetMemoryInfo": lambda h: types.SimpleNamespace(total=100, used=30),
        "nvmlDeviceGetTemperature": lambda h, kind: 50,
        "nvmlDeviceGetPowerUsage": lambda h: 70500,
        "nvmlDeviceGetClockInfo": lambda h, kind: 1000 * kind,
    }
    for name, value in values.items():
        setattr(module, name, value)
    return module


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = library()
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def test_an_nvidia_card(nvml: types.ModuleType) -> None:
    assert Nvml().devices() == [
        {
            "vendor": "nvidia",
            "pci_address": "0000:01:00.0",
            "state": "ok",
            "uuid": "GPU-0",
            "name": "NVIDIA Card",
            "load_percent": 12,
            "memory_used_bytes": 30,
            "memory_total_bytes": 100,
            "temperature_c": 50,
            "power_w": 70.5,
            "clock_mhz": 1000,
            "memory_clock_mhz": 2000,
        }
    ]


def test_what_a_card_does_not_support_is_none(nvml: types.ModuleType) -> None:
    for name in ("UtilizationRates", "MemoryInfo", "PowerUsage"):
        setattr(nvml, f"nvmlDeviceGet{name}", nvml.refuse(3))
    one = Nvml().devices()[0]
    assert (one["state"], one["load_percent"], one["power_w"]) == ("ok", None, None)
    assert "memory_total_bytes" not in one  # unified memory: the card has none of its own


def test_a_lost_card_is_gone_and_the_library_is_opened_anew(nvml: types.ModuleType) -> None:
    opened: list[int] = []
    nvml.nvmlInit = lambda: opened.append(1)
    reader = Nvml()
    reader.devices()
    nvml.nvmlDeviceGetUtilizationRates = nvml.refuse(15)
    assert reader.devices()[0]["state"] == "gone"
    nvml.nvmlDeviceGetCount = lambda: 0
    gone = reader.devices()
    assert [(one["state"], one["pci_address"]) for one in gone] == [("gone", "0000:01:00.0")]
    nvml.nvmlDeviceGetCount = nvml.refuse(1)
    assert [one["state"] for one in reader.devices()] == ["gone"]
    assert len(opened) == 2


def test_a_missing_library_is_not_asked_again(nvml: types.ModuleType) -> None:
    asked: list[int] = []

    def missing() -> None:
        asked.append(1)
        raise NVMLError(12)

    nvml.nvmlInit = missing
    reader = Nvml()
    assert (reader.devices(), reader.devices(), reader.error, len(asked)) == ([], [], "library_not_found", 1)


def test_a_driver_that_is_not_loaded_is_asked_again(nvml: types.ModuleType) -> None:
    nvml.nvmlInit = nvml.refuse(9)
    reader = Nvml()
    assert (reader.devices(), reader.error) == ([], None)
    nvml.nvmlInit = lambda: None
    assert len(reader.devices()) == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0000:C4:00.0", "0000:c4:00.0"),
        ("00010000:0B:00.0", "10000:0b:00.0"),
        ("", None),
        (None, None),
    ],
)
def test_addresses(text: str | None, address: str | None) -> None:
    assert live_devices.address(text) == address


def test_sleeping_nvidia_cards_are_left_alone(tmp_path: Path) -> None:
    for place, status in (("0000:01:00.0", "suspended"), ("0000:02:00.0", "active")):
        folder = tmp_path / "sys/bus/pci/devices" / place
        (folder / "power").mkdir(parents=True)
        (folder / "vendor").write_text("0x10de\n")
        (folder / "class").write_text("0x030000\n")
        (folder / "power/runtime_status").write_text(status + "\n")
        assert live_devices.nvidia_asleep(str(tmp_path)) is (status == "suspended")
