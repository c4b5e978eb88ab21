"""The Brain's side, driven by the test: its real store, dispatch and intake over a real broker."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from hands_app.transports.app import make_app
from sessions_app.contract.backend import Park
from sessions_app.contract.status import TurnStatus
from sessions_app.models import ToolCall, Turn
from sessions_app.store import clock
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.invariants import check
from sessions_app.store.outbox import StoreOutbox
from sessions_app.tooling.dispatch import Dispatch
from sessions_app.tooling.intake import Intake
from sessions_app.transports.celery_delivery import CeleryDelivery
from tests.chaos.field import PATIENCE
from tests.integration.tooling.house import intent
from tests.stores import FRAME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from celery import Celery
    from kombu import Connection

    from hands_app.contract.tools import Tool
    from hands_app.worker.configuration import Configuration
    from tests.stores import Store

NAMESPACE: Final = "durable"
UPDATES: Final = f"{NAMESPACE}.updates"
SOON: Final = timedelta(seconds=5.5)
"""After this the Brain sends or asks again."""
_STUCK_SECONDS: Final = 0.4
_LOOK_SECONDS: Final = 0.03
_numbers = itertools.count(1)


class Mail:
    """What happens to envelopes on their way: nothing."""

    def send(self, deliver: Callable[[], bool]) -> bool:
        """Hand one envelope to the broker; says whether the broker confirmed it."""
        return deliver()

    def sent(self) -> None:
        """All that was due has been handed over."""

    def bring(self, envelopes: list[str]) -> list[str]:
        """Give what arrives of the envelopes that the broker has brought."""
        return envelopes


@dataclass
class Post:
    """The Executor port over the real delivery, with what the mail does to it."""

    delivery: CeleryDelivery
    mail: Mail
    capabilities = CeleryDelivery.capabilities

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """See the port."""
        return self.mail.send(lambda: self.delivery.send(route, envelope, control=control))


@dataclass
class Desk:
    """Asks for calls, sends what is due, takes in what comes, and moves its clock when stuck."""

    store: Store
    configuration: Configuration
    app: Celery = field(init=False)
    ahead: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        """Assemble as the edges do."""
        self.app = make_app(self.configuration)
        self.post = Post(CeleryDelivery(self.app, NAMESPACE), Mail())
        self.dispatch = Dispatch(StoreOutbox(), self.post, NAMESPACE)
        self.intake = Intake(StoreInbox(), self.post, NAMESPACE)
        self._clock = ExitStack()
        self._inbox: Connection | None = None
        lost = self.app.connection_for_read().recoverable_connection_errors
        self._lost: tuple[type[BaseException], ...] = (OSError, OperationalError, *lost)

    def ask(self, tool: Tool, name: str = "", namespace: str = "acme") -> ToolCall:
        """Store one call in a new Turn that waits for it."""
        session = self.store.session(name or f"chat-{next(_numbers)}", namespace)
        turn_id = self.store.submit(session)
        claim = self.store.claim(first=self.store.turn(turn_id).thread_id)
        self.store.answered(claim, intent(tool, {}))
        self.store.commit(claim, Park())
        return ToolCall.objects.get(turn=turn_id)

    def work(self) -> None:
        """Send what is due and take in what has come."""
        self.dispatch.due()
        self.post.mail.sent()
        self.take_in()

    def take_in(self) -> None:
        """Take in what has come; a broker that is away has brought nothing."""
        try:
            letters = self._letters()
        except self._lost:
            self._hang_up()
            letters = []
        for envelope in self.post.mail.bring(letters):
            self.intake.receive(envelope)

    def _letters(self) -> list[str]:
        """One message a look, never fetched ahead: a reader that is closed loses what it holds."""
        if self._inbox is None:
            self._inbox = self.app.connection_for_read()
        queue = Queue(UPDATES, Exchange(UPDATES), UPDATES)(self._inbox.default_channel)
        queue.declare()
        found = []
        while (message := queue.get(no_ack=True)) is not None:
            found.append(str(message.payload[0][0]))
        return found

    def _hang_up(self) -> None:
        if self._inbox is not None:
            self._inbox.release()
            self._inbox = None

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Work until the condition holds; while it does not, the clock moves on."""
        began = stuck = time.monotonic()
        pause = threading.Event()
        while not condition():
            now = time.monotonic()
            assert now - began < PATIENCE, f"not within {PATIENCE} s: {what}"
            if now - stuck > _STUCK_SECONDS:
                stuck = now
                self.let_pass(SOON)
            self.work()
            pause.wait(_LOOK_SECONDS)

    def let_pass(self, time_: timedelta) -> None:
        """Move the Brain's clock on; it never goes back before the end of the test."""
        self.ahead += time_
        self._clock.enter_context(clock.offset(self.ahead))

    def state(self, call: ToolCall) -> str:
        """Where the Brain thinks a call stands."""
        return ToolCall.objects.get(pk=call.pk).state

    def go_on(self, call: ToolCall) -> Turn:
        """Carry a Turn whose call has ended to its end, as the next Run does."""
        claim = self.store.claim(first=call.thread_id)
        self.store.commit(claim, frame=FRAME, applied=(call.pk,))
        self.store.finish(claim)
        turn = Turn.objects.get(pk=call.turn_id)
        assert turn.status == TurnStatus.COMPLETED
        return turn

    def verdict(self, oracle: Path) -> None:
        """The Brain's database keeps every invariant, the view from outside included."""
        oracle.touch()
        report = check(quiet=True, oracle=oracle)
        assert report.is_clean, report.breaches[:5]

    def close(self) -> None:
        """Put the clock back and hang up."""
        self._hang_up()
        self._clock.close()
