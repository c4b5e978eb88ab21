"""An owner's commits as they should come out: fencing, effects, recovery, the end of a Turn."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import execution_id
from sessions_app.contract.backend import Fail, Finish, Go, HandOver, Park
from tests.simulation.predict import asking
from tests.simulation.predict.state import (
    HERE,
    RETRIES,
    Disagreement,
    Expected,
    Facts,
    ended,
    move,
    settled,
    waits_for,
)

if TYPE_CHECKING:
    from sessions_app.contract.backend import Claim, Commit, End, IntentDraft

_ENDS_AS: Final = {"read": "CANCELLED", "idempotent": "FAILED"}
"""What a call that began here ends as when nobody repeats it; of others nobody knows."""


def commit(known: Expected, claim: Claim, asked: Commit, build: str) -> Facts:
    """What an owner's commit should do, and the answer it should get."""
    turn, thread = known.turns[claim.turn_id], known.threads[claim.thread_pk]
    if turn["last_change"] == asked.change_id:
        return {"went_on": turn["went_on"]}
    if thread["token"] != claim.token:
        return {"lost": True}
    if ended(turn):
        msg = f"{turn['id']} has ended and is still owned"
        raise Disagreement(msg)
    pending = {given["id"] for given in known.pending(turn)}
    if not pending.issuperset(asked.inputs_applied):
        return {"stale": True}
    turn["last_change"] = asked.change_id
    steered = any(given["kind"] == "STEER" for given in known.pending(turn))
    turn["went_on"] = isinstance(asked.end, Finish) and steered and not turn["cancel"]
    _record(known, turn, thread, asked)
    _end(known, turn, thread, asked.end, build)
    return {"went_on": turn["went_on"]}


def _record(known: Expected, turn: Facts, thread: Facts, asked: Commit) -> None:
    turn["rounds"] += sum(
        call.path == "main" and call.status == "COMPLETED" for call in asked.model_calls
    )
    for result in asked.results:
        call = known.calls[result.execution_id]
        if not settled(call):
            call["state"] = result.state.value
    for name in asked.inputs_applied:
        known.inputs[name]["status"] = "APPLIED"
    for intent in () if turn["cancel"] else asked.intents:  # I13
        _intend(known, turn, intent)
    for name in () if turn["cancel"] else asked.starts:
        _start(known, known.calls[name])
    for name in asked.applied:
        known.calls[name]["applied"] = True
    if asked.entries or asked.results or asked.frame:
        turn["deaths"] = 0


def _intend(known: Expected, turn: Facts, intent: IntentDraft) -> None:
    call = _call(known, turn, intent)
    known.calls[call["id"]] = call
    if intent.needs_approval:
        asking.approval(known, call)
    else:
        call["allowed"] = True
        if intent.start and intent.route in HERE:
            _start(known, call)
        else:
            asking.begin(known, call)


def _start(known: Expected, call: Facts) -> None:
    call["state"] = "STARTED"
    asking.consumed(known, call)


def _call(known: Expected, turn: Facts, intent: IntentDraft) -> Facts:
    within = intent.binding.get("answerWithin") or intent.binding.get("deadline")
    return {
        "id": execution_id(turn["id"], f"{turn['rounds']}/{intent.call_id}", intent.ordinal),
        "turn": turn["id"],
        "thread": turn["thread"],
        "name": intent.name,
        "route": intent.route,
        "effect": intent.effect,
        "key": intent.binding.get("target"),
        "within": within,
        "allowed": False,
        "state": "INTENDED",
        "applied": False,
        "intended": known.now,
        "deliver_at": None,
        "deliveries": 0,
        "admitted": False,
        "position": 0,
        "cancel": False,
        "cancel_accepted": False,
    }


def _end(known: Expected, turn: Facts, thread: Facts, end: End, build: str) -> None:
    match end:
        case Go():
            pass
        case Finish():
            if not turn["went_on"]:
                _finish(known, turn, thread, "CANCELLED" if turn["cancel"] else "COMPLETED")
        case Park():
            _leave(turn, thread)
            calls = known.open_calls(turn)
            _rest(known, turn, waits_for(calls) if calls else "handed-over")
        case Fail():
            _fail(known, turn, thread, end)
        case HandOver():
            _leave(turn, thread)
            if end.reason == "incompatible":
                thread["builds"] = [*thread["builds"], build]
                seconds = min(2.0 ** (len(thread["builds"]) - 1), 300.0)
                thread["incompatible_until"] = known.now + timedelta(seconds=seconds)
            _rest(known, turn, "handed-over" if end.reason == "drain" else "incompatible")


def _leave(turn: Facts, thread: Facts) -> None:
    turn["run"] = None
    free(thread)


def _finish(known: Expected, turn: Facts, thread: Facts, status: str) -> None:
    _leave(turn, thread)
    move(turn, status)
    close(known, turn)


def close(known: Expected, turn: Facts) -> None:
    """What was still open of an ended Turn is closed with it (S12)."""
    asking.close(known, turn)
    for given in known.inputs.values():
        if given["turn"] == turn["id"] and given["status"] in {"PENDING", "KEPT"}:
            given["status"] = "CLOSED"


def _rest(known: Expected, turn: Facts, reason: str) -> None:
    """Nobody owns it: a pause has taken hold, a cancel goes on, else it waits (R047)."""
    if turn["cancel"]:
        abandon(known, turn)
    if turn["status"] == "PAUSING":
        move(turn, "PAUSED", reason)
    elif turn["status"] != "CANCELLING":
        move(turn, "WAITING", reason)


def abandon(known: Expected, turn: Facts) -> None:
    """Nobody begins or repeats these calls any more, and nobody is asked (S10)."""
    asking.close(known, turn)
    for call in known.open_calls(turn):
        if call["deliver_at"] is not None:
            continue
        if call["state"] == "INTENDED":
            call["state"] = "NOT_EXECUTED"
        elif call["state"] == "STARTED":
            call["state"] = _ENDS_AS.get(call["effect"], "UNKNOWN")


def _fail(known: Expected, turn: Facts, thread: Facts, failure: Fail) -> None:
    if not turn["cancel"] and not turn["failed_for_good"] and _backs_off(known, turn, failure):
        _leave(turn, thread)
        return
    late = any(_came_behind(call, failure) for call in known.open_calls(turn))
    abandon(known, turn)
    calls = known.open_calls(turn)
    if not late and all(map(settled, calls)):
        for call in calls:
            call["applied"] = True
        _finish(known, turn, thread, "CANCELLED" if turn["cancel"] else "FAILED")
        return
    _leave(turn, thread)
    _rest(known, turn, waits_for(calls))


def _came_behind(call: Facts, failure: Fail) -> bool:
    """Whether a call has ended otherwise than the clean-up of a failure shows it (R161)."""
    return settled(call) and failure.shown.get(call["id"], call["state"]) != call["state"]


def _backs_off(known: Expected, turn: Facts, failure: Fail) -> bool:
    """Charge a failure; True when the Turn tries again after its wait (R151, R153, R159)."""
    turn["failures"] += 1
    again = failure.retryable and turn["failures"] <= RETRIES
    turn["failed_for_good"] = not again
    if not again:
        return False
    wait = timedelta(seconds=min(2.0 ** (turn["failures"] - 1), 30.0))
    turn["retry_at"] = known.now + wait
    move(turn, "PAUSED" if turn["status"] == "PAUSING" else "WAITING", "backoff")
    return True


def free(thread: Facts) -> None:
    """Nobody owns the Thread any more."""
    thread["token"] = thread["host"] = thread["expires"] = None
