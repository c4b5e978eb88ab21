"""Commands to Hands and updates from it as they should be taken: prefix, repeats and doubt."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tests.simulation.predict import asking
from tests.simulation.predict.state import Expected, Facts, settled

if TYPE_CHECKING:
    from hands_app.contract.messages import Update

_AGAIN: Final = timedelta(seconds=5)


def deliveries(known: Expected) -> dict[str, str]:
    """What should be sent now, by execution; sending it puts off the next look (S8, S20)."""
    due = [c for c in known.calls.values() if c["deliver_at"] and c["deliver_at"] <= known.now]
    return {call["id"]: _sent(known, call) for call in due}


def _sent(known: Expected, call: Facts) -> str:
    call["deliveries"] += 1
    if call["state"] == "UNKNOWN":
        sent = "query"
    elif _unanswered(call):
        sent = "cancel"
    else:
        sent = "query" if call["admitted"] else "execute"
    _put_off(known, call)
    return sent


def _put_off(known: Expected, call: Facts) -> None:
    longest = timedelta(minutes=5 if call["state"] == "UNKNOWN" else 1)
    age: timedelta = known.now - (call["cancel"] if _unanswered(call) else call["intended"])
    call["deliver_at"] = known.now + min(max(_AGAIN, age / 12), longest)


def _unanswered(call: Facts) -> bool:
    """Whether a cancel of it has to be sent again."""
    asked = call["cancel"] and not call["cancel_accepted"]
    return bool(asked and call["state"] in {"INTENDED", "STARTED"})


def take(known: Expected, update: Update, *, digest: str) -> str:
    """What should become of an update (I30)."""
    call = known.calls.get(update.execution_id)
    if call is None:
        return "foreign"
    sent = call["deliveries"] > 0 or call["deliver_at"] is not None
    if (call["route"], digest) != (update.route, update.request_digest) or not sent:
        return "refused"
    if update.sequence > call["position"] + 1:
        return "gap"
    if update.sequence <= call["position"]:
        return _again(known, call, update)
    call["position"] = update.sequence
    if settled(call):
        return "late"
    _apply(known, call, update)
    return "applied"


def _again(known: Expected, call: Facts, update: Update) -> str:
    """A repeat, unless it shows that the ledger forgot what it had told (S8)."""
    nothing_new = call["state"] not in {"INTENDED", "STARTED"}
    if not nothing_new and update.kind == "unknown-execution":
        nothing_new = not call["admitted"]
    elif not nothing_new:
        nothing_new = update.kind != "result"
    if nothing_new:
        return "duplicate"
    _doubt(known, call)
    return "applied"


def _apply(known: Expected, call: Facts, update: Update) -> None:
    if update.kind == "result":
        state = str(update.payload["state"])
        if state == "UNKNOWN":
            if call["state"] != "UNKNOWN":
                _doubt(known, call)
        else:
            call["state"], call["deliver_at"] = state, None
            asking.waits_on(known, known.turns[call["turn"]])
        return
    if update.kind == "started" and call["state"] == "INTENDED":
        call["state"] = "STARTED"
    if update.kind == "progress" and update.payload.get("cancel") == "accepted":
        call["cancel_accepted"] = True
    call["admitted"] = True
    if not _unanswered(call):  # a sign of life does not put its cancel off
        _put_off(known, call)


def reconcile(known: Expected, call: Facts, state: str) -> str:
    """What should come of evidence about a call: only a doubt ends by it (R200)."""
    if call["state"] != "UNKNOWN":
        return "CONFLICT"
    call["state"], call["deliver_at"] = state, None
    asking.waits_on(known, known.turns[call["turn"]])
    return "done"


def _doubt(known: Expected, call: Facts) -> None:
    call["state"] = "UNKNOWN"
    _put_off(known, call)
    asking.waits_on(known, known.turns[call["turn"]])
