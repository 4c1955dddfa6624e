"""The operating system: name and version, kernel, C library, and what stands between it and the hardware."""

from __future__ import annotations

import json
import re

from knowledge.facts import ARCH_ALIASES
from probes.hardware.notes import Notes, outputs, pairs, words_of
from probes.host import Host

_VIRTUAL = (
    ("vmware", "VMware"), ("virtualbox", "VirtualBox"), ("innotek", "VirtualBox"), ("qemu", "QEMU"), ("kvm", "KVM"),
    ("xen", "Xen"), ("parallels", "Parallels"), ("bochs", "Bochs"), ("amazon ec2", "Amazon EC2"),
    ("google compute engine", "Google Compute Engine"), ("openstack", "OpenStack"), ("bhyve", "bhyve"),
    ("apple virtualization", "Apple Virtualization"), ("alibaba cloud ecs", "Alibaba Cloud ECS"),
    ("hvm domu", "Xen"), ("virtual machine", "Hyper-V"), ("nutanix", "Nutanix"), ("cloud hypervisor", "Cloud Hypervisor"),
)  # fmt: skip


def read(host: Host) -> Notes:
    """Facts of System. Sources: os-release and its older relatives, uname, /proc, /sys; sw_vers; CIM and systeminfo."""
    notes = Notes("system")
    notes.say("os", host.os, "the program's own platform" if not host.recorded else "recording.json")
    if host.os == "windows":
        from probes.hardware import windows

        windows.system(host, notes)
    elif host.os == "macos":
        from probes.hardware import macos

        macos.system(host, notes)
    else:
        _distribution(host, notes)
        _kernel(host, notes)
        if host.os == "linux":
            _wsl(host, notes)
            _container(host, notes)
            _sandbox(host, notes)
            _libc(host, notes)
            _virtual(host, notes)
            _board(host, notes)
    return notes


def uname(host: Host) -> dict[str, str]:
    """Kernel ("release"), processor family ("machine") and system ("sysname"), of the call or the command."""
    reading = host.call("uname")
    if reading.ok:
        told = json.loads(reading.text)
        return {str(key): str(value) for key, value in told.items()} if isinstance(told, dict) else {}
    return {}


def arch_of(word: str | None) -> str | None:
    """The family as the profile spells it, of what uname or Windows says; None for what is no such word."""
    bare = (word or "").strip().lower()
    if not re.fullmatch(r"[a-z0-9_]{2,20}", bare):
        return None
    return bare if bare in ("i386", "i686") else ARCH_ALIASES.get(bare, bare)


def _kernel(host: Host, notes: Notes) -> None:
    told = uname(host)
    notes.say("kernel", words_of(told.get("release")), "uname()")
    notes.say("arch", arch_of(told.get("machine")), "uname()")
    for path in ("/proc/sys/kernel/osrelease",):
        reading = host.read(path)
        if re.fullmatch(r"\d+\.\d+\S*", reading.text.strip()):
            notes.say("kernel", reading.text.strip(), path)
    version = host.read("/proc/version")
    match = re.match(r"Linux version (\d+\.\d+\S*)", version.text)
    notes.say("kernel", match[1] if match else None, version.source)
    if not told and (host.recorded or notes.get("arch") is None):
        for question, name in (("-r", "kernel"), ("-m", "arch")):
            reading = host.run(["uname", question])
            word = reading.text.strip() if reading.ok else ""
            if name == "arch":
                notes.say("arch", arch_of(word), reading.source)
            elif re.fullmatch(r"\S{1,100}", word):
                notes.say("kernel", word, reading.source)
        for reading in outputs(host, "xpu-smi"):
            match = re.search(r"(?:Kernel Version:\s*|\"kernel_version\": \")(\d+\.\d+[\w.+-]*)", reading.text)
            notes.say("kernel", match[1] if match else None, reading.source)
        whole = host.run(["uname", "-a"])
        match = re.match(r"(?:Linux|FreeBSD|Darwin)\s+\S+\s+(\S+)\s.*?(x86_64|aarch64|arm64|amd64|i686|armv\w+|riscv64|ppc64le|s390x)\b", whole.text)
        if whole.ok and match:
            notes.say("kernel", match[1], whole.source)
            notes.say("arch", arch_of(match[2]), whole.source)
    if notes.get("arch") is None:
        for reading in outputs(host, "lscpu") if host.recorded else ():
            match = re.search(r"^Architecture:\s*(\S+)", reading.text, re.MULTILINE)
            notes.say("arch", arch_of(match[1]) if match else None, reading.source)


def release_values(text: str) -> dict[str, str]:
    """Keys of an os-release or lsb-release file; values may be bare or quoted like in a shell."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, mark, value = line.strip().partition("=")
        if mark and re.fullmatch(r"[A-Z][A-Z0-9_]*", key):
            value = value.strip()
            if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            values[key] = re.sub(r"\\([\"$`\\])", r"\1", value).strip()
    return values


# First words of old release files and what os-release came to call the same distribution.
_RELEASE_WORDS = (
    ("red hat enterprise linux", "rhel"), ("centos", "centos"), ("fedora", "fedora"), ("rocky", "rocky"),
    ("almalinux", "almalinux"), ("oracle linux", "ol"), ("scientific linux", "scientific"), ("cloudlinux", "cloudlinux"),
    ("suse linux enterprise server", "sles"), ("opensuse", "opensuse"), ("mandriva", "mandrivalinux"),
    ("mageia", "mageia"), ("xenserver", "xenserver"), ("amazon linux", "amzn"), ("tencentos", "tencentos"),
    ("kylin", "kylin"), ("openeuler", "openeuler"), ("anolis", "anolis"), ("alibaba", "alinux"), ("eurolinux", "eurolinux"),
    ("virtuozzo", "virtuozzo"), ("gentoo", "gentoo"), ("slackware", "slackware"), ("ubuntu", "ubuntu"),
    ("debian", "debian"), ("mandrake", "mandrakelinux"), ("miracle linux", "miraclelinux"), ("linux mint", "linuxmint"),
    ("photon", "photon"), ("uos", "uos"), ("arch linux", "arch"), ("manjaro", "manjaro"), ("ultramarine", "ultramarine"),
)  # fmt: skip
_PLAIN_FILES = (
    "/etc/redhat-release", "/etc/centos-release", "/etc/oracle-release", "/etc/rocky-release", "/etc/SuSE-release",
    "/etc/gentoo-release", "/etc/slackware-version", "/etc/mandriva-release", "/etc/mandrake-release",
    "/etc/kylin-release", "/etc/system-release", "/etc/fedora-release", "/etc/almalinux-release", "/etc/issue",
)  # fmt: skip


def _distribution(host: Host, notes: Notes) -> None:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        reading = host.read(path)
        values = release_values(reading.text)
        name = values.get("ID") or None
        if reading.ok and name:
            notes.say("distribution", name.lower(), path)
            notes.say("release", values.get("VERSION_ID") or None, path)
            return
    for path, id_key, release_key in (("/etc/lsb-release", "DISTRIB_ID", "DISTRIB_RELEASE"),):
        values = release_values(host.read(path).text)
        name = _known_word(values.get(id_key, "")) or values.get(id_key, "").lower().replace(" ", "")
        if name:
            notes.say("distribution", name, path)
            notes.say("release", values.get(release_key) or None, path)
            return
    for reading in outputs(host, "lsb_release") if host.recorded else ():
        told = dict(pairs(reading.text))
        name = told.get("Distributor ID", "")
        if name:
            notes.say("distribution", _known_word(name) or name.lower().replace(" ", ""), reading.source)
            notes.say("release", words_of(told.get("Release")), reading.source)
            return
    for path in _PLAIN_FILES:
        reading = host.read(path)
        first = next((line.strip() for line in reading.text.splitlines() if line.strip()), "")
        name = _known_word(first)
        if name:
            notes.say("distribution", name, path)
            match = re.search(r"(\d+(?:\.\d+)+|\d+)", first)
            notes.say("release", match[1] if match else None, path)
            return
    for path, name in (("/etc/alpine-release", "alpine"), ("/etc/debian_version", "debian"), ("/etc/arch-release", "arch")):
        reading = host.read(path)
        if reading.ok:
            notes.say("distribution", name, path)
            word = reading.text.strip()
            notes.say("release", word if re.fullmatch(r"\d+(\.\d+)*\S*", word) else None, path)
            return


def _known_word(text: str) -> str | None:
    low = text.lower()
    return next((name for word, name in _RELEASE_WORDS if low.startswith(word)), None) or next(
        (name for word, name in _RELEASE_WORDS if word in low), None
    )


def _wsl(host: Host, notes: Notes) -> None:
    kernel = str(notes.get("kernel") or "")
    version = host.read("/proc/version").text
    told = f"{kernel} {version}".lower()
    if "microsoft" in told:
        # WSL1 has no Linux kernel of its own: it says 4.4.0-<Windows build>-Microsoft.
        first = "wsl2" not in told and "microsoft-standard" not in told and re.search(r"\b4\.4\.0-\d+-microsoft", told)
        notes.say("wsl", 1 if first else 2, "/proc/version" if version else notes.sources.get("system.kernel", "uname -r"))
    elif host.access("/dev/dxg").ok and host.access("/usr/lib/wsl/lib").ok:
        notes.say("wsl", 2, "/dev/dxg")  # a kernel of the user's own build does not name Microsoft


def _container(host: Host, notes: Notes) -> None:
    kubernetes = host.env("KUBERNETES_SERVICE_HOST")
    own = [host.read(path) for path in ("/proc/1/cgroup", "/proc/self/cgroup")]
    groups = "\n".join(reading.text for reading in own)
    pod = re.search(r"kubepods", groups)
    if (kubernetes.ok and kubernetes.text) or pod or host.access("/var/run/secrets/kubernetes.io").ok:
        source = kubernetes.source if kubernetes.ok else own[0].source if "kubepods" in own[0].text else own[1].source
        notes.say("container", "kubernetes", source)
    for path, name in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker"), ("/.singularity.d", "apptainer")):
        if host.access(path).ok:
            notes.say("container", name, path)
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if host.env(variable).ok:
            notes.say("container", "apptainer", variable)
    told = host.read("/run/systemd/container")
    told = told if told.ok else host.read("/run/host/container-manager")
    word = told.text.strip().lower()
    if re.fullmatch(r"[a-z][a-z0-9-]{1,30}", word) and word != "wsl":
        notes.say("container", word, told.source)
    match = re.search(r"(?:^|\0)container=([a-z][a-z0-9-]*)", host.read("/proc/1/environ").text)
    match = match or re.fullmatch(r"()([a-z][a-z0-9-]*)", host.env("container").text)
    if match and match[match.lastindex or 0] != "wsl":
        notes.say("container", match[match.lastindex or 0], "variable container of process 1")
    for pattern, name in (
        (r"/docker/[0-9a-f]{12}|docker-[0-9a-f]{12}|/docker-ce/", "docker"), (r"/lxc[./]|/lxc\.payload", "lxc"),
        (r"libpod-[0-9a-f]{12}", "podman"), (r"containerd-[0-9a-f]{12}|cri-containerd", "containerd"),
        (r"/ecs/", "ecs"), (r"machine\.slice/machine-", "systemd-nspawn"), (r"/garden/", "garden"),
    ):  # fmt: skip
        for reading in own:
            if re.search(pattern, reading.text):
                notes.say("container", name, reading.source)
    if host.access("/proc/vz").ok and not host.access("/proc/bc").ok:
        notes.say("container", "openvz", "/proc/vz")


def _sandbox(host: Host, notes: Notes) -> None:
    if host.access("/.flatpak-info").ok:
        notes.say("sandbox", "flatpak", "/.flatpak-info")
    label = host.read("/proc/self/attr/current")
    if label.text.startswith("snap."):
        notes.say("sandbox", "snap", label.source)
    elif host.env("SNAP").ok and host.env("SNAP_NAME").ok and not label.ok:
        notes.say("sandbox", "snap", "environment variable SNAP")


def _libc(host: Host, notes: Notes) -> None:
    reading = host.call("libc")
    match = re.fullmatch(r"(glibc|musl) ?(\d+\.\d+[\w.]*)?", reading.text.strip()) if reading.ok else None
    if match:
        notes.say("libc", match[1], reading.source)
        notes.say("libc_version", match[2], reading.source)
        return
    loaders = [n for n in host.list("/lib").names if n.startswith("ld-musl-")]
    if loaders:
        notes.say("libc", "musl", f"/lib/{loaders[0]}")
    for folder in ("/lib/x86_64-linux-gnu", "/lib64", "/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"):
        for name in host.list(folder).names:
            match = re.fullmatch(r"libc-(\d+\.\d+)\.so", name)
            if match or name in ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"):
                notes.say("libc", "glibc", f"{folder}/{name}")
                notes.say("libc_version", match[1] if match else None, f"{folder}/{name}")
    if notes.get("libc_version") is None:
        questions = (["ldd", "--version"], ["getconf", "GNU_LIBC_VERSION"])
        for question in questions:
            told = host.run(question)
            musl = re.search(r"musl libc.*?\n?Version (\d+\.\d+\.\d+)", told.text, re.DOTALL)
            gnu = re.search(r"(?:GLIBC|GNU libc|glibc)[^\n]*?(\d+\.\d+)\)?\s*$", told.text, re.MULTILINE)
            if musl or gnu:
                notes.say("libc", "musl" if musl else "glibc", told.source)
                notes.say("libc_version", musl[1] if musl else gnu[1] if gnu else None, told.source)


def _virtual(host: Host, notes: Notes) -> None:
    if notes.get("wsl") == 2:
        notes.say("virtual", "Hyper-V", "/proc/version")
        return
    for path in ("/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name", "/sys/hypervisor/type"):
        reading = host.read(path)
        low = reading.text.strip().lower()
        if path.endswith("product_name") and low == "virtual machine":
            notes.say("virtual", "Hyper-V", path)
        name = next((name for word, name in _VIRTUAL if low and word in low and word != "virtual machine"), None)
        if name == "Amazon EC2" and ".metal" in host.read("/sys/class/dmi/id/product_name").text:
            name = None
        notes.say("virtual", name, path)
    for reading in outputs(host, "lscpu") if host.recorded else ():
        match = re.search(r"^Hypervisor vendor:\s*(\S.*)$", reading.text, re.MULTILINE)
        notes.say("virtual", words_of(match[1]) if match else None, reading.source)
    control = host.read("/proc/sysinfo")
    match = re.search(r"^VM00 Control Program:\s*(\S+)", control.text, re.MULTILINE)
    if match:
        notes.say("virtual", match[1], control.source)
    if notes.get("virtual") is None:
        cpu = host.read("/proc/cpuinfo")
        match = re.search(r"^flags\s*:.*$", cpu.text, re.MULTILINE)
        if match and " hypervisor" in match[0]:
            notes.say("virtual", "unknown hypervisor", cpu.source)


def _board(host: Host, notes: Notes) -> None:
    for path in ("/proc/device-tree/model", "/sys/firmware/devicetree/base/model"):
        reading = host.read(path)
        notes.say("board", words_of(reading.text), path)
    cpu = host.read("/proc/cpuinfo")
    for key in ("Model", "Hardware", "machine", "isa"):
        match = re.search(rf"^{key}\s*:\s*(\S.*)$", cpu.text, re.MULTILINE) if key in ("Model", "Hardware") else None
        notes.say("board", words_of(match[1]) if match else None, cpu.source)


def jetson(host: Host) -> str | None:
    """What marks this machine as a Jetson (a file or the kernel's name), or None. A DGX Spark has no such mark."""
    if host.access("/etc/nv_tegra_release").ok:
        return "/etc/nv_tegra_release"
    kernel = host.read("/proc/sys/kernel/osrelease").text
    if "-tegra" in kernel or "-tegra" in host.run(["uname", "-r"]).text if host.recorded else "-tegra" in kernel:
        return "/proc/sys/kernel/osrelease"
    compatible = host.read("/proc/device-tree/compatible").text
    return "/proc/device-tree/compatible" if re.search(r"nvidia,tegra|nvidia,p\d{4}", compatible) else None

