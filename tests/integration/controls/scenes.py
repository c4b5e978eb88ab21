"""Turns of every status, brought there by the real store, and the controls asked of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sessions_app.contract.backend import Claim, Park
from sessions_app.contract.content import user_input
from sessions_app.contract.status import TurnStatus
from sessions_app.machine.control_table import Operation
from sessions_app.models import Interaction
from sessions_app.store import controls, interactions
from tests.integration.waits.scenes import waits_for
from tests.stores import Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.views import Receipt
    from sessions_app.models import Turn

INPUT: Final = "early"
"""Request id of the inject that a withdrawal is about."""
SIGNAL_KEY: Final = "x.test.go"


@dataclass
class Subject:
    """One Turn of one Session, and short ways to control it."""

    store: Store
    key: ThreadKey
    turn_id: str
    claims: list[Claim] = field(default_factory=list)
    asks: bool = False
    """Whether it asks a person as soon as it begins."""

    @property
    def row(self) -> Turn:
        """The Turn's row, fresh."""
        return self.store.turn(self.turn_id)

    @property
    def claim(self) -> Claim:
        """The newest claim of it."""
        return self.claims[-1]

    def claimed(self) -> Claim:
        """Claim it."""
        self.claims.append(self.store.claim())
        if self.asks and len(self.claims) == 1:
            self.store.answered(self.claim, tool_intent(route="manual", start=False))
        return self.claim

    def ask(
        self, operation: Operation, request: str = "asked", revision: int | None = None
    ) -> Receipt:
        """Ask for one control, in its plain form."""
        asks: dict[Operation, Callable[[], Receipt]] = {
            Operation.STEER: lambda: self.steer(request),
            Operation.INJECT: lambda: self.inject(request),
            Operation.WITHDRAW: lambda: self.withdraw(request),
            Operation.PAUSE: lambda: self.pause(request),
            Operation.RESUME: lambda: self.resume(request, revision),
            Operation.CANCEL: lambda: self.cancel(request),
            Operation.SIGNAL: lambda: self.signal(request),
            Operation.RESPOND: lambda: self.respond(request),
        }
        return asks[operation]()

    def steer(self, request: str = "steer", text: str = "in French") -> Receipt:
        """Steer it."""
        return controls.steer(self.key, self.turn_id, request, user_input(text))

    def inject(self, request: str = "inject", text: str = "material") -> Receipt:
        """Inject material."""
        return controls.inject(self.key, self.turn_id, request, user_input(text))

    def withdraw(self, request: str = "withdraw", target: str = INPUT) -> Receipt:
        """Withdraw an input of it."""
        return controls.withdraw(self.key, self.turn_id, request, target)

    def pause(self, request: str = "pause") -> Receipt:
        """Pause it."""
        return controls.pause(self.key, self.turn_id, request)

    def resume(self, request: str = "resume", revision: int | None = None) -> Receipt:
        """Resume it, at the revision that it has."""
        expected = self.row.revision if revision is None else revision
        return controls.resume(self.key, self.turn_id, request, expected)

    def cancel(self, request: str = "cancel") -> Receipt:
        """Cancel it."""
        return controls.cancel(self.key, self.turn_id, request)

    def signal(self, request: str = "signal") -> Receipt:
        """Send it a signal."""
        return interactions.signal(self.key, self.turn_id, request, SIGNAL_KEY)

    def respond(self, request: str = "respond") -> Receipt:
        """Answer what it asks."""
        asked = Interaction.objects.filter(turn=self.turn_id).first()
        name = "int_none" if asked is None else asked.pk
        return interactions.respond(self.key, self.turn_id, request, name, "done")

    def fails(self, *, retryable: bool = True) -> None:
        """Claim it and fail."""
        self.store.fail(self.claimed(), retryable=retryable)

    def parks(self, route: str = "hands") -> None:
        """Claim it, have it call a tool elsewhere, and give it back."""
        self.claimed()
        if not self.asks:
            self.store.answered(self.claim, tool_intent(route=route, start=False))
        self.store.commit(self.claim, Park())


def submitted(store: Store, request: str = "r1") -> Subject:
    """Give a QUEUED Turn of a new Session."""
    key = store.session().thread()
    return Subject(store, key, store.submit(key, request))


def running(store: Store) -> Subject:
    """Give a Turn that a host owns."""
    subject = submitted(store)
    subject.claimed()
    return subject


def waiting(store: Store) -> Subject:
    """Give a Turn that waits for an external call."""
    subject = submitted(store)
    subject.parks()
    return subject


def awaiting(store: Store, operation: Operation) -> Subject:
    """Give a Turn, with an inject that nobody has applied, that waits for what this control brings.

    That is an answer or a signal; with every other control it waits for an external call.
    """
    calls = {
        Operation.RESPOND: tool_intent(route="manual", start=False),
        Operation.SIGNAL: waits_for(SIGNAL_KEY),
    }
    subject = submitted(store)
    subject.inject(INPUT)
    call = calls.get(operation, tool_intent(route="hands", start=False))
    store.answered(subject.claimed(), call)
    store.commit(subject.claim, Park())
    return subject


def held(store: Store) -> Subject:
    """Give a Turn that took two processes down: RUNNING by name, and nobody owns it for a while."""
    subject = submitted(store)
    for _ in range(2):
        owner = store.join(host())
        store.claim(owner)
        store.die(owner)
    assert store.backend.claim(store.host, limit=1) == []
    assert (subject.row.status, subject.row.run_id) == (TurnStatus.RUNNING, None)
    return subject


def _finished(subject: Subject) -> None:
    subject.store.finish(subject.claimed())


def _pausing(subject: Subject) -> None:
    subject.claimed()
    subject.pause("before")


def _paused(subject: Subject) -> None:
    subject.parks()
    subject.pause("before")


def _cancelling(subject: Subject) -> None:
    subject.claimed()
    subject.cancel("before")


def _cancelled(subject: Subject) -> None:
    if subject.asks:
        subject.parks()
    subject.cancel("before")
    if subject.asks:
        subject.store.fail(subject.claimed(), retryable=False)


STATUSES: Final[dict[TurnStatus, Callable[[Subject], object]]] = {
    TurnStatus.QUEUED: lambda _subject: None,
    TurnStatus.RUNNING: Subject.claimed,
    TurnStatus.WAITING: Subject.parks,
    TurnStatus.PAUSING: _pausing,
    TurnStatus.PAUSED: _paused,
    TurnStatus.CANCELLING: _cancelling,
    TurnStatus.COMPLETED: _finished,
    TurnStatus.FAILED: lambda subject: subject.fails(retryable=False),
    TurnStatus.CANCELLED: _cancelled,
}


def brought_to(status: TurnStatus, store: Store, *, asks: bool = False) -> Subject:
    """Give a Turn of this status with an inject that nobody has applied."""
    subject = submitted(store)
    subject.asks = asks
    subject.inject(INPUT)
    STATUSES[status](subject)
    assert subject.row.status == status
    return subject
