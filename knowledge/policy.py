"""A team's policy: the indexes it uses, the versions it approves, and what it does not want; data that runs nothing."""

from __future__ import annotations

import msgspec

from knowledge import documents
from knowledge.catalog import Catalog
from knowledge.explain import remedy
from knowledge.facts import Base, Evidence
from knowledge.pairs import Solution
from knowledge.quoting import is_name, is_url
from knowledge.text import Text
from knowledge.verdicts import Verdict
from knowledge.versions import specifier


class Policy(Base, frozen=True, kw_only=True):
    """`indexes` puts an https address in place of a known index; `approved` bounds packages; `denied` names frameworks."""

    schema: int = 1
    name: str
    indexes: dict[str, str] = {}
    approved: dict[str, str] = {}
    denied: tuple[str, ...] = ()
    licence: str | None = None  # "permissive": frameworks under other licences are out
    reason: str | None = None


def read(text: str, name: str, catalog: Catalog) -> Policy:
    """The policy in TEXT. Raises BadInput naming NAME, key, what was found and what is allowed."""
    policy = documents.convert(documents.parse(text, name), Policy, name)
    for problem in problems(policy, catalog):
        raise documents.within(name, problem)
    return policy


def problems(policy: Policy, catalog: Catalog) -> list[Text]:
    """One sentence for each entry that cannot be followed."""
    found = []
    for index, url in policy.indexes.items():
        if index not in catalog.indexes:
            known = ", ".join(catalog.indexes)
            found.append(Text(
                f"key `indexes`: there is no index {index[:60]!r}; known are {known}.",
                f"键 `indexes`：没有软件源 {index[:60]!r}；已知的有 {known}。",
            ))  # fmt: skip
        if not is_url(url):
            found.append(Text(
                f"key `indexes.{index[:60]}`: {url[:80]!r} is not a plain https address without user info.",
                f"键 `indexes.{index[:60]}`：{url[:80]!r} 不是不带用户信息的 https 地址。",
            ))  # fmt: skip
    for package, bound in policy.approved.items():
        if not is_name(package):
            found.append(Text(
                f"key `approved`: {package[:60]!r} is no package name.", f"键 `approved`：{package[:60]!r} 不是软件包名。"
            ))  # fmt: skip
        if specifier(bound) is None:
            found.append(Text(
                f"key `approved.{package[:60]}`: {bound[:60]!r} is no version specifier such as >=2.10,<2.15.",
                f"键 `approved.{package[:60]}`：{bound[:60]!r} 不是 >=2.10,<2.15 这样的版本范围。",
            ))  # fmt: skip
    for framework in policy.denied:
        if framework not in catalog.frameworks:
            found.append(Text(
                f"key `denied`: there is no framework {framework[:60]!r}; `stackfit knowledge list` shows all.",
                f"键 `denied`：没有框架 {framework[:60]!r}；`stackfit knowledge list` 列出全部。",
            ))  # fmt: skip
    if policy.licence not in (None, "any", "permissive"):
        found.append(Text(
            f"key `licence`: found {policy.licence[:60]!r}; allowed are any, permissive.",
            f"键 `licence`：发现 {policy.licence[:60]!r}；允许的值有 any、permissive。",
        ))  # fmt: skip
    return found


def applied(catalog: Catalog, policy: Policy) -> Catalog:
    """CATALOG with the policy's addresses in place of the public ones; an index keeps its id."""
    if not policy.indexes:
        return catalog
    indexes = {
        name: msgspec.structs.replace(index, url=policy.indexes[name]) if name in policy.indexes else index
        for name, index in catalog.indexes.items()
    }
    return msgspec.structs.replace(catalog, indexes=indexes)


def verdicts(policy: Policy, solution: Solution) -> list[Verdict]:
    """What the team does not want in this stack; versions are bound already where builds are chosen."""
    found = []
    for part in solution.parts:
        name = part.framework.name
        if part.framework.id in policy.denied:
            found.append(_refused(policy, "policy.denied", name, f"{name} is not used here.", f"团队不使用 {name}。"))
        if policy.licence == "permissive" and not part.framework.licence.permissive:
            licence = part.framework.licence.id
            found.append(
                _refused(policy, "policy.licence", name, f"{name} is under {licence}.", f"{name} 采用 {licence} 许可证。")
            )
    return found


def _refused(policy: Policy, code: str, subject: str, en: str, zh: str) -> Verdict:
    reason = f" {policy.reason}" if policy.reason else ""
    return Verdict(
        code=code,
        outcome="unmet",
        subject=subject,
        because=Text(f"Policy {policy.name}: {en}{reason}", f"策略 {policy.name}：{zh}{reason}"),
        evidence=(Evidence(fact=policy.name, source="policy"),),
        remedies=(remedy("use_instead"),),
    )
