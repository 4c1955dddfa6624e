"""Devices that are there and cannot be used, and why; each state has the repair that fits its system."""

# ruff: noqa: E501 - a wide character counts twice
from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge.diagnosis.situation import VENDORS, Machine, found, title
from knowledge.explain import remedy
from knowledge.facts import Accelerator, Evidence, Finding, Remedy, Severity, Source
from knowledge.versions import at_least, capability

MODULES = {
    "nvidia": "nvidia", "amd": "amdgpu", "intel": "xe", "huawei": "drv_davinci", "habana": "habanalabs", "moore-threads": "mtgpu",
}  # fmt: skip
NPU_MODULES = {"intel": "intel_vpu", "amd": "amdxdna", "rockchip": "rknpu"}
GROUPS = {"nvidia": "video", "huawei": "HwHiAiUser"}
SETTINGS = {
    "nvidia": "CUDA_VISIBLE_DEVICES", "amd": "HIP_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK",
    "huawei": "ASCEND_RT_VISIBLE_DEVICES",
}  # fmt: skip
FLAGS = {
    ("amd", "gpu"): "--device /dev/kfd --device /dev/dri --group-add render", ("intel", "gpu"): "--device /dev/dri",
    ("intel", "npu"): "--device /dev/accel", ("amd", "npu"): "--device /dev/accel",
    ("huawei", "npu"): "--device /dev/davinci0 --device /dev/davinci_manager --device /dev/hisi_hdc",
    ("habana", "npu"): "--runtime=habana", ("rockchip", "npu"): "--device /dev/dri",
}  # fmt: skip
WSL = Source(url="https://docs.nvidia.com/cuda/wsl-user-guide/index.html", date="2026")
INTEL_NPU = Source(url="https://github.com/intel/linux-npu-driver/blob/main/docs/overview.md", date="2026")
# The last driver branch that knows an old chip. Source: NVIDIA driver release notes.
LAST_BRANCH = {
    (3, 0): "470", (3, 5): "470", (3, 7): "470", (5, 0): "580", (5, 2): "580", (6, 0): "580", (6, 1): "580", (7, 0): "580",
}  # fmt: skip


DISPLAY = frozenset({"aspeed", "matrox", "vmware", "virtualbox", "qemu", "red-hat", "cirrus", "microsoft", "bochs", "silicon-motion", "xgi", "via"})
DRAWS = re.compile(r"aspeed|ast\d{4}|matrox|g200|vmware svga|virtualbox|qxl|virtio|bochs|cirrus|hyper-v|basic (display|render)|silicon motion", re.I)


def states(machine: Machine) -> Iterator[Finding]:
    """One finding per device that cannot be used."""
    for place, card in enumerate(machine.cards):
        rule = STATES.get(card.state)
        if rule is not None and not _for_display(card):
            yield rule(machine, card, machine.fact(f"accelerators.{place}.state", card.state))


def _for_display(card: Accelerator) -> bool:
    """Whether the device only draws: the screen of a server's management chip or of a virtual machine."""
    return card.vendor in DISPLAY or (card.vendor == "unknown" and card.kind == "gpu" and bool(DRAWS.search(card.name or "")))


def _module(card: Accelerator) -> str:
    return (NPU_MODULES if card.kind == "npu" else MODULES).get(card.vendor, "")


def _vendor(card: Accelerator) -> str:
    return VENDORS.get(card.vendor, card.vendor)


def _hand_in(card: Accelerator) -> Remedy:
    """The option that gives a container this vendor's device files."""
    flags = FLAGS.get((card.vendor, card.kind))
    return remedy("container_gpu_flag", {"flags": flags} if flags else {})


def _mismatch(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    system, vendor, name = machine.profile.system, _vendor(card), title(card)
    if system.wsl:
        return found(
            "driver.library_mismatch", "error", name,
            "A Linux display driver was installed inside WSL and hides the one that Windows hands in. Only the driver of Windows counts here: remove the Linux one.",
            "WSL 内安装了 Linux 显卡驱动，挡住了 Windows 提供的驱动。这里只认 Windows 的驱动：请删除 Linux 版。",
            proof,
            (remedy("uninstall", {"system_package": f"{card.vendor}-driver-*"}), remedy("update_driver", {"vendor": vendor, "os": "windows"})),
            WSL,
        )  # fmt: skip
    if system.container:
        return found(
            "driver.library_mismatch", "error", name,
            f"The {vendor} libraries in this container are not of the version of the host's kernel module: the container was started before the host's driver changed, or the image brings a driver of its own.",
            f"容器内的 {vendor} 库与宿主机内核模块版本不一致：容器在宿主机更换驱动前启动，或镜像自带了驱动。",
            proof, (_hand_in(card), remedy("reboot")),
        )  # fmt: skip
    return found(
        "driver.library_mismatch", "error", name,
        f"The {vendor} driver was updated on disk while the old kernel module is still loaded. The device is there; a restart brings both to one version.",
        f"磁盘上的 {vendor} 驱动已更新，但内存中仍是旧内核模块。设备在，重启后两者即一致。",
        proof, (remedy("reboot", {"os": system.os or ""}), remedy("load_module", {"module": _module(card)})),
    )  # fmt: skip


def _no_driver(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    system, vendor, name = machine.profile.system, _vendor(card), title(card)
    if system.wsl:
        return _wsl_driver(machine, card, proof)
    given = {"vendor": vendor, "device": name, "distribution": system.distribution or "", "os": system.os or ""}
    install = remedy("install_driver", given)
    if system.container and card.vendor == "nvidia":
        return found("driver.missing", "error", name,
                     "The driver of a container is that of its host, and no working one was handed in: the host lacks it, or the NVIDIA container toolkit.",
                     "容器使用宿主机的驱动，但没有可用的驱动被交进来：宿主机缺少驱动，或缺少 NVIDIA 容器工具包。",
                     proof, (_hand_in(card), install))  # fmt: skip
    if system.container:
        return found("driver.missing", "error", name,
                     f"The device was handed into this container, but the image lacks the user-space driver of {vendor}.",
                     f"设备已交给容器，但镜像中缺少 {vendor} 的用户态驱动。",
                     proof, (remedy("container_image"), remedy("install_system_package")))  # fmt: skip
    if card.vendor == "intel" and card.kind == "npu" and system.os == "linux":
        extra = remedy("install_system_package", {"name": "intel-level-zero-npu, intel-driver-compiler-npu"})
        return found("driver.missing", "error", name,
                     "The kernel module is there; the user-space NPU driver (Level Zero and compiler), which no wheel brings, is not.",
                     "内核模块已有，但没有用户态 NPU 驱动（Level Zero 与编译器）；任何轮子都不附带它。",
                     proof, (install, extra), INTEL_NPU)  # fmt: skip
    cures: tuple[Remedy, ...] = (install,)
    note_en = note_zh = ""
    if card.vendor == "intel" and system.os == "linux":
        cures += (remedy("install_system_package", {"name": "libze1, libze-intel-gpu1, intel-opencl-icd"}),)
    elif card.vendor == "amd" and card.kind == "gpu" and system.os == "linux":
        cures += (remedy("load_module", {"module": "amdgpu"}),)
    elif card.vendor == "nvidia":
        last = LAST_BRANCH.get(capability(card.target) or (0, 0))
        if last is not None:
            note_en, note_zh = f" For this card the last driver branch is {last}.", f"此卡最后可用的驱动分支是 {last}。"
        if system.os == "linux":
            note_en += " The open nouveau driver cannot compute."
            note_zh += "开源 nouveau 驱动不能用于计算。"
    inside = card.vendor == "intel" and card.kind == "gpu" and card.memory_kind == "shared"
    severity: Severity = "info" if inside else "error"
    return found("driver.missing", severity, name, f"The {vendor} device is there, but no working driver is.{note_en}",
                 f"检测到 {vendor} 设备，但没有可用的驱动。{note_zh}", proof, cures)  # fmt: skip


def _wsl_driver(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    return found(
        "driver.missing", "error", title(card),
        "Inside WSL the driver is that of Windows. Update it on Windows, then run “wsl --shutdown”; nothing is to be installed inside WSL.",
        "WSL 使用 Windows 的驱动。请在 Windows 上更新驱动，然后运行 “wsl --shutdown”；不要在 WSL 内安装驱动。",
        proof, (remedy("update_driver", {"vendor": _vendor(card), "os": "windows"}),), WSL,
    )  # fmt: skip


def _module_missing(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    system, vendor, module = machine.profile.system, _vendor(card), _module(card)
    if system.wsl:
        return _wsl_driver(machine, card, proof)
    load = remedy("load_module", {"module": module} if module else {})
    # A maker whose module has no known name is spoken of without one.
    name_en, name_zh = (f" {module}", f" {module} ") if module else ("", "")
    if system.container:
        return found("driver.module_missing", "error", title(card), f"The kernel module{name_en} is not loaded on the host of this container.",
                     f"容器的宿主机没有加载内核模块{name_zh.rstrip()}。", proof, (load,))  # fmt: skip
    return found(
        "driver.module_missing", "error", title(card),
        f"The {vendor} driver is installed, but its kernel module{name_en} is not loaded: a new kernel came without it, or Secure Boot refuses it.",
        f"已安装 {vendor} 驱动，但内核模块{name_zh}未加载：可能是新内核没有该模块，或被安全启动拒绝。",
        proof, (load, remedy("reboot"), remedy("install_system_package", {"name": f"linux-headers, {card.vendor} DKMS"})),
    )  # fmt: skip


def _permission(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    locked = next((f for f in machine.profile.findings if f.code == "accel.permission" and "memlock" in f.because.en), None)
    if locked is not None and card.kind == "npu":
        return found("accel.permission", "error", title(card), locked.because.en, locked.because.zh, (*proof, *locked.evidence),
                     (remedy("enable_setting", {"setting": "memlock unlimited (/etc/security/limits.conf)"}),))  # fmt: skip
    group = GROUPS.get(card.vendor, "render")
    cures = [remedy("join_group", {"group": group})]
    if card.vendor == "amd" and card.kind == "gpu":
        cures.append(remedy("join_group", {"group": "video"}))
    if machine.profile.system.container:
        cures.append(_hand_in(card))
    return found("accel.permission", "error", title(card), f"Driver and device work, but this user may not open the device file; its group is {group}.",
                 f"驱动和设备正常，但当前用户无权打开设备文件；其所属组为 {group}。", proof, tuple(cures))  # fmt: skip


def _hidden(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    system, name = machine.profile.system, title(card)
    if system.container:
        return found("accel.hidden", "error", name, "The device is in the machine, but this container was started without it.",
                     "机器里有该设备，但启动容器时没有把它交进来。", proof, (_hand_in(card),))  # fmt: skip
    if system.sandbox:
        return found("accel.hidden", "warning", name, f"The device is hidden by the {system.sandbox} sandbox that this program runs in.",
                     f"该设备被 {system.sandbox} 沙盒隐藏。", proof, (remedy("enable_setting", {"setting": f"{system.sandbox}: device access"}),))  # fmt: skip
    if system.wsl:
        return found("accel.hidden", "error", name, "The device is not handed into WSL: that needs WSL2 and a current driver of Windows.",
                     "设备没有交给 WSL：需要 WSL2 和较新的 Windows 驱动。", proof,
                     (remedy("use_wsl2"), remedy("update_driver", {"vendor": _vendor(card), "os": "windows"})), WSL)  # fmt: skip
    name_of = SETTINGS.get(card.vendor, "CUDA_VISIBLE_DEVICES")
    return found("accel.hidden", "warning", name, f"The device is hidden from programs, most likely by the variable {name_of} or by the scheduler of this job.",
                 f"该设备对程序不可见，很可能由环境变量 {name_of} 或作业调度器造成。", proof,
                 (remedy("set_env", {"name": name_of}), remedy("enable_setting", {"setting": name_of})))  # fmt: skip


def _disabled(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    return found("accel.disabled", "warning", title(card), "The device is switched off: in the firmware, in the device manager or by power saving.",
                 "该设备已被停用：在固件或设备管理器中，或由节能功能停用。", proof, (remedy("enable_setting", {"setting": title(card)}),))  # fmt: skip


def _unlicensed(machine: Machine, card: Accelerator, proof: tuple[Evidence, ...]) -> Finding:
    return found("accel.disabled", "warning", title(card), "The virtual GPU has no licence: it runs throttled, and CUDA may be refused.",
                 "虚拟 GPU 没有许可证：会降速运行，CUDA 也可能被拒绝。", proof,
                 (remedy("enable_setting", {"setting": "vGPU licence (nvidia-gridd)"}),))  # fmt: skip


STATES = {
    "driver_mismatch": _mismatch, "no_driver": _no_driver, "module_missing": _module_missing, "hidden": _hidden,
    "permission_denied": _permission, "disabled": _disabled, "unlicensed": _unlicensed,
}  # fmt: skip


def shape(machine: Machine) -> Iterator[Finding]:
    """What is worth knowing of devices that work: different cards together, partitions, a driver too old for its card."""
    usable = [(place, card) for place, card in enumerate(machine.cards) if card.state in ("usable", "unknown")]
    yield from _mixed(machine, usable)
    for place, card in usable:
        if card.mig is not None and card.mig.lower() not in ("", "disabled", "off", "none", "n/a", "[n/a]"):
            yield found("accel.partitioned", "info", title(card),
                        f"The device is partitioned (MIG {card.mig}): a program sees one part with a part of the memory, and parts cannot exchange data directly.",
                        f"该设备已分区（MIG {card.mig}）：程序只能看到一个分区及其显存，各分区之间不能直接通信。",
                        machine.fact(f"accelerators.{place}.mig", card.mig), (remedy("enable_setting", {"setting": "MIG"}),))  # fmt: skip
        yield from _driver(machine, place, card)


def age(machine: Machine) -> Iterator[Finding]:
    """No device at all, and devices that current frameworks have left behind."""
    named = [card for card in machine.cards if not _for_display(card)]
    if machine.profile.accelerators is not None and not named:
        yield found("accel.none", "info", "accelerators", "There is no GPU or NPU here that frameworks know; everything runs on the processor.",
                    "没有检测到框架支持的 GPU 或 NPU，一切都在 CPU 上运行。", machine.fact("accelerators", "none"))  # fmt: skip
    for place, card in enumerate(machine.cards):
        have = capability(card.target) if card.vendor == "nvidia" else None
        proof = machine.fact(f"accelerators.{place}.target", card.target)
        if have is not None and have < (5, 0):
            last_en = " the last PyTorch with it is 2.0 (CUDA 11.8)." if have == (3, 7) else " no PyTorch wheel has it either."
            last_zh = "最后支持它的 PyTorch 是 2.0（CUDA 11.8）。" if have == (3, 7) else "PyTorch 的轮子也不支持。"
            # Beside a framework that is installed the package rules say what fails; a card that draws the screen harms nobody.
            severity: Severity = "info" if machine.learns or any(c.vendor == "nvidia" and (capability(c.target) or (0, 0)) >= (5, 0) for c in machine.cards) else "warning"
            yield found("accel.arch_too_old", severity, title(card), f"No framework of today has code for capability {card.target};{last_en}",
                        f"当前任何框架都不含计算能力 {card.target} 的代码；{last_zh}", proof, (remedy("use_instead", {"device": "processor (CPU)"}),))  # fmt: skip
        elif have is not None and have < (7, 5) and have not in ((5, 3), (6, 2), (7, 2)):
            yield found("accel.arch_too_old", "info", title(card), f"PyTorch 2.14 from the index cu126 is the last with code for capability {card.target}; CUDA 13 dropped it.",
                        f"cu126 软件源的 PyTorch 2.14 是最后支持计算能力 {card.target} 的版本；CUDA 13 已不再支持。", proof)  # fmt: skip
        elif card.vendor == "amd" and card.target == "gfx803":
            yield found("accel.arch_too_old", "info", title(card), "ROCm no longer has code for Polaris and Fiji cards; llama.cpp and Ollama use them through Vulkan.",
                        "ROCm 已不支持 Polaris 与 Fiji 显卡；llama.cpp 和 Ollama 可通过 Vulkan 使用。", proof, (remedy("use_instead", {"name": "llama.cpp (Vulkan)"}),))  # fmt: skip


def _mixed(machine: Machine, usable: list[tuple[int, Accelerator]]) -> Iterator[Finding]:
    cards = [(place, card) for place, card in usable if card.vendor == "nvidia" and card.kind == "gpu"]
    if len({(card.name, card.target) for _, card in cards}) > 1:
        proof = tuple(item for place, card in cards for item in machine.fact(f"accelerators.{place}.name", card.name))
        names = ", ".join(title(card) for _, card in cards)
        yield found(
            "accel.mixed", "info", names,
            f"Different cards together: {names}. nvidia-smi counts them by bus, CUDA by speed; with CUDA_DEVICE_ORDER=PCI_BUS_ID both agree (or name a card by its UUID). The slowest and smallest card limits a job that spans them.",
            f"机器中有不同的显卡：{names}。nvidia-smi 按总线编号，CUDA 按速度编号；设置 CUDA_DEVICE_ORDER=PCI_BUS_ID 可使两者一致（或用 UUID 指定）。跨卡任务受最慢、显存最小的卡限制。",
            proof, (remedy("set_env", {"name": "CUDA_DEVICE_ORDER", "value": "PCI_BUS_ID"}),),
        )  # fmt: skip
    amd = [card for _, card in usable if card.vendor == "amd" and card.kind == "gpu"]
    inside = [card for card in amd if card.memory_kind in ("shared", "unified") or card.integrated]
    outside = [card for card in amd if card.memory_kind == "dedicated"]
    if inside and outside:
        value = ",".join(str(number) for number in range(sum(card.count for card in outside)))
        yield found(
            "accel.mixed", "info", ", ".join(title(card) for card in amd),
            "The GPU inside the processor is listed beside the dedicated card; ROCm programs may pick it and crash. HIP_VISIBLE_DEVICES chooses the dedicated one.",
            "处理器内置 GPU 与独立显卡同时可见，ROCm 程序可能选中前者并崩溃。可用 HIP_VISIBLE_DEVICES 指定独立显卡。",
            machine.fact("accelerators", len(amd)),
            (remedy("hide_device", {"name": "HIP_VISIBLE_DEVICES", "value": value, "device": title(inside[0])}),),
        )  # fmt: skip


def _driver(machine: Machine, place: int, card: Accelerator) -> Iterator[Finding]:
    """A driver older than anything that is still built, or older than the card's generation."""
    if card.vendor != "nvidia" or card.driver_version is None or card.kind != "gpu":
        return
    system = machine.profile.system
    windows = system.os == "windows" or system.wsl is not None
    floor, what_en, what_zh = "452.39" if windows else "450.80.02", "any CUDA build of today", "目前的任何 CUDA 构建"
    if (capability(card.target) or (0, 0)) >= (10, 0):
        floor, what_en, what_zh = "570", "cards of this generation", "这一代显卡"
    if at_least(card.driver_version, floor) is False:
        cure = {"vendor": "NVIDIA", "minimum": floor, "os": "windows" if windows else system.os or ""}
        yield found("driver.too_old", "warning", title(card), f"The NVIDIA driver {card.driver_version} is too old for {what_en}; {floor} is the oldest that serves.",
                    f"NVIDIA 驱动 {card.driver_version} 过旧，不支持{what_zh}；最低需要 {floor}。",
                    machine.fact(f"accelerators.{place}.driver_version", card.driver_version), (remedy("update_driver", cure),))  # fmt: skip
