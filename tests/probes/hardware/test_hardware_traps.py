"""Traps in reading hardware: what is read, and the fact that must follow."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("case_host", Path(__file__).parents[1] / "case_host.py")
assert _spec is not None and _spec.loader is not None
case_host = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(case_host)
profile, codes = case_host.profile, case_host.codes

CSV = "nvidia-smi --query-gpu={} --format=csv,noheader"
COMPLETE = {"uname()": '{"sysname": "Linux", "release": "6.8.0", "machine": "x86_64"}'}
GPU = "/sys/bus/pci/devices/0000:01:00.0"
NVIDIA = {f"{GPU}/class": "0x030000\n", f"{GPU}/vendor": "0x10de\n", f"{GPU}/device": "0x2484\n"}
MEMORY = "MemTotal:       {} kB\nMemAvailable:   {} kB\n"


def test_library_newer_than_the_loaded_module(tmp_path: Path) -> None:
    found = profile(
        tmp_path,
        files={"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120  Fri Sep 13 10:10:01 UTC 2024\n"},
        commands={
            "nvidia-smi": (18, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.144\n"),
            "lspci -nn -d 10de:": "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GA104 [GeForce RTX 3070] [10de:2484] (rev a1)\n"
            "01:00.1 Audio device [0403]: NVIDIA Corporation GA104 High Definition Audio Controller [10de:228b] (rev a1)\n",
        },
    )
    (card,) = found.accelerators
    assert (card.vendor, card.name, card.state, card.driver_version) == ("nvidia", "GeForce RTX 3070", "driver_mismatch", "550.120")
    (finding,) = [one for one in found.findings if one.code == "driver.library_mismatch"]
    assert finding.remedies[0].code == "reboot"


def test_integrated_decides_not_a_readable_number(tmp_path: Path) -> None:
    found = profile(
        tmp_path, files={"/proc/meminfo": MEMORY.format(65417216, 51302400)},
        commands={CSV.format("name,compute_cap,memory.total"): "NVIDIA N1X, 12.1, 8090 MiB\n"},
        calls={"cuda_attributes()": '[{"name": "NVIDIA N1X", "integrated": 1}]'},
    )  # fmt: skip
    (card,) = found.accelerators
    assert (card.memory_kind, card.memory_bytes, card.integrated, card.target) == ("unified", None, True, "12.1")


def test_cards_keep_their_bus_addresses(tmp_path: Path) -> None:
    text = "0, 00000000:01:00.0, NVIDIA GeForce RTX 3060\n1, 00000000:41:00.0, NVIDIA GeForce RTX 4090\n"
    found = profile(tmp_path, commands={CSV.format("index,pci.bus_id,name"): text})
    assert [(c.pci_address, c.name) for c in found.accelerators] == [
        ("0000:01:00.0", "NVIDIA GeForce RTX 3060"), ("0000:41:00.0", "NVIDIA GeForce RTX 4090"),
    ]  # fmt: skip


def test_windows_cards_keep_their_bus_addresses(tmp_path: Path) -> None:
    line = "nvidia-smi.exe --query-gpu=index,pci.bus_id,name,display_active --format=csv,noheader"
    text = "0, 00000000:01:00.0, NVIDIA GeForce GTX 1660 SUPER, Enabled\n1, 00000000:02:00.0, NVIDIA GeForce RTX 3090, Disabled\n"
    found = profile(tmp_path, system="windows", commands={line: text})
    assert {c.pci_address: c.name for c in found.accelerators}["0000:02:00.0"] == "NVIDIA GeForce RTX 3090"


CLASS = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}"


def _exported(*rows: tuple[str, str]) -> str:
    head = CLASS.replace("HKLM", "HKEY_LOCAL_MACHINE")
    return "\r\n".join(
        f"{head}\\{number:04d}\r\n    DriverDesc    REG_SZ    {name}\r\n    HardwareInformation.qwMemorySize    REG_QWORD    {size}\r\n"
        for number, (name, size) in enumerate(rows)
    )


def test_saturated_adapter_memory_is_completed_by_description(tmp_path: Path) -> None:
    listed = ("Name       : AMD Radeon RX 9070 XT\r\nAdapterRAM : 4293918720\r\n\r\n"
              "Name       : AMD Radeon(TM) Graphics\r\nAdapterRAM : 536870912\r\n")  # fmt: skip
    found = profile(
        tmp_path, system="windows",
        commands={
            "powershell Get-CimInstance Win32_VideoController | Format-List Name, AdapterRAM": listed,
            f"reg query {CLASS} /s": _exported(("AMD Radeon(TM) Graphics", "0x20000000"), ("AMD Radeon RX 9070 XT", "0x3ff000000")),
        },
    )  # fmt: skip
    sizes = {card.name: card.memory_bytes for card in found.accelerators}
    assert sizes == {"AMD Radeon RX 9070 XT": 0x3FF000000, "AMD Radeon(TM) Graphics": 0x20000000}


@pytest.mark.parametrize("registry", [True, False])
def test_adapter_memory_is_measured_or_unknown(tmp_path: Path, registry: bool) -> None:
    commands = {"powershell Get-CimInstance Win32_VideoController | fl": "Name       : AMD Radeon AI PRO R9700\nAdapterRAM : 4293918720\n"}
    if registry:
        commands[f"reg query {CLASS} /s"] = _exported(("AMD Radeon AI PRO R9700", "0x7ff000000"))
    (card,) = profile(tmp_path, system="windows", commands=commands).accelerators
    assert card.memory_bytes == (34342961152 if registry else None)


def test_linux_driver_inside_wsl_hides_windows_own(tmp_path: Path) -> None:
    found = profile(
        tmp_path, files={"/proc/version": "Linux version 5.15.90.1-microsoft-standard-WSL2 (gcc 11.2.0) #1 SMP\n"},
        commands={
            "ldconfig -p": "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
            "\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/wsl/lib/libcuda.so.1\n",
            "/usr/lib/wsl/lib/nvidia-smi -L": "GPU 0: NVIDIA RTX A4000 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n",
        },
    )  # fmt: skip
    (card,) = found.accelerators
    (finding,) = [one for one in found.findings if one.code == "driver.library_mismatch"]
    assert (found.system.wsl, card.state, finding.remedies[0].code) == (2, "driver_mismatch", "uninstall")


def test_tcc_card_is_hidden_from_wsl(tmp_path: Path) -> None:
    line = "nvidia-smi.exe --query-gpu=name,driver_model.current,memory.total --format=csv,noheader"
    found = profile(
        tmp_path, files={"/proc/version": "Linux version 5.15.0-microsoft-standard-WSL2\n"},
        commands={line: "Tesla P100-PCIE-16GB, TCC, 16276 MiB\nNVIDIA GeForce RTX 2080 Ti, WDDM, 11264 MiB\n",
                  "/usr/lib/wsl/lib/nvidia-smi --version": "NVIDIA-SMI version  : 545.1\nDRIVER version      : 546.80\n"},
    )  # fmt: skip
    assert {card.name: card.state for card in found.accelerators} == {"Tesla P100-PCIE-16GB": "hidden", "NVIDIA GeForce RTX 2080 Ti": "usable"}


def test_driver_number_is_not_the_tools_number(tmp_path: Path) -> None:
    head = "| NVIDIA-SMI 545.46                 Driver Version: 546.80       CUDA Version: ERR!     |\n"
    rows = (
        "|   0  NVIDIA GeForce RTX 4090       On  | 00000000:01:00.0  On |                  Off |\n"
        "|  0%   40C    P8              20W / 450W |   1000MiB / 24564MiB |      0%      Default |\n"
    )
    (card,) = profile(tmp_path, commands={"nvidia-smi": head + rows}).accelerators
    assert (card.driver_version, card.driver_api_max, card.memory_bytes) == ("546.80", None, 24564 << 20)


def test_jetson_is_told_from_spark(tmp_path: Path) -> None:
    release = "# R38 (release), REVISION: 2.0, GCID: 1, BOARD: generic, EABI: aarch64\n"
    thor = profile(tmp_path / "thor", files={"/etc/nv_tegra_release": release}, commands={"uname -r": "6.8.12-tegra\n", "uname -m": "aarch64\n"})
    assert thor.system.kernel == "6.8.12-tegra" and thor.accelerators[0].memory_kind == "unified"
    line = CSV.format("name,compute_cap")
    spark = profile(tmp_path / "spark", commands={"uname -r": "6.11.0-1016-nvidia\n", line: "NVIDIA GB10, 12.1\n"})
    assert spark.system.kernel == "6.11.0-1016-nvidia" and spark.accelerators[0].target == "12.1"


def test_rosetta_does_not_make_an_intel_mac(tmp_path: Path) -> None:
    found = profile(
        tmp_path, system="macos",
        commands={"uname -m": "x86_64\n", "sysctl -n sysctl.proc_translated": "1\n", "sysctl -n hw.optional.arm64": "1\n",
                  "sysctl -n machdep.cpu.brand_string": "Apple M2\n"},
    )  # fmt: skip
    assert (found.system.arch, found.cpu.vendor) == ("aarch64", "apple")


def test_npu_is_there_but_lacks_right_and_library(tmp_path: Path) -> None:
    found = profile(
        tmp_path, folders=("/dev/accel/accel0",), access={"/dev/accel/accel0": ""},
        commands={
            "lspci -nn -d 8086:": "00:0b.0 Processing accelerators [1200]: Intel Corporation Arrow Lake NPU [8086:ad1d] (rev 05)\n",
            "lsmod": "intel_vpu             278528  0\n",
            "ldconfig -p": "\tlibze_loader.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libze_loader.so.1\n",
        },
    )  # fmt: skip
    (npu,) = found.accelerators
    assert npu.kind == "npu" and npu.state == "permission_denied"
    assert {"accel.permission", "driver.missing"} <= codes(found)


def test_no_npu_is_made_up_from_the_processors_name(tmp_path: Path) -> None:
    found = profile(
        tmp_path, files={"/proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Core(TM) Ultra 5 135H\n"},
        commands={"lspci -nn -d 8086:": "00:00.0 Host bridge [0600]: Intel Corporation Device [8086:7d01] (rev 04)\n"
                  "00:02.0 VGA compatible controller [0300]: Intel Corporation Meteor Lake-P [Intel Arc Graphics] [8086:7d55] (rev 08)\n"},
    )  # fmt: skip
    assert [card.kind for card in found.accelerators] == ["gpu"] and "driver.missing" not in codes(found)


def test_nvlink_pair_is_told(tmp_path: Path) -> None:
    topology = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\t0-31\t0\nGPU1\tNV4\t X \t0-31\t0\n"
    found = profile(
        tmp_path, commands={"nvidia-smi topo -m": topology, "nvidia-smi topo -p2p r": " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n",
                            "nvidia-smi -L": "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\nGPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-2)\n"}
    )  # fmt: skip
    assert [card.links for card in found.accelerators] == [("1:NV4",), ("0:NV4",)]


def test_small_shared_memory_of_a_container(tmp_path: Path) -> None:
    mounts = "shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0\n"
    found = profile(tmp_path, files={"/.dockerenv": "", "/proc/mounts": mounts})
    assert (found.system.container, found.memory.shm_bytes) == ("docker", 64 << 20) and "system.shm_small" in codes(found)


def test_quota_counts_not_affinity(tmp_path: Path) -> None:
    found = profile(tmp_path, files={
        "/sys/fs/cgroup/cpu.max": "400000 100000\n", "/sys/fs/cgroup/memory.max": "17179869184\n", "/proc/meminfo": "MemTotal:       527954720 kB\n",
        "/proc/self/status": "Cpus_allowed_list:\t0-63\n", "/sys/devices/system/cpu/online": "0-63\n",
    })  # fmt: skip
    assert (found.cpu.logical_cpus, found.cpu.usable_cpus, found.memory.limit_bytes) == (64, 4.0, 17179869184)
    assert "cpu.limited" in codes(found)


def test_jobs_own_set_of_cpus(tmp_path: Path) -> None:
    found = profile(tmp_path, files={"/proc/self/status": "Cpus_allowed_list:\t48-71\n"},
                    commands={"lscpu": "CPU(s):                   192\nOn-line CPU(s) list:      0-191\n", "nproc": "24\n"})  # fmt: skip
    assert (found.cpu.logical_cpus, found.cpu.usable_cpus) == (192, 24.0)


def test_docker_without_gpu_runtime(tmp_path: Path) -> None:
    found = profile(tmp_path, commands={
        "docker info --format {{json .Runtimes}}": '{"io.containerd.runc.v2":{"path":"runc"},"runc":{"path":"runc"}}',
        "nvidia-smi -L": "GPU 0: NVIDIA GeForce RTX 3060 (UUID: GPU-removed)\n", "nvidia-ctk --version": (127, "command not found"),
    })  # fmt: skip
    assert found.accelerators[0].state == "usable" and found.software.container_toolkit is False


def test_container_started_without_the_card(tmp_path: Path) -> None:
    found = profile(tmp_path, files={"/.dockerenv": "", **NVIDIA}, commands={"nvidia-smi": (127, "bash: nvidia-smi: command not found\n")})
    (card,) = found.accelerators
    (finding,) = [one for one in found.findings if one.code == "accel.hidden"]
    assert (card.vendor, card.state, finding.remedies[0].code) == ("nvidia", "hidden", "container_gpu_flag")


def test_tool_off_path(tmp_path: Path) -> None:
    line = "/var/lib/nvidia/bin/nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap --format=csv,noheader"
    found = profile(tmp_path, files={"/dev/nvidia0": "", "/var/lib/nvidia/bin/nvidia-smi": ""},
                    commands={"nvidia-smi": (127, "command not found"), line: "Tesla T4, 535.183.01, 15360 MiB, 7.5\n"})  # fmt: skip
    (card,) = found.accelerators
    assert (card.name, card.target, card.memory_bytes, card.driver_version, card.state) == ("Tesla T4", "7.5", 15360 << 20, "535.183.01", "usable")


def test_switched_off_laptop_card(tmp_path: Path) -> None:
    found = profile(tmp_path, commands={
        "lspci -nn -d ::0300": "00:02.0 VGA compatible controller [0300]: Intel Corporation HD Graphics 630 [8086:591b] (rev 04)\n",
        "lspci -nn -d ::0302": "01:00.0 3D controller [0302]: NVIDIA Corporation GP106M [GeForce GTX 1060 Mobile] [10de:1c20] (rev a1)\n",
        "prime-select query": "intel\n",
        "nvidia-smi": (9, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
    })  # fmt: skip
    states = {card.vendor: (card.name, card.state) for card in found.accelerators}
    assert states["nvidia"] == ("GeForce GTX 1060 Mobile", "module_missing") and "intel" in states
    (finding,) = [one for one in found.findings if one.code == "driver.module_missing"]
    assert "intel" in finding.because.en and finding.remedies[0].commands == ("sudo prime-select on-demand",)


def test_phone_that_hides_its_load(tmp_path: Path) -> None:
    found = profile(
        tmp_path, access={"/proc/stat": ""}, calls={"cpu_count()": "8"},
        files={"/proc/meminfo": MEMORY.format(5832404, 2411520),
               "/proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd aes\nCPU implementer\t: 0x41\n"},
    )  # fmt: skip
    assert (found.cpu.logical_cpus, found.memory.total_bytes) == (8, 5832404 << 10) and "probe.denied" in codes(found)


def test_windows_cores_are_not_threads(tmp_path: Path) -> None:
    asked = "Get-CimInstance Win32_Processor | Select-Object NumberOfCores,NumberOfLogicalProcessors | ConvertTo-Json"
    line = f'powershell -NoProfile -Command "{asked}"'
    found = profile(tmp_path, system="windows", commands={line: '{"NumberOfCores": 16, "NumberOfLogicalProcessors": 32}'})
    assert (found.cpu.physical_cores, found.cpu.logical_cpus) == (16, 32)


def test_wsl_topology_is_not_believed(tmp_path: Path) -> None:
    text = ("Model name:            12th Gen Intel(R) Core(TM) i7-12800HX\nCPU(s):                24\nThread(s) per core:    2\n"
            "Core(s) per socket:    12\nSocket(s):             1\nHypervisor vendor:     Microsoft\n")  # fmt: skip
    found = profile(tmp_path, files={"/proc/version": "Linux version 6.6.87.2-microsoft-standard-WSL2\n"}, commands={"lscpu": text})
    assert (found.cpu.logical_cpus, found.cpu.physical_cores, found.cpu.efficiency_cores) == (24, None, None)
    assert "probe.topology_virtual" in codes(found)


@pytest.mark.parametrize(("carve", "pool"), [(536870912, 16106127360), (2147483648, 66571993088)])
def test_apu_has_a_carve_out_and_a_pool(tmp_path: Path, carve: int, pool: int) -> None:
    card0 = "/sys/class/drm/card0/device"
    found = profile(tmp_path, files={
        f"{card0}/vendor": "0x1002\n", f"{card0}/device": "0x1586\n", f"{card0}/uevent": "PCI_SLOT_NAME=0000:c4:00.0\nPCI_CLASS=30000\n",
        f"{card0}/mem_info_vram_total": f"{carve}\n", f"{card0}/mem_info_gtt_total": f"{pool}\n",
        "/proc/meminfo": MEMORY.format(130023424, 121634816),
    })  # fmt: skip
    (card,) = found.accelerators
    assert (card.memory_kind, card.memory_bytes, card.shared_bytes) == ("shared", carve, pool)


def test_warning_before_json(tmp_path: Path) -> None:
    text = ('WARNING: AMD GPU device(s) is/are in a low-power state. Check power control/runtime_status\n\n{"card0": {"VRAM Total Memory (B)": '
            '"2147483648", "GTT Total Memory (B)": "66571993088"}}')  # fmt: skip
    (card,) = profile(tmp_path, commands={"rocm-smi --showmeminfo vram gtt --json": text}).accelerators
    assert (card.memory_kind, card.memory_bytes, card.shared_bytes) == ("shared", 2147483648, 66571993088)


def test_two_cards_in_wsl(tmp_path: Path) -> None:
    line = "/usr/lib/wsl/lib/nvidia-smi --query-gpu=index,name,driver_version,memory.total,compute_cap --format=csv,noheader"
    text = "0, NVIDIA GeForce RTX 4090, 572.60, 24564 MiB, 8.9\n1, NVIDIA GeForce RTX 3060, 572.60, 12288 MiB, 8.6\n"
    found = profile(tmp_path, files={"/proc/version": "Linux version 5.15.0-microsoft-standard-WSL2\n"}, commands={line: text})
    assert [(c.driver_version, c.target) for c in found.accelerators] == [("572.60", "8.9"), ("572.60", "8.6")]


def test_flags_are_those_listed(tmp_path: Path) -> None:
    flags = "fpu de pse tsc msr pae mce cx8 sse sse2 syscall nx lm pni cx16 hypervisor lahf_lm"
    text = f"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Common KVM processor\nflags\t\t: {flags}\n"
    found = profile(tmp_path, files={"/proc/cpuinfo": text})
    assert found.cpu.flags == tuple(flags.split()) and found.system.virtual is not None


def test_slice_without_licence(tmp_path: Path) -> None:
    text = ("==============NVSMI LOG==============\nGPU 00000000:02:00.0\n    Product Name                          : NVIDIA A16-8C\n"
            "    Virtualization Mode                   : VGPU\n    vGPU Software Licensed Product\n        Product Name                      : X\n"
            "        License Status                    : Unlicensed (Restricted)\n")  # fmt: skip
    (card,) = profile(tmp_path, commands={"nvidia-smi -q": text, "nvidia-smi -L": "GPU 0: NVIDIA A16-8C (UUID: GPU-removed)\n"}).accelerators
    assert (card.name, card.state) == ("NVIDIA A16-8C", "unlicensed")


def test_spark_has_no_memory_of_its_own(tmp_path: Path) -> None:
    line = CSV.format("name,memory.total,compute_cap,driver_version")
    (card,) = profile(tmp_path, commands={line: "NVIDIA GB10, [N/A], 12.1, 580.95.05\n"}).accelerators
    assert (card.memory_kind, card.memory_bytes, card.target, card.state) == ("unified", None, "12.1", "usable")


def test_temporary_folder_in_memory(tmp_path: Path) -> None:
    found = profile(tmp_path, env={"HOME": "/home/user"}, disk={"/tmp": [4092592128, 3871000000], "/home/user": [10**12, 50200000000]})
    assert (found.disk.free_bytes, found.disk.temporary_free_bytes) == (50200000000, 3871000000)
    (finding,) = [one for one in found.findings if one.code == "disk.exceeds"]
    assert "TMPDIR" in finding.because.en


def test_metal_uses_a_share_of_the_memory(tmp_path: Path) -> None:
    found = profile(
        tmp_path, system="macos", calls={"metal()": '[{"name": "Apple M3", "working_set_bytes": 12713115648, "unified": true}]'},
        commands={"sysctl -n hw.memsize": "17179869184\n", "sysctl -n iogpu.wired_limit_mb": "0\n",
                  "sysctl -n machdep.cpu.brand_string": "Apple M3\n"},
    )  # fmt: skip
    gpu = found.accelerators[0]
    assert (found.memory.total_bytes, gpu.memory_kind, gpu.usable_bytes) == (17179869184, "unified", 12713115648)


def test_python_of_another_width_and_shadowing_libraries(tmp_path: Path) -> None:
    folder = "/usr/local/cuda-12.3/lib64"
    found = profile(tmp_path, env={"LD_LIBRARY_PATH": folder}, folders=tuple(f"{folder}/{n}" for n in ("libcudart.so.12", "libcudnn.so.8")))
    (finding,) = [one for one in found.findings if one.code == "package.conflict"]
    assert finding.remedies[0].code == "set_env" and folder in finding.evidence[0].fact
