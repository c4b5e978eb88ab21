"""The store under test: a host, short ways to submit, claim and commit, and the hints that rang."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from django.db import OperationalError, connection, connections

from hands_app.contract.ids import new_id
from sessions_app.contract import catalogue
from sessions_app.contract.backend import (
    Claim,
    Commit,
    CommitAnswer,
    Committed,
    End,
    EntryDraft,
    Fail,
    Finish,
    FrameDraft,
    Go,
    HostIdentity,
    IntentDraft,
    ModelCallFacts,
)
from sessions_app.contract.content import user_input
from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.status import EntryKind, StepPhase
from sessions_app.models import Event, Thread, ToolCall, Turn
from sessions_app.store import admission, bell, clock, looking
from sessions_app.store.backend import StoreBackend
from sessions_app.store.invariants import folding
from sessions_app.store.invariants.look import Look
from sessions_app.store.unit import Unit
from tests import explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sessions_app.machine.admission import Limits

T = TypeVar("T")
AGENT = DefinitionKey("agent", "1")
FRAME = FrameDraft(format=1, harness="scripted", framework="scripted 1", body={"rounds": 1})
_numbers = itertools.count(1)


class Rings:
    """A Wakeups that remembers what rang."""

    def __init__(self) -> None:
        self.threads: list[str] = []

    def ring(self, thread_pk: str, _definition: DefinitionKey) -> None:
        """Remember the hint."""
        self.threads.append(thread_pk)


@dataclass
class Store:
    """The real store, and short ways to bring it into a state."""

    rings: Rings
    backend: StoreBackend = field(default_factory=lambda: StoreBackend("build-1"))
    host: HostIdentity = field(default_factory=lambda: host())  # noqa: PLW0108 - defined below

    def session(self, name: str = "chat", namespace: str = "acme") -> SessionKey:
        """Create a Session with its main Thread."""
        key = SessionKey(namespace, name)
        admission.create_session(key, AGENT)
        return key

    def submit(
        self,
        key: SessionKey | ThreadKey,
        request: str = "r1",
        text: str = "hello",
        limits: Limits | None = None,
    ) -> str:
        """Submit a Turn and give its id."""
        thread = key.thread() if isinstance(key, SessionKey) else key
        known = {AGENT: limits} if limits is not None else {}
        return admission.submit(thread, request, user_input(text), known).turn_id

    def claim(self, by: HostIdentity | None = None, **options: Any) -> Claim:
        """Claim exactly one Thread."""
        (claim,) = self.backend.claim(by or self.host, limit=1, **options)
        return claim

    def commit(self, claim: Claim, end: End | None = None, **parts: Any) -> CommitAnswer:
        """Commit with a change id of its own."""
        change = Commit(change_id=new_id("chg_"), end=end or Go(), **parts)
        return self.backend.commit(claim, change)

    def answered(self, claim: Claim, *intents: IntentDraft, ordinal: int = 1) -> Committed:
        """Commit a model outcome with the intents that it leads to."""
        outcome = EntryDraft(
            kind=EntryKind.OUTCOME, body={"n": ordinal}, ordinal=ordinal, request_digest="sha256:0"
        )
        facts = ModelCallFacts(
            ordinal=ordinal, request_digest="sha256:0", model="m", input_tokens=3, output_tokens=4
        )
        answer = self.commit(
            claim,
            Go(phase=StepPhase.TOOL),
            entries=(outcome,),
            model_calls=(facts,),
            frame=FRAME,
            intents=intents,
        )
        assert isinstance(answer, Committed)
        return answer

    def finish(self, claim: Claim) -> CommitAnswer:
        """Complete the Turn."""
        return self.commit(claim, Finish(result={"parts": []}), frame=FRAME)

    def fail(self, claim: Claim, *, retryable: bool = True) -> CommitAnswer:
        """Report a failure of the invocation."""
        failure = Fail(
            error_class="ProviderError", code="HTTP_503", text="busy", retryable=retryable
        )
        return self.commit(claim, failure)

    def join(self, host_: HostIdentity) -> HostIdentity:
        """Write a Host row."""
        self.backend.join(host_, next(_numbers))
        return host_

    def turn(self, turn_id: str) -> Turn:
        """The Turn's row, fresh."""
        return Turn.objects.get(pk=turn_id)

    def thread(self, claim: Claim) -> Thread:
        """The Thread's row, fresh."""
        return Thread.objects.get(pk=claim.thread_pk)

    def call(self, turn_id: str) -> ToolCall:
        """The Turn's only tool call, fresh."""
        return ToolCall.objects.get(turn=turn_id)

    def die(self, by: HostIdentity) -> None:
        """Do what a sweep does about a host whose process died."""
        (gone,) = [living for living in self.backend.living() if living.host_id == by.host_id]
        self.backend.scan(self.host, own=False)
        self.backend.sweep(self.host, [gone])


def host(build: str = "build-1", *definitions: DefinitionKey) -> HostIdentity:
    """A host of its own that can run the test agent."""
    return HostIdentity(new_id("host_"), "brain", "here", 1, build, definitions or (AGENT,))


def tool_intent(effect: str = "once", route: str = "local", *, start: bool = True) -> IntentDraft:
    """An intent of one tool call."""
    return IntentDraft(
        call_id="call-1",
        ordinal=0,
        name="tool",
        arguments={"x": 1},
        binding={"name": "tool"},
        route=route,
        effect=effect,
        start=start,
    )


@pytest.fixture
def store(
    database: None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Store]:
    """Give the store with clean tables; all its commits are held against I20."""
    rings = Rings()
    monkeypatch.setattr(bell, "wakeups", lambda: rings)
    monkeypatch.setattr(Unit, "_numbered", _in_form(Unit._numbered))
    made = Store(rings)
    made.join(made.host)
    yield made
    if request.node.get_closest_marker("tampers") is None:
        _views_agree()
        explained.hold(most=2)


def _views_agree() -> None:
    """After each test the events of every Session add up to its snapshot (I20).

    A test that changes public columns past the store is marked `tampers`.
    """
    with looking.snapshot():
        breaches = list(folding.snapshots_agree(Look(clock.now(), timedelta(0))))
    assert breaches == []


def _in_form(numbered: Callable[[Unit], list[Event]]) -> Callable[[Unit], list[Event]]:
    """Hold each event that is about to be written against the whole catalogue (R096)."""

    def number_and_look(unit: Unit) -> list[Event]:
        events = numbered(unit)
        for event in events:
            catalogue.check(event.type, event.payload)
        return events

    return number_and_look


@contextmanager
def lost_answer() -> Iterator[None]:
    """Let the next commit of this thread stand, and its answer be lost (S7)."""
    patched = vars(connections["default"])

    def commit_and_lose() -> None:
        del patched["commit"]
        connections["default"].commit()
        msg = "the answer to the commit was lost"
        raise OperationalError(msg)

    patched["commit"] = commit_and_lose
    try:
        yield
    finally:
        patched.pop("commit", None)


def in_thread(body: Callable[[], T]) -> Future[T]:
    """Run `body` on another thread with a connection of its own."""

    def closing() -> T:
        try:
            return body()
        finally:
            connections.close_all()

    executor = ThreadPoolExecutor(1)
    future = executor.submit(closing)
    executor.shutdown(wait=False)
    return future


class Gate:
    """A fault action that holds whoever comes first until it is opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._open = threading.Event()
        self._first = True

    def __call__(self, _name: str) -> None:
        """Hold the first visitor."""
        if self._first:
            self._first = False
            self.reached.set()
            assert self._open.wait(20)

    def open(self) -> None:
        """Let the visitor go on."""
        self._open.set()


def wait_until_blocked(future: Future[Any]) -> None:
    """Return when some backend waits for a lock (PostgreSQL).

    On SQLite the writer waits by itself.
    """
    if connection.vendor != "postgresql":
        return
    while not future.done():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
