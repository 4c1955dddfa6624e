"""Which device and which Python a stack is for: the best device that has any build, then the Python that is here."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge import pythons
from knowledge.catalog import Catalog, Framework
from knowledge.compatibility import FITS, HARDWARE, check
from knowledge.explain import remedy
from knowledge.fits import changes_of, fit_of
from knowledge.judged import Situation, evidence
from knowledge.loader import bases
from knowledge.pairs import ELSEWHERE, Part, Solution, Wanted, ordered, rank, role_of, roots, supports, with_python
from knowledge.routes import Route, integrated, routes
from knowledge.text import Text
from knowledge.verdicts import Verdict


def solve(
    catalog: Catalog,
    framework: Framework,
    situation: Situation,
    companions: Sequence[Wanted] = (),
    device: str | None = None,
) -> Solution:
    """The best stack for FRAMEWORK on this machine.

    The device comes first: the best one for which there is any build, even if it is not usable today. A dedicated card
    that no build has code for leaves the processor, with the card's verdict; a GPU inside the processor leaves it silently.
    """
    carried: Solution | None = None
    waiting: Solution | None = None
    cpu = supports(catalog, framework, "cpu", situation)
    for places, group in _groups(situation):
        found = _on_group(catalog, framework, group, situation, companions, device)
        if found is None:
            continue
        if not places:
            plain = _on_processor(catalog, framework, found, carried, situation)
            # The device inside waits for a change; where the processor would need one too, the device is worth it.
            kept = waiting is not None and plain.fit != "ready" and FITS.index(waiting.fit) <= FITS.index(plain.fit)
            return waiting if waiting is not None and kept else plain
        inside = all(integrated(card) for card in found.route.cards)
        if found.fit == "unsuitable":
            if carried is None or (not inside and all(integrated(c) for c in carried.route.cards)):
                carried = found
            continue
        if inside and cpu and (found.fit == "after_changes" or _target_unknown(found)):
            waiting = waiting or found
            continue
        return found
    return waiting or carried or _nowhere(catalog, framework, situation)


def _target_unknown(solution: Solution) -> bool:
    """Whether all that is not known is which architecture the device has."""
    unknown = {v.code for v in solution.verdicts if v.outcome == "unknown"}
    return bool(unknown) and unknown <= {"accel.arch_not_built", "accel.arch_too_old"}


def _groups(situation: Situation) -> list[tuple[tuple[int, ...], list[Route]]]:
    """The routes by the cards that they use, best cards first; the processor is the last."""
    found: dict[tuple[int, ...], list[Route]] = {}
    for route in routes(situation):
        found.setdefault(route.places, []).append(route)
    return list(found.items())


def _on_group(
    catalog: Catalog,
    framework: Framework,
    group: list[Route],
    situation: Situation,
    companions: Sequence[Wanted],
    device: str | None,
) -> Solution | None:
    """The first kind of build that these cards can use on this system as it is, else the first that can be had at all."""
    best: Solution | None = None
    for route in group:
        if (device is not None and route.device != device) or not supports(catalog, framework, route.device, situation):
            continue
        found = on_route(catalog, framework, route, situation, companions)
        if found is None:
            continue
        elsewhere = any(v.outcome == "unmet" and v.code in ELSEWHERE for v in found.verdicts)
        if found.fit != "unsuitable" and not elsewhere:
            return found
        if best is None or (best.fit == "unsuitable" and found.fit != "unsuitable"):
            best = found
    return best


def _hardware(solution: Solution) -> list[Verdict]:
    return [v for v in solution.verdicts if v.outcome == "unmet" and v.code in HARDWARE]


def _on_processor(
    catalog: Catalog,
    framework: Framework,
    found: Solution,
    carried: Solution | None,
    situation: Situation,
) -> Solution:
    """The processor's stack, with the verdict of a dedicated card that it leaves idle."""
    extra: list[Verdict] = []
    if carried is not None and not all(integrated(card) for card in carried.route.cards):
        for verdict in _hardware(carried)[:1]:  # another system than this one is no fault of the card
            cure = remedy("use_instead", {"device": "CPU"})
            extra.append(
                Verdict(
                    code=verdict.code,
                    outcome="unmet",
                    subject=verdict.subject,
                    because=Text(
                        f"No build of {framework.name} that fits here has code for this card. {verdict.because.en} "
                        "The plan below uses the processor.",
                        f"{framework.name} 没有适合此卡的构建。{verdict.because.zh}下面的方案使用 CPU。",
                    ),
                    evidence=verdict.evidence,
                    remedies=(cure, *(r for r in verdict.remedies if r.params or r.code != "use_instead")),
                    source=verdict.source,
                )
            )
    elif situation.machine.accelerators is None and _has_device(catalog, framework, situation):
        extra.append(
            Verdict(
                code="accel.none",
                outcome="unknown",
                subject="accelerators",
                because=Text("Which accelerators this machine has is not known.", "本机有哪些加速器未知。"),
                evidence=evidence(situation.machine, "accelerators", None),
            )
        )
    if not extra:
        return found
    verdicts = (*found.verdicts, *extra)
    return found._replace(verdicts=verdicts, fit=fit_of(verdicts), changes=changes_of(verdicts))


def _has_device(catalog: Catalog, framework: Framework, situation: Situation) -> bool:
    return any(supports(catalog, framework, d, situation) for d in ("cuda", "rocm", "xpu", "metal", "cann", "qnn"))


def _nowhere(catalog: Catalog, framework: Framework, situation: Situation) -> Solution:
    """No device of this machine is one that FRAMEWORK is built for: its newest build, with that said."""
    cards = situation.machine.accelerators
    outcome = "unknown" if cards is None else "unmet"
    devices = sorted({build.device for build in framework.builds} - {"any"})
    wanted = ", ".join(devices) or "?"
    names = ", ".join(card.name or card.vendor for card in cards or ()) or "-"
    code = "accel.vendor_unsupported" if cards else "accel.none"
    verdict = Verdict(
        code=code,
        outcome=outcome,  # type: ignore[arg-type]
        subject=framework.id,
        because=Text(
            f"{framework.name} is built for {wanted}; accelerators of this machine: {'not known' if cards is None else names}.",
            f"{framework.name} 适用于 {wanted}；本机加速器：{'未知' if cards is None else names}。",
        ),
        evidence=evidence(situation.machine, "accelerators", None if cards is None else names),
        remedies=(remedy("use_instead"),) if outcome == "unmet" else (),
    )
    route = Route("cpu", ())
    situation.python, situation.python_minor = None, None
    builds = ordered(framework, situation)
    if not builds:
        return Solution((Part(role_of(framework), framework, None),), route, (verdict,), (), fit_of([verdict]), 1, None, None)
    build = builds[0]
    situation.python_minor = pythons.fresh([build.pythons])[0]
    checked = check(catalog, framework, build, route, situation)
    verdicts = (*[v for v in checked.verdicts if v.subject != "Python"], verdict)
    part = Part(role_of(framework), framework, build, verdicts)
    return Solution((part,), Route(build.device, ()), verdicts, checked.assumptions, fit_of(verdicts),
                    changes_of(verdicts), None, situation.python_minor)  # fmt: skip


def on_route(
    catalog: Catalog, framework: Framework, route: Route, situation: Situation, companions: Sequence[Wanted] = ()
) -> Solution | None:
    """The best stack on one device: over the Pythons that are installed, then with a new one."""
    best: Solution | None = None
    for python, name in pythons.options(situation):
        situation.python, situation.python_minor = python, name
        found = with_python(catalog, framework, route, situation, companions)
        if found is None or any(v.subject == "Python" and v.outcome == "unmet" for v in found.verdicts):
            continue  # a plan is never made with a Python that there are no wheels for
        if best is None or rank(found) < rank(best):
            best = found
        if best.fit == "ready":
            return best
    if best is not None and best.fit == "unsuitable":
        return best  # with this Python met, so another one would not help
    offers = {minor for build in roots(framework, route) for minor in build.pythons}
    for name in _bases_pythons(catalog, framework, offers):
        situation.python, situation.python_minor = None, name
        found = with_python(catalog, framework, route, situation, companions)
        if found is not None and (best is None or rank(found) < rank(best)):
            best = found
        if found is not None and (found.fit != "unsuitable" or not _python_is_why(found)):
            break
    return best


def _python_is_why(solution: Solution) -> bool:
    """Whether the minor that was tried is one without wheels, so that another could make a difference."""
    return any(v.outcome == "unmet" and v.subject == "Python" and not v.remedies for v in solution.verdicts)


def _bases_pythons(catalog: Catalog, framework: Framework, offers: set[str]) -> list[str]:
    """Minors to try for a new environment, the best first."""
    if not offers:
        for name in bases(framework):
            base = catalog.frameworks.get(name)
            offers |= {minor for build in base.builds for minor in build.pythons} if base is not None else set()
    found = pythons.fresh([tuple(offers)]) if offers else [pythons.PREFERRED[0]]
    return [name for name in found if not name.endswith("t")][:5]
