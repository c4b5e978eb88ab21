"""What stands against moving a Thread to another version of its agent (R251, R252)."""

from __future__ import annotations

from typing import Any

import pytest

from hands_app.contract.strict_json import digest
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import CallState, Lifecycle, TurnStatus
from sessions_app.machine.repinning import Operator, Pinned, Target, objections, repin
from sessions_app.models import AuditEntry, Checkpoint, ToolCall
from tests.unit.machine import scene

NEXT = DefinitionKey("agent", "2")
BOUND = {"name": "ship", "version": "1"}
SHIP = {"ship": digest(BOUND)}
WAITING = {"status": TurnStatus.WAITING, "reason": "tool", "started_at": scene.NOW}


def call(**columns: Any) -> ToolCall:
    """An open call of `ship`."""
    return ToolCall(id="exe_1", name="ship", binding=BOUND, state=CallState.STARTED, **columns)


def pinned(**parts: Any) -> Pinned:
    """An idle Thread of version 1 with a checkpoint."""
    given = {"thread": scene.thread(), "head": None, "calls": (), "checkpoint": None, **parts}
    return Pinned(**given)


@pytest.mark.parametrize(
    ("found", "target", "state", "said"),
    [
        (pinned(), Target(NEXT, {}), None, None),
        (pinned(head=scene.turn(), calls=(call(),)), Target(NEXT, {}), None, None),
        (pinned(head=scene.turn(**WAITING), calls=(call(),)), Target(NEXT, SHIP), None, None),
        (pinned(thread=scene.thread(status=Lifecycle.CLOSED)), Target(NEXT, {}), None, "closed"),
        (pinned(thread=scene.leased()), Target(NEXT, {}), None, "host_1 owns it"),
        (pinned(), Target(DefinitionKey("agent", "2", 2), {}), None, "version 1 cannot become 2"),
        (pinned(), Target(NEXT, {}), "format 9 is newer", "format 9"),
        (
            pinned(thread=scene.thread(journal_position=3), head=scene.turn(**WAITING)),
            Target(NEXT, {}),
            None,
            "3 stored outcomes wait",
        ),
        (
            pinned(head=scene.turn(**WAITING), calls=(call(),)),
            Target(NEXT, {}),
            None,
            "is not in agent@2",
        ),
        (
            pinned(head=scene.turn(**WAITING), calls=(call(),)),
            Target(NEXT, {"ship": digest("other")}),
            None,
            "is bound otherwise",
        ),
    ],
    ids=[
        *("idle", "queued", "waiting-same-tool", "closed", "owned", "state-version", "codec"),
        *("outcomes", "tool-gone", "tool-changed"),
    ],
)
def test_what_stands_against_a_move_is_named(
    found: Pinned, target: Target, state: str | None, said: str | None
) -> None:
    """Each obstacle by itself is told in words; without one there is nothing to say."""
    against = objections(found, target, state)

    assert len(against) == (said is not None)
    assert said is None or said in against[0]


def test_all_that_stands_against_a_move_is_told_at_once() -> None:
    """An operator sees the whole list, not the next obstacle after each repair."""
    found = pinned(thread=scene.leased(status=Lifecycle.CLOSED))

    assert len(objections(found, Target(NEXT, {}), "format 9 is newer")) == 3


def test_a_move_is_one_change_with_its_record() -> None:
    """Pin, checkpoint under the new pin, event and audit; what builds refused is forgotten."""
    refused = {"incompatible_builds": ["b1"], "incompatible_reason": "no", "incompatible_count": 2}
    thread = scene.thread(incompatible_until=scene.at(9), definition_digest="d1", **refused)
    newest = Checkpoint(id="chk_1", ordinal=4, position=7, version="1", body={"n": 1})
    change = scene.change()

    repin(change, pinned(thread=thread, checkpoint=newest), Target(NEXT, {}), Operator("ann", "x"))

    stamped = next(row for row in change.rows if isinstance(row, Checkpoint))
    audit = next(row for row in change.rows if isinstance(row, AuditEntry))
    assert (thread.pin, thread.definition_digest) == (NEXT, "")
    assert (thread.incompatible_builds, thread.incompatible_until) == ([], None)
    assert (stamped.ordinal, stamped.position, stamped.version) == (5, 7, "2")
    assert (newest.ordinal, newest.version) == (4, "1")
    assert (audit.actor, audit.before, audit.after) == ("ann", {"version": "1"}, {"version": "2"})
    assert [draft.payload for _, draft in change.events] == [
        {"definition": "agent", "version": "2", "stateVersion": 1}
    ]
