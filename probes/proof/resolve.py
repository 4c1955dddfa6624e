"""Whether an install plan can be installed here: asks the resolver, with the user's own settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlparse

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from knowledge.facts import Evidence, Finding, MachineProfile, Package
from knowledge.plan import (
    InstallPlan,
    LockedPackage,
    PackageSettings,
    PlannedPackage,
    Replaced,
    ResolveResult,
)
from knowledge.text import Text
from probes.progress import Progress
from probes.proof import asking, fallback, interpreters, lock, platforms, refusal, uv, variants
from probes.proof.interpreters import Interpreter

INDEX_FAULTS = ("unreachable", "certificate", "login", "offline")


def resolve(
    plan: InstallPlan,
    settings: PackageSettings,
    *,
    client: str = "uv",
    machine: MachineProfile | None = None,
    python_path: str | None = None,
    existing: tuple[Package, ...] | None = None,
    progress: Progress | None = None,
) -> ResolveResult:
    """Verified (with a lock), refused (with the resolver's reason) or not asked (with what could not be reached).

    EXISTING: packages of the environment that the plan would go into; what it would lose is in `replaced`.
    MACHINE: a recorded one is asked for by its platform, with this machine's package sources.
    Raises Cancelled, and BadInput where a requirement of the plan is more than a name and a version.
    """
    progress = progress or Progress()
    if not plan.packages:
        return _not_asked(client, Text("The plan holds no Python package.", "计划中没有 Python 软件包。"))
    if client not in ("uv", "pip"):
        return _not_asked(
            client,
            Text(
                f"This program asks uv and pip; {client} is not asked.", f"本程序只向 uv 和 pip 求证，不询问 {client}。"
            ),
        )
    for package in plan.packages:
        asking.checked(package.requirement)
        if package.index_url is not None:
            asking.checked_index(package.index_url)
    progress.check()
    progress.step(Text("Asking the resolver", "正在询问依赖解析器"))
    question = _Question(plan, settings, client, machine, python_path, progress)
    try:
        result = question.answer()
    except OSError as error:
        why = error.strerror or str(error)
        return _not_asked(
            client, Text(f"The resolver needs a folder to work in: {why}.", f"解析器需要工作文件夹：{why}。")
        )
    except uv.NoUv as error:
        return _not_asked(client, Text(f"uv is missing: {error}", f"缺少 uv：{error}"))
    if existing is not None and result.outcome == "verified":
        changes = asking.changes(result.plan or plan, settings, python_path, progress) if python_path else None
        lost = replaced(existing, result.packages) if changes is None else changes
        result = msgspec.structs.replace(result, replaced=lost)
    return result


def replaced(existing: Iterable[Package], packages: Iterable[LockedPackage]) -> tuple[Replaced, ...]:
    """Packages of an environment whose version the whole resolved set would change, where only its list is known."""
    new = {canonicalize_name(p.name): p.version for p in packages}
    lost = []
    for package in existing:
        name = canonicalize_name(package.name)
        if package.version is not None and name in new and not _same(package.version, new[name]):
            lost.append(Replaced(name=name, version=package.version, becomes=new[name]))
    return tuple(lost)


def _same(first: str, second: str) -> bool:
    try:
        return Version(first) == Version(second)
    except InvalidVersion:
        return first == second


def _not_asked(client: str, because: Text, findings: tuple[Finding, ...] = ()) -> ResolveResult:
    return ResolveResult(outcome="not_asked", client=client, because=because, findings=findings)


def megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.0f} MB" if size >= 1e6 else "< 1 MB"


class _Question:
    """One plan on its way through the resolver."""

    def __init__(
        self,
        plan: InstallPlan,
        settings: PackageSettings,
        client: str,
        machine: MachineProfile | None,
        python_path: str | None,
        progress: Progress,
    ) -> None:
        self.plan, self.settings, self.client, self.machine, self.progress = plan, settings, client, machine, progress
        self.elsewhere = machine is not None and machine.recorded
        self.platform = platforms.of(machine) if machine is not None and self.elsewhere else None
        self.macos = (
            machine.system.release if machine is not None and self.platform and "apple" in self.platform else None
        )
        chosen = None if self.elsewhere else interpreters.choose(plan.python, machine, settings, python_path)
        self.installed = chosen is not None or self.elsewhere
        stand_in = interpreters.choose(None, None, settings) or Interpreter(path="python3", version="3.11")
        self.python = chosen or Interpreter(path=stand_in.path, version=plan.python or stand_in.version)
        self.findings: list[Finding] = []

    def answer(self) -> ResolveResult:
        python = self.python
        answer = self._ask(self.plan.packages, python)
        if self.client == "pip" and answer.refused is not None and any(p.index_url for p in self.plan.packages):
            # pip passes over an index that does not answer and then blames the versions; uv tells the two apart.
            probe = self._ask_uv(self.plan.packages, python)
            if probe.refused is not None and probe.refused.kind in INDEX_FAULTS:
                answer = probe
        refused = answer.refused
        if refused is None:
            return self._verified(answer, self.plan, python)
        own_index = self._own_index(refused)
        if refused.kind in INDEX_FAULTS and own_index is not None:
            return self._without(own_index, refused)
        if refused.kind == "unreachable":
            # Not an index of the plan's: the user's own. Once more with patience, then with what uv has kept.
            answer = self._ask(self.plan.packages, python, retries=2)
            if answer.refused is not None and answer.refused.kind == "unreachable":
                kept = self._ask(self.plan.packages, python, offline=True)
                if kept.refused is None:
                    self._note_unreachable(refused)
                    return self._verified(kept, self.plan, python, offline=True)
                return _not_asked(self.client, refused.text, (*self.findings, self._unreachable(refused)))
            if answer.refused is None:
                return self._verified(answer, self.plan, python)
            refused = answer.refused
        if refused.kind == "conflict":
            within = self._within_constraints()
            if within is not None:
                return within
            if self.client == "pip":  # pip names the packages, uv the reason
                probe = self._ask_uv(self.plan.packages, python)
                refused = probe.refused if probe.refused is not None and probe.refused.kind == "conflict" else refused
        if refused.kind in INDEX_FAULTS:
            return _not_asked(self.client, refused.text, (*self.findings, self._unreachable(refused)))
        return self._refused(refused)

    def _ask(
        self, packages: Sequence[PlannedPackage], python: Interpreter, *, retries: int = 0, offline: bool = False
    ) -> asking.Answer:
        self.progress.check()
        if self.client == "pip" and not self.elsewhere and self.installed:
            answer = asking.ask_pip(packages, python, cancelled=self.progress.cancelled)
            if answer is not None:
                return answer
            self.findings.append(
                Finding(
                    code="package.client_missing",
                    severity="info",
                    subject="pip",
                    because=Text(
                        "That Python has no pip, so uv was asked with pip's settings.",
                        "该 Python 没有 pip，因此改用 pip 的设置询问 uv。",
                    ),
                    evidence=(Evidence(fact="no pip", source=f"{python.path} -m pip --version"),),
                )
            )

        return self._ask_uv(packages, python, retries=retries, offline=offline)

    def _ask_uv(
        self, packages: Sequence[PlannedPackage], python: Interpreter, *, retries: int = 0, offline: bool = False
    ) -> asking.Answer:
        def ask(build: bool = False, hash_files: bool = False) -> asking.Answer:
            return asking.ask_uv(
                packages,
                self.settings,
                python,
                platform=self.platform,
                macos=self.macos,
                build=build,
                retries=retries,
                offline=offline,
                exact_python=self.installed and not self.elsewhere,
                hash_files=hash_files,
                cancelled=self.progress.cancelled,
            )

        answer = ask()
        if answer.refused is not None and answer.refused.kind == "source_only" and not self.elsewhere:
            built = ask(build=True)
            answer = built if built.refused is None else answer
        if answer.refused is None and any(not p.hashes for p in answer.packages):
            answer = ask(build=bool(answer.source_only), hash_files=True)
        return answer

    def _own_index(self, refused: refusal.Refusal) -> str | None:
        """The index id of the plan that REFUSED is about: the one its address lies in, or the only one when offline."""
        own = {p.index_id: p.index_url for p in self.plan.packages if p.index_url is not None}
        for index_id, url in own.items():
            host = urlparse(url).hostname or url
            if refused.subject and host == (urlparse(refused.subject).hostname or ""):
                return index_id
        return next(iter(own), None) if refused.kind == "offline" else None

    def _without(self, index_id: str, refused: refusal.Refusal) -> ResolveResult:
        """The plan without an index that does not answer: what find-links and the default index can honestly serve."""
        url = next(p.index_url for p in self.plan.packages if p.index_id == index_id and p.index_url)
        wanted = variants.of_index(index_id)
        self._note_unreachable(refused, url)
        tried: list[Text] = []
        if not self.elsewhere:
            for python in self._pythons():
                for packages, dropped in fallback.substitutes(self.plan, self.settings, index_id, python):
                    answer = self._ask(packages, python)
                    if answer.refused is None and self._honest(answer.packages, wanted):
                        return self._fallback(answer, packages, dropped, python, url)
                    if answer.refused is not None:
                        tried.append(answer.refused.text)
        plain = tuple(fallback.from_default(p) if p.index_id == index_id else p for p in self.plan.packages)
        answer = self._ask(plain, self.python)
        if answer.refused is None and self._honest(answer.packages, wanted):
            return self._fallback(answer, plain, (), self.python, url)
        if answer.refused is None:
            size = megabytes(sum(p.download_bytes or 0 for p in answer.packages))
            got = variants.of_packages(answer.packages, self._system())
            why_en = f"the default index would give another build ({got}, {size}), which is not this plan"
            why_zh = f"默认软件源给出的是另一种构建（{got}，{size}），并非本计划所需"
        else:
            why = tried[-1] if tried else answer.refused.text
            why_en = f"without it: {why.en.rstrip('.')}"
            why_zh = f"离开它则：{why.zh.rstrip('。')}"
        return _not_asked(
            self.client,
            Text(
                f"{refusal.without_login(url)} cannot be reached from this machine, and {why_en}.",
                f"本机无法访问 {refusal.without_login(url)}，而且{why_zh}。",
            ),
            tuple(self.findings),
        )

    def _within_constraints(self) -> ResolveResult | None:
        """Another plan where only the user's own constraint file stands against this one, and the variant stays."""
        found = fallback.constrained(self.plan, self.settings)
        if found is None or self.elsewhere:
            return None
        packages, rules = found
        answer = self._ask(packages, self.python)
        wanted = {variants.of_index(p.index_id) for p in self.plan.packages} - {None}
        if answer.refused is not None or not self._honest(answer.packages, next(iter(wanted), None)):
            return None
        plan, said = fallback.pinned_plan(self.plan, packages, answer.packages, self.python, self.settings)
        because = Text(
            f"This machine's own constraints allow only {', '.join(rules)}, so this is another plan: {said.en} in place "
            "of what was planned.",
            f"本机自己的约束文件只允许 {'、'.join(rules)}，因此这是另一个计划：{said.zh}。",
        )
        return msgspec.structs.replace(self._verified(answer, plan, self.python), because=because, fallback=True)

    def _pythons(self) -> tuple[Interpreter, ...]:
        """The plan's Python first, then the others that are installed, one for each version."""
        rest = {p.short: p for p in reversed(interpreters.installed(self.machine)) if p.short != self.python.short}
        return (*((self.python,) if self.installed else ()), *rest.values())

    def _system(self) -> str | None:
        return self.machine.system.os if self.machine is not None else None

    def _honest(self, packages: Sequence[LockedPackage], wanted: str | None) -> bool:
        return wanted is None or variants.of_packages(packages, self._system()) == wanted

    def _fallback(
        self,
        answer: asking.Answer,
        packages: Sequence[PlannedPackage],
        dropped: tuple[str, ...],
        python: Interpreter,
        url: str,
    ) -> ResolveResult:
        plan, said = fallback.pinned_plan(self.plan, packages, answer.packages, python, self.settings)
        gone = f"; left out: {', '.join(dropped)}" if dropped else ""
        gone_zh = f"；未包含：{'、'.join(dropped)}" if dropped else ""
        moved = f", on Python {python.short}" if python.short != self.python.short else ""
        moved_zh = f"，使用 Python {python.short}" if python.short != self.python.short else ""
        because = Text(
            f"{refusal.without_login(url)} cannot be reached from this machine, so this is another plan, from this "
            f"machine's own package sources{moved}: {said.en} in place of what was planned{gone}.",
            f"本机无法访问 {refusal.without_login(url)}，因此这是另一个计划，"
            f"来自本机自己的软件源{moved_zh}：{said.zh}{gone_zh}。",
        )
        result = self._verified(answer, plan, python)
        return msgspec.structs.replace(result, because=because, fallback=True)

    def _verified(
        self, answer: asking.Answer, plan: InstallPlan, python: Interpreter, *, offline: bool = False
    ) -> ResolveResult:
        sizes = [p.download_bytes for p in answer.packages]
        total = sum(s for s in sizes if s is not None) if any(s is not None for s in sizes) else None
        for name in answer.source_only:
            self.findings.append(
                Finding(
                    code="package.source_only",
                    severity="warning",
                    subject=name,
                    because=Text(
                        f"{name} has no ready-made wheel for this machine and is built from source during the install.",
                        f"{name} 没有适用于本机的现成 wheel，安装时会从源码构建。",
                    ),
                )
            )
        if not self.installed and python is self.python:
            self.findings.append(
                Finding(
                    code="python.not_installed",
                    severity="warning",
                    subject=f"Python {python.short}",
                    because=Text(
                        f"Python {python.short} is not installed here; the plan fits it, but needs it first.",
                        f"本机没有安装 Python {python.short}；计划与之相符，但需要先安装它。",
                    ),
                )
            )
        indexes: dict[str, str] = {canonicalize_name(p.name): p.index_id for p in plan.packages}
        named = sorted(answer.packages, key=lambda p: p.name)
        packages = tuple(msgspec.structs.replace(p, index_id=indexes.get(p.name)) for p in named)
        complete = all(p.hashes for p in packages)
        size_en = f", {megabytes(total)} of files" if total is not None else ""
        size_zh = f"，文件共 {megabytes(total)}" if total is not None else ""
        where_en = f" for {self.platform}" if self.platform else " here"
        where_zh = f"适用于 {self.platform} 的" if self.platform else ""
        cached_en = " (offline, from what is already on this machine)" if offline else ""
        cached_zh = "（离线，使用本机已有的文件）" if offline else ""
        return ResolveResult(
            outcome="verified",
            client=self.client,
            because=Text(
                f"{self.client} found a consistent set of {len(packages)} packages{where_en} for Python "
                f"{python.short}{size_en}{cached_en}.",
                f"{self.client} 为 Python {python.short} 找到了一组{where_zh}相互一致的 {len(packages)} 个软件包"
                f"{size_zh}{cached_zh}。",
            ),
            lock=lock.write(packages) if complete else None,
            packages=packages,
            download_bytes=total,
            plan=msgspec.structs.replace(plan, python=plan.python or python.short),
            findings=tuple(self.findings),
        )

    def _refused(self, refused: refusal.Refusal) -> ResolveResult:
        code = {
            "no_wheel_for_python": "python.no_wheel",
            "python_version": "python.too_old",
            "source_only": "package.source_only",
            "no_wheel_for_platform": "os.unsupported",
            "conflict": "package.conflict",
            "disk_full": "disk.exceeds",
        }.get(refused.kind, "package.refused")
        finding = Finding(
            code=code,
            severity="error",
            subject=refused.subject or self.client,
            because=refused.text,
            evidence=(Evidence(fact=refused.detail, source=f"{self.client} resolver"),),
        )
        return ResolveResult(
            outcome="refused", client=self.client, because=refused.text, findings=(*self.findings, finding)
        )

    def _unreachable(self, refused: refusal.Refusal, url: str | None = None) -> Finding:
        code = {"certificate": "network.certificate", "offline": "network.offline"}.get(
            refused.kind, "network.index_unreachable"
        )
        return Finding(
            code=code,
            severity="warning",
            subject=refusal.without_login(url or refused.subject),
            because=refused.text,
            evidence=(Evidence(fact=refused.detail, source=f"{self.client} resolver"),),
        )

    def _note_unreachable(self, refused: refusal.Refusal, url: str | None = None) -> None:
        self.findings.append(self._unreachable(refused, url))
