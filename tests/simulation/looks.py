"""After every rule: all rows against what is expected, and the cheap invariants."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from django.db.models import Count, Max

from sessions_app.contract.status import SignalKind, SignalStatus
from sessions_app.machine.waking import wake_at
from sessions_app.models import (
    Event,
    Interaction,
    Run,
    Session,
    Signal,
    Thread,
    ToolCall,
    Turn,
    Wait,
)
from tests.simulation.judge import same
from tests.simulation.predict.state import Disagreement

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from tests.simulation.world import World

_TURN: Final = {
    "status": "status",
    "revision": "revision",
    "reason": "reason",
    "run": "run_id",
    "cancel": "cancel_request",
    "pause": "pause_request",
    "failures": "failures",
    "retry_at": "retry_at",
    "failed_for_good": "failed_for_good",
    "deaths": "deaths",
    "takeovers": "takeovers",
    "held": "held_until",
    "suspect": "suspect",
    "rounds": "rounds",
    "ordinal": "ordinal",
}
_THREAD: Final = {
    "status": "status",
    "token": "lease_token",
    "host": "lease_host",
    "expires": "lease_expires_at",
    "epoch": "lease_epoch",
    "builds": "incompatible_builds",
    "incompatible_until": "incompatible_until",
}
_ASKED: Final = {"status": "status", "deadline": "expires_at"}
_WAIT: Final = {"status": "status", "deadline": "deadline_at"}
_INPUT: Final = {"status": "status", "turn": "turn_id"}
_CALL: Final = {"state": "state", "position": "inbox_position", "deliver_at": "deliver_at"}


def everything(world: World) -> None:
    """Raise Disagreement unless the rows are what is expected, and the cheap invariants hold."""
    if world.complaints:
        raise Disagreement(world.complaints[0])
    turns = {turn.pk: turn for turn in Turn.objects.defer("input", "result", "input_digest")}
    threads = {thread.pk: thread for thread in Thread.objects.all()}
    calls = {call.pk: call for call in ToolCall.objects.defer("arguments", "binding", "result")}
    known = world.expected
    _alike("turn", turns, known.turns, _TURN)
    _alike("thread", threads, known.threads, _THREAD)
    _alike("call", calls, known.calls, _CALL)
    _alike("question", _asked(), known.asked, _ASKED)
    _alike("wait", {wait.call_id: wait for wait in Wait.objects.all()}, known.waits, _WAIT)
    _alike("input", {one.pk: one for one in Signal.objects.all()}, known.inputs, _INPUT)
    _wakes(world, threads, turns, calls)
    _one_started(turns)
    _gapless()
    _one_open_run()


def _asked() -> dict[tuple[str, str], Interaction]:
    return {(one.call_id, one.kind): one for one in Interaction.objects.all()}


def _alike(
    kind: str, rows: Mapping[Any, Any], expected: Mapping[Any, Any], columns: dict[str, str]
) -> None:
    same(f"{kind}s", sorted(rows), sorted(expected))
    for name, row in rows.items():
        for fact, column in columns.items():
            if getattr(row, column) != expected[name][fact]:
                same(f"{kind} {name}: {column}", getattr(row, column), expected[name][fact])


def _wakes(
    world: World, threads: dict[str, Thread], turns: dict[str, Turn], calls: dict[str, ToolCall]
) -> None:
    """S2: the column is what the pure function says of the rows, and what the prediction says."""
    heads: dict[str, Turn] = {}
    for turn in sorted(turns.values(), key=lambda turn: -turn.ordinal):
        if turn.finished_at is None:
            heads[turn.thread_id] = turn
    unapplied: dict[str, list[ToolCall]] = defaultdict(list)
    for call in calls.values():
        if call.applied_at is None:
            unapplied[call.turn_id].append(call)
    waiting = Signal.objects.filter(status=SignalStatus.PENDING).exclude(kind=SignalKind.INJECT)
    pending = set(waiting.values_list("turn_id", flat=True))
    now = world.clock.now
    for pk, thread in threads.items():
        head = heads.get(pk)
        begun = head is not None and head.started_at is not None
        asked = wake_at(
            thread,
            head,
            unapplied[head.pk] if head is not None and begun else [],
            open_inputs=head is not None and begun and head.pk in pending,
            now=now,
        )
        stored = _due(thread.wake_at, now)
        same(f"{pk} wakes", stored, _due(asked, now))
        same(
            f"{pk} should wake", stored, _due(world.expected.wake(world.expected.threads[pk]), now)
        )


def _due(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment is None or moment > now else now


def _one_started(turns: dict[str, Turn]) -> None:
    """I3: one started, unfinished Turn a Thread, and it is the first unfinished one."""
    first: dict[str, Turn] = {}
    for turn in sorted(turns.values(), key=lambda turn: turn.ordinal):
        if turn.finished_at is None:
            head = first.setdefault(turn.thread_id, turn)
            if turn is not head and turn.started_at is not None:
                msg = f"I3: {turn.pk} began before {head.pk} had ended"
                raise Disagreement(msg)


def _gapless() -> None:
    """I18: sequences have no gap from the first event that was not pruned."""
    counted = Event.objects.values("session_id").annotate(n=Count("sequence"), top=Max("sequence"))
    found = {row["session_id"]: (row["n"], row["top"]) for row in counted.order_by()}
    for pk, last, floor in Session.objects.values_list("pk", "last_sequence", "pruned_through"):
        same(f"I18 events of {pk}", found.get(pk, (0, floor)), (last - floor, last))


def _one_open_run() -> None:
    """I5: at most one open Run a Turn, under the lease of its Thread."""
    open_runs = Run.objects.filter(status="OPEN").values_list("pk", "turn_id", "turn__run_id")
    for pk, turn_id, named in open_runs:
        same(f"I5 open run of {turn_id}", pk, named)
