"""NVIDIA GPUs: NVML in a child, nvidia-smi's text, the kernel driver's files, WSL, containers, MIG slices, Jetson."""

from __future__ import annotations

import json
import re

from knowledge.facts import Remedy
from knowledge.text import Text
from probes.hardware.accelerators import nvidia_text, windows_adapters
from probes.hardware.accelerators.context import Context
from probes.hardware.accelerators.device import Device, merge, of_function
from probes.hardware.notes import outputs, pairs, words_of
from probes.hardware.pci import address_of
from probes.host import Host

VENDOR = "nvidia"
PLACES = (
    "/usr/lib/wsl/lib/nvidia-smi", "/var/lib/nvidia/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi",
    "/home/kubernetes/bin/nvidia/bin/nvidia-smi", "/run/nvidia/driver/usr/bin/nvidia-smi", "/opt/bin/nvidia-smi",
)  # fmt: skip
WINDOWS_PLACES = (
    "C:\\Windows\\System32\\nvidia-smi.exe", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvidia-smi.exe",
)
# Chips whose GPU has no memory of its own (NVIDIA's product pages and Jetson documentation).
SHARED_MEMORY = re.compile(r"\bGB10\b|\bThor\b|\bOrin\b|\bXavier\b|\bTegra\b|\bN1X?\b|\bJetson\b|\bnvgpu\b", re.IGNORECASE)


def read(context: Context) -> list[Device]:
    """NVIDIA's devices with their states; findings go to CONTEXT.notes."""
    host = context.host
    devices = [of_function(one) for one in context.functions if one.vendor == VENDOR]
    signs = bool(devices) or _signs(host)
    jetson = context.jetson() if host.os == "linux" else None
    if not signs and jetson is None and not host.recorded:
        return windows_adapters.laid_over([], context, VENDOR)
    answers = _answers(context) if signs or host.recorded or jetson else []
    errors = [(answer.error, answer.source) for answer in answers if answer.error]
    seen = False
    for answer in answers:
        for device in answer.devices:
            device.extra["listed"] = True
        if answer.devices:
            # A program shows itself only some cards, in an order of its own: it proves none where a tool listed all.
            merge(devices, answer.devices, complete=not (seen and "deviceQuery" in answer.source))
            seen = True
    for answer in answers:
        for device in devices:
            device.say("driver_version", answer.driver, answer.source)
            device.say("driver_api_max", answer.cuda, answer.source)
        for number, links in answer.links.items():
            if number < len(devices) and links and len(answer.links) == len(devices):
                devices[number].say("links", links, answer.source)
    _kernel(host, devices)
    if not devices and jetson is not None:
        devices = _jetson(context, jetson)
    devices = windows_adapters.laid_over(devices, context, VENDOR)
    if not devices and errors and "No devices" not in str(errors[0][0]):
        _without_card(context, errors)
    for device in devices:
        _named(context, device)
        _memory_kind(context, device)
        _state(context, device, errors=errors)
    return devices


def _signs(host: Host) -> bool:
    """Whether anything of NVIDIA is on this machine, so that asking its tools is worth the time."""
    if host.os == "macos":
        return False
    if host.which("nvidia-smi").ok:
        return True
    places = WINDOWS_PLACES if host.os == "windows" else (*PLACES, "/proc/driver/nvidia", "/dev/nvidiactl", "/dev/nvidia0")
    return any(host.access(path).ok for path in places)


def _program(host: Host) -> str | None:
    if host.which("nvidia-smi").ok:
        return "nvidia-smi"
    places = WINDOWS_PLACES if host.os == "windows" else PLACES
    return next((path for path in places if host.access(path).ok), None)


def _answers(context: Context) -> list[nvidia_text.Answer]:
    """What the library and the tool say, the most telling first."""
    host = context.host
    answers = []
    library = host.call("nvml")
    if library.ok:
        answers.append(of_library(library.text))
    elif library.status == "timed_out":
        context.notes.find(
            "probe.timed_out", "warning", VENDOR,
            Text("NVIDIA's library did not answer within three seconds; the driver may hang.", "NVIDIA 的库在三秒内没有回应；驱动可能已挂起。"),
            ("no answer", library.source),
        )  # fmt: skip
    if host.recorded:
        readings = [*outputs(host, "nvidia-smi"), *outputs(host, "devicequery")]
    elif answers and answers[0].devices:
        readings = []
    else:
        program = _program(host)
        reading = host.run([program, "-q", "-x"]) if program else None
        readings = [reading] if reading is not None and reading.status in ("ok", "failed") else []
        if reading is not None and reading.status == "timed_out":
            context.notes.find(
                "probe.timed_out", "warning", VENDOR,
                Text("nvidia-smi did not answer within three seconds; the driver may hang.", "nvidia-smi 在三秒内没有回应；驱动可能已挂起。"),
                ("no answer", reading.source),
            )  # fmt: skip
    read_texts = [nvidia_text.read(r.text, r.source, r.status == "failed") for r in readings if r.rc != 127]
    context.memory["nvidia_smi_absent"] = (bool(readings) and all(r.rc == 127 for r in readings)) or (
        context.complete and _program(host) is None
    )

    def worth(answer: nvidia_text.Answer) -> int:
        line = answer.source
        marks = (("-x", 0), ("--query-gpu", 1), ("-q", 2), (" -L", 4), ("deviceQuery", 5), ("--version", 6), ("topo", 7))
        return next((rank for mark, rank in marks if mark in line), 3)

    return answers + sorted(read_texts, key=worth)


def of_library(text: str) -> nvidia_text.Answer:
    """The helper's JSON: {driver, cuda, error, devices: [{name, uuid, bus, memory, capability, mig, pci_id, …}]}."""
    answer = nvidia_text.Answer("NVML")
    try:
        told = json.loads(text)
    except ValueError:
        return answer
    if not isinstance(told, dict):
        return answer
    answer.driver = nvidia_text.version_of(str(told.get("driver") or ""))
    answer.cuda = nvidia_text.cuda_of(str(told.get("cuda") or ""))
    answer.error = words_of(str(told.get("error") or ""))
    rows = told.get("devices")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        device = Device(VENDOR, address=address_of(str(row.get("bus") or "")))
        device.say("name", words_of(str(row.get("name") or "")), answer.source)
        device.say("uuid", words_of(str(row.get("uuid") or "")), answer.source)
        size = row.get("memory_bytes")
        device.say("memory_bytes", size if isinstance(size, int) and 1 << 24 <= size < 1 << 50 else None, answer.source)
        capability = str(row.get("capability") or "")
        device.say("target", capability if re.fullmatch(r"\d{1,2}\.\d", capability) else None, answer.source)
        device.say("pci_id", words_of(str(row.get("pci_id") or "")), answer.source)
        if row.get("mig"):
            device.say("mig", str(row["mig"]), answer.source)
        links = row.get("links")
        if isinstance(links, list) and links:
            device.say("links", tuple(str(one) for one in links), answer.source)
        device.extra["memory_not_told"] = row.get("memory_not_told") is True
        device.extra["licence"] = words_of(str(row.get("licence") or ""))
        answer.devices.append(device)
    for device in answer.devices:
        device.say("driver_version", answer.driver, answer.source)
        device.say("driver_api_max", answer.cuda, answer.source)
    return answer


def loaded_version(host: Host) -> tuple[str, str] | None:
    """Version of the kernel module that is loaded, with its file."""
    for path, pattern in (("/proc/driver/nvidia/version", r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)"),
                          ("/sys/module/nvidia/version", r"^\s*(\d+\.\d+(?:\.\d+)?)\s*$")):  # fmt: skip
        match = re.search(pattern, host.read(path).text)
        if match:
            return match[1], path
    return None


def _kernel(host: Host, devices: list[Device]) -> None:
    """Cards and driver version of the kernel module's own files, which stay readable when the library fails."""
    if host.os != "linux":
        return
    loaded = loaded_version(host)
    folder = "/proc/driver/nvidia/gpus"
    known = []
    for name in host.list(folder).names:
        reading = host.read(f"{folder}/{name}/information")
        told = dict(pairs(reading.text))
        device = Device(VENDOR, address=address_of(told.get("Bus Location") or name))
        model = words_of(told.get("Model"))
        device.say("name", model if model and "Unknown" not in model else None, reading.source)
        uuid = words_of(told.get("GPU UUID"))
        device.say("uuid", uuid if uuid and "?" not in uuid else None, reading.source)
        known.append(device)
    merge(devices, known)
    for device in devices:
        if loaded:
            device.say("driver_version", loaded[0], loaded[1])


def _jetson(context: Context, mark: str) -> list[Device]:
    """The GPU in a Jetson's chip, which is on no PCI bus and which older tools do not list."""
    host = context.host
    model = words_of(host.read("/proc/device-tree/model").text)
    release = host.read("/etc/nv_tegra_release").text
    device = Device(VENDOR)
    device.say("name", model, "/proc/device-tree/model")
    device.say("integrated", True, mark)
    match = re.match(r"# R(\d+) \(release\), REVISION: ([\d.]+)", release)
    if model is None and match is None and not host.access("/dev/nvhost-gpu").ok:
        return []  # a kernel's name alone shows no GPU
    device.say("name", "NVIDIA Tegra", mark)
    nodes = [path for path in ("/dev/nvhost-gpu", "/dev/nvgpu/igpu0", "/dev/nvmap", "/dev/nvidia0") if host.access(path).ok]
    if nodes:
        open_ = all("rw" in host.access(path).text for path in nodes) or host.recorded
        device.say("state", "usable" if open_ else "permission_denied", nodes[0])
    return [device]


def _named(context: Context, device: Device) -> None:
    function = device.function
    name = device.get("name")
    if function is not None and (name is None or name == "Graphics Device"):
        found = context.name_of(function)
        if found is not None:
            device.force("name", found[0], found[1])


def _memory_kind(context: Context, device: Device) -> None:
    name = str(device.get("name") or "")
    shared = device.get("integrated")
    source = device.sources.get("integrated", "NVML")
    if shared is None:
        attributes = context.cuda_attributes()
        row = next((r for r in attributes if r.get("name") in (None, name)), attributes[0] if len(attributes) == 1 else None)
        if row is not None and row.get("integrated") in (0, 1):
            shared, source = row["integrated"] == 1, "cuDeviceGetAttribute(CU_DEVICE_ATTRIBUTE_INTEGRATED)"
            device.say("integrated", shared, source)
    if shared is None and SHARED_MEMORY.search(name) and (device.extra.get("memory_not_told") or "Tegra" in name):
        shared, source = True, device.sources.get("name", "NVML")
        device.say("integrated", True, source)
    if shared:
        # What the library calls the card's memory is then a part of the system's, as large as somebody chose.
        device.facts.pop("memory_bytes", None)
        device.sources.pop("memory_bytes", None)
        device.force("memory_kind", "unified", source)
    elif device.get("memory_bytes") is not None:
        device.say("memory_kind", "dedicated", device.sources["memory_bytes"])
        if shared is False:
            device.say("integrated", False, source)


def _remedy(code: str, text: Text, *commands: str) -> Remedy:
    return Remedy(code=code, text=text, commands=commands)


def _state(context: Context, device: Device, *, errors: list[tuple[str, str]]) -> None:
    host, notes = context.host, context.notes
    error, where = errors[0] if errors else (None, "nvidia-smi")
    name = str(device.get("name") or "the NVIDIA GPU")
    name_zh = str(device.get("name") or "NVIDIA 显卡")
    listed_here = device.extra.get("listed")
    if error and "mismatch" in error:
        device.force("state", "driver_mismatch", where)
        loaded = loaded_version(host)
        notes.find(
            "driver.library_mismatch", "error", VENDOR,
            Text(f"{name} cannot be used now: the driver was updated, but the old kernel module is still loaded.",
                 f"{name_zh} 目前无法使用：驱动已更新，但仍加载着旧的内核模块。"),
            (error, where), (f"loaded module {loaded[0]}", loaded[1]) if loaded else ("", where),
            remedies=(_remedy("reboot", Text("Restart the computer.", "重新启动计算机。")),),
        )  # fmt: skip
        return
    licence = device.extra.get("licence")
    if isinstance(licence, str) and licence.lower().startswith("unlicensed"):
        device.force("state", "unlicensed", "nvidia-smi -q")
        notes.find(
            "accel.disabled", "error", VENDOR,
            Text(f"{name} is a slice of a shared card without a licence: programs cannot use it. Ask the administrator of "
                 "this virtual machine.", f"{name_zh} 是共享显卡的一个分片，但没有许可证，程序无法使用。请联系此虚拟机的管理员。"),
            (f"License Status: {licence}", "nvidia-smi -q"),
        )  # fmt: skip
        return
    if context.wsl and str(device.extra.get("driver_model") or "").upper() == "TCC":
        device.force("state", "hidden", where)
        notes.find(
            "accel.hidden", "warning", VENDOR,
            Text(f"{name} runs in TCC mode under Windows; WSL only sees cards in WDDM mode.",
                 f"{name_zh} 在 Windows 下处于 TCC 模式；WSL 只能看到 WDDM 模式的显卡。"),
            ("driver model TCC", "nvidia-smi.exe"),
        )  # fmt: skip
        return
    if listed_here and not (error and "communicate" in error):
        if context.wsl and (shadow := _shadowed(host)):
            device.force("state", "driver_mismatch", shadow)
            notes.find(
                "driver.library_mismatch", "error", VENDOR,
                Text("A Linux driver is installed inside WSL and hides the one of Windows. Remove it inside WSL; never install "
                     "a Linux driver there.", "WSL 内安装了 Linux 版驱动，遮住了 Windows 的驱动。请在 WSL 内将其卸载；切勿在 WSL 内安装 "
                     "Linux 版驱动。"),
                (f"libcuda.so.1 in {shadow}", "ldconfig -p"),
                remedies=(_remedy("uninstall", Text("Inside WSL: remove the packages libnvidia-compute-*.", "在 WSL 内：卸载 "
                                                    "libnvidia-compute-* 软件包。")),),
            )  # fmt: skip
            return
        if host.os == "linux" and not context.wsl and context.complete and not context.container and _lacks_uvm(host):
            device.force("state", "module_missing", "/dev/nvidia-uvm")
            notes.find(
                "driver.module_missing", "error", VENDOR,
                Text(f"{name} is listed, but the kernel module nvidia-uvm is not loaded, so CUDA cannot start.",
                     f"已列出 {name_zh}，但未加载内核模块 nvidia-uvm，CUDA 无法启动。"),
                ("missing", "/dev/nvidia-uvm"),
                remedies=(_remedy("load_module", Text("Load the module nvidia-uvm.", "加载 nvidia-uvm 模块。"), "sudo modprobe nvidia-uvm"),),
            )  # fmt: skip
            return
        if host.os == "linux" and _closed(host):
            device.force("state", "permission_denied", "/dev/nvidia0")
            notes.find(
                "accel.permission", "error", VENDOR,
                Text(f"{name}: this user may not open /dev/nvidia0.", f"{name_zh}：当前用户无权打开 /dev/nvidia0。"),
                ("no read and write access", "/dev/nvidia0"),
            )  # fmt: skip
            return
        device.say("state", "usable", device.sources.get("driver_version", "nvidia-smi"))
        return
    if device.get("state") is not None:
        return
    _not_listed(context, device, name, name_zh, error, where)


def _not_listed(context: Context, device: Device, name: str, name_zh: str, error: str | None, where: str) -> None:
    """A card that the bus shows and the tools do not."""
    host, notes = context.host, context.notes
    function = device.function
    driver = function.driver if function is not None else None
    nodes = host.access("/dev/nvidia0").ok or host.access("/dev/nvidiactl").ok
    if context.container and not nodes and not (error and "communicate" in error):
        device.force("state", "hidden", context.container_source)
        notes.find(
            "accel.hidden", "error", VENDOR,
            Text(f"{name} is in this computer, but the container was started without it.", f"本机有 {name_zh}，但启动容器时没有传入。"),
            ("no /dev/nvidia0", "/dev"),
            remedies=(_remedy("container_gpu_flag", Text("Start the container with GPU access, for Docker: --gpus all.",
                                                         "启动容器时开放 GPU，Docker 使用：--gpus all。")),),
        )  # fmt: skip
        return
    if error and ("communicate" in error or "NVIDIA-SMI has failed" in error or "not loaded" in error.lower()):
        device.force("state", "module_missing", where)
        switch = _prime(host)
        because = Text(f"{name} cannot be used now: the NVIDIA driver is installed, but its kernel module is not loaded.",
                       f"{name_zh} 目前无法使用：已安装 NVIDIA 驱动，但未加载其内核模块。")  # fmt: skip
        remedies = [_remedy("load_module", Text("Install the driver package for the running kernel, then restart.",
                                                "安装与当前内核匹配的驱动包，然后重新启动。"))]  # fmt: skip
        evidence = [(error, where)]
        if switch:
            evidence.append((f"graphics switch: {switch}", "prime-select query"))
            because = Text(because.en + f" The graphics switch stands on {switch}.", because.zh + f"显卡切换设置为 {switch}。")
            remedies.insert(0, _remedy("enable_setting", Text("Switch the NVIDIA GPU on, then restart.", "启用 NVIDIA 显卡，然后重新启动。"),
                                       "sudo prime-select on-demand"))  # fmt: skip
        notes.find("driver.module_missing", "error", VENDOR, because, *evidence, remedies=tuple(remedies))
        return
    if driver in ("nouveau", "vfio-pci", "nova_core", "pci-stub"):
        kind = "disabled" if driver in ("vfio-pci", "pci-stub") else "no_driver"
        device.force("state", kind, function.source if function else where)
        said = (Text(f"{name} is reserved for virtual machines (driver {driver}).", f"{name_zh} 已保留给虚拟机（驱动 {driver}）。")
                if kind == "disabled" else
                Text(f"{name} runs with the driver {driver}, which has no CUDA.", f"{name_zh} 使用的是 {driver} 驱动，不支持 CUDA。"))  # fmt: skip
        notes.find("accel.disabled" if kind == "disabled" else "driver.missing", "error", VENDOR, said, (driver, "PCI driver"))
        return
    if driver == "nvidia" or loaded_version(host):
        device.say("state", "unknown", where)
        return
    if context.memory.get("nvidia_smi_absent") and context.complete and host.os in ("linux", "windows"):
        device.force("state", "no_driver", "nvidia-smi")
        notes.find(
            "driver.missing", "error", VENDOR,
            Text(f"{name} is present, but NVIDIA's driver is not installed.", f"检测到 {name_zh}，但未安装 NVIDIA 驱动。"),
            ("not found", "nvidia-smi"), ("not loaded", "/proc/driver/nvidia/version"),
            remedies=(_remedy("install_driver", Text("Install NVIDIA's driver.", "安装 NVIDIA 驱动。")),),
        )  # fmt: skip
        return
    device.say("state", "unknown", "")


def _prime(host: Host) -> str | None:
    reading = host.run(["prime-select", "query"]) if host.recorded or host.which("prime-select").ok else None
    word = reading.text.strip() if reading is not None and reading.ok else ""
    return word if word in ("intel", "on-demand", "integrated") else None


def _shadowed(host: Host) -> str | None:
    """The folder of a Linux libcuda that comes before WSL's own, or None."""
    for reading in outputs(host, "ldconfig") if host.recorded else ():
        found = re.findall(r"libcuda\.so\.1 .*=> (\S+)", reading.text)
        if found and not found[0].startswith("/usr/lib/wsl"):
            return str(found[0]).rsplit("/", 1)[0]
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64"):
        link = host.link(f"{folder}/libcuda.so.1")
        if link.ok and "wsl" not in link.text and not host.access("/.dockerenv").ok:
            return folder
    return None


def _lacks_uvm(host: Host) -> bool:
    return host.access("/dev/nvidia0").ok and not host.access("/dev/nvidia-uvm").ok and not host.access("/sys/module/nvidia_uvm").ok


def _closed(host: Host) -> bool:
    reading = host.access("/dev/nvidia0")
    return reading.ok and not host.recorded and not {"r", "w"} <= set(reading.text)


def _without_card(context: Context, errors: list[tuple[str, str]]) -> None:
    """The tool complains, but no card is seen anywhere: what it says is worth telling, a card is not made up."""
    error, source = errors[0]
    context.notes.find(
        "probe.failed", "warning", VENDOR,
        Text(f"nvidia-smi says: {error}. No NVIDIA GPU could be read.", f"nvidia-smi 提示：{error}。未能读取任何 NVIDIA 显卡。"),
        (str(error), source),
    )  # fmt: skip


