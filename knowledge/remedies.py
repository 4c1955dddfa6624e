"""The closed list of remedies: the sentence of each in both languages, and commands rendered from code and params.

Every parameter is optional; the first wording whose parameters are all given is used. Known parameters:
package, version, index (id of a package index), python (path of the environment's Python), os, distribution, vendor,
device, minimum, framework, name, value, module, group, image, setting, reason and the numbers of the memory remedies.
"""


from __future__ import annotations

import re
from collections.abc import Mapping

from knowledge.facts import Remedy
from knowledge.quoting import VARIABLES, assignment, is_name, is_url, is_version, line
from knowledge.text import Text
from knowledge.versions import specifier

PYTORCH_WHEELS = "https://download.pytorch.org/whl/"

# code: wordings, the richest first. Each is (parameters it needs, English, Chinese).
WORDINGS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "update_driver": (
        ("vendor minimum", "Update the {vendor} driver to {minimum} or newer, then restart.",
         "把 {vendor} 驱动更新到 {minimum} 或更高版本，然后重启。"),
        ("vendor", "Update the {vendor} driver, then restart.", "更新 {vendor} 驱动，然后重启。"),
        ("minimum", "Update the GPU driver to {minimum} or newer, then restart.",
         "把显卡驱动更新到 {minimum} 或更高版本，然后重启。"),
        ("", "Update the GPU driver, then restart.", "更新显卡驱动，然后重启。"),
    ),
    "install_driver": (
        ("vendor device", "Install the {vendor} driver for {device}, then restart.",
         "为 {device} 安装 {vendor} 驱动，然后重启。"),
        ("device", "Install the driver for {device}, then restart.", "为 {device} 安装驱动，然后重启。"),
        ("vendor", "Install the {vendor} driver, then restart.", "安装 {vendor} 驱动，然后重启。"),
        ("", "Install the driver of the device, then restart.", "安装该设备的驱动，然后重启。"),
    ),
    "reboot": (("", "Restart the computer so that the new driver is loaded.", "重启电脑，让新驱动生效。"),),
    "load_module": (
        ("module", "Load the kernel module {module}.", "加载内核模块 {module}。"),
        ("", "Load the driver's kernel module.", "加载驱动的内核模块。"),
    ),
    "container_gpu_flag": (
        ("flags", "Start the container with the device handed in: {flags}.", "启动容器时把设备交给它：{flags}。"),
        ("", "Start the container with its GPU handed in: with Docker, the option --gpus all.",
         "启动容器时把 GPU 交给它：Docker 用 --gpus all 选项。"),
    ),
    "container_image": (
        ("image reason", "Use the container image {image}: {reason}.", "使用容器镜像 {image}：{reason}。"),
        ("image", "Use the container image {image}, which brings all that is needed.",
         "使用容器镜像 {image}，其中已带齐所需组件。"),
        ("", "Use a container image that brings what is missing here.", "使用已带齐所缺组件的容器镜像。"),
    ),
    "join_group": (
        ("group", "Join the group {group}, then log in again.", "把自己加入 {group} 组，然后重新登录。"),
        ("", "Join the group that owns the device, then log in again.", "把自己加入设备所属的组，然后重新登录。"),
    ),
    "use_wsl2": (
        ("", "Work inside WSL2 (Ubuntu) on this Windows computer; NVIDIA GPUs are available there.",
         "在这台 Windows 电脑上使用 WSL2（Ubuntu），其中可以使用 NVIDIA GPU。"),
    ),
    "use_linux": (("", "Use Linux on this computer, or a Linux server.", "在这台电脑上改用 Linux，或使用 Linux 服务器。"),),
    "use_python": (
        ("version path", "Use Python {version}, which is installed at {path}.", "使用已安装在 {path} 的 Python {version}。"),
        ("version", "Make an environment with Python {version}.", "用 Python {version} 新建环境。"),
        ("", "Make an environment with a Python that the packages are built for.", "用软件包支持的 Python 版本新建环境。"),
    ),
    "use_64bit": (("", "Install the 64-bit Python.", "安装 64 位的 Python。"),),
    "use_native_arch": (
        ("arch", "Use a Python built for this processor ({arch}) instead of an emulated one.",
         "改用为本机处理器（{arch}）编译的 Python，不要用转译运行的 Python。"),
        ("", "Use a Python built for this processor instead of an emulated one.",
         "改用为本机处理器编译的 Python，不要用转译运行的 Python。"),
    ),
    "pin_version": (
        ("package bounds", "Install {package} within {bounds}.", "安装满足 {bounds} 的 {package}。"),
        ("package version index", "Install {package} {version} from the index {index}.",
         "从 {index} 软件源安装 {package} {version}。"),
        ("package version", "Pin {package} to {version}.", "把 {package} 固定在 {version}。"),
        ("package", "Pin {package} to a release that fits.", "把 {package} 固定在合适的版本。"),
        ("", "Pin the package to a release that fits.", "把该软件包固定在合适的版本。"),
    ),
    "use_index": (
        ("package version index", "Install {package} {version} from the index {index}.",
         "从 {index} 软件源安装 {package} {version}。"),
        ("package index", "Install {package} from the index {index}.", "从 {index} 软件源安装 {package}。"),
        ("index", "Use the package index {index}.", "使用 {index} 软件源。"),
        ("", "Install from the index that holds the build for this GPU.", "从提供适合此 GPU 的构建的软件源安装。"),
    ),
    "uninstall": (
        ("system_package", "Remove the system package {system_package} (with the system's package manager).",
         "用系统包管理器卸载 {system_package}。"),
        ("package", "Uninstall {package}.", "卸载 {package}。"),
        ("", "Uninstall the package that is in the way.", "卸载造成冲突的软件包。"),
    ),
    "reinstall": (
        ("package version index", "Reinstall {package} {version} from the index {index}.",
         "从 {index} 软件源重新安装 {package} {version}。"),
        ("package version", "Reinstall {package} {version}.", "重新安装 {package} {version}。"),
        ("package", "Reinstall {package} so that the parts belong together.", "重新安装 {package}，使各部分相互匹配。"),
        ("", "Reinstall the package.", "重新安装该软件包。"),
    ),
    "use_instead": (
        ("name reason", "Use {name} instead: {reason}.", "改用 {name}：{reason}。"),
        ("name", "Use {name} instead.", "改用 {name}。"),
        ("device", "Run it on the {device} instead.", "改为在 {device} 上运行。"),
        ("framework", "Use {framework} instead.", "改用 {framework}。"),
        ("", "Use another framework that runs here.", "改用能在此机器上运行的框架。"),
    ),
    "set_env": (
        ("name value", "Set the environment variable {name} to {value}.", "把环境变量 {name} 设为 {value}。"),
        ("name", "Set the environment variable {name}.", "设置环境变量 {name}。"),
        ("", "Set the environment variable that this needs.", "设置所需的环境变量。"),
    ),
    "quantize": (
        ("bits", "Use {bits}-bit weights (quantised).", "使用 {bits} 位量化权重。"),
        ("format", "Use weights in the format {format}.", "使用 {format} 格式的权重。"),
        ("", "Use quantised weights.", "使用量化权重。"),
    ),
    "reduce_context": (
        ("tokens", "Reduce the context to {tokens} tokens.", "把上下文缩短到 {tokens} 个词元。"),
        ("", "Use a shorter context.", "缩短上下文长度。"),
    ),
    "reduce_batch": (
        ("size", "Reduce the batch to {size}.", "把批量减到 {size}。"),
        ("concurrency", "Serve {concurrency} requests at a time.", "同时只处理 {concurrency} 个请求。"),
        ("", "Use a smaller batch.", "减小批量。"),
    ),
    "shard": (
        ("devices method", "Spread the model over {devices} devices with {method}.", "用 {method} 把模型分布到 {devices} 个设备上。"),
        ("devices", "Spread the model over {devices} devices.", "把模型分布到 {devices} 个设备上。"),
        ("method", "Spread the model over the devices with {method}.", "用 {method} 把模型分布到各设备上。"),
        ("", "Spread the model over several devices.", "把模型分布到多个设备上。"),
    ),
    "offload": (
        ("what", "Keep {what} in the computer's own memory (slower).", "把 {what} 放在内存中（较慢）。"),
        ("", "Keep part of the model in the computer's own memory (slower).", "把模型的一部分放在内存中（较慢）。"),
    ),
    "more_memory": (
        ("gib", "Use a device with at least {gib} GiB of memory.", "使用显存不少于 {gib} GiB 的设备。"),
        ("", "Use a device with more memory.", "使用显存更大的设备。"),
    ),
    "install_package": (
        ("package version", "Install {package} {version} as well.", "另外安装 {package} {version}。"),
        ("package", "Install {package} as well.", "另外安装 {package}。"),
        ("", "Install the package that is missing.", "安装缺少的软件包。"),
    ),
    "install_system_package": (
        ("package", "Install {package} on the system.", "在系统上安装 {package}。"),
        ("name", "Install {name}.", "安装 {name}。"),
        ("", "Install the system component that is missing.", "安装缺少的系统组件。"),
    ),
    "enable_setting": (
        ("setting", "Turn on: {setting}.", "启用：{setting}。"),
        ("", "Turn on the setting that this needs.", "启用所需的设置。"),
    ),
    "hide_device": (
        ("device name value", "Hide {device} from this project: set {name} to {value}.",
         "让本项目看不到 {device}：把 {name} 设为 {value}。"),
        ("device", "Hide {device} from this project.", "让本项目看不到 {device}。"),
        ("", "Let this project see one kind of device only.", "让本项目只看到一种设备。"),
    ),
    "build_from_source": (
        ("package", "Build {package} from source for this hardware.", "针对本机硬件从源码编译 {package}。"),
        ("", "Build it from source for this hardware.", "针对本机硬件从源码编译。"),
    ),
    "free_disk": (
        ("gib", "Free {gib} GiB on the disk, or install on another one.", "在磁盘上腾出 {gib} GiB，或安装到其他磁盘。"),
        ("", "Free space on the disk, or install on another one.", "腾出磁盘空间，或安装到其他磁盘。"),
    ),
    "use_mirror": (
        ("index host", "Use a mirror of the index {index}, for example {host}.", "使用 {index} 软件源的镜像，例如 {host}。"),
        ("host", "Use the mirror {host}.", "使用镜像 {host}。"),
        ("index", "Use a mirror of the index {index}.", "使用 {index} 软件源的镜像。"),
        ("", "Use a mirror that can be reached from here.", "使用此处可以访问的镜像。"),
    ),
    "add_certificate": (("", "Tell pip and uv your network's certificate.", "为 pip 和 uv 配置所在网络的证书。"),),
    "carry_wheels": (
        ("", "Download the packages on a connected computer and carry them over (stackfit wheelhouse).",
         "在联网的电脑上下载软件包后拷贝过来（stackfit wheelhouse）。"),
    ),
    "use_adapters": (
        ("method", "Train adapters ({method}) instead of all weights.", "只训练适配器（{method}），不训练全部权重。"),
        ("", "Train adapters (LoRA or QLoRA) instead of all weights.", "只训练适配器（LoRA 或 QLoRA），不训练全部权重。"),
    ),
    "update_os": (
        ("version", "Update the operating system to {version} or newer.", "把操作系统更新到 {version} 或更高版本。"),
        ("", "Update the operating system.", "更新操作系统。"),
    ),
    "wait": (
        ("what", "Wait for {what}.", "等待 {what}。"),
        ("", "Wait for a release that supports this.", "等待支持此配置的版本发布。"),
    ),
}  # fmt: skip

CODES = frozenset(WORDINGS)


def remedy(code: str, params: Mapping[str, str] | None = None) -> Remedy:
    """The remedy CODE with its sentence and commands. Raises ValueError for a code that is not in the list."""
    if code not in WORDINGS:
        raise ValueError(f"the remedy {code!r} is not one of {', '.join(sorted(WORDINGS))}")
    given = {key: str(value) for key, value in (params or {}).items() if str(value) != ""}
    for needed, en, zh in WORDINGS[code]:
        if all(word in given for word in needed.split()):
            text = Text(en, zh).filled(**given)
            return Remedy(code=code, params=given, text=text, commands=_commands(code, given))
    raise ValueError(f"the remedy {code!r} has no wording without parameters")


def _commands(code: str, given: dict[str, str]) -> tuple[str, ...]:
    """Command lines, or none where the parameters do not make a whole and harmless command."""
    windows = given.get("os") == "windows"
    shell = "powershell" if windows else "bash"
    package, version = given.get("package", ""), given.get("version", "")
    if code in ("pin_version", "use_index", "reinstall", "install_package", "uninstall"):
        return _pip(code, given, shell)
    if code == "set_env" or code == "hide_device":
        name, value = given.get("name", ""), given.get("value")
        return (assignment(name, value, shell),) if name in VARIABLES and value is not None else ()
    if code == "load_module" and is_name(given.get("module", "")):
        return (line(["sudo", "modprobe", given["module"]]),)
    if code == "join_group" and is_name(given.get("group", "")):
        return (f'sudo usermod -aG {given["group"]} "$USER"',)
    if code == "reboot":
        return ("Restart-Computer" if windows else "sudo reboot",)
    if code == "use_wsl2":
        return ("wsl --install -d Ubuntu",)
    if code == "use_python" and is_version(version):
        return (line(["uv", "venv", "--python", given.get("path") or version, ".venv"], shell),)
    if code == "container_image" and _is_image(given.get("image", "")):
        return (line(["docker", "pull", given["image"]], shell),)
    if code == "container_gpu_flag":
        return () if given.get("flags") else ("docker run --gpus all …",)
    if code == "install_driver" and given.get("vendor", "").lower() == "nvidia" and given.get("distribution") == "ubuntu":
        return ("sudo ubuntu-drivers install",)
    if code == "install_system_package" and package and all(is_name(word) for word in package.split()):
        installers = {
            "apt": ["sudo", "apt-get", "install"], "dnf": ["sudo", "dnf", "install"], "brew": ["brew", "install"],
            "pacman": ["sudo", "pacman", "-S"], "zypper": ["sudo", "zypper", "install"], "apk": ["apk", "add"],
            "winget": ["winget", "install", "--exact", "--id"],
        }  # fmt: skip
        start = installers.get(given.get("manager", ""))
        return (line([*start, *package.split()], shell),) if start else ()
    return ()


def _pip(code: str, given: dict[str, str], shell: str) -> tuple[str, ...]:
    """pip in the environment that the remedy is about, or the pip of the active one."""
    python = given.get("python")
    start = [python, "-m", "pip"] if python and not python.startswith("-") else ["pip"]
    names = [word for word in given.get("package", "").replace(",", " ").split() if word]
    if not names or not all(is_name(name) for name in names):
        return ()
    if code == "uninstall":
        return (line([*start, "uninstall", "-y", *names], shell),)
    version = given.get("version", "")
    if version and not is_version(version):
        return ()
    bounds = given.get("bounds", "")
    if bounds:
        if len(names) != 1 or specifier(bounds) is None:
            return ()
        names = [f"{names[0]}{bounds}"]
    if len(names) == 1 and version:
        names = [f"{names[0]}=={version}"]
    options = ["--force-reinstall", "--no-deps"] if code == "reinstall" and version else []
    if code in ("use_index", "reinstall") and not version:
        options = ["--force-reinstall"]
    index = given.get("index", "")
    url = given.get("index_url") or index_url(index)
    if index and index != "pypi":
        if url is None or not is_url(url):
            return ()
        options += ["--index-url", url]
    return (line([*start, "install", *names, *options], shell),)


def index_url(index: str) -> str | None:
    """Address of one of PyTorch's own wheel indexes by its id; None for any other id."""
    if re.fullmatch(r"cpu|xpu|cu1\d\d|rocm\d+(?:\.\d+)+", index):
        return PYTORCH_WHEELS + index
    return None


def _is_image(word: str) -> bool:
    return len(word) <= 200 and re.fullmatch(r"[a-z0-9][a-z0-9._/-]*(?::[0-9]+/[a-z0-9._/-]+)?(?::[\w.-]+)?", word) is not None
