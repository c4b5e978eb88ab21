"""Native state as an adapter gets it.

The newest checkpoint, the journal, the Turn's calls and open inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hands_app.contract.references import digest_of
from hands_app.contract.strict_json import digest
from sessions_app.contract.backend import CallFacts, Claim, Entry, Frame, Native
from sessions_app.contract.errors import Incompatible, OwnershipLost
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CallState, CheckpointKind, EntryKind, SignalStatus
from sessions_app.models import Checkpoint, JournalEntry, Signal, ToolCall, Turn
from sessions_app.store.bodies import Bodies
from sessions_app.store.commits import pending
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.models import Thread
    from sessions_app.store.unit import Unit


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows, read in one transaction; large bodies are read after it (law 2)."""

    thread: Thread
    key: ThreadKey
    frame: Checkpoint | None
    entries: list[JournalEntry]
    turn: Turn | None = None
    calls: list[ToolCall] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)


def load(claim: Claim) -> Native:
    """Read everything in one transaction.

    Raises Incompatible when the frame does not fit its own digest or its objects are in a store
    that is not here, ObjectLost for a body that is gone, Unavailable.
    """

    def body(_unit: Unit) -> _Found:
        turn = Turn.objects.select_related("thread").get(pk=claim.turn_id)
        if turn.thread.lease_token != claim.token:
            msg = f"{claim.key} is owned under another token"
            raise OwnershipLost(msg)
        return _find(turn.thread, claim.key, turn)

    return _native(run("brain.load", body))


def of_turn(thread: Thread, key: ThreadKey, turn: Turn) -> Native:
    """What a Turn finds; raises as `load` does."""
    return _native(_find(thread, key, turn))


def at_rest(thread: Thread, key: ThreadKey) -> Native:
    """What a Thread holds between its Turns; raises as `load` does."""
    return _native(_find(thread, key))


def _find(thread: Thread, key: ThreadKey, turn: Turn | None = None) -> _Found:
    return _Found(
        thread,
        key,
        Checkpoint.objects.filter(thread=thread.id).order_by("-ordinal").first(),
        list(JournalEntry.objects.filter(thread=thread.id).order_by("position")),
        turn,
        _calls(turn) if turn else [],
        _signals(turn) if turn else [],
    )


def _native(found: _Found) -> Native:
    bodies = Bodies(found.thread.session_id)
    frame = None if found.frame is None else _frame(found.frame, found.key, bodies)
    native = Native(None, frame, tuple(_entry(row, bodies) for row in found.entries), ())
    turn = found.turn
    if turn is None:
        return native
    return replace(
        native,
        turn_input=turn.input,
        calls=tuple(_facts(call, bodies) for call in found.calls),
        inputs=tuple(pending(signal) for signal in found.signals),
        rounds=turn.rounds,
        round_limit=turn.round_limit,
        tokens=(turn.input_tokens or 0) + (turn.output_tokens or 0),
        token_limit=turn.token_limit,
        cancel=turn.cancel_request is not None,
        pause=turn.pause_request is not None,
    )


def _frame(row: Checkpoint, key: ThreadKey, bodies: Bodies) -> Frame:
    body = bodies.of(row)
    if (digest(body) if row.object_ref is None else digest_of(row.object_ref)) != row.digest:
        msg = f"checkpoint {row.ordinal} of {key} does not have the digest it was stored with"
        raise Incompatible(msg)
    return Frame(
        position=row.position,
        kind=CheckpointKind(row.kind),
        format=row.format,
        harness=row.harness,
        framework=row.framework,
        definition=DefinitionKey(row.definition, row.version, row.state_version),
        body=body,
        digest=row.digest,
    )


def _entry(row: JournalEntry, bodies: Bodies) -> Entry:
    return Entry(
        row.position,
        EntryKind(row.kind),
        row.turn_id,
        bodies.of(row),
        row.path,
        row.ordinal,
        row.request_digest,
    )


def _calls(turn: Turn) -> list[ToolCall]:
    return list(ToolCall.objects.filter(turn=turn).order_by("round", "ordinal"))


def _signals(turn: Turn) -> list[Signal]:
    return list(Signal.objects.filter(turn=turn, status=SignalStatus.PENDING).order_by("ordinal"))


def _facts(call: ToolCall, bodies: Bodies) -> CallFacts:
    return CallFacts(
        execution_id=call.id,
        call_id=call.call_id,
        ordinal=call.ordinal,
        round=call.round,
        name=call.name,
        arguments=call.arguments,
        route=call.route,
        effect=call.effect,
        state=CallState(call.state),
        started=call.started_at is not None,
        result=bodies.result(call),
        applied=call.applied_at is not None,
        allowed=call.allowed_at is not None,
    )
