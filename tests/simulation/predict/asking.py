"""Questions to people, standing rules, signals and waits: opened, ended once, and by what."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.simulation.predict.state import (
    HERE,
    Expected,
    Facts,
    ended,
    may_begin,
    move,
    settled,
    waits_for,
)

STOPPED = ("PAUSED", "PAUSING")
FOR_CALLS = ("tool", "interaction", "signal", "unknown")


# --- what opens ---


def approval(known: Expected, call: Facts) -> None:
    """Ask whether a call may begin; the strictest rule in force answers at once."""
    asked = _ask(known, call, "APPROVAL")
    fitting = [rule for rule in known.rules.values() if _fits(known, rule, call)]
    if fitting:
        allow = all(rule["allow"] for rule in fitting)
        decide(known, asked, call, allow=allow)


def _fits(known: Expected, rule: Facts, call: Facts) -> bool:
    session = known.threads[call["thread"]]["session"]
    in_time = rule["expires"] is None or rule["expires"] > known.now
    scope = rule["session"] in {None, session}
    return not rule["revoked"] and in_time and scope and rule["tool"] == call["name"]


def decide(known: Expected, asked: Facts, call: Facts, *, allow: bool) -> None:
    """A gated call is allowed, or denied for good."""
    if allow:
        asked["status"] = "ANSWERED"
        call["allowed"] = True
        begin(known, call)
        return
    asked["status"] = "CONSUMED"
    call["state"] = "DENIED"


def begin(known: Expected, call: Facts) -> None:
    """An allowed call goes its way; nothing leaves while its Turn is paused (R050)."""
    if call["route"] == "manual":
        _ask(known, call, "MANUAL")
    elif call["route"] == "signal":
        _wait(known, call)
    elif call["route"] in HERE or known.turns[call["turn"]]["status"] in STOPPED:
        return
    else:
        call["deliver_at"] = known.now
    consumed(known, call)


def consumed(known: Expected, call: Facts) -> None:
    """The approval is used up: the call begins under it (I35)."""
    asked = known.asked.get((call["id"], "APPROVAL"))
    if asked is not None and asked["status"] == "ANSWERED":
        asked["status"] = "CONSUMED"


def _ask(known: Expected, call: Facts, kind: str) -> Facts:
    asked = known.asked[call["id"], kind] = {
        "call": call["id"],
        "turn": call["turn"],
        "kind": kind,
        "status": "OPEN",
        "deadline": _after(known, call["within"]),
    }
    return asked


def _wait(known: Expected, call: Facts) -> None:
    wait = {
        "call": call["id"],
        "turn": call["turn"],
        "key": call["key"],
        "status": "OPEN",
        "deadline": _after(known, call["within"]),
    }
    known.waits[call["id"]] = wait
    kept = (one for one in known.inputs.values() if _is_kept(one, wait))
    signal = next(kept, None)
    if signal is not None:
        _match(known, wait, signal)


def _is_kept(given: Facts, wait: Facts) -> bool:
    ours = (given["turn"], given.get("key")) == (wait["turn"], wait["key"])
    return ours and given["status"] == "KEPT"


def _after(known: Expected, seconds: float | None) -> datetime | None:
    return None if seconds is None else known.now + timedelta(seconds=seconds)


# --- what ends ---


def respond(known: Expected, asked: Facts, response: Any) -> str:
    """The word of the receipt, or the code of the refusal (R144)."""
    turn, call = known.turns[asked["turn"]], known.calls[asked["call"]]
    if not isinstance(response, bool if asked["kind"] == "APPROVAL" else str):
        return "WRONG_ANSWER" if asked["kind"] == "APPROVAL" else "INVALID"
    if asked["status"] in {"ANSWERED", "CONSUMED", "EXPIRED"}:
        return "CONFLICT"
    if ended(turn):
        return "CLOSED"
    if turn["cancel"] or asked["status"] != "OPEN" or _is_over(known, asked):
        return "CONFLICT"
    if asked["kind"] == "APPROVAL":
        decide(known, asked, call, allow=bool(response))
        word = "allow" if response else "deny"
    else:
        asked["status"], call["state"], word = "CONSUMED", "COMPLETED", "answered"
    waits_on(known, turn)
    return word


def signal(known: Expected, turn: Facts, key: str) -> str:
    """`matched`, `kept`, or the code of the refusal (R147)."""
    if ended(turn):
        return "CLOSED"
    if turn["status"] == "CANCELLING":
        return "CONFLICT"
    take_up(known, turn)
    open_ = [one for one in _open(known.waits, turn) if one["key"] == key]
    return "matched" if open_ else "kept"


def taken(known: Expected, turn: Facts, key: str, signal_id: str) -> None:
    """The signal has its id: it ends the oldest wait for it, or is kept for one."""
    given = {"id": signal_id, "turn": turn["id"], "kind": "EXTERNAL", "status": "KEPT", "key": key}
    known.inputs[signal_id] = given
    wait = next((one for one in _open(known.waits, turn) if one["key"] == key), None)
    if wait is not None:
        _match(known, wait, given)
    waits_on(known, turn)


def _match(known: Expected, wait: Facts, given: Facts) -> None:
    wait["status"], given["status"] = "SIGNALLED", "APPLIED"
    known.calls[wait["call"]]["state"] = "COMPLETED"


def due_by_itself(known: Expected, thread: Facts, head: Facts) -> bool:
    """Whether a look at an unowned Thread does what became due, and finds nothing for a Run."""
    looked = head["status"] == "WAITING" and head["reason"] in FOR_CALLS
    passed = _is_over(known, {"deadline": known.deadline(head)})
    if thread["token"] is not None or not (passed or (looked and _to_send(known, head))):
        return False
    take_up(known, head)
    return not known.is_due(thread)


def take_up(known: Expected, turn: Facts) -> None:
    """Deadlines pass, and calls that were allowed in a pause leave."""
    for asked in _open(known.asked, turn):
        if _is_over(known, asked):
            asked["status"] = "EXPIRED"
            call = known.calls[asked["call"]]
            if call["state"] == "INTENDED":
                call["state"] = "DENIED"
    for wait in _open(known.waits, turn):
        if _is_over(known, wait):
            wait["status"] = "EXPIRED"
            known.calls[wait["call"]]["state"] = "FAILED"
    for call in _to_send(known, turn):
        begin(known, call)
    waits_on(known, turn)


def _to_send(known: Expected, turn: Facts) -> list[Facts]:
    if turn["status"] in STOPPED or turn["cancel"]:
        return []
    calls = known.open_calls(turn)
    return [call for call in calls if may_begin(call) and call["route"] not in HERE]


def close(known: Expected, turn: Facts) -> None:
    """Nobody is asked and nothing is waited for any more."""
    for one in (*_open(known.asked, turn), *_open(known.waits, turn)):
        one["status"] = "CLOSED"


def waits_on(known: Expected, turn: Facts) -> None:
    """A Turn that nobody owns says what it waits for now."""
    calls = known.open_calls(turn)
    if turn["status"] != "WAITING" or turn["reason"] not in FOR_CALLS or all(map(settled, calls)):
        return
    if waits_for(calls) != turn["reason"]:
        move(turn, "WAITING", waits_for(calls))


def _open(things: dict[Any, Facts], turn: Facts) -> list[Facts]:
    return [one for one in things.values() if one["turn"] == turn["id"] and one["status"] == "OPEN"]


def _is_over(known: Expected, one: Facts) -> bool:
    return one["deadline"] is not None and one["deadline"] <= known.now
