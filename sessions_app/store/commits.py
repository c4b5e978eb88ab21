"""Commits of an owner.

Lock, compare the token, decide on what is read then, write (S6, S7, R138, R165).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from django.conf import settings

from sessions_app.contract.backend import (
    Claim,
    Commit,
    CommitAnswer,
    Committed,
    Fail,
    Finish,
    Go,
    Lost,
    Park,
    PendingInput,
    Stale,
)
from sessions_app.contract.status import CallState, SignalKind, SignalStatus
from sessions_app.machine import settling
from sessions_app.machine.failures import Policy
from sessions_app.machine.settling import Invocation
from sessions_app.models import Message, Run, Session, Signal, ToolCall, Turn
from sessions_app.store import bodies, rows
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from sessions_app.store.unit import Unit


def commit(claim: Claim, asked: Commit, build: str = "") -> CommitAnswer:
    """One atomic change by the owner, or Lost when another token is current.

    A change id that is already there gives the answer again: the caller's first COMMIT arrived
    (S7). Large bodies are put into the object store before (R245).
    """
    kept = bodies.put_large(claim.session_pk, asked)

    def body(unit: Unit) -> CommitAnswer:
        session = unit.lock_session(claim.session_pk)
        turn = Turn.objects.select_related("thread").get(pk=claim.turn_id)
        if turn.last_change == asked.change_id:
            return _again(unit, session, turn, claim, asked)
        if turn.thread.lease_token != claim.token or turn.run_id != claim.run_id:
            return Lost()
        loaded = _load(unit, session, turn, claim, asked, build)
        gone = set(asked.inputs_applied) - {signal.id for signal in loaded.signals}
        if gone:
            return Stale(tuple(sorted(gone)))
        kept.refuse_old(unit.now)
        settling.commit(unit.change, loaded, kept.commit)
        return _answer(unit, loaded)

    return run("brain.commit", body)


def _again(unit: Unit, session: Session, turn: Turn, claim: Claim, asked: Commit) -> Committed:
    """Answer a change that is there already, from the rows as they are now (S7)."""
    goes_on = turn.run_id == claim.run_id
    calls = rows.unapplied_calls(unit, turn)
    return Committed(
        position=turn.thread.journal_position,
        last_sequence=session.last_sequence,
        **_news(turn, calls, rows.pending_signals(unit, turn), claim.token),
        went_on=goes_on and isinstance(asked.end, Finish),
    )


def _load(
    unit: Unit, session: Session, turn: Turn, claim: Claim, asked: Commit, build: str
) -> Invocation:
    """Load only what this commit decides on."""
    thread = unit.watch(turn.thread)
    unit.watch(turn)
    unit.change.public_ids[thread.id] = thread.thread_id
    run_row = unit.watch(Run.objects.get(pk=claim.run_id))
    step, steps = rows.open_step(unit, run_row)
    needs_calls = (
        asked.results or asked.starts or asked.applied or not isinstance(asked.end, (Go, Finish))
    )
    ordinals = {call.ordinal for call in asked.model_calls} | {
        said.ordinal for said in asked.messages
    }
    return Invocation(
        session=session,
        thread=thread,
        turn=turn,
        run=run_row,
        step=step,
        calls=rows.unapplied_calls(unit, turn) if needs_calls else [],
        signals=rows.pending_signals(unit, turn),
        policy=_policy(),
        build=build,
        steps=steps,
        **_awaited(unit, session, turn, asked),
        checkpoints=rows.newest_checkpoint(thread) if _has_frame(asked) else 0,
        attempts=rows.attempts(turn, ordinals) if ordinals else {},
        said=_said(unit, turn, asked),
    )


def _awaited(unit: Unit, session: Session, turn: Turn, asked: Commit) -> dict[str, Any]:
    """Interactions, waits and rules, as far as this commit decides on them."""
    gated = [intent.name for intent in asked.intents if intent.needs_approval]
    fails = isinstance(asked.end, Fail) or turn.cancel_request is not None
    ends = fails or isinstance(asked.end, (Finish, Park))
    return {
        "asked": rows.live_interactions(unit, turn) if fails or asked.starts else [],
        "waits": rows.open_waits(unit, turn) if ends else [],
        "rules": rows.rules_for(session, gated, unit.now) if gated else [],
    }


def _said(unit: Unit, turn: Turn, asked: Commit) -> dict[int, Message]:
    """Messages that were completed before and are completed anew by this commit."""
    again = [said.ordinal for said in asked.messages if said.replayed or said.final]
    if not again:
        return {}
    found = Message.objects.filter(turn=turn, role="assistant", ordinal__in=again)
    return {message.ordinal: message for message in unit.watch_all(found)}


def _has_frame(asked: Commit) -> bool:
    return asked.frame is not None or getattr(asked.end, "settled", None) is not None


def _policy() -> Policy:
    configured = settings.DURABLE["RECOVERY"]
    first, cap = round(configured["first_seconds"] * 1000), round(configured["cap_seconds"] * 1000)
    return Policy(configured["retries"], first, cap)


def _answer(unit: Unit, loaded: Invocation) -> Committed:
    turn = loaded.turn
    return Committed(
        position=loaded.thread.journal_position,
        last_sequence=loaded.session.last_sequence + unit.change.events_of(loaded.session.id),
        **_news(turn, loaded.calls, loaded.signals, loaded.run.token),
        went_on=loaded.went_on,
    )


class _News(TypedDict):
    cancel: bool
    pause: bool
    inputs: tuple[PendingInput, ...]
    execution_ids: dict[str, str]
    started: tuple[str, ...]


def _news(turn: Turn, calls: list[ToolCall], signals: list[Signal], token: str) -> _News:
    """What the owner has to know before it goes on (S6)."""
    mine = [c.id for c in calls if c.state == CallState.STARTED and c.start_token == token]
    return _News(
        cancel=turn.cancel_request is not None,
        pause=turn.pause_request is not None,
        inputs=tuple(pending(s) for s in signals if s.status == SignalStatus.PENDING),
        execution_ids={f"{call.call_id}:{call.ordinal}": call.id for call in calls},
        started=tuple(mine),
    )


def pending(signal: Signal) -> PendingInput:
    """An input as an adapter gets it."""
    text = "\n".join(part.get("text", "") for part in signal.content.get("parts", ()))
    return PendingInput(signal.id, SignalKind(signal.kind), text, signal.content, signal.name)
