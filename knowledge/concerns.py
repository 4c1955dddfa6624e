"""Which findings on the machine belong on one piece of advice, and what only the advice itself can find."""

from __future__ import annotations

import datetime

from knowledge import install
from knowledge.catalog import Catalog, Framework
from knowledge.compatibility import VENDORS, integrated
from knowledge.explain import remedy
from knowledge.facts import Evidence, Finding
from knowledge.pairs import Solution
from knowledge.predicates import Situation, evidence
from knowledge.text import Text
from knowledge.verdicts import Assessment

OLD_DAYS = 90
# Machine findings that touch any stack; those on packages of one environment stay with `doctor`.
ALWAYS = ("driver.", "accel.", "cpu.", "system.", "os.", "network.", "libc.", "disk.", "memory.")
# What the plan has already taken into account.
PLANNED_FOR = frozenset({"accel.arch_too_old", "accel.arch_not_built", "accel.none"})
PLUGINS = {
    "moore-threads": ("torch_musa", "torch-musa"),
    "huawei": ("torch-npu", "torch-npu"),
    "cambricon": ("torch_mlu", "torch-mlu"),
    "hygon": ("DTK PyTorch", "dtk"),
    "metax": ("MACA PyTorch", "maca"),
    "iluvatar": ("CoreX PyTorch", "corex"),
    "kunlunxin": ("XPyTorch", "xpytorch"),
    "enflame": ("torch_gcu", "torch-gcu"),
}  # fmt: skip


def findings(
    catalog: Catalog,
    situation: Situation,
    today: datetime.date,
    found: Assessment,
    solution: Solution,
    framework: Framework,
) -> tuple[Finding, ...]:
    """What is worth telling beside FOUND, once for each code and subject."""
    result: list[Finding] = []
    said = {v.code for v in found.verdicts if v.outcome in ("unmet", "unknown")}
    for finding in _machine(catalog, situation, today):
        if finding.code in said or not finding.code.startswith(ALWAYS):
            continue
        if finding.code == "accel.mixed" and not solution.route.cards:
            continue
        if finding.severity == "info" and finding.code in PLANNED_FOR:
            continue
        result.append(finding)
    result.extend(_own(catalog, situation, solution, framework, {f.code for f in result} | said))
    age = _age(found, today)
    if age is not None:
        result.append(age)
    if found.memory is not None:
        result.extend(f for f in found.memory.findings if f.severity != "error" and f not in result)
    return tuple(result)


def _machine(catalog: Catalog, situation: Situation, today: datetime.date) -> tuple[Finding, ...]:
    from knowledge import diagnose

    key = "diagnosed"
    if key not in situation.memo:
        situation.memo[key] = diagnose.diagnose(catalog, situation.machine, today)
    known: tuple[Finding, ...] = situation.memo[key]
    return known


def _own(
    catalog: Catalog, situation: Situation, solution: Solution, framework: Framework, said: set[str]
) -> list[Finding]:
    machine = situation.machine
    result: list[Finding] = []
    idle = [c for c in machine.accelerators or () if not integrated(c) and (c.kind == "gpu" or c.vendor == "huawei")]
    computes = any(b.device not in ("cpu", "any") for part in solution.parts for b in part.framework.builds)
    if not solution.route.cards and idle and computes and not said & {"accel.vendor_unsupported", "accel.arch_not_built", "accel.arch_too_old"}:
        card = idle[0]
        vendor = VENDORS.get(card.vendor, card.vendor)
        plugin = PLUGINS.get(card.vendor) if any(p.framework.id == "pytorch" for p in solution.parts) else None
        cures = [remedy("use_instead", {"name": plugin[0], "reason": f"the PyTorch plug-in for {vendor}"})] if plugin else [remedy("use_instead")]
        result.append(Finding(
            code="accel.vendor_unsupported", severity="warning", subject=card.name or vendor,
            because=Text(f"{framework.name} has no build for {card.name or vendor}; this plan uses the processor."
                         + (f" {plugin[0]} brings PyTorch to it." if plugin else ""),
                         f"{framework.name} 没有适用于 {card.name or vendor} 的构建，此方案使用 CPU。"
                         + (f"{plugin[0]} 可让 PyTorch 使用它。" if plugin else "")),
            evidence=evidence(machine, "accelerators", card.name or card.vendor), remedies=tuple(cures),
        ))  # fmt: skip
    result.extend(_compiler(situation, solution, said))
    if situation.answers.needs.offline and "network.offline" not in said and found_packages(solution):
        result.append(Finding(
            code="network.offline", severity="info", subject="network",
            because=Text("You work offline: download the packages and models once on a connected computer and carry them over.",
                         "您将离线工作：请先在联网的电脑上下载软件包和模型，再拷贝过来。"),
            evidence=(Evidence(fact="needs.offline = true", source="answers"),), remedies=(remedy("carry_wheels"),),
        ))  # fmt: skip
    if framework.status.state in ("maintenance", "unverified"):
        cures = [remedy("use_instead", {"framework": n, "name": catalog.frameworks[n].name})
                 for n in framework.status.successors if n in catalog.frameworks]  # fmt: skip
        result.append(Finding(
            code=f"project.{framework.status.state}", severity="info", subject=framework.id,
            because=framework.status.note, remedies=tuple(cures), source=framework.status.source,
            evidence=(Evidence(fact=f"{framework.name}: {framework.status.state}", source=framework.status.source.url),),
        ))  # fmt: skip
    if machine.network.reachable.get("huggingface.co") is False and install.uses_hub(solution) and "network.index_unreachable" not in said:
        result.append(Finding(
            code="network.index_unreachable", severity="warning", subject="huggingface.co",
            because=Text("huggingface.co cannot be reached: models come from a mirror (HF_ENDPOINT) or from ModelScope.",
                         "无法访问 huggingface.co：请通过镜像（HF_ENDPOINT）或魔搭 ModelScope 获取模型。"),
            evidence=evidence(machine, "network.reachable.huggingface.co", False),
            remedies=(remedy("set_env", {"name": "HF_ENDPOINT", "value": "https://hf-mirror.com"}),),
        ))  # fmt: skip
    return result


def _compiler(situation: Situation, solution: Solution, said: set[str]) -> list[Finding]:
    """Own CUDA operators are compiled here: nvcc must be of the CUDA major that PyTorch was built with.

    Source: torch.utils.cpp_extension checks the major of nvcc against torch.version.cuda.
    """
    if not situation.answers.needs.custom_ops or solution.route.device != "cuda" or said & {"toolkit.missing", "toolkit.mismatch"}:
        return []
    built = next((p.build.toolkit for p in solution.parts if p.build is not None and p.build.toolkit), None)
    software = situation.machine.software
    have = software.nvcc if software.nvcc is not None else software.cuda_toolkit
    if built is None or have is None or have is True:
        return []
    cure = remedy("install_system_package", {"name": f"CUDA Toolkit {built} (nvcc)"})
    proof = evidence(situation.machine, "software.nvcc", have)
    if have is False:
        return [Finding(
            code="toolkit.missing", severity="warning", subject="nvcc", evidence=proof, remedies=(cure,),
            because=Text(f"Your own CUDA operators are compiled with nvcc, which is not installed; PyTorch here is built with CUDA {built}.",
                         f"自定义 CUDA 算子要用 nvcc 编译，而本机没有安装；此处的 PyTorch 使用 CUDA {built} 编译。"),
        )]  # fmt: skip
    if have.split(".")[0] == built.split(".")[0]:
        return []
    return [Finding(
        code="toolkit.mismatch", severity="warning", subject="nvcc", evidence=proof, remedies=(cure,),
        because=Text(f"nvcc is {have}, PyTorch here is built with CUDA {built}: own CUDA operators will not compile against it.",
                     f"nvcc 版本是 {have}，而此处的 PyTorch 使用 CUDA {built} 编译：自定义 CUDA 算子无法据此编译。"),
    )]  # fmt: skip


def found_packages(solution: Solution) -> bool:
    return any(part.build is not None and part.build.packages for part in solution.parts)


def _age(found: Assessment, today: datetime.date) -> Finding | None:
    if found.checked is None:
        return None
    days = (today - datetime.date.fromisoformat(found.checked)).days
    if days <= OLD_DAYS:
        return None
    return Finding(
        code="project.unverified", severity="info", subject="knowledge",
        because=Text(f"The knowledge used here was checked {days} days ago; newer releases may exist.",
                     f"此处所用知识的核对时间是 {days} 天前，可能已有更新的版本。"),
        evidence=(Evidence(fact=f"checked {found.checked}", source="knowledge base"),),
    )  # fmt: skip
