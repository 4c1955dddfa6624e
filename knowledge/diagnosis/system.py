"""The computer under the environments: processors, memory, C library, container and system settings."""

# ruff: noqa: E501, S108 - a wide character counts twice; /dev/shm is only named
from __future__ import annotations

from collections.abc import Iterator

from knowledge.diagnosis.situation import Machine, found
from knowledge.explain import remedy
from knowledge.facts import Finding, Severity
from knowledge.versions import at_least

GIB = 2**30
SHM_SMALL = 512 * 2**20  # a loader with a few workers holds more than this in batches; containers begin with 64 MiB
GLIBC_OF_WHEELS = "2.28"  # manylinux_2_28, which torch, vLLM and others have asked for since 2025
FRAMEWORKS = frozenset({"torch", "tensorflow", "jax", "paddlepaddle", "paddlepaddle-gpu", "mxnet", "vllm", "sglang"})
MACOS_OF_WHEELS = "14.0"
VC_RUNTIME = "Microsoft Visual C++ Redistributable 2015-2022"


def processors(machine: Machine) -> Iterator[Finding]:
    """Fewer processors than there seem to be: quota of a container, cpuset of a job, affinity."""
    cpu = machine.profile.cpu
    if cpu.logical_cpus is None or cpu.usable_cpus is None or cpu.usable_cpus > 0.75 * cpu.logical_cpus:
        return
    usable = f"{cpu.usable_cpus:g}"
    threads = str(max(1, int(cpu.usable_cpus)))
    where_en = "this container" if machine.profile.system.container else "this session or job"
    where_zh = "此容器" if machine.profile.system.container else "此会话或作业"
    yield found(
        "cpu.limited", "warning", "cpu",
        f"{where_en[0].upper()}{where_en[1:]} may use {usable} of {cpu.logical_cpus} CPUs. Libraries that count the CPUs of the machine start too many threads and become slower; set OMP_NUM_THREADS, and as many data-loader workers at most.",
        f"{where_zh}只能使用 {cpu.logical_cpus} 个 CPU 中的 {usable} 个。按整机 CPU 数启动线程的库会过载变慢；请设置 OMP_NUM_THREADS，数据加载进程数也不要超过它。",
        machine.fact("cpu.usable_cpus", cpu.usable_cpus) + machine.fact("cpu.logical_cpus", cpu.logical_cpus),
        (remedy("set_env", {"name": "OMP_NUM_THREADS", "value": threads}),),
    )  # fmt: skip


def shared_memory(machine: Machine) -> Iterator[Finding]:
    """/dev/shm, through which data-loader workers and NCCL pass their data."""
    memory, system = machine.profile.memory, machine.profile.system
    if memory.shm_bytes is None or system.os not in ("linux", None) or memory.shm_bytes >= SHM_SMALL:
        return
    if machine.profile.pythons and not _deep_learning(machine) and not machine.cards:
        return
    size = f"{memory.shm_bytes / 2**20:.0f} MiB"
    setting = "--shm-size=8g (or --ipc=host)" if system.container else "size of /dev/shm"
    yield found(
        "system.shm_small", "warning", "/dev/shm",
        f"Shared memory is {size}. Data-loader workers and programs on several GPUs stop with a bus error when it is full; start the container with --shm-size=8g or --ipc=host." if system.container
        else f"Shared memory is {size}. Data-loader workers and programs on several GPUs stop with a bus error when it is full.",
        f"共享内存只有 {size}。写满后数据加载进程和多 GPU 程序会以总线错误中止；启动容器时请加 --shm-size=8g 或 --ipc=host。" if system.container
        else f"共享内存只有 {size}。写满后数据加载进程和多 GPU 程序会以总线错误中止。",
        machine.fact("memory.shm_bytes", memory.shm_bytes), (remedy("enable_setting", {"setting": setting}),),
    )  # fmt: skip


def _deep_learning(machine: Machine) -> bool:
    return any(package.name.lower() in FRAMEWORKS for python in machine.profile.pythons or () for package in python.packages or ())


def system(machine: Machine) -> Iterator[Finding]:
    """The operating system and its libraries."""
    profile = machine.profile
    here = profile.system
    if here.os is not None and here.os not in ("linux", "windows", "macos"):
        yield found("os.unsupported", "warning", "system", f"The system {here.os} is not one that machine-learning packages are built for.",
                    f"主流机器学习软件包不支持 {here.os} 系统。", machine.fact("system.os", here.os), (remedy("use_linux"),))  # fmt: skip
    if here.arch is not None and here.arch not in ("x86_64", "aarch64"):
        yield found("arch.unsupported", "warning", "processor", f"Hardly any wheels are built for the processor architecture {here.arch}; most packages would have to be compiled.",
                    f"几乎没有面向 {here.arch} 架构的轮子，大多数软件包需要自行编译。", machine.fact("system.arch", here.arch),
                    (remedy("build_from_source"), remedy("use_instead")))  # fmt: skip
    if here.os == "linux" and here.libc == "musl":
        yield found("libc.musl", "warning", "system", "This system uses musl (Alpine and the like). PyTorch, TensorFlow and JAX have no wheels for it; pip says “no matching distribution”.",
                    "此系统使用 musl（如 Alpine）。PyTorch、TensorFlow、JAX 没有相应的轮子，pip 会提示找不到匹配的版本。", machine.fact("system.libc", here.libc),
                    (remedy("container_image", {"image": "python:3.12-slim"}), remedy("use_linux")))  # fmt: skip
    if here.os == "linux" and here.libc == "glibc" and at_least(here.libc_version, GLIBC_OF_WHEELS) is False:
        yield found("libc.too_old", "info" if machine.learns else "warning", "system", f"glibc is {here.libc_version}; current wheels of PyTorch and others need {GLIBC_OF_WHEELS} or newer, so pip takes old releases or none.",
                    f"glibc 版本为 {here.libc_version}；PyTorch 等当前的轮子需要 {GLIBC_OF_WHEELS} 或更高版本，pip 只能装到旧版或装不上。", machine.fact("system.libc_version", here.libc_version),
                    (remedy("container_image", {"image": "ubuntu:24.04"}), remedy("update_os")))  # fmt: skip
    if here.os == "macos" and here.arch == "aarch64" and at_least(here.release, MACOS_OF_WHEELS) is False:
        yield found("os.too_old", "info" if machine.learns else "warning", "system", f"macOS {here.release} is older than {MACOS_OF_WHEELS}, which current wheels of PyTorch and MLX need.",
                    f"macOS {here.release} 低于 {MACOS_OF_WHEELS}，而当前 PyTorch 和 MLX 的轮子需要该版本。", machine.fact("system.release", here.release),
                    (remedy("update_os", {"version": f"macOS {MACOS_OF_WHEELS}"}),))  # fmt: skip
    if here.os == "windows" and here.release is not None and at_least(here.release, "10") is False:
        yield found("os.too_old", "warning", "system", f"Windows {here.release} is older than any current wheel supports (Windows 10).",
                    f"Windows {here.release} 低于当前轮子支持的最低版本（Windows 10）。", machine.fact("system.release", here.release), (remedy("update_os", {"version": "Windows 11"}),))  # fmt: skip
    if here.wsl == 1:
        yield found("os.unsupported", "warning", "system", "This is WSL 1, which cannot reach a GPU; WSL 2 can.",
                    "这是 WSL 1，无法使用 GPU；WSL 2 可以。", machine.fact("system.wsl", 1), (remedy("use_wsl2"),))  # fmt: skip
    if here.os == "macos" and here.arch == "x86_64":
        yield found("arch.unsupported", "info", "processor", "Frameworks have left Macs with Intel processors: the last PyTorch with a wheel is 2.2.2, the last TensorFlow 2.16.2.",
                    "各框架已不再支持 Intel 处理器的 Mac：最后有轮子的 PyTorch 是 2.2.2，TensorFlow 是 2.16.2。", machine.fact("system.arch", here.arch),
                    (remedy("pin_version", {"package": "torch", "version": "2.2.2"}),))  # fmt: skip
    yield from _windows(machine)
    if here.sandbox:
        yield found("system.sandboxed", "info", "system", f"The program runs in a {here.sandbox} sandbox, which may hide devices.",
                    f"程序运行在 {here.sandbox} 沙盒中，设备可能被隐藏。", machine.fact("system.sandbox", here.sandbox),
                    (remedy("enable_setting", {"setting": f"{here.sandbox}: device access"}),))  # fmt: skip


def _windows(machine: Machine) -> Iterator[Finding]:
    profile = machine.profile
    if profile.system.os != "windows":
        return
    if profile.software.vc_redist is False:
        severity: Severity = "error" if _deep_learning(machine) else "warning"
        yield found("os.runtime_missing", severity, "system", "The Microsoft Visual C++ runtime is not installed: packages install without complaint and fail at import (“DLL load failed”, c10.dll, fbgemm.dll).",
                    "未安装 Microsoft Visual C++ 运行库：软件包能装上，但导入时会失败（“DLL load failed”、c10.dll、fbgemm.dll）。",
                    machine.fact("software.vc_redist", False), (remedy("install_system_package", {"name": VC_RUNTIME, "os": "windows"}),))  # fmt: skip
    if profile.system.long_paths is False:
        yield found("os.long_paths", "info", "system", "Windows limits paths to 260 characters here; deep package folders may fail to install.",
                    "此系统的路径长度限制为 260 个字符，层级较深的软件包可能安装失败。", machine.fact("system.long_paths", False),
                    (remedy("enable_setting", {"setting": "LongPathsEnabled"}),))  # fmt: skip
    memory = profile.memory
    if memory.swap_bytes == 0 and memory.total_bytes is not None and memory.total_bytes < 64 * GIB and _deep_learning(machine):
        yield found("os.pagefile", "info", "system", "The page file is off; loading large libraries on Windows may fail with “the paging file is too small”.",
                    "页面文件已关闭；在 Windows 上加载大型库可能因“页面文件太小”而失败。", machine.fact("memory.swap_bytes", 0),
                    (remedy("enable_setting", {"setting": "page file"}),))  # fmt: skip


def space(machine: Machine) -> Iterator[Finding]:
    """Room for an install: a CUDA stack takes 5 to 10 GiB. And memory that something else limits."""
    free = machine.profile.disk.free_bytes
    if free is not None and free < 5 * GIB:
        yield found("disk.exceeds", "warning", "disk", f"{free / GIB:.1f} GiB are free; a machine-learning environment takes 1 GiB (processor) to 10 GiB (CUDA).",
                    f"磁盘仅剩 {free / GIB:.1f} GiB；一个机器学习环境约需 1 GiB（CPU）到 10 GiB（CUDA）。", machine.fact("disk.free_bytes", free),
                    (remedy("free_disk", {"gib": "10"}),))  # fmt: skip
    memory = machine.profile.memory
    if memory.total_bytes is not None and memory.limit_bytes is not None and memory.limit_bytes < 0.5 * memory.total_bytes:
        yield found("memory.tight", "info", "memory", f"This session may use {memory.limit_bytes / GIB:.1f} of {memory.total_bytes / GIB:.0f} GiB; beyond that it is stopped.",
                    f"此会话只能使用 {memory.total_bytes / GIB:.0f} GiB 内存中的 {memory.limit_bytes / GIB:.1f} GiB，超出后会被终止。", machine.fact("memory.limit_bytes", memory.limit_bytes))  # fmt: skip


def toolkits(machine: Machine) -> Iterator[Finding]:
    """A toolkit without a device, as it is left behind by another machine or image."""
    software = machine.profile.software
    cards = machine.profile.accelerators
    if cards is None:
        return
    vendors = {card.vendor for card in cards}
    if isinstance(software.cuda_toolkit, str) and "nvidia" not in vendors:
        yield found("toolkit.mismatch", "info", "CUDA", f"A CUDA toolkit ({software.cuda_toolkit}) is installed, but there is no NVIDIA GPU here; the toolkit brings none.",
                    f"已安装 CUDA 工具包（{software.cuda_toolkit}），但本机没有 NVIDIA GPU；工具包本身不提供 GPU。", machine.fact("software.cuda_toolkit", software.cuda_toolkit))  # fmt: skip
    if isinstance(software.rocm, str) and "amd" not in vendors:
        yield found("toolkit.mismatch", "info", "ROCm", f"ROCm {software.rocm} is installed, but there is no AMD GPU here.",
                    f"已安装 ROCm {software.rocm}，但本机没有 AMD GPU。", machine.fact("software.rocm", software.rocm))  # fmt: skip
    if software.cann is False and machine.of("huawei"):
        yield found("toolkit.missing", "warning", "CANN", "There is an Ascend NPU, but the CANN toolkit, without which no framework reaches it, is not installed.",
                    "检测到昇腾 NPU，但未安装 CANN 工具包；缺少它任何框架都无法使用 NPU。", machine.fact("software.cann", False),
                    (remedy("install_system_package", {"name": "CANN toolkit and kernels"}), remedy("container_image", {"image": "quay.io/ascend/cann"})))  # fmt: skip
    xpu = [card for _, card in machine.of("intel", "gpu") if card.memory_kind == "dedicated"]
    if software.level_zero is False and xpu and machine.profile.system.os == "linux":
        yield found("toolkit.missing", "warning", "Level Zero", "The Level Zero library, through which programs reach an Intel GPU, is not installed.",
                    "未安装 Level Zero 库，程序无法使用英特尔 GPU。", machine.fact("software.level_zero", False),
                    (remedy("install_system_package", {"name": "libze1, libze-intel-gpu1"}),))  # fmt: skip
