"""The assessment that is open in the window: machine, answers, recommendation, proof; no toolkit, told to listeners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor_gui import session
from knowledge.answers import Answers
from knowledge.facts import Finding, MachineProfile
from knowledge.plan import ResolveResult, SmokeResult
from knowledge.verdicts import Assessment, Change, Recommendation

if TYPE_CHECKING:
    from knowledge.catalog import Catalog

class Supposition(msgspec.Struct, frozen=True, kw_only=True):
    """One change tried on: never the facts, never saved, never provable."""

    change: Change
    machine: MachineProfile
    answers: Answers
    recommendation: Recommendation


Topic = Literal["catalog", "machine", "findings", "answers", "recommendation", "resolve", "smoke", "document"]


class Desk:
    """One open assessment. Every setter tells the listeners which topic changed; all calls come from one thread."""

    def __init__(self, places: session.Folders) -> None:
        self.places = places
        self.catalog: Catalog | None = None
        self.machine: MachineProfile | None = None
        self.machine_path: str | None = None  # None: this machine
        self.findings: tuple[Finding, ...] = ()
        self.answers = Answers()
        self.recommendation: Recommendation | None = None
        self.supposition: Supposition | None = None
        self.picked: str | None = None  # framework id of an alternative the user looks at; None: the chosen one
        self.resolve: ResolveResult | None = None
        self.smoke: tuple[SmokeResult, ...] = ()
        self.document: Path | None = None
        self.unsaved = False
        self._listeners: list[Callable[[Topic], None]] = []

    def listen(self, listener: Callable[[Topic], None]) -> None:
        self._listeners.append(listener)

    def tell(self, topic: Topic) -> None:
        for listener in tuple(self._listeners):
            listener(topic)

    @property
    def here(self) -> bool:
        """Whether the machine is the one the program runs on, as it is: only then can anything be proven."""
        return self.machine is not None and self.machine_path is None and self.supposition is None

    @property
    def shown(self) -> Recommendation | None:
        """The advice to look at: of the supposition where one is tried on, else of the facts."""
        return self.supposition.recommendation if self.supposition is not None else self.recommendation

    @property
    def assessment(self) -> Assessment | None:
        """The assessment that the pages show: the picked alternative, else the chosen one."""
        found = self.shown
        if found is None:
            return None
        if self.picked is not None:
            for other in (*found.others, *found.unsuitable):
                if other.framework == self.picked:
                    return other
        return found.chosen

    def set_catalog(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.tell("catalog")
        self._advise()

    def set_machine(self, machine: MachineProfile, path: str | None = None) -> None:
        self.machine, self.machine_path = machine, path
        self.resolve, self.smoke = None, ()
        self.tell("machine")
        self._advise()

    def set_findings(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        self.tell("findings")

    def set_answers(self, answers: Answers) -> None:
        if answers == self.answers:
            return
        self.answers = answers
        self.unsaved = True
        self.picked = None
        self.tell("answers")
        self._advise()

    def answer(self, key: str, value: object) -> None:
        """One answer by its dotted key; None takes it back. Raises BadInput where the value is not allowed."""
        from knowledge import documents

        body = msgspec.to_builtins(self.answers)
        place = body
        *parents, last = key.split(".")
        for parent in parents:
            if not isinstance(place.get(parent), dict):
                place[parent] = {}
            place = place[parent]
        place[last] = list(value) if isinstance(value, (tuple, set)) else value
        if body.get("cluster") is not None and not any(v is not None for v in body["cluster"].values()):
            body["cluster"] = None
        self.set_answers(documents.checked(documents.convert(body, Answers, key), key))

    def pick(self, framework: str | None) -> None:
        self.picked = framework
        self.resolve = None
        self.tell("recommendation")

    def suppose(self, change: Change | None) -> None:
        """Try CHANGE on, or (None) go back to the facts. A change that no longer applies is left alone."""
        if change is None:
            if self.supposition is None:
                return
            self.supposition = None
        else:
            if self.catalog is None or self.machine is None:
                return
            found = session.supposed(self.catalog, self.machine, self.answers, change)
            if found is None:
                return
            machine, answers, recommendation = found
            self.supposition = Supposition(change=change, machine=machine, answers=answers, recommendation=recommendation)
        self.picked = None
        self.tell("recommendation")

    def set_recommendation(self, recommendation: Recommendation) -> None:
        """New advice on the facts ends whatever was tried on."""
        self.supposition = None
        self.recommendation = recommendation
        self.resolve = None
        self.tell("recommendation")

    def set_resolve(self, result: ResolveResult | None) -> None:
        self.resolve = result
        self.unsaved = True
        self.tell("resolve")

    def add_smoke(self, result: SmokeResult) -> None:
        self.smoke = (*tuple(s for s in self.smoke if s.check != result.check), result)
        self.unsaved = True
        self.tell("smoke")

    def _advise(self) -> None:
        """One decision takes milliseconds, so it is made at once and the window follows within a frame."""
        if self.catalog is None or self.machine is None or self.answers.scenario not in self.catalog.scenarios:
            return
        self.set_recommendation(session.recommend(self.catalog, self.machine, self.answers))
