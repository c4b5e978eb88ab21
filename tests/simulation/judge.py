"""The real store with a second opinion: each call of a Brain is predicted, made and compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import OperationalError, connections

from hands_app.contract.faults import plan
from sessions_app.contract.backend import Committed
from sessions_app.contract.errors import DurableError, OwnershipLost, Unavailable
from sessions_app.models import Turn
from sessions_app.store.backend import StoreBackend
from sessions_app.store.transaction import OPERATIONS
from tests.simulation.predict import claims, owners
from tests.simulation.predict.state import LEASE, Disagreement, Expected

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Sequence

    from sessions_app.contract.backend import (
        Claim,
        Commit,
        CommitAnswer,
        HostIdentity,
        Native,
        RenewAnswer,
    )

T = TypeVar("T")


@dataclass
class Faults:
    """What becomes of the next commits: `lose` their answer, or `fail` them."""

    armed: list[str] = field(default_factory=list)
    happened: bool = False
    """Whether the change of the newest call is in the database."""
    troubled: bool = False
    """Whether the newest call met a fault, so that it may be answered as a repeat is."""

    def call(self, work: Callable[[], T]) -> T:
        """Do something on the connection under the armed faults."""
        self.troubled, self.happened = bool(self.armed), not self.armed
        if not self.armed:
            return work()
        points = {f"{name}.before_commit": self._before for name in OPERATIONS}
        try:
            with plan(points):
                return work()
        finally:
            self.armed.clear()
            vars(connections["default"]).pop("commit", None)

    def _before(self, _point: str) -> None:
        if not self.armed:
            self.happened = True
        elif self.armed.pop(0) == "fail":
            msg = "the commit failed"
            raise OperationalError(msg)
        else:
            vars(connections["default"])["commit"] = self._lose  # for this one commit

    def _lose(self) -> None:
        vars(connections["default"]).pop("commit")
        connections["default"].commit()
        self.happened = True
        msg = "the answer to the commit was lost"
        raise OperationalError(msg)


def same(what: str, found: object, expected: object) -> None:
    """Raise Disagreement unless the product did what was predicted."""
    if found != expected:
        msg = f"{what}: found {found!r}, expected {expected!r}"
        raise Disagreement(msg)


def code_of(work: Callable[[], object]) -> str:
    """How a request is answered: `done`, or the code of its refusal."""
    try:
        work()
    except DurableError as error:
        return error.code
    return "done"


class Judged(StoreBackend):
    """The store of one process, every answer of which is compared with its prediction."""

    def __init__(self, build: str, known: Expected, faults: Faults, answers: Counter[str]) -> None:
        super().__init__(build)
        self._known = known
        self._faults = faults
        self._answers = answers

    def claim(
        self,
        host: HostIdentity,
        *,
        limit: int,
        first: str | None = None,
        suspects: bool = True,
        running: Collection[str] = (),
    ) -> list[Claim]:
        """Claim just the Threads that may be claimed (R033, R164)."""
        found: list[Claim] | None = None
        try:
            found = self._faults.call(
                lambda: super(Judged, self).claim(
                    host, limit=limit, first=first, suspects=suspects, running=running
                )
            )
        except Unavailable:
            self._answers["UNAVAILABLE"] += 1
        if found is not None or self._faults.happened:
            expected = claims.claims(
                self._known,
                host,
                first=first,
                suspects=suspects,
                running=running,
                broke_off=found is None,
            )
            self._bind(expected, found)
            if expected:  # whoever claims is alive
                self._known.hosts[host.host_id]["seen"] = self._known.now
        if found is None:
            msg = "as the fault asked"
            raise Unavailable(msg)
        self._answers["claimed" if found else "nothing to claim"] += 1
        return found

    def _bind(self, expected: list[dict[str, Any]], found: list[Claim] | None) -> None:
        names = [thread["pk"] for thread in expected]
        if found is not None:
            same("claimed", sorted(claim.thread_pk for claim in found), sorted(names))
        running = Turn.objects.filter(thread__in=names, run_id__isnull=False)
        leased = list(running.values_list("thread_id", "thread__lease_token", "run_id"))
        same("leased", sorted(row[0] for row in leased), sorted(names))
        for pk, token, run_id in leased:
            claims.bind(self._known, self._known.threads[pk], str(token), str(run_id))
        for claim in found or ():
            turn = self._known.turns[claim.turn_id]
            same("a suspect", claim.suspect, turn["deaths"] >= 2)

    def load(self, claim: Claim) -> Native:
        """Load as the owner; a stale one is told."""
        thread = self._known.threads[claim.thread_pk]
        try:
            native = self._faults.call(lambda: super(Judged, self).load(claim))
        except OwnershipLost:
            same("told to be lost", thread["token"] == claim.token, expected=False)
            self._answers["OWNERSHIP_LOST"] += 1
            raise
        same("owner of what it loads", claim.token, thread["token"])
        same("rounds", native.rounds, self._known.turns[claim.turn_id]["rounds"])
        return native

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Commit as the owner; a stale one is answered Lost and writes nothing (law 4)."""
        answer: CommitAnswer | None = None
        try:
            answer = self._faults.call(lambda: super(Judged, self).commit(claim, change))
        except Unavailable:
            self._answers["UNAVAILABLE"] += 1
        if answer is None and not self._faults.happened:
            msg = "as the fault asked"
            raise Unavailable(msg)
        expected = owners.commit(self._known, claim, change, self._build)
        if answer is None:
            msg = "as the fault asked"
            raise Unavailable(msg)
        self._compare(claim, change, answer, expected)
        return answer

    def _compare(
        self, claim: Claim, change: Commit, answer: CommitAnswer, expected: dict[str, Any]
    ) -> None:
        kind = change.end.kind
        if not isinstance(answer, Committed) or "went_on" not in expected:
            found = type(answer).__name__.lower()
            same(f"{kind} answered", {found: True}, expected)
            self._answers[found.upper()] += 1
            return
        self._answers[f"committed {kind}"] += 1
        turn = self._known.turns[claim.turn_id]
        given = [one["id"] for one in self._known.pending(turn)]
        same("cancel told", answer.cancel, bool(turn["cancel"]))
        same("pause told", answer.pause, bool(turn["pause"]))
        same("inputs told", [one.signal_id for one in answer.inputs], given)
        same("went on", answer.went_on, expected["went_on"])

    def renew(
        self, host_id: str, held: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], RenewAnswer]:
        """Renew just the leases whose token is current (S3)."""
        try:
            answers = self._faults.call(lambda: super(Judged, self).renew(host_id, held))
        except Unavailable:
            if self._faults.happened:
                self._renewed(host_id, held)
            raise
        same("renewed", answers, self._renewed(host_id, held))
        self._answers.update(f"renewal {answer}" for answer in answers.values())
        return answers

    def _renewed(
        self, host_id: str, held: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], RenewAnswer]:
        host = self._known.hosts[host_id]
        if host["lost"]:
            return dict.fromkeys(held, "superseded")
        host["seen"] = self._known.now
        for pk, token in held:
            if self._known.threads[pk]["token"] == token:
                self._known.threads[pk]["expires"] = self._known.now + LEASE
        tokens = {pair: self._known.threads[pair[0]]["token"] == pair[1] for pair in held}
        return {pair: "renewed" if tokens[pair] else "superseded" for pair in held}
