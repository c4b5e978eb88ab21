"""Calls: the `tool.*` events of each execution against one another and against its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import execution_id
from hands_app.contract.strict_json import canonical
from sessions_app.contract.events import EventType
from sessions_app.machine.tools import request_digest
from sessions_app.models import AuditEntry, ToolCall
from sessions_app.store.invariants.look import BODIES, ROWS, Batch, Fact, Look, facts
from sessions_app.store.invariants.report import Breach
from sessions_app.store.observing import RECONCILED

if TYPE_CHECKING:
    from collections.abc import Iterator


_STAGES: Final = (
    EventType.TOOL_REQUESTED,
    EventType.TOOL_STARTED,
    EventType.TOOL_RESULT,
    EventType.TOOL_APPLIED,
)


def one_identity(look: Look) -> Iterator[Breach]:
    """I26: an execution's id follows from its Turn, call and place: a replay names the same one."""
    for batch in look.batches:
        rows = ToolCall.objects.filter(batch.within()).order_by("id")
        columns = rows.values_list("id", "turn_id", "round", "call_id", "ordinal")
        for name, turn, round_, call, ordinal in columns.iterator(chunk_size=ROWS):
            if name != execution_id(turn, f"{round_}/{call}", ordinal):
                yield Breach(26, name, f"is not the id of call {call} of round {round_} of {turn}")


def starts_counted(look: Look) -> Iterator[Breach]:
    """I26: each start record is one more than the one before, and the row knows them all."""
    for batch in look.batches:
        starts: dict[str, int] = {}
        for fact in facts(batch, EventType.TOOL_STARTED):
            name, attempt = _name(fact), fact.payload.get("attempt")
            if attempt != starts.get(name, 0) + 1 and name in starts:
                yield Breach(26, name, f"start {attempt} follows on start {starts[name]}")
            starts[name] = attempt if isinstance(attempt, int) else 0
        for name, attempts in _attempts(batch):
            if name in starts and attempts != starts[name]:
                yield Breach(26, name, f"{attempts} start records stored, {starts[name]} told")


def first_result_stays(look: Look) -> Iterator[Breach]:
    """I30: an execution has one result; the first one told is the one stored."""
    for batch in look.batches:
        results: dict[str, str] = {}
        for fact in facts(batch, EventType.TOOL_RESULT):
            name = _name(fact)
            if name in results:
                yield Breach(30, name, f"has a second result, after {results[name]}")
            else:
                results[name] = str(fact.payload.get("state"))
        for name, state in _states(batch):
            if name in results and state != results[name]:
                yield Breach(
                    30, name, f"stored as {state}, though its first result was {results[name]}"
                )


def doubt_ended_by_evidence(look: Look) -> Iterator[Breach]:
    """I28: a doubt about a call that ran here ended by its owner's observation, or on record.

    How a pool's doubt ended is in its ledger, whose result comes in by the inbox.
    """
    for batch in look.batches:
        doubtful: set[str] = set()
        ended: set[str] = set()
        for fact in facts(batch, EventType.TOOL_UNKNOWN, EventType.TOOL_RESULT):
            if fact.type == EventType.TOOL_UNKNOWN:
                doubtful.add(_name(fact))
            elif fact.run is None and _name(fact) in doubtful:
                ended.add(_name(fact))
        here = ToolCall.objects.filter(batch.within(), id__in=ended, dispatched_at=None)
        on_record = AuditEntry.objects.filter(target__in=ended, action=RECONCILED)
        known = set(on_record.values_list("target", flat=True))
        for name in here.order_by("id").values_list("id", flat=True):
            if name not in known:
                yield Breach(28, name, "was UNKNOWN and ended, and no evidence is on record")


def in_order(look: Look) -> Iterator[Breach]:
    """I25: of each call arguments come before start, start before result, result before use."""
    for batch in look.batches:
        reached: dict[str, int] = {}
        for fact in facts(batch, *_STAGES):
            name, stage = _name(fact), _STAGES.index(EventType(fact.type))
            if stage < reached.get(name, 0):
                yield Breach(25, name, f"{fact.type} follows on {_STAGES[reached[name]]}")
            reached[name] = max(stage, reached.get(name, 0))


def applied_once(look: Look) -> Iterator[Breach]:
    """I32: a result is applied once, and only after it was received."""
    for batch in look.batches:
        received: set[str] = set()
        applied: set[str] = set()
        for fact in facts(
            batch, EventType.TOOL_REQUESTED, EventType.TOOL_RESULT, EventType.TOOL_APPLIED
        ):
            name = _name(fact)
            if fact.type == EventType.TOOL_RESULT:
                received.add(name)
            elif fact.type == EventType.TOOL_APPLIED and name in applied:
                yield Breach(32, name, f"is applied a second time, in event {fact.sequence}")
            elif fact.type == EventType.TOOL_APPLIED:
                applied.add(name)
        yield from _unreceived(batch, applied - received)


def _unreceived(batch: Batch, suspects: set[str]) -> Iterator[Breach]:
    rows = ToolCall.objects.filter(batch.within(), session__pruned_through=0, id__in=suspects)
    for name in rows.order_by("id").values_list("id", flat=True):
        yield Breach(32, name, "is applied, though no result of it was ever received")


def arguments_kept(look: Look) -> Iterator[Breach]:
    """I34: arguments, binding and origin have the digest that was stored with the intent."""
    for batch in look.batches:
        rows = ToolCall.objects.filter(batch.within()).order_by("id").defer("result", "progress")
        for call in rows.select_related("session", "thread").iterator(chunk_size=BODIES):
            if call.request_digest != request_digest(call):
                text = "its arguments, binding or origin differ from the digest of its intent"
                yield Breach(34, call.id, text)


def arguments_told(look: Look) -> Iterator[Breach]:
    """I34: the arguments of the row are those that the intent's event made public."""
    for batch in look.batches:
        told = {
            _name(fact): canonical(fact.payload.get("arguments"))
            for fact in facts(batch, EventType.TOOL_REQUESTED)
        }
        rows = ToolCall.objects.filter(batch.within()).order_by("id")
        for name, arguments in rows.values_list("id", "arguments").iterator(chunk_size=BODIES):
            if name in told and told[name] != canonical(arguments):
                yield Breach(
                    34, name, "its arguments differ from those that its intent made public"
                )


def decided_once(look: Look) -> Iterator[Breach]:
    """I35: an interaction is resolved at most once."""
    for batch in look.batches:
        resolved: set[str] = set()
        for fact in facts(batch, EventType.INTERACTION_RESOLVED):
            asked = str(fact.payload.get("interactionId"))
            if asked in resolved:
                yield Breach(35, asked, f"is resolved a second time, in event {fact.sequence}")
            resolved.add(asked)


def _name(fact: Fact) -> str:
    return str(fact.payload.get("executionId"))


def _attempts(batch: Batch) -> Iterator[tuple[str, int]]:
    rows = ToolCall.objects.filter(batch.within()).order_by("id")
    return rows.values_list("id", "attempts").iterator(chunk_size=ROWS)


def _states(batch: Batch) -> Iterator[tuple[str, str]]:
    rows = ToolCall.objects.filter(batch.within()).order_by("id")
    return rows.values_list("id", "state").iterator(chunk_size=ROWS)
