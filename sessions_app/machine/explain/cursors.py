"""What became of an observer's place: the observer repairs it, the Turn needs nothing (R269)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sessions_app.contract.errors import Invalid
from sessions_app.contract.explanation import CursorExplanation, NextAction, Verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.paging import Cursor
    from sessions_app.models import Session

NEEDS_NOTHING = "the turns go on without anybody watching"
GO_ON = NextAction(Verb.WATCH, "", f"connect again with this cursor; {NEEDS_NOTHING}")
ANEW = NextAction(Verb.WATCH, "", f"take a snapshot and connect with its cursor; {NEEDS_NOTHING}")


@dataclass(frozen=True, slots=True)
class Timeline:
    """A Session's events as they stand, in this incarnation of the store."""

    session: Session
    incarnation: str


def explain(cursor: Cursor, timeline: Timeline) -> CursorExplanation:
    """Say whether it can be followed; raises Invalid for another Session's."""
    session = timeline.session
    newest, floor = session.last_sequence, session.pruned_through
    if cursor.session_pk != session.id:
        msg = f"the cursor belongs to another session than {session.key}"
        raise Invalid(msg)
    if cursor.incarnation != timeline.incarnation:
        text = "the store was restored since; the same sequence may be another event now"
        return _say("other incarnation", text, cursor, session, [ANEW])
    if cursor.sequence > newest:
        text = f"the newest event is {newest}; those after it were lost with a failover"
        return _say("ahead", text, cursor, session, [ANEW])
    if cursor.sequence < floor:
        text = f"events up to {floor} were pruned; the history and the snapshot still hold them"
        return _say("pruned", text, cursor, session, [ANEW])
    if cursor.sequence < newest:
        text = f"{newest - cursor.sequence} events came since"
        return _say("behind", text, cursor, session, [GO_ON])
    return _say("current", "nothing has come since", cursor, session, [GO_ON])


def _say(
    state: str, text: str, cursor: Cursor, session: Session, actions: Sequence[NextAction]
) -> CursorExplanation:
    return CursorExplanation(
        state, text, cursor.sequence, session.last_sequence, session.pruned_through, tuple(actions)
    )
