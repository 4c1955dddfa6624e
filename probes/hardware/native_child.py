"""The helper that calls drivers' libraries: a program of its own, because a library may hang or crash the process.

Standard library only (and NVML's binding); nothing of the rest of the program. One JSON value on standard output;
exit status 3 says that there is no such library here.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

NVML_PLACES = (
    "/usr/lib/wsl/lib/libnvidia-ml.so.1", "/var/lib/nvidia/lib64/libnvidia-ml.so.1",
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1", "/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",
)  # fmt: skip


class NoLibrary(Exception):
    """There is no such library on this machine."""


def nvml() -> dict[str, Any]:
    """{driver, cuda, error, devices} of NVIDIA's management library, devices in the order of the PCI bus."""
    try:
        import pynvml
    except ImportError as error:
        raise NoLibrary(str(error)) from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        loaded = _loaded_elsewhere()
        if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND and not loaded:
            raise NoLibrary(str(error)) from None
        if not loaded:
            return {"error": _said(error), "devices": []}
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as second:
            return {"error": _said(second), "devices": []}
    result: dict[str, Any] = {"driver": _asked(pynvml.nvmlSystemGetDriverVersion), "devices": []}
    number = _asked(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    result["cuda"] = f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) else None
    handles = []
    for index in range(_asked(pynvml.nvmlDeviceGetCount) or 0):
        handle = _asked(pynvml.nvmlDeviceGetHandleByIndex, index)
        if handle is not None:
            handles.append(handle)
    buses = [_asked(pynvml.nvmlDeviceGetPciInfo_v3, handle) for handle in handles]
    for handle, bus in zip(handles, buses, strict=True):
        result["devices"].append(_device(pynvml, handle, bus))
    _links(pynvml, handles, buses, result["devices"])
    return result


def _said(error: Any) -> str:
    words = {18: "Driver/library version mismatch", 9: "couldn't communicate with the NVIDIA driver", 4: "Insufficient Permissions"}
    return words.get(getattr(error, "value", 0), str(error))


def _asked(function: Any, *arguments: Any) -> Any:
    """The function's answer as text or number, or None where the library gives none."""
    import pynvml

    try:
        answer = function(*arguments)
    except (pynvml.NVMLError, OSError, AttributeError, ValueError, UnicodeDecodeError):
        return None
    return answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer


def _device(pynvml: Any, handle: Any, bus: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": _asked(pynvml.nvmlDeviceGetName, handle), "uuid": _asked(pynvml.nvmlDeviceGetUUID, handle)}
    if bus is not None:
        address = bus.busId
        found["bus"] = address.decode() if isinstance(address, bytes) else address
        found["pci_id"] = f"{bus.pciDeviceId & 0xFFFF:04x}:{bus.pciDeviceId >> 16:04x}"
    try:
        found["memory_bytes"] = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    except pynvml.NVMLError as error:
        found["memory_not_told"] = error.value == pynvml.NVML_ERROR_NOT_SUPPORTED
    capability = _asked(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    if capability is not None:
        found["capability"] = f"{capability[0]}.{capability[1]}"
    mode = _asked(pynvml.nvmlDeviceGetMigMode, handle)
    if mode is not None and mode[0] == 1:
        found["mig"] = _slices(pynvml, handle) or "enabled"
    return found


def _slices(pynvml: Any, handle: Any) -> str | None:
    names: dict[str, int] = {}
    for index in range(_asked(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _asked(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        name = _asked(pynvml.nvmlDeviceGetName, part) if part is not None else None
        if name and "MIG " in name:
            short = name.rsplit("MIG ", 1)[1].strip()
            names[short] = names.get(short, 0) + 1
    return ", ".join(name if number == 1 else f"{name} x{number}" for name, number in names.items()) or None


def _links(pynvml: Any, handles: list[Any], buses: list[Any], devices: list[dict[str, Any]]) -> None:
    """NVLink between cards, as nvidia-smi topo writes it: `1:NV4` is four links to card 1."""
    places = {bus.bus * 256 + bus.device + bus.domain * 65536: n for n, bus in enumerate(buses) if bus is not None}
    if len(handles) < 2:
        return
    for number, handle in enumerate(handles):
        counts: dict[int, int] = {}
        for link in range(18):
            if _asked(pynvml.nvmlDeviceGetNvLinkState, handle, link) != 1:
                continue
            far = _asked(pynvml.nvmlDeviceGetNvLinkRemotePciInfo_v2, handle, link)
            other = places.get(far.bus * 256 + far.device + far.domain * 65536) if far is not None else None
            if other is not None and other != number:
                counts[other] = counts.get(other, 0) + 1
        devices[number]["links"] = [f"{other}:NV{count}" for other, count in sorted(counts.items())]


def _loaded_elsewhere() -> bool:
    """Load NVML from a place that the loader does not search; its name then counts as loaded."""
    for path in NVML_PLACES:
        try:
            ctypes.CDLL(path, mode=getattr(ctypes, "RTLD_GLOBAL", 0))
            return True
        except OSError:
            continue
    return False


def cuda_attributes() -> list[dict[str, Any]]:
    """Name and the attribute "integrated" of each device, as the CUDA driver lists them."""
    names = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")
    library: Any = None
    for place in names:
        try:
            library = ctypes.CDLL(place)
            break
        except OSError:
            continue
    if library is None:
        raise NoLibrary("libcuda")
    if library.cuInit(0) != 0:
        return []
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        device, integrated, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
        if library.cuDeviceGet(ctypes.byref(device), index) != 0:
            continue
        library.cuDeviceGetName(name, 256, device)
        if library.cuDeviceGetAttribute(ctypes.byref(integrated), 18, device) == 0:  # CU_DEVICE_ATTRIBUTE_INTEGRATED
            found.append({"name": name.value.decode("utf-8", "replace"), "integrated": integrated.value})
    return found


def metal() -> list[dict[str, Any]]:
    """Name, working set and unified memory of the default Metal device."""
    if sys.platform != "darwin":
        raise NoLibrary("Metal exists on macOS only")
    try:
        runtime = ctypes.CDLL("/usr/lib/libobjc.A.dylib")
        framework = ctypes.CDLL("/System/Library/Frameworks/Metal.framework/Metal")
    except OSError as error:
        raise NoLibrary(str(error)) from None
    framework.MTLCreateSystemDefaultDevice.restype = ctypes.c_void_p
    device = framework.MTLCreateSystemDefaultDevice()
    if not device:
        return []
    runtime.sel_registerName.restype = ctypes.c_void_p

    def send(target: Any, name: str, kind: Any) -> Any:
        function = ctypes.CFUNCTYPE(kind, ctypes.c_void_p, ctypes.c_void_p)(("objc_msgSend", runtime))
        return function(target, runtime.sel_registerName(name.encode()))

    text = send(send(device, "name", ctypes.c_void_p), "UTF8String", ctypes.c_char_p)
    return [{
        "name": text.decode("utf-8", "replace") if text else None,
        "working_set_bytes": send(device, "recommendedMaxWorkingSetSize", ctypes.c_uint64),
        "unified": bool(send(device, "hasUnifiedMemory", ctypes.c_bool)),
    }]  # fmt: skip


def main(arguments: list[str]) -> int:
    calls = {"nvml": nvml, "metal": metal, "cuda_attributes": cuda_attributes}
    call = calls.get(arguments[0]) if arguments else None
    if call is None:
        return 2
    try:
        answer = call()
    except NoLibrary as error:
        sys.stdout.write(str(error))
        return 3
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
