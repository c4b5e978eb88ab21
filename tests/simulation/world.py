"""One run's world: the real database, two processes, a pool, and what is expected of all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from sessions_app.contract.backend import LivingHost
from sessions_app.contract.errors import DurableError, Unavailable
from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.models import Thread
from tests.simulation.brains import Brain
from tests.simulation.judge import Faults, Judged, same
from tests.simulation.pool import Pool
from tests.simulation.predict.state import Expected, Facts, new_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import timedelta
    from random import Random

    from sessions_app.contract.backend import Claim
    from sessions_app.contract.projection import EventProjection
    from tests.simulation.clockwork import Clock

T = TypeVar("T")
NAMESPACE: Final = "acme"
BUILDS: Final = ("build-1", "build-2", "build-3")
HOSTS: Final = 2


class Hints:
    """Wake-ups that lie there until they are delivered, doubled or dropped."""

    def __init__(self) -> None:
        self.waiting: list[str] = []

    def ring(self, thread_pk: str, _definition: DefinitionKey) -> None:
        """Keep the hint."""
        self.waiting.append(thread_pk)


@dataclass
class World:
    """Everything that one seed plays with."""

    clock: Clock
    hints: Hints = field(default_factory=Hints)
    faults: Faults = field(default_factory=Faults)
    answers: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    dead: list[Brain] = field(default_factory=list)
    brains: list[Brain] = field(default_factory=list)
    observers: dict[str, EventProjection] = field(default_factory=dict)
    forgotten: bool = False
    requests: int = 0

    def __post_init__(self) -> None:
        """Begin with two processes and nothing to do."""
        self.expected = Expected(self.clock.now)
        self.pool = Pool(self.clock)
        for number in range(HOSTS):
            self.brains.append(self.new_brain(BUILDS[number]))

    # --- time ---

    def pass_time(self, by: timedelta) -> None:
        """Let time pass for everybody."""
        self.clock.advance(by)
        self.expected.now = self.clock.now
        for brain in self.brains:
            brain.loop.pump()

    # --- processes ---

    def new_brain(self, build: str) -> Brain:
        """A process that has joined."""
        store = Judged(build, self.expected, self.faults, self.answers)
        brain = Brain(self.clock, store, build, self._ended)
        number = len(self.expected.hosts) + 1
        self.ask("join", lambda: store.join(brain.host, number), "done")
        self.expected.hosts[brain.name] = {"seen": self.clock.now, "lost": False}
        return brain

    def replace(self, brain: Brain) -> None:
        """Start a process where another one ended."""
        build = BUILDS[len(self.expected.hosts) % len(BUILDS)]
        self.brains[self.brains.index(brain)] = self.new_brain(build)

    def living(self, brain: Brain) -> LivingHost:
        """A process as a sweeper saw it last."""
        known = self.expected.hosts[brain.name]
        return LivingHost(brain.name, 1, known["seen"])

    def store(self) -> Judged:
        """Any process's store."""
        return self.brains[0].backend  # type: ignore[return-value]  # made above

    def _ended(self, brain: Brain, claim: Claim) -> None:
        """Nobody who drove a claim to its end keeps its lease."""
        if self.expected.threads[claim.thread_pk]["token"] == claim.token:
            self.complaints.append(f"{brain.name} ended its invocation and kept {claim.token}")

    # --- naming things ---

    def new_request(self) -> str:
        """A request id that was never used."""
        self.requests += 1
        return f"request-{self.requests}"

    def key(self, session: Facts) -> SessionKey:
        """The key of a Session."""
        return SessionKey(NAMESPACE, session["name"])

    def thread_key(self, thread: Facts) -> ThreadKey:
        """The key of a Thread."""
        return ThreadKey(SessionKey(NAMESPACE, thread["session"]), thread["name"])

    def learn_thread(self, session: Facts, name: str, definition: str) -> None:
        """Take a Thread that was created into what is expected."""
        found = Thread.objects.filter(session__session_id=session["name"], thread_id=name)
        pk = found.values_list("pk", flat=True).get()
        self.expected.threads[pk] = new_thread(pk, session["name"], name, definition)

    # --- asking ---

    def ask(self, what: str, work: Callable[[], T], expected: str) -> T | None:
        """Make a request whose outcome is predicted: `done`, or the code of a refusal.

        Whoever gets no answer repeats the very same request (R031).
        """
        try:
            found = self.faults.call(work)
        except Unavailable:
            self.answers["UNAVAILABLE"] += 1
            again = self.ask(what, work, expected)
            self.faults.troubled = True
            return again
        except DurableError as error:
            self.answers[error.code] += 1
            same(what, error.code, expected)
            return None
        same(what, "done", expected)
        return found


def any_of(rng: Random, things: Iterable[T]) -> T | None:
    """One of these, or None when there is none."""
    listed = list(things)
    return rng.choice(listed) if listed else None
