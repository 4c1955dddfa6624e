"""What a reader calls the things that have ids: frameworks, devices, requirements, answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowledge.text import Text

if TYPE_CHECKING:
    from advisor_gui.report.value import Report
    from knowledge.catalog import Catalog
    from knowledge.verdicts import Recommendation

DEVICES = {
    "cuda": Text("NVIDIA GPU (CUDA)", "NVIDIA GPU（CUDA）"), "rocm": Text("AMD GPU (ROCm)", "AMD GPU（ROCm）"),
    "xpu": Text("Intel GPU", "Intel GPU"), "mps": Text("Apple GPU (Metal)", "Apple GPU（Metal）"), "cpu": Text("CPU", "CPU"),
    "cann": Text("Ascend NPU (CANN)", "昇腾 NPU（CANN）"), "any": Text("any device", "任意设备"),
    "metal": Text("Apple GPU (Metal)", "Apple GPU（Metal）"), "vulkan": Text("GPU (Vulkan)", "GPU（Vulkan）"),
    "directml": Text("GPU (DirectML)", "GPU（DirectML）"), "tpu": Text("TPU", "TPU"),
}  # fmt: skip
# What a requirement is about, by the code that its failure has; the nearest prefix counts.
REQUIREMENTS = {
    "driver": Text("Driver", "驱动"),
    "accel.arch_not_built": Text("Code for this device", "针对该设备的构建"),
    "accel.arch_too_old": Text("Device generation", "设备代际"),
    "accel.vendor_unsupported": Text("Maker of the device", "设备厂商"),
    "accel.count_mismatch": Text("Number of devices", "设备数量"),
    "accel.no_bf16": Text("bfloat16", "bfloat16"),
    "accel.no_fp8": Text("FP8", "FP8"),
    "accel": Text("Accelerator", "加速器"),
    "cpu": Text("Processor", "处理器"),
    "os.too_old": Text("Version of the system", "系统版本"),
    "os.runtime_missing": Text("System libraries", "系统运行库"),
    "os": Text("Operating system", "操作系统"),
    "arch": Text("Architecture", "处理器架构"),
    "libc": Text("C library", "C 运行库"),
    "python": Text("Python", "Python"),
    "package": Text("Packages", "软件包"),
    "toolkit": Text("Toolkit", "工具包"),
    "memory": Text("Memory", "内存"),
    "disk": Text("Disk space", "磁盘空间"),
    "project": Text("State of the project", "项目状态"),
    "network": Text("Network", "网络"),
    "system": Text("System", "系统"),
}
PARTS = (
    ("weights", Text("Weights", "权重")), ("gradients", Text("Gradients", "梯度")), ("optimizer", Text("Optimizer", "优化器")),
    ("activations", Text("Activations", "激活值")), ("kv_cache", Text("KV cache", "KV 缓存")),
    ("overhead", Text("Overhead", "其他开销")),
)  # fmt: skip
METHODS = {
    "full": Text("Full fine-tuning", "全参数微调"), "lora": Text("LoRA", "LoRA"), "qlora": Text("QLoRA", "QLoRA"),
    "scratch": Text("Training from scratch", "从头训练"), "infer": Text("Inference", "推理"),
}  # fmt: skip
TARGETS = {
    "this-machine": Text("this machine", "这台电脑"), "server": Text("server", "服务器"), "cluster": Text("cluster", "集群"),
    "android": Text("Android", "Android"), "ios": Text("iOS", "iOS"), "embedded-linux": Text("embedded Linux", "嵌入式 Linux"),
    "browser": Text("browser", "浏览器"), "windows": Text("Windows", "Windows"), "macos": Text("macOS", "macOS"),
    "microcontroller": Text("microcontroller", "微控制器"),
}  # fmt: skip
SYSTEMS = {
    "linux": "Linux", "windows": "Windows", "macos": "macOS", "ubuntu": "Ubuntu", "debian": "Debian", "rhel": "RHEL",
    "fedora": "Fedora", "amzn": "Amazon Linux", "arch": "Arch Linux", "opensuse": "openSUSE", "rocky": "Rocky Linux",
    "centos": "CentOS", "alpine": "Alpine Linux", "kylin": "Kylin", "openeuler": "openEuler",
}  # fmt: skip
VENDORS = {
    "nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "qualcomm": "Qualcomm", "huawei": "Huawei",
    "google": "Google", "rockchip": "Rockchip", "arm": "Arm", "habana": "Intel Gaudi",
}  # fmt: skip


def requirement(code: str) -> Text:
    """What the requirement of CODE is about; the code itself where that is not known."""
    key = code
    while key:
        if key in REQUIREMENTS:
            return REQUIREMENTS[key]
        key = key.rpartition(".")[0]
    return Text(code, code)


def framework(value: Report, id_: str) -> str:
    """The proper name of a framework; its id where the report does not carry one."""
    known = value.frameworks.get(id_)
    return known.name if known is not None else id_


def short(value: Report, id_: str) -> str:
    """The name where several stand in a row: without the maker before it and the words in brackets after it."""
    name = framework(value, id_).removeprefix("Hugging Face ")
    return re.sub(r"\s*[(（][^()（）]*[)）]$", "", name) or name


def device(id_: str | None, language: str) -> str:
    if id_ is None:
        return ""
    return DEVICES[id_].said(language) if id_ in DEVICES else id_


def system(id_: str | None) -> str:
    return SYSTEMS.get(id_, id_.capitalize()) if id_ else ""


def vendor(id_: str) -> str:
    return VENDORS.get(id_, id_.replace("-", " ").title())


def mentioned(found: Recommendation) -> set[str]:
    """Framework ids in FOUND."""
    every = [a for a in (found.chosen, *found.others, *found.unsuitable) if a is not None]
    ids = {a.framework for a in every} | {c.framework for a in every for c in a.stack.components}
    for change in found.what_would_change:
        ids |= {*change.unlocks, *((change.framework,) if change.framework else ())}
    return ids


def labels(catalog: Catalog) -> dict[str, Text]:
    """Question ids and dotted answer keys to the label of their question."""
    found: dict[str, Text] = {}
    for id_, question in catalog.questions.items():
        found[id_] = question.label
        found[question.key] = question.label
    return found
