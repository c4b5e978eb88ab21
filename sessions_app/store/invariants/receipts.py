"""Receipts and digests: what was acknowledged is there, and content has the digest beside it."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from sessions_app.contract.events import EventType
from sessions_app.contract.policy import SubmitOutcome, SubmitPolicy
from sessions_app.contract.status import SignalKind
from sessions_app.machine.admission import SUBMIT, submit_digest
from sessions_app.machine.receipts import command_digest
from sessions_app.models import Checkpoint, Command, Signal, Turn
from sessions_app.store.invariants.look import BODIES, Batch, Facts, Look, facts, pruned
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.strict_json import JsonValue


class Row(NamedTuple):
    """A receipt with what it speaks of."""

    session: str
    request: str
    operation: str
    digest: str
    turn: str | None
    receipt: Facts
    newest: int
    thread: str | None
    input: Any
    asked_by: str | None


def one_meaning(look: Look) -> Iterator[Breach]:
    """I14: a receipt speaks of its own request and Turn and has the digest of what was admitted."""
    for batch in look.batches:
        for row in _receipts(batch):
            name = f"{row.session} request {row.request}"
            if (row.receipt.get("request_id"), row.receipt.get("operation")) != (
                row.request,
                row.operation,
            ):
                yield Breach(14, name, "its receipt speaks of another request")
            if row.turn is not None and row.receipt.get("turn_id") != row.turn:
                yield Breach(
                    14,
                    name,
                    f"its receipt names {row.receipt.get('turn_id')} instead of {row.turn}",
                )
            if row.operation == SUBMIT:
                yield from _submitted(name, row)


def _submitted(name: str, row: Row) -> Iterator[Breach]:
    if row.receipt.get("outcome") == SubmitOutcome.STEERED:
        return  # what it admitted is an input, see `inputs_kept`
    if row.asked_by != row.request:
        yield Breach(14, name, f"{row.turn} was admitted by request {row.asked_by}")
    elif row.digest not in _digests(str(row.thread), row.input):
        yield Breach(14, name, f"its digest is not that of the input of {row.turn}")


def _digests(thread: str, content: JsonValue) -> set[str]:
    """The policy stands in the digest alone."""
    return {submit_digest(thread, content, policy) for policy in SubmitPolicy}


def inputs_kept(look: Look) -> Iterator[Breach]:
    """I14: a steer or inject has the receipt of its own request, with the digest of its content."""
    for batch in look.batches:
        receipts = {
            (row.session, row.request): (row.turn, row.receipt.get("subject"), row.digest)
            for row in _receipts(batch)
        }
        for given in _given(batch):
            session, request, signal, turn, thread, kind, content = given
            owner, subject, taken = receipts.get((session, request), (None, None, ""))
            asked = command_digest(kind.lower(), f"{thread}/{turn}", content)
            if (owner, subject) != (turn, signal):
                yield Breach(14, signal, f"no receipt of request {request} speaks of it")
            elif taken not in {asked, *_digests(thread, content)}:
                yield Breach(14, signal, f"the digest of request {request} is not its content's")


def _given(batch: Batch) -> Iterator[tuple[str, str, str, str, str, str, Any]]:
    rows = Signal.objects.filter(batch.within()).exclude(kind=SignalKind.EXTERNAL).order_by("id")
    columns = ("session_id", "request_id", "id", "turn_id", "turn__thread__thread_id")
    return rows.values_list(*columns, "kind", "content").iterator(chunk_size=BODIES)


def all_there(look: Look) -> Iterator[Breach]:
    """I15: the Turn and the event that a receipt acknowledges are there."""
    for batch in look.batches:
        cut = pruned(batch)
        admitted = {
            (fact.session, fact.sequence): fact.turn
            for fact in facts(batch, EventType.TURN_ADMITTED)
        }
        for row in _receipts(batch):
            name, sequence = f"{row.session} request {row.request}", row.receipt.get("sequence")
            if not isinstance(sequence, int) or sequence > row.newest:
                yield Breach(
                    15, name, f"acknowledged with event {sequence}, but the newest is {row.newest}"
                )
            elif _admits(row) and row.session not in cut:
                found = admitted.get((row.session, sequence))
                if row.turn is None or found != row.turn:
                    yield Breach(
                        15,
                        name,
                        f"acknowledged with event {sequence}, which does not admit {row.turn}",
                    )


def _admits(row: Row) -> bool:
    """Whether it admitted a Turn: its event is the Turn's admission."""
    outcome = row.receipt.get("outcome")
    return row.operation == SUBMIT and outcome != SubmitOutcome.STEERED


def _receipts(batch: Batch) -> Iterator[Row]:
    rows = Command.objects.filter(batch.within()).order_by("id")
    columns = rows.values_list(
        "session_id",
        "request_id",
        "operation",
        "digest",
        "turn_id",
        "receipt",
        "session__last_sequence",
        "turn__thread__thread_id",
        "turn__input",
        "turn__request_id",
    )
    return map(Row._make, columns.iterator(chunk_size=BODIES))


def digests_hold(look: Look) -> Iterator[Breach]:
    """I17: stored text is canonical and has the digest beside it, here as where it was written."""
    for batch in look.batches:
        turns = Turn.objects.filter(batch.within())
        yield from _differing(turns, "input", "input_digest", "its input")
        frames = Checkpoint.objects.filter(batch.within(), body__isnull=False)
        yield from _differing(frames, "body", "digest", "its native state")


def _differing(rows: QuerySet[Any, Any], column: str, stored: str, noun: str) -> Iterator[Breach]:
    raw = rows.order_by("id").annotate(raw=Cast(F(column), TextField()))
    for name, digest, text in raw.values_list("id", stored, "raw").iterator(chunk_size=BODIES):
        if digest != f"sha256:{sha256(text.encode()).hexdigest()}":
            yield Breach(17, name, f"{noun} does not have the digest stored beside it")
