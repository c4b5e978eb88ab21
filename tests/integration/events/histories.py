"""Histories of a Session, made by the real store: what its hosts, people and pools may do to it.

Each act looks at the rows and does the next thing that is possible there, or nothing. So any list
of acts is a history, and a shorter list is one too.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from sessions_app.contract.backend import (
    Claim,
    EntryDraft,
    Finish,
    Go,
    HandOver,
    HostIdentity,
    Lost,
    MessageDraft,
    ModelCallFacts,
    Park,
    ResultDraft,
    text_part,
)
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import Conflict, OwnershipLost
from sessions_app.contract.identity import DefinitionKey, SessionKey, ThreadKey
from sessions_app.contract.status import (
    SETTLED_CALLS,
    CallState,
    EntryKind,
    SignalStatus,
    StepPhase,
)
from sessions_app.models import Signal, ToolCall, Turn
from sessions_app.store import admission, clock, controls
from sessions_app.store.inbox import StoreInbox
from tests.stores import FRAME, Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import End, IntentDraft

_sessions = itertools.count(1)
_KINDS: Final[tuple[tuple[UpdateKind, dict[str, JsonValue]], ...]] = (
    (UpdateKind.ADMITTED, {"runnable": True}),
    (UpdateKind.STARTED, {"attempt": 1}),
    (UpdateKind.PROGRESS, {"message": "half"}),
    (UpdateKind.RESULT, {"state": "COMPLETED", "content": {"rows": 3}}),
)
_AHEAD: Final = timedelta(seconds=40)
"""Beyond each retry and each hold of these histories."""


@dataclass
class History:
    """One Session with two Threads, and the one host that serves it at present."""

    store: Store
    time: ExitStack
    key: SessionKey = field(init=False)
    claims: list[Claim] = field(default_factory=list)
    _requests: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _ahead: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        """Create the Session under a version of its own, so that its host finds nothing else."""
        self.key = SessionKey("acme", f"history-{next(_sessions)}")
        self.pin = DefinitionKey("agent", new_id("ver_"))
        self.host = self._new_host()
        admission.create_session(self.key, self.pin)
        admission.create_thread(self.key.thread("aside"), self.pin)

    def act(self, name: str, number: int) -> None:
        """Do one act; what the store refuses leaves everything as it was."""
        with suppress(Conflict, OwnershipLost):
            ACTS[name](self, number)

    def turns(self) -> list[Turn]:
        """All Turns, in order of admission."""
        return list(Turn.objects.filter(session__session_id=self.key.session_id).order_by("pk"))

    def submit(self, number: int) -> None:
        """Submit a Turn to one of the Threads."""
        thread = self.key.thread(("main", "aside")[number % 2])
        self.store.submit(thread, self._request(), f"input {number}")

    def claim(self, _number: int) -> None:
        """Take what is ready."""
        self.claims += self.store.backend.claim(self.host, limit=1)

    def answer(self, number: int) -> None:
        """Store a model's answer: some words, and the calls that the number says."""
        for claim, turn in self._owned():
            intents = _intents(number)
            went = any(each.route != "local" or each.needs_approval for each in intents)
            end = Park() if went else Go(phase=StepPhase.TOOL if intents else StepPhase.REASONING)
            ordinal = turn.rounds + 1
            outcome = EntryDraft(
                kind=EntryKind.OUTCOME, body={"n": number}, ordinal=ordinal, request_digest="d"
            )
            seen = ModelCallFacts(
                ordinal=ordinal,
                request_digest="d",
                model="m",
                input_tokens=None if number % 3 == 0 else number,
                output_tokens=2,
            )
            said = MessageDraft(ordinal=ordinal, parts=(text_part(f"words {number}"),))
            inputs = Signal.objects.filter(turn=turn, status=SignalStatus.PENDING)
            self._commit(
                claim,
                end,
                entries=(outcome,),
                model_calls=(seen,),
                messages=(said,) if number % 2 else (),
                intents=intents,
                inputs_applied=tuple(inputs.values_list("pk", flat=True)),
                frame=FRAME,
            )

    def ask_aside(self, number: int) -> None:
        """Store a request of another path that failed."""
        for claim, _ in self._owned():
            seen = ModelCallFacts(
                path="side",
                ordinal=number,
                request_digest="d",
                model="m",
                status="FAILED",
                output_tokens=1,
            )
            self._commit(claim, Go(), model_calls=(seen,))

    def end_calls(self, number: int) -> None:
        """Store what became of calls that ran here, in doubt for some."""
        state = (CallState.COMPLETED, CallState.FAILED, CallState.UNKNOWN)[number % 3]
        for claim, turn in self._owned():
            ran = ToolCall.objects.filter(turn=turn, state=CallState.STARTED, route="local")
            drafts = [
                ResultDraft(execution_id=call.pk, state=state, content={"n": number})
                for call in ran.filter(start_token=claim.token)
            ]
            if drafts:
                self._commit(claim, Go(), results=tuple(drafts))

    def start_calls(self, _number: int) -> None:
        """Start again what a lost owner had begun."""
        for claim, turn in self._owned():
            left = ToolCall.objects.filter(turn=turn, state=CallState.STARTED, route="local")
            ids = [call.pk for call in left if call.start_token != claim.token]
            if ids:
                self._commit(claim, Go(), starts=tuple(ids))

    def apply(self, _number: int) -> None:
        """Store a checkpoint with all results that have come."""
        for claim, turn in self._owned():
            ended = ToolCall.objects.filter(turn=turn, applied_at=None, state__in=SETTLED_CALLS)
            ids = tuple(ended.values_list("pk", flat=True))
            if ids:
                items = EntryDraft(kind=EntryKind.ITEMS, body=list(ids))
                end = Go(phase=StepPhase.REASONING)
                self._commit(claim, end, entries=(items,), frame=FRAME, applied=ids)

    def finish(self, number: int) -> None:
        """End a Turn that has no open call."""
        for claim, turn in self._owned():
            if not ToolCall.objects.filter(turn=turn, applied_at=None).exists():
                self._commit(claim, Finish(result={"number": number}), frame=FRAME)

    def fail(self, number: int) -> None:
        """Fail, for good now and then."""
        for claim in list(self.claims):
            if isinstance(self.store.fail(claim, retryable=number % 3 > 0), Lost):
                self.claims.remove(claim)
            else:
                self._forget(claim)

    def hand_over(self, number: int) -> None:
        """Drain, or find that this build does not fit."""
        for claim, _ in self._owned():
            reason = ("drain", "incompatible")[number % 2]
            self._commit(claim, HandOver.model_validate({"reason": reason, "detail": "2"}))

    def die(self, _number: int) -> None:
        """Lose the host; another one serves from now on."""
        self.store.die(self.host)
        self.claims.clear()
        self.host = self._new_host()

    def hear(self, number: int) -> None:
        """Take in the next update of each external call."""
        sent = ToolCall.objects.filter(session__session_id=self.key.session_id)
        for call in sent.filter(deliver_at__isnull=False):
            kind, payload = _KINDS[min(call.inbox_position, number % len(_KINDS) + 1)]
            update = Update(
                event_id=new_id("evt_"),
                namespace="durable",
                execution_id=call.pk,
                request_digest=call.request_digest,
                route=call.route,
                sequence=call.inbox_position + 1,
                kind=kind,
                payload=payload,
                at=call.intended_at,
            )
            StoreInbox().take(update)

    def control(self, number: int) -> None:
        """Ask one control of each Turn."""
        for turn in self.turns():
            with suppress(Conflict):
                self._ask(number, turn, self._key(turn))

    def wait(self, _number: int) -> None:
        """Let time pass, so that a next try is due; the leases that run are renewed."""
        self._ahead += _AHEAD
        self.time.enter_context(clock.offset(self._ahead))
        held = [(claim.thread_pk, claim.token) for claim in self.claims]
        self.store.backend.scan(self.host, own=False)
        self.store.backend.renew(self.host.host_id, held)

    def _ask(self, number: int, turn: Turn, key: ThreadKey) -> None:
        request = self._request()
        match number % 6:
            case 0 | 1:
                controls.steer(key, turn.pk, request, user_input(f"steer {number}"))
            case 2:
                controls.inject(key, turn.pk, request, user_input("material"))
            case 3:
                controls.pause(key, turn.pk, request)
            case 4:
                controls.resume(key, turn.pk, request, turn.revision)
            case _:
                controls.cancel(key, turn.pk, request)

    def _owned(self) -> list[tuple[Claim, Turn]]:
        return [(claim, self.store.turn(claim.turn_id)) for claim in self.claims]

    def _commit(self, claim: Claim, end: End, **parts: object) -> None:
        self.store.commit(claim, end, **parts)
        self._forget(claim)

    def _forget(self, claim: Claim) -> None:
        """A claim whose Thread was given back is over."""
        if self.store.thread(claim).lease_token != claim.token:
            self.claims.remove(claim)

    def _new_host(self) -> HostIdentity:
        return self.store.join(host(new_id("build_"), self.pin))

    def _key(self, turn: Turn) -> ThreadKey:
        return self.key.thread(turn.thread.thread_id)

    def _request(self) -> str:
        return f"request-{next(self._requests)}"


def _intents(number: int) -> tuple[IntentDraft, ...]:
    """None, a call here, one at Hands, one here and one that a person has to allow."""
    shapes: tuple[tuple[IntentDraft, ...], ...] = (
        (),
        (tool_intent("once"),),
        (tool_intent("read"),),
        (tool_intent("once", "hands", start=False),),
        (
            tool_intent("idempotent"),
            tool_intent(start=False).model_copy(update={"ordinal": 1, "needs_approval": True}),
        ),
    )
    return shapes[number % len(shapes)]


ACTS: Final[dict[str, Callable[[History, int], None]]] = {
    "submit": History.submit,
    "claim": History.claim,
    "answer": History.answer,
    "ask aside": History.ask_aside,
    "end calls": History.end_calls,
    "start calls": History.start_calls,
    "apply": History.apply,
    "finish": History.finish,
    "fail": History.fail,
    "hand over": History.hand_over,
    "die": History.die,
    "hear": History.hear,
    "control": History.control,
    "wait": History.wait,
}
