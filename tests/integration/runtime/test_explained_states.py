"""Whatever was done to a Thread, each of its Turns has one cause, and what is named changes it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from hands_app.contract.ids import new_id
from sessions_app.contract.backend import HandOver, Park
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Rejected
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.models import Host, Turn
from sessions_app.store import admission, clock, controls, hosts, interactions, reads
from tests import explained
from tests.covers import covers
from tests.integration.runtime.situations import (
    KEY,
    gated,
    on_hands,
    result_arrives,
    scanned,
    signalled,
)
from tests.stores import FRAME, host

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Claim, End, HostIdentity, IntentDraft
    from sessions_app.contract.identity import ThreadKey
    from tests.stores import Store

_numbers = itertools.count(1)
DEPTH: Final = 12
MOST: Final = 3


@dataclass
class Play:
    """One Thread, and everything that may be done to it; what does not fit now does nothing.

    It has a version of its own, so that no host of another play touches it.
    """

    store: Store
    key: ThreadKey
    pin: DefinitionKey
    host: HostIdentity
    claims: list[Claim] = field(default_factory=list)
    passed: float = 0.0

    @classmethod
    def new(cls, store: Store) -> Play:
        """A Thread with one Turn, and a host that has its version."""
        number = next(_numbers)
        pin, key = DefinitionKey("agent", f"play-{number}"), SessionKey("acme", f"play-{number}")
        admission.create_session(key, pin)
        play = cls(store, key.thread(), pin, store.join(host("build-1", pin)))
        play.do("submit")
        return play

    @property
    def turns(self) -> list[Turn]:
        """The unfinished Turns, in order."""
        mine = Turn.objects.filter(session__session_id=self.key.session.session_id)
        return list(mine.select_related("thread").filter(finished_at=None).order_by("ordinal"))

    @property
    def head(self) -> Turn | None:
        """The first unfinished Turn."""
        return next(iter(self.turns), None)

    def do(self, name: str) -> None:
        """One step, at its own time."""
        with clock.offset(timedelta(seconds=self.passed)):
            if name in STEPS:
                STEPS[name](self)
            elif self.head is not None:
                try:
                    ASKED[name](self, self.head)
                except Rejected:
                    event(f"{name} refused")
            explained.hold(MOST, self.key.session.session_id)

    def submit(self) -> None:
        """At most three at a time."""
        if len(self.turns) < MOST:
            self.store.submit(self.key, new_id("req_"))

    def claim(self) -> None:
        """By a host of its own, so that it can die alone."""
        scanned(self.store)
        owner = self.store.join(host("build-1", self.pin))
        self.claims += self.store.backend.claim(owner, limit=1)

    def ends(self, end: End) -> None:
        """The newest owner commits an end; a late one is told that it lost."""
        if self.claims:
            self.store.commit(self.claims.pop(), end, frame=FRAME)

    def asks(self, intent: IntentDraft) -> None:
        """The newest owner gives the Turn back with an open call."""
        if self.claims and self.head is not None and self.claims[-1].run_id == self.head.run_id:
            claim = self.claims.pop()
            self.store.answered(claim, intent, ordinal=self.head.rounds + 1)
            self.store.commit(claim, Park(), frame=FRAME)

    def die(self) -> None:
        """The newest owner's process dies."""
        owner = Host.objects.filter(pk=self.head.thread.lease_host).first() if self.head else None
        if owner is not None:
            living = [each for each in self.store.backend.living() if each.host_id == owner.id]
            scanned(self.store)
            self.store.backend.sweep(self.store.host, living)

    def fails(self, *, retryable: bool) -> None:
        """The newest owner fails."""
        if self.claims:
            self.store.fail(self.claims.pop(), retryable=retryable)


STEPS: Final[dict[str, Callable[[Play], object]]] = {
    "submit": Play.submit,
    "claim": Play.claim,
    "finish": lambda play: play.store.finish(play.claims.pop()) if play.claims else None,
    "fail": lambda play: play.fails(retryable=True),
    "fail for good": lambda play: play.fails(retryable=False),
    "drain": lambda play: play.ends(HandOver(reason="drain")),
    "incompatible": lambda play: play.ends(HandOver(reason="incompatible", detail="format 9")),
    "ask hands": lambda play: play.asks(on_hands()),
    "ask a person": lambda play: play.asks(gated()),
    "await a signal": lambda play: play.asks(signalled()),
    "die": Play.die,
    "a little later": lambda play: setattr(play, "passed", play.passed + 2),
    "much later": lambda play: setattr(play, "passed", play.passed + 40),
    "leave": lambda play: hosts.leave(play.host.host_id),
    "join": lambda play: play.store.join(play.host),
}
ASKED: Final[dict[str, Callable[[Play, Turn], object]]] = {
    "pause": lambda play, turn: controls.pause(play.key, turn.id, new_id("req_")),
    "resume": lambda play, turn: controls.resume(play.key, turn.id, new_id("req_"), turn.revision),
    "cancel": lambda play, turn: controls.cancel(play.key, turn.id, new_id("req_")),
    "steer": lambda play, turn: controls.steer(
        play.key, turn.id, new_id("req_"), user_input("this way")
    ),
    "signal": lambda play, turn: interactions.signal(play.key, turn.id, new_id("req_"), KEY, None),
    "answer": lambda play, turn: [
        interactions.respond(play.key, turn.id, new_id("req_"), asked, response=True)
        for asked in reads.explain(turn.id).interactions
    ],
    "result": lambda _play, turn: [
        result_arrives(call) for call in turn.calls.filter(route="hands", state="STARTED")
    ],
}
WORDS: Final = [*STEPS, *ASKED, *("claim",) * 4, *("submit",) * 2]


@covers("R262")
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    words=st.lists(st.sampled_from(WORDS), min_size=4, max_size=DEPTH),
    which=st.integers(min_value=0, max_value=7),
)
def test_every_state_has_one_cause_and_its_actions_change_it(
    store: Store, words: list[str], which: int
) -> None:
    """After each step every unfinished Turn is explained; in the end one named action is done."""
    play = Play.new(store)

    for word in words:
        play.do(word)

    with clock.offset(timedelta(seconds=play.passed)):
        for turn in play.turns[:1] if which % 2 else play.turns[-1:]:
            said = reads.explain(turn.id)
            named = explained.changes(said)
            event(said.cause)
            if named:
                explained.perform(play.key, turn.id, named[which % len(named)])
                assert reads.explain(turn.id) != said
        explained.hold(MOST, play.key.session.session_id)
