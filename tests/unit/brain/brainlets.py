"""Small parts for tests of the Brain without a database."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from hands_app.contract.ids import new_id
from sessions_app.brain.guard import Guard
from sessions_app.brain.invocation import Invocation
from sessions_app.brain.lease import Held
from sessions_app.contract.backend import (
    Claim,
    Commit,
    CommitAnswer,
    IntentDraft,
    Lost,
    ModelCallFacts,
)
from sessions_app.contract.errors import Unavailable
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.ports import ModelOutcome, SessionBackend
from tests.doubles.memory_backend import MemoryBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.brain.database import Database
    from sessions_app.contract.transcript import Passage

P = ParamSpec("P")
T = TypeVar("T")
KEY = DefinitionKey("agent", "1")


class Inline:
    """The database executor without threads."""

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run at once."""
        return work(*args, **kwargs)


class Talking(MemoryBackend):
    """Remembers commits; may lose answers, or be away."""

    def __init__(self) -> None:
        super().__init__(KEY)
        self.changes: list[Commit] = []
        self.away = 0
        self.lost_answers = 0
        self._last: CommitAnswer = Lost()
        self._last_id = ""

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """As the store: the same change id gives the same answer, without a second change."""
        if self.away:
            self.away -= 1
            raise Unavailable
        if change.change_id == self._last_id:
            return self._last
        self.changes.append(change)
        self._last_id = change.change_id
        answer = self._last = super().commit(claim, change)
        if self.lost_answers:
            self.lost_answers -= 1
            raise Unavailable
        return answer


class Stage:
    """One Thread in memory and invocations of it."""

    def __init__(self) -> None:
        self.backend = Talking()
        self.backend.submit("go")
        self.draining = False
        self.held: Held

    def invocation(
        self,
        *,
        died: bool = False,
        lease: float = 3600.0,
        read: Callable[[JsonValue], Passage] | None = None,
    ) -> Invocation:
        """Claim and load, as another process would; `read` puts a guard in."""
        self.held = Held(self.backend.claim(died=died), time.monotonic(), lease)
        native = self.backend.load(self.held.claim)
        backend, database = cast("SessionBackend", self.backend), cast("Database", Inline())
        guard = None if read is None else Guard(read)
        return Invocation(
            backend, database, self.held, native, drains=lambda: self.draining, guard=guard
        )


class Model:
    """A provider that counts its requests."""

    def __init__(self, error: Exception | None = None) -> None:
        self.requests = 0
        self.error = error

    async def __call__(self) -> ModelOutcome:
        """Answer with the number of the request."""
        self.requests += 1
        if self.error is not None:
            raise self.error
        facts = ModelCallFacts(ordinal=0, request_digest="", model="m", input_tokens=1)
        return ModelOutcome({"answer": self.requests}, facts)


def call_intent(effect: str = "once", *, start: bool = True, name: str = "c1") -> IntentDraft:
    """An intent of one local call."""
    return IntentDraft(
        call_id=name,
        ordinal=0,
        name="tool",
        arguments={},
        binding={},
        route="local",
        effect=effect,
        start=start,
    )


def a_claim(thread: str = "thr_1", fence: str = "1.a") -> Claim:
    """A claim of nothing that exists."""
    return Claim(
        thread_pk=thread,
        session_pk="ses_1",
        turn_id=new_id("turn_"),
        run_id=new_id("run_"),
        token=fence,
        key=SessionKey("acme", "chat").thread(),
        definition=KEY,
        lease_expires_at=datetime.now(UTC),
        takeover=False,
    )


def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Return the first true answer; fail when the deadline comes first."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "not in time"
        threading.Event().wait(0.005)
    return answer


def kinds(changes: Sequence[Commit]) -> list[str]:
    """How each commit ended."""
    return [change.end.kind for change in changes]
