"""Words on system and Python: one function each, and what it may be given."""

from __future__ import annotations

from typing import Any

import msgspec

from knowledge.facts import Evidence
from knowledge.judged import (
    Judged,
    Situation,
    bounded,
    evidence,
    outcome_of,
    said,
    unknown,
)
from knowledge.versions import capability, within


def os(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.os
    proof = evidence(situation.machine, "system.os", have)
    if have is None:
        return unknown("The operating system", "操作系统", proof)
    wanted = ", ".join(args["any"])
    good = have in args["any"]
    return said("met" if good else "unmet", f"The system is {have}; it runs on {wanted}.",
                f"系统是 {have}；支持的系统：{wanted}。", proof)  # fmt: skip


def platform(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    proof = evidence(situation.machine, "system.os", system.os) + evidence(situation.machine, "system.arch", system.arch)
    wanted = ", ".join(args["any"])
    if system.os is None or system.arch is None:
        possible = any(
            word.split("-")[0] in (system.os, word.split("-")[0] if system.os is None else "")
            and word.split("-")[1] in (system.arch, word.split("-")[1] if system.arch is None else "")
            for word in args["any"]
        )
        if possible:
            return unknown("The operating system or processor", "操作系统或处理器架构", proof)
    have = f"{system.os}-{system.arch}"
    good = have in args["any"]
    return said("met" if good else "unmet", f"This machine is {have}; built for {wanted}.",
                f"本机是 {have}；提供的构建：{wanted}。", proof)  # fmt: skip


def distribution(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.distribution
    proof = evidence(situation.machine, "system.distribution", have)
    if have is None:
        return unknown("The distribution", "发行版", proof)
    wanted = ", ".join(args["any"])
    return said("met" if have in args["any"] else "unmet", f"The distribution is {have}; expected {wanted}.",
                f"发行版是 {have}；需要 {wanted}。", proof)  # fmt: skip


def os_release(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.release
    return bounded(have, args, "The system's release", "系统版本", evidence(situation.machine, "system.release", have))


def windows_build(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "windows":
        return said("not_applicable", "Only of concern on Windows.", "仅与 Windows 有关。")
    have = system.build.split(".")[-1] if system.build else None
    return bounded(have, {"min": args["min"].split(".")[-1]}, "The Windows build", "Windows 内部版本号",
                    evidence(situation.machine, "system.build", system.build))  # fmt: skip


def macos(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "macos":
        return said("not_applicable", "Only of concern on macOS.", "仅与 macOS 有关。")
    return bounded(system.release, args, "macOS", "macOS 版本", evidence(situation.machine, "system.release", system.release))


def glibc(args: dict[str, Any], situation: Situation) -> Judged:
    system = situation.machine.system
    if system.os is not None and system.os != "linux":
        return said("not_applicable", "Only of concern on Linux.", "仅与 Linux 有关。")
    proof = evidence(situation.machine, "system.libc_version", system.libc_version)
    if system.libc is not None and system.libc != "glibc":
        return said("unmet", f"The C library is {system.libc}, not glibc.", f"C 库是 {system.libc}，不是 glibc。", proof)
    return bounded(system.libc_version if system.libc else None, args, "glibc", "glibc 版本", proof)


def musl(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.libc
    proof = evidence(situation.machine, "system.libc", have)
    if have is None:
        return unknown("The C library", "C 库", proof)
    return said("met" if have == "musl" else "unmet", f"The C library is {have}.", f"C 库是 {have}。", proof)


class Wsl(msgspec.Struct, forbid_unknown_fields=True):
    is_: bool | int = msgspec.field(name="is", default=True)


def wsl(args: dict[str, Any], situation: Situation) -> Judged:
    have, wanted = situation.machine.system.wsl, args.get("is", True)
    good = (have is not None) == wanted if isinstance(wanted, bool) else have == wanted
    return said("met" if good else "unmet", f"WSL: {have or 'no'}.", f"WSL：{have or '否'}。",
                evidence(situation.machine, "system.wsl", have))  # fmt: skip


def container(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.container
    good = (have is not None) == args.get("is", True)
    return said("met" if good else "unmet", f"Container: {have or 'no'}.", f"容器：{have or '否'}。",
                evidence(situation.machine, "system.container", have))  # fmt: skip


def arch(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.machine.system.arch
    proof = evidence(situation.machine, "system.arch", have)
    if have is None:
        return unknown("The processor architecture", "处理器架构", proof)
    wanted = ", ".join(args["any"])
    return said("met" if have in args["any"] else "unmet", f"The processor is {have}; needed is {wanted}.",
                f"处理器架构是 {have}；需要 {wanted}。", proof)  # fmt: skip


def jetson(args: dict[str, Any], situation: Situation) -> Judged:
    """A Jetson board that needs NVIDIA's own wheels: JetPack 6 and older (Orin, Xavier). JetPack 7 (Thor) takes server wheels."""
    system = situation.machine.system
    if system.arch is not None and system.arch != "aarch64":
        good: bool | None = False
    elif any((capability(card.target) or (0, 0)) >= (9, 0) for card in situation.machine.accelerators or ()):
        good = False
    elif system.kernel is None and system.board is None:
        names = " ".join(card.name or "" for card in situation.machine.accelerators or ()).lower()
        good = True if "orin" in names or "xavier" in names or "jetson" in names else None
    else:
        words = f"{system.kernel or ''} {system.board or ''}".lower()
        good = "tegra" in words or "jetson" in words
    proof = evidence(situation.machine, "system.kernel", system.kernel)
    if good is None:
        return unknown("Whether this is a Jetson board", "本机是否为 Jetson 开发板", proof)
    return said(outcome_of(good == args.get("is", True)), f"This is {'' if good else 'not '}a Jetson with JetPack 6 or older.",
                f"本机{'是' if good else '不是'}装有 JetPack 6 或更早版本的 Jetson。", proof)  # fmt: skip


class PythonSpec(msgspec.Struct, forbid_unknown_fields=True):
    spec: str


def python(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.version if situation.python else situation.python_minor
    if have is None:
        return unknown("The Python version", "Python 版本")
    good = within(have, args["spec"])
    return said(outcome_of(good), f"Python {have}; needed is {args['spec']}.", f"Python {have}；需要 {args['spec']}。",
                (Evidence(fact=f"Python {have}", source=_where(situation)),))  # fmt: skip


def _where(situation: Situation) -> str:
    return (situation.python.path if situation.python else None) or "planned environment"


class Bits(msgspec.Struct, forbid_unknown_fields=True):
    is_: int = msgspec.field(name="is", default=64)


def python_bits(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.bits if situation.python else None
    if have is None:
        return unknown("Whether Python is 64-bit", "Python 是否为 64 位")
    return said(outcome_of(have == args.get("is", 64)), f"Python is {have}-bit.", f"Python 是 {have} 位。",
                (Evidence(fact=f"{have}-bit", source=_where(situation)),))  # fmt: skip


def free_threaded(args: dict[str, Any], situation: Situation) -> Judged:
    have = situation.python.free_threaded if situation.python else None
    if have is None:
        return unknown("Whether Python is free-threaded", "Python 是否为自由线程版")
    return said(outcome_of(have == args.get("is", False)), f"Python is {'' if have else 'not '}free-threaded.",
                f"Python {'是' if have else '不是'}自由线程版。")  # fmt: skip
