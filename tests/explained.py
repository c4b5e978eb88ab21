"""What every explanation has to keep, whatever state the store was driven into (R262).

`hold()` looks at Turns of the database; the store's fixture calls it after each test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import new_id
from sessions_app.contract.explanation import CONTROLS, Verb
from sessions_app.machine.explain import Cause
from sessions_app.models import Turn
from sessions_app.store import clock, controls, interactions, reads, releasing

if TYPE_CHECKING:
    from sessions_app.contract.explanation import Explanation, NextAction
    from sessions_app.contract.identity import ThreadKey
    from sessions_app.runtime import TurnHandle

ENDED: Final = {Cause.COMPLETED, Cause.FAILED, Cause.CANCELLED}
OWNED: Final = {Cause.RUNNING, Cause.PAUSING}
LOOKED_AT: Final = {
    *(Cause.NO_HOST, Cause.HOST_SILENT, Cause.EVERY_SLOT_BUSY, Cause.NO_SCAN),
    *(Cause.HANDED_OVER, Cause.READY, Cause.HELD, Cause.BACKOFF),
}
"""Nothing of the Turn's own is missing, or only time: so a look has to be due some time."""


def hold(most: int, session_id: str | None = None) -> None:
    """Every Turn that has not ended has one first cause, and none contradicts `wake_at`.

    Of one Session, or of all; at most so many are looked at.
    """
    turns = Turn.objects.select_related("thread").filter(finished_at=None).order_by("ordinal")
    for turn in (turns.filter(session__session_id=session_id) if session_id else turns)[:most]:
        said = reads.explain(turn.id)
        cause, wake_at, now = Cause(said.cause), turn.thread.wake_at, clock.now()
        until = turn.thread.lease_expires_at
        works = turn.run_id is not None and until is not None and until > now
        assert cause not in ENDED, said
        assert cause != Cause.STRANDED, said
        assert said.waits_for, said
        assert turn.id in {place.turn_id for place in said.queue}, said
        assert cause not in OWNED or works, said
        if cause in LOOKED_AT:
            assert wake_at is not None, said


def changes(said: Explanation) -> list[NextAction]:
    """Those of its actions that change a Turn."""
    return [action for action in said.next_actions if action.verb in CONTROLS]


def act(turn: TurnHandle, action: NextAction) -> None:
    """Do what an explanation of this Turn names, as an operator would."""
    perform(turn.key, turn.turn_id, action)


def perform(key: ThreadKey, turn_id: str, action: NextAction) -> None:
    """Do it on the Turn that the action names."""
    request, target = new_id("req_"), action.target
    match action.verb:
        case Verb.CANCEL:
            controls.cancel(key, target, request)
        case Verb.PAUSE:
            controls.pause(key, target, request)
        case Verb.RESUME:
            revision = Turn.objects.get(pk=target).revision
            controls.resume(key, target, request, revision)
        case Verb.RESPOND:
            interactions.respond(key, turn_id, request, target, response=True)
        case Verb.SIGNAL:
            interactions.signal(key, target, request, action.text.removeprefix("signal "), None)
        case Verb.RELEASE:
            releasing.release(key, target, request, "ann", "tested")
        case other:
            raise AssertionError(other)
