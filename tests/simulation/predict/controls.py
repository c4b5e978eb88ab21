"""Controls as they should be answered, and what each does to a Turn (R040 to R054)."""

from __future__ import annotations

from typing import Final

from tests.simulation.predict import owners
from tests.simulation.predict.state import Expected, Facts, ended, move, settled, waits_for

ADMITTED: Final = "admitted"
_INPUT_REFUSED: Final = ("CANCELLING",)


def give(turn: Facts) -> str:
    """A steer or an inject: taken until the Turn ends or is being cancelled (4.1 row 8)."""
    if ended(turn):
        return "CLOSED"
    return "CONFLICT" if turn["status"] in _INPUT_REFUSED else ADMITTED


def withdraw(turn: Facts, given: Facts) -> str:
    """Taken back unless it was applied; twice changes nothing (R041)."""
    if ended(turn):
        return "CLOSED"
    if given["status"] == "APPLIED":
        return "CONFLICT"
    given["status"] = "WITHDRAWN"
    return "withdrawn"


def pause(turn: Facts, request: str) -> str:
    """At once when nobody owns it, else at the next safe boundary (R047)."""
    if ended(turn):
        return "CLOSED"
    if turn["status"] == "CANCELLING":
        return "CONFLICT"
    if turn["status"] not in {"PAUSING", "PAUSED"}:
        turn["pause"] = request
        reason = turn["reason"]
        if turn["status"] == "RUNNING":
            move(turn, "PAUSING")
        if turn["run"] is None:
            move(turn, "PAUSED", reason)
    return str(turn["status"].lower())


def resume(known: Expected, turn: Facts, revision: int) -> str:
    """Only the pause of that revision is lifted; what it waited for still holds (R048, R052)."""
    if ended(turn):
        return "CLOSED"
    if turn["status"] != "PAUSED" or turn["revision"] != revision:
        return "CONFLICT"
    turn["pause"] = None
    if not turn["started"]:
        move(turn, "QUEUED")
        return "queued"
    calls = known.open_calls(turn)
    if turn["suspect"]:
        reason = "suspect"
    elif turn["reason"] != "backoff" and not all(map(settled, calls)):
        reason = waits_for(calls)
    else:
        reason = turn["reason"] or "handed-over"
    move(turn, "WAITING", reason)
    return "waiting"


def cancel(known: Expected, turn: Facts, request: str, *, traces: bool) -> str:
    """Ends at once when nothing is left to settle (R044, R045)."""
    if ended(turn):
        return "CLOSED"
    turn["suspect"], turn["held"] = False, None
    if turn["status"] == "CANCELLING":
        return "cancelling"
    turn["cancel"] = request
    for call in known.open_calls(turn):
        if call["deliver_at"] is not None and call["state"] in {"INTENDED", "STARTED"}:
            call["cancel"], call["deliver_at"] = call["cancel"] or known.now, known.now
    if turn["run"] is not None:
        move(turn, "CANCELLING")
        return "cancelling"
    owners.abandon(known, turn)
    if traces or not all(map(settled, known.open_calls(turn))):
        move(turn, "CANCELLING")
        return "cancelling"
    if turn["status"] == "RUNNING":
        move(turn, "CANCELLING")
    move(turn, "CANCELLED")
    owners.close(known, turn)
    return "cancelled"
