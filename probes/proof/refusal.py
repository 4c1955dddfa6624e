"""What a resolver's error output means: the kind of refusal, the package or address it is about, one plain sentence."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from knowledge.text import Text

Kind = Literal[
    "unreachable", "certificate", "login", "offline", "no_version", "no_wheel_for_python", "no_wheel_for_platform",
    "python_version", "not_found", "source_only", "conflict", "build_failed", "disk_full", "hash", "damaged",
    "no_python", "read_only", "other",
]  # fmt: skip

NETWORK_WORDS = (
    "client error (connect)", "dns error", "timed out", "connection refused", "network is unreachable",
    "connection reset", "error sending request", "name or service not known", "temporary failure in name resolution",
    "no route to host", "newconnectionerror", "max retries exceeded", "connection closed", "unexpected eof",
    "http status server error",
)  # fmt: skip
DETAIL_CHARACTERS = 1200


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """`subject` is a requirement or an address without user info; `detail` the resolver's own words, shortened."""

    kind: Kind
    subject: str
    text: Text
    detail: str


def without_login(address: str) -> str:
    """ADDRESS without user name and password."""
    return re.sub(r"(?<=://)[^/@\s]*@", "", address)


def understand(output: str) -> Refusal:
    """The refusal in OUTPUT (standard error of uv or pip)."""
    detail = without_login(re.sub(r"\x1b\[[0-9;]*m", "", output).strip())
    flat = re.sub(
        r"\s+", " ", re.sub(r"(?m)^(Using Python|Resolved|Prepared|warning:|WARNING:|DEPRECATION:) .*$", "", detail)
    ).strip()
    flat = flat.replace("stackfit-plan depends on", "you require")
    low = flat.lower()
    kind, subject = _kind(flat, low)
    return Refusal(
        kind=kind,
        subject=subject,
        text=_sentence(kind, subject, flat),
        detail=re.sub(r"\s*\n\s*", "; ", detail)[:DETAIL_CHARACTERS],
    )


def _kind(flat: str, low: str) -> tuple[Kind, str]:
    address = _first(flat, r"Failed to fetch: `?(\S+?)`?(?:\s|$)", r"for url \((\S+?)\)", r"(https?://\S+?)[\s)`'\"]")
    if "no space left on device" in low or "os error 28" in low or "errno 28" in low:
        return "disk_full", ""
    if "read-only file system" in low or "os error 30" in low or "permission denied" in low:
        return "read_only", _first(flat, r"`([^`]+)`", r"'([^']+)'")
    if "invalid peer certificate" in low or "certificate_verify_failed" in low or "unknownissuer" in low:
        return "certificate", address
    if re.search(r"\b40[137]\b", low) and ("status client error" in low or "unauthorized" in low or "forbidden" in low):
        return "login", address
    if "hash mismatch" in low or "hashes are required" in low or "do not match the hashes" in low:
        return "hash", _first(flat, r"[Hh]ash mismatch for `([^`]+)`", r"mismatch for ([\w.=+-]+)")
    if "invalid package format" in low or "failed to read zip" in low or "invalid zip" in low:
        return "damaged", _first(flat, r"`([^`]+\.whl)`", r"([\w.+-]+\.whl)", r"`([^`]+)`")
    if "no interpreter found" in low or "no virtual environment found" in low:
        return "no_python", _first(flat, r"No interpreter found for ([^,]+? [\d.]+)")
    # With the network off uv says "not found in the cache": that is no answer about the package.
    if "network connectivity is disabled" in low or "network was disabled" in low:
        return "offline", _first(flat, r"([A-Za-z0-9._-]+(?:==[\w.+!]+)?) was not found in the cache")
    if address and any(word in low for word in NETWORK_WORDS):
        return "unreachable", address
    if "was not found in the package registry" in low or "not found in the provided package locations" in low:
        return "not_found", _first(flat, r"([A-Za-z0-9._-]+) was not found in the (?:package|provided)")
    if (
        "matching python abi tag" in low
        or "matching python version tag" in low
        or "matching python implementation" in low
    ):
        return "no_wheel_for_python", _first(
            flat, r"([A-Za-z0-9._-]+(?:[=<>!~]=?[\w.+!,<>=]+)?) has no wheels with a matching"
        )
    if "matching platform tag" in low:
        return "no_wheel_for_platform", _first(flat, r"([A-Za-z0-9._-]+(?:==[\w.+!]+)?) has no wheels with a matching")
    if "does not satisfy python" in low or ("requires-python" in low and "satisf" in low):
        return "python_version", _first(
            flat,
            r"(?:and|because|Because) ([A-Za-z0-9._-]+(?:[=<>]=?[\w.+!,<>=]+)?) depends on Python",
            r"satisfy (Python\S+)",
        )
    if "no usable wheels" in low or "building from source is disabled" in low:
        return "source_only", _first(
            flat, r"([A-Za-z0-9._-]+(?:==[\w.+!]+)?) has no usable wheels", r"required for `([^`]+)`"
        )
    if "failed to build" in low or "build backend returned an error" in low or "failed building wheel" in low:
        return "build_failed", _first(flat, r"Failed to build `([^`]+)`", r"building wheel for ([\w.-]+)")
    if "conflicting dependencies" in low or re.search(r"because you require \S+ and \S+, we can conclude", low):
        return "conflict", _first(flat, r"Cannot install (\S+)", r"you require (\S+) and")
    if re.search(r"because there is no version of \S+ and", low):
        return "no_version", _first(flat, r"there is no version of (\S+)")
    if re.search(r"depends? on", low) and ("unsatisfiable" in low or "conflict" in low):
        return "conflict", _first(
            flat,
            r"[Bb]ecause (?:only )?([A-Za-z0-9._-]+(?:\[\w+\])?(?:[=<>]=?[\w.+!]+)?) depends on",
            r"you require ([A-Za-z0-9._-]+[=<>]\S*)",
        )
    if "there is no version of" in low or "no matching distribution" in low or "only the following versions" in low:
        return "no_version", _first(
            flat,
            r"there is no version of (\S+)",
            r"No matching distribution found for (\S+)",
            r"you require ([A-Za-z0-9._-]+[=<>]\S*)",
        ).rstrip(",.")
    return "other", ""


def _first(text: str, *patterns: str) -> str:
    for pattern in patterns:
        match = re.search(pattern, text)
        if match is not None:
            return without_login(match.group(1)).rstrip(",.;:")
    return ""


def _sentence(kind: Kind, subject: str, flat: str) -> Text:
    what_en, what_zh = subject or "a package of the plan", subject or "计划中的某个软件包"
    if kind == "conflict":
        same = re.search(r"you require (\S+) and (\S+?), we can conclude", flat)
        if same is not None:
            return Text(
                f"{same.group(1)} and {same.group(2)} cannot both be had (one may stand in your own constraint file).",
                f"{same.group(1)} 与 {same.group(2)} 不能同时满足（其中之一可能来自您自己的约束文件）。",
            )
        pair = re.search(r"(\S+) depends? on (\S+?)(?:,? |\.$)", flat)
        other = None
        if pair is not None:
            name = re.split(r"[=<>!~\[]", pair.group(2))[0]
            own = [found.rstrip(",.") for found in re.findall(r"you require (\S+)", flat)]
            of_same = [found for found in own if re.split(r"[=<>!~\[]", found)[0] == name and found != pair.group(2)]
            other = (of_same or own or [None])[0]
        if pair is not None and other is not None:
            a, b, c = pair.group(1), pair.group(2).rstrip(",."), other
            return Text(
                f"The packages contradict each other: {a} needs {b}, which does not go with {c}.",
                f"软件包之间互相冲突：{a} 需要 {b}，而这与 {c} 不相容。",
            )
    tags = re.search(r"with the following (?:Python ABI|Python|platform)[^:]*tags?: ((?:`[^`]+`(?:, )?)+)", flat)
    only_en = f" (there are wheels only for {tags.group(1).replace('`', '')})" if tags else ""
    only_zh = f"（只有以下标签的 wheel：{tags.group(1).replace('`', '')}）" if tags else ""
    sentences: dict[str, Text] = {
        "unreachable": Text(f"{what_en} cannot be reached from this machine.", f"本机无法访问 {what_zh}。"),
        "certificate": Text(
            f"The certificate of {what_en} is not trusted here; pip and uv need your organisation's certificate file.",
            f"本机不信任 {what_zh} 的证书；需要为 pip 和 uv 指定贵单位的证书文件。",
        ),
        "login": Text(
            f"{what_en} asks for a login or refuses this one.", f"{what_zh} 要求登录，或拒绝了当前的登录信息。"
        ),
        "offline": Text(
            f"Working offline, and {what_en} is not among the packages that are on this machine.",
            f"当前为离线模式，而本机现有的软件包中没有 {what_zh}。",
        ),
        "no_version": Text(
            f"{what_en} does not exist in the package sources that this machine uses.",
            f"本机所用的软件源中没有 {what_zh}。",
        ),
        "no_wheel_for_python": Text(
            f"{what_en} has no build for this Python version{only_en}.",
            f"{what_zh} 没有适用于此 Python 版本的构建{only_zh}。",
        ),
        "no_wheel_for_platform": Text(
            f"{what_en} has no build for this operating system and processor{only_en}.",
            f"{what_zh} 没有适用于此操作系统和处理器的构建{only_zh}。",
        ),
        "python_version": Text(f"{what_en} does not support this Python version.", f"{what_zh} 不支持此 Python 版本。"),
        "not_found": Text(
            f"{what_en} is not in any package source that this machine uses.",
            f"本机所用的任何软件源中都找不到 {what_zh}。",
        ),
        "source_only": Text(
            f"{what_en} has no ready-made build for this machine and would have to be built from source.",
            f"{what_zh} 没有适用于本机的现成构建，只能从源码编译。",
        ),
        "conflict": Text(
            f"The packages contradict each other, beginning with {what_en}.", f"软件包之间互相冲突，起因是 {what_zh}。"
        ),
        "build_failed": Text(
            f"{what_en} has to be built from source here, and the build failed.",
            f"{what_zh} 需要在本机从源码编译，但编译失败。",
        ),
        "disk_full": Text("The disk is full.", "磁盘已满。"),
        "hash": Text(
            f"A downloaded file is not the one that was locked: the hash of {what_en} differs.",
            f"下载的文件与锁定的不一致：{what_zh} 的哈希值不同。",
        ),
        "damaged": Text(f"{what_en} is damaged or no wheel at all.", f"{what_zh} 已损坏，或根本不是 wheel 文件。"),
        "no_python": Text(
            f"The Python that the plan needs is not installed here{f' ({subject})' if subject else ''}.",
            f"本机没有安装计划所需的 Python{f'（{subject}）' if subject else ''}。",
        ),
        "read_only": Text(
            f"A folder cannot be written to{f': {subject}' if subject else ''}.",
            f"文件夹无法写入{f'：{subject}' if subject else ''}。",
        ),
    }
    found = sentences.get(kind)
    if found is not None:
        return found
    words = re.sub(r"^(error|ERROR): ", "", flat)[:240] or "it gave no reason"
    return Text(f"The resolver stopped: {words}", f"解析器中止：{words}")
