"""The vendors that are asked, in the order in which their devices are listed, and what shows that asking is worth it."""

from __future__ import annotations

import re
from types import ModuleType

from probes.hardware.accelerators.context import Context

NAMES = ("nvidia", "amd", "intel", "apple", "huawei", "others")
_NVIDIA = ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/nvidia0", "/usr/lib/wsl/lib/nvidia-smi", "/var/lib/nvidia/bin/nvidia-smi",
           "/usr/local/nvidia/bin/nvidia-smi", "/home/kubernetes/bin/nvidia/bin/nvidia-smi", "/run/nvidia/driver/usr/bin/nvidia-smi",
           "/opt/bin/nvidia-smi")  # fmt: skip
_OTHERS = ("mthreads-gmi", "cnmon", "ixsmi", "mx-smi", "xpu_smi", "efsmi", "hl-smi", "hy-smi", "brsmi", "neuron-ls")


def vendors(context: Context) -> list[ModuleType]:
    """Modules with VENDOR and read(context) for what this machine may have. On Linux a module without any sign of its
    devices is not even loaded, since most machines have one vendor or none."""
    wanted = NAMES if context.host.recorded or context.host.os != "linux" else [name for name in NAMES if _sign(context, name)]
    return [_module(name) for name in wanted]


def _module(name: str) -> ModuleType:
    # Written out, so that a packaged program finds and holds every module.
    if name == "nvidia":
        from probes.hardware.accelerators import nvidia

        return nvidia
    if name == "amd":
        from probes.hardware.accelerators import amd

        return amd
    if name == "intel":
        from probes.hardware.accelerators import intel

        return intel
    if name == "apple":
        from probes.hardware.accelerators import apple

        return apple
    if name == "huawei":
        from probes.hardware.accelerators import huawei

        return huawei
    from probes.hardware.accelerators import others

    return others


def _sign(context: Context, name: str) -> bool:
    host, there = context.host, {one.vendor for one in context.functions}
    if name in there:
        return True
    if name == "nvidia":
        return host.which("nvidia-smi").ok or any(host.access(path).ok for path in _NVIDIA) or context.jetson() is not None
    if name == "amd":
        return host.access("/dev/kfd").ok or (context.wsl and host.which("rocminfo").ok)
    if name == "huawei":
        return host.access("/dev/davinci_manager").ok or host.which("npu-smi").ok
    if name == "others":
        return (
            bool(there - set(NAMES)) or context.system.get("arch") != "x86_64"
            or host.env("TPU_WORKER_ID").ok or host.env("TPU_ACCELERATOR_TYPE").ok
            or any(host.which(program).ok for program in _OTHERS) or _usb_accelerator(context)
        )  # fmt: skip
    return False


def _usb_accelerator(context: Context) -> bool:
    folder = "/sys/bus/usb/devices"
    names = [name for name in context.host.list(folder).names if re.fullmatch(r"\d+-[\d.]+", name)]
    return any(context.host.read(f"{folder}/{name}/idVendor").text.strip() in ("18d1", "1a6e") for name in names)
