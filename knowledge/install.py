"""From a chosen stack to an install plan: exact pins, one index for each, variables, and steps for what is no package."""

from __future__ import annotations

import msgspec

from knowledge.answers import Answers
from knowledge.catalog import Build, BuildPackage, Catalog
from knowledge.commands import dockerfile, environment_yml, pyproject, render, requirements_txt
from knowledge.facts import MachineProfile
from knowledge.pairs import Solution
from knowledge.plan import (
    InstallPackages,
    InstallPlan,
    MakeEnvironment,
    Note,
    PlannedPackage,
    SetVariable,
    Step,
)
from knowledge.quoting import VARIABLES
from knowledge.text import Text

__all__ = ["dockerfile", "environment_yml", "plan", "pyproject", "render", "rendered", "requirements_txt"]

DEVICE_EXTRA = "device-gfx"  # in the data; here it becomes device-gfx1100 for the card at hand
CLIENTS = ("pip", "uv", "conda", "docker")
# Read by a build from source, so set before the packages are installed.
WHILE_BUILDING = frozenset({"CMAKE_ARGS", "DS_BUILD_OPS", "MAX_JOBS", "TORCH_CUDA_ARCH_LIST", "VLLM_TARGET_DEVICE"})


def plan(catalog: Catalog, solution: Solution, answers: Answers, machine: MachineProfile) -> InstallPlan:
    """The install plan of SOLUTION, without commands (see `rendered`)."""
    chosen = _packages(catalog, solution)
    planned: list[PlannedPackage] = []
    groups: dict[tuple[str, bool, bool], list[tuple[str, BuildPackage]]] = {}
    for package, index, guarded in chosen:
        requirement = _requirement(package, solution)
        url = url_of(catalog, index, answers)
        size = round(package.download_mb * 1e6) if package.download_mb is not None else None
        planned.append(
            PlannedPackage(name=package.name, requirement=requirement, index_id=index, index_url=url, download_bytes=size)
        )
        key = (index, package.build_isolation, guarded)
        groups.setdefault(key, []).append((requirement, package))
    environment = _environment(solution, answers, machine)
    steps: list[Step] = []
    if planned:
        steps.append(MakeEnvironment(python=(solution.python_minor or "3.12")))
        steps.extend(SetVariable(name=name, value=value) for name, value in environment.items() if name in WHILE_BUILDING)
    # What has an index of its own comes first, so that the rest finds it there; what is built against it comes last.
    merged: dict[tuple[str, bool], list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for (index, isolated, guarded), items in groups.items():
        names = tuple(package.name for _, package in items)
        merged.setdefault((index, isolated), []).append((tuple(r for r, _ in items), names if guarded else ()))
    for index, isolated in sorted(merged, key=lambda item: (not item[1], item[0] == "pypi")):
        batches = merged[index, isolated]
        entry = catalog.indexes.get(index)
        steps.append(
            InstallPackages(
                requirements=tuple(r for requirements, _ in batches for r in requirements),
                index_id=index,
                index_url=url_of(catalog, index, answers),
                extra=bool(entry and entry.extra),
                only_binary=tuple(n for _, names in batches for n in names),
                build_isolation=isolated,
            )
        )
    steps.extend(
        SetVariable(name=name, value=value)
        for name, value in environment.items()
        if not planned or name not in WHILE_BUILDING
    )
    for part in solution.parts:
        if part.build is not None:
            steps.extend(msgspec.convert(step, Step) for step in part.build.steps)
            steps.extend(Note(text=text) for text in part.build.notes)
    steps.extend(Note(text=text) for text in _notes(solution, answers, machine))
    return InstallPlan(
        packages=tuple(planned), environment=environment, steps=tuple(steps),
        python=solution.python_minor if planned else None,
    )  # fmt: skip


def _packages(catalog: Catalog, solution: Solution) -> list[tuple[BuildPackage, str, bool]]:
    """Each package once, with its index and whether its wheels are guarded; a framework's own pin wins over a guest's."""
    found: dict[str, tuple[BuildPackage, str, bool]] = {}
    own: set[str] = set()
    # What a stack runs on is installed first.
    for part in reversed(solution.parts):
        build = part.build
        if build is None:
            continue
        guarded = _compiled(build)
        for package in build.packages:
            name = package.name.lower().replace("_", "-")
            mine = bool(part.framework.packages) and part.framework.packages[0].lower().replace("_", "-") == name
            if name in found and (name in own or not mine):
                continue
            found[name] = (package, package.index or build.index, guarded and not package.source_only)
            if mine:
                own.add(name)
    return list(found.values())


def _compiled(build: Build) -> bool:
    """Whether a build's wheels are bound to a libc: then a missing wheel must not become a build from source."""
    return build.glibc_min is not None and not any(r.code == "package.source_only" for r in build.requires)


def _requirement(package: BuildPackage, solution: Solution) -> str:
    extras: list[str] = []
    for extra in package.extras:
        if extra == DEVICE_EXTRA:
            targets = dict.fromkeys(card.target for card in solution.route.cards if card.target)
            extras.extend(f"device-{target}" for target in targets)
        else:
            extras.append(extra)
    return f"{package.name}[{','.join(extras)}]=={package.version}" if extras else f"{package.name}=={package.version}"


def url_of(catalog: Catalog, index: str, answers: Answers) -> str | None:
    """Address of INDEX, or of the catalogue's mirror of it that the answers name (by id or host)."""
    entry = catalog.indexes.get(index)
    wanted = (answers.needs.mirror or "").strip().lower()
    if wanted:
        for other in catalog.indexes.values():
            if other.mirrors == index and other.url and (other.id.split("-")[0] in wanted or other.url.split("/")[2] in wanted):
                return other.url
    return entry.url if entry is not None else None


def _environment(solution: Solution, answers: Answers, machine: MachineProfile) -> dict[str, str]:
    """Variables of the builds, and those that this machine needs."""
    found: dict[str, str] = {}
    for part in solution.parts:
        if part.build is not None:
            found.update({n: v for n, v in part.build.environment.items() if n in VARIABLES})
    for verdict in solution.verdicts:
        for cure in verdict.remedies:
            if verdict.outcome == "unmet" and cure.code == "hide_device" and cure.params.get("name") in VARIABLES:
                found[cure.params["name"]] = cure.params["value"]
                if cure.params["name"] == "CUDA_VISIBLE_DEVICES":
                    found["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    cards = solution.route.cards
    if answers.needs.custom_ops and solution.route.device == "cuda" and cards:
        targets = sorted({card.target for card in cards if card.target})
        if targets:
            found["TORCH_CUDA_ARCH_LIST"] = ";".join(targets)
    cpu = machine.cpu
    if limited(machine) and cpu.usable_cpus is not None:
        found.setdefault("OMP_NUM_THREADS", str(max(1, int(cpu.usable_cpus))))
    if machine.network.reachable.get("huggingface.co") is False and uses_hub(solution):
        found["HF_ENDPOINT"] = "https://hf-mirror.com"
    if without_peer_access(solution) and answers.cluster is not None:
        found["NCCL_P2P_DISABLE"] = "1"
    if answers.tools.packages == "uv" and any((p.download_mb or 0) > 400 for q in solution.parts if q.build for p in q.build.packages):
        found["UV_HTTP_TIMEOUT"] = "600"  # uv gives up on a wheel of gigabytes after 30 s without this
    if answers.needs.offline and uses_hub(solution):
        found["HF_HUB_OFFLINE"] = "1"
    return found


def limited(machine: MachineProfile) -> bool:
    """Whether a quota or affinity leaves far fewer CPUs than a program would count."""
    cpu = machine.cpu
    return cpu.usable_cpus is not None and cpu.logical_cpus is not None and cpu.usable_cpus <= cpu.logical_cpus / 2


def uses_hub(solution: Solution) -> bool:
    """Whether the stack fetches models from Hugging Face."""
    return any(part.framework.id in HUB for part in solution.parts)


HUB = frozenset({
    "transformers", "peft", "trl", "accelerate", "vllm", "sglang", "unsloth", "axolotl", "llama-factory", "ms-swift",
    "lmdeploy", "text-generation-inference", "optimum", "tensorrt-llm", "openrlhf", "verl",
})  # fmt: skip


def without_peer_access(solution: Solution) -> bool:
    """Several GeForce RTX 40 or 50 cards: the driver gives them no direct access to each other's memory."""
    cards = solution.route.cards
    count = sum(card.count for card in cards)
    names = " ".join(card.name or "" for card in cards)
    return count > 1 and solution.route.device == "cuda" and any(f"RTX {n}0" in names for n in (406, 407, 408, 409, 506, 507, 508, 509))


def _notes(solution: Solution, answers: Answers, machine: MachineProfile) -> list[Text]:
    found: list[Text] = []
    count = sum(card.count for card in solution.route.cards)
    if without_peer_access(solution):
        found.append(Text(
            "GeForce RTX 40 and 50 cards have no peer-to-peer (P2P) access and no NVLink: they exchange data through the "
            "computer's memory, so set NCCL_P2P_DISABLE=1 if NCCL hangs.",
            "GeForce RTX 40、50 系列没有点对点（P2P）访问和 NVLink，数据经由内存交换；NCCL 卡住时请设置 NCCL_P2P_DISABLE=1。",
        ))  # fmt: skip
    if count > 1 and machine.system.container:
        found.append(Text(
            "Several GPUs exchange data through /dev/shm, which a container limits to 64 MB by default: start it with --ipc=host or --shm-size=16g.",
            "多块 GPU 通过 /dev/shm 交换数据，而容器默认只给 64 MB：启动时请加 --ipc=host 或 --shm-size=16g。",
        ))  # fmt: skip
    if machine.network.reachable.get("huggingface.co") is False and uses_hub(solution):
        found.append(Text(
            "huggingface.co cannot be reached from here: HF_ENDPOINT names a mirror; ModelScope (modelscope.cn) holds most models as well.",
            "此处无法访问 huggingface.co：HF_ENDPOINT 指向镜像站；大多数模型也可以从魔搭 ModelScope（modelscope.cn）下载。",
        ))  # fmt: skip
    return found


def rendered(value: InstallPlan, solution: Solution, answers: Answers, machine: MachineProfile) -> InstallPlan:
    """VALUE with the lines to type for each client, in the shells of this system."""
    shells = ("bash", "powershell", "cmd") if machine.system.os == "windows" else ("bash", "powershell")
    wanted = [client for client in CLIENTS if client in ("pip", "uv") or client == answers.tools.packages]
    gpu = {"cuda": "nvidia", "rocm": "amd", "cann": "huawei", "xpu": "intel"}.get(solution.route.device) if solution.route.cards else None
    commands = {c: {s: render(value, c, s, gpu=gpu) for s in shells} for c in wanted}
    return msgspec.structs.replace(value, commands=commands)
