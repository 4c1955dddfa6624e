"""Which Python a plan uses: one that is installed and has wheels, else the best minor that there are wheels for."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge.explain import remedy
from knowledge.facts import Evidence, MachineProfile, Python, Remedy
from knowledge.predicates import Situation
from knowledge.text import Text
from knowledge.verdicts import Verdict
from knowledge.versions import minor, minor_key

# The minor with the most wheels first, then its neighbours.
PREFERRED = ("3.12", "3.13", "3.11", "3.10", "3.14", "3.9", "3.15", "3.8", "3.7")


def tag(python: Python) -> str | None:
    """"3.12", or "3.14t" for a free-threaded build."""
    found = minor(python.version)
    return f"{found}t" if found and python.free_threaded else found


def fault(python: Python, machine: MachineProfile) -> str | None:
    """The code of what keeps PYTHON from being used for anything here, or None."""
    if python.bits == 32:
        return "python.32bit"
    arch = machine.system.arch
    if python.arch is not None and arch is not None and python.arch != arch and arch == "aarch64":
        return "python.emulated"
    if python.arch == "x86" and arch == "x86_64":
        return "python.32bit"
    return None


def options(situation: Situation) -> list[tuple[Python | None, str | None]]:
    """Installed Pythons to try, one per minor, in the order of the profile; the last is a new one (None)."""
    found: list[tuple[Python | None, str | None]] = []
    seen: set[str] = set()
    for python in situation.machine.pythons or ():
        name = tag(python)
        if name is None or name in seen or fault(python, situation.machine) is not None:
            continue
        seen.add(name)
        found.append((python, name))
    # Among installed ones the usual minors before the newest and the free-threaded.
    found.sort(key=lambda item: item[1] is not None and item[1].endswith("t"))
    return found


def fresh(offers: Iterable[tuple[str, ...]]) -> list[str]:
    """Minors that all of OFFERS have, the best first."""
    sets = [set(offer) for offer in offers if offer]
    if not sets:
        return [PREFERRED[0]]
    shared = set.intersection(*sets)
    return [name for name in PREFERRED if name in shared] + sorted(shared - set(PREFERRED), key=minor_key)


def judge(offered: tuple[str, ...], situation: Situation) -> Verdict:
    """The verdict on the Python at hand for wheels of the minors OFFERED."""
    machine = situation.machine
    wanted = ", ".join(offered)
    if situation.python is not None:
        python = situation.python
        proof = (Evidence(fact=f"Python {python.version}", source=python.path or "machine"),)
        name = tag(python) or ""
        if name in offered:
            return _verdict("python.no_wheel", "met", f"Python {name} has wheels.", f"有适用于 Python {name} 的轮子。", proof)
        best = fresh([offered])
        return _refusal([python], offered, best[0] if best else None, situation)
    if machine.pythons is None:
        return _verdict("python.no_wheel", "unknown", f"Which Python is here is not known; there are wheels for {wanted}.",
                        f"本机的 Python 版本未知；有轮子的版本：{wanted}。", ())  # fmt: skip
    if situation.python_minor is not None and situation.python_minor not in offered:
        return _verdict("python.no_wheel", "unmet", f"There is no wheel for Python {situation.python_minor}; there are for {wanted}.",
                        f"没有适用于 Python {situation.python_minor} 的轮子；有轮子的版本：{wanted}。", ())  # fmt: skip
    return _refusal(list(machine.pythons), offered, situation.python_minor, situation)


def _refusal(pythons: list[Python], offered: tuple[str, ...], best: str | None, situation: Situation) -> Verdict:
    """Why none of PYTHONS will do, as the one cause that is common to them."""
    machine = situation.machine
    proof = tuple(Evidence(fact=f"Python {p.version}", source=p.path or "machine") for p in pythons[:4])
    cures: list[Remedy] = [] if best is None else [remedy("use_python", {"version": best})]
    wanted = ", ".join(offered)
    faults = {fault(p, machine) for p in pythons}
    if not pythons:
        return _verdict("python.no_wheel", "unmet", f"There is no Python here; there are wheels for {wanted}.",
                        f"本机没有 Python；有轮子的版本：{wanted}。", proof, cures)  # fmt: skip
    if "python.32bit" in faults and None not in faults:
        return _verdict("python.32bit", "unmet", "The Python here is a 32-bit one; the wheels are 64-bit.",
                        "本机的 Python 是 32 位，而轮子是 64 位。", proof, [remedy("use_64bit"), *cures])  # fmt: skip
    if "python.emulated" in faults and None not in faults:
        return _verdict("python.emulated", "unmet", "The Python here is built for another processor and runs emulated.",
                        "本机的 Python 是为其他处理器编译的，正以转译方式运行。", proof,
                        [remedy("use_native_arch", {"arch": machine.system.arch or ""}), *cures])  # fmt: skip
    usable = [p for p in pythons if fault(p, machine) is None]
    if all(p.free_threaded for p in usable):
        return _verdict("python.free_threaded", "unmet", f"The Python here is a free-threaded build; there are wheels for {wanted}.",
                        f"本机的 Python 是自由线程版；有轮子的版本：{wanted}。", proof, cures)  # fmt: skip
    have = [minor_key(minor(p.version) or "") for p in usable if minor(p.version)]
    code = "python.no_wheel"
    if have and min(have) > max(minor_key(o) for o in offered):
        code = "python.too_new"
    elif have and max(have) < min(minor_key(o) for o in offered):
        code = "python.too_old"
    names = ", ".join(sorted({minor(p.version) or "?" for p in usable}))
    return _verdict(code, "unmet", f"Python here is {names}; there are wheels for {wanted}.",
                    f"本机的 Python 是 {names}；有轮子的版本：{wanted}。", proof, cures)  # fmt: skip


def _verdict(
    code: str, outcome: str, en: str, zh: str, proof: tuple[Evidence, ...], cures: list[Remedy] | None = None
) -> Verdict:
    return Verdict(code=code, outcome=outcome, subject="Python", because=Text(en, zh), evidence=proof,  # type: ignore[arg-type]
                   remedies=tuple(cures or ()))  # fmt: skip
