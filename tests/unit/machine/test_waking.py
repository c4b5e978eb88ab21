"""`wake_at` is one pure function of the rows; the first match wins (S2)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.contract.status import SETTLED_CALLS, CallState, TurnStatus, WaitReason
from sessions_app.machine.waking import wake_at
from tests.covers import poses
from tests.unit.machine.scene import NOW, at, call, leased, thread, turn

WAITING = TurnStatus.WAITING
LOOKED_AT = {
    WaitReason.BACKOFF,
    WaitReason.HANDED_OVER,
    WaitReason.INCOMPATIBLE,
    WaitReason.SUSPECT,
}
CASES: list[tuple[str, dict[str, Any], list[str], bool, float | None]] = [
    ("queued head", {}, [], False, 0),
    ("running without a lease", {"status": "RUNNING"}, [], False, 0),
    ("waits for a tool", {"status": WAITING, "reason": "tool"}, ["STARTED"], False, None),
    (
        "one of two results",
        {"status": WAITING, "reason": "tool"},
        ["STARTED", "COMPLETED"],
        False,
        None,
    ),
    ("all results", {"status": WAITING, "reason": "tool"}, ["COMPLETED", "FAILED"], False, 0),
    ("unknown effect", {"status": WAITING, "reason": "unknown"}, ["UNKNOWN"], False, None),
    ("unknown was resolved", {"status": WAITING, "reason": "unknown"}, ["COMPLETED"], False, 0),
    ("backoff", {"status": WAITING, "reason": "backoff", "retry_at": at(4)}, [], False, 4),
    (
        "backoff and a steer",
        {"status": WAITING, "reason": "backoff", "retry_at": at(4)},
        [],
        True,
        4,
    ),
    (
        "backoff and a deadline",
        {"status": WAITING, "reason": "backoff", "retry_at": at(4), "wait_deadline": at(2)},
        [],
        False,
        2,
    ),
    (
        "cancel beats backoff",
        {"status": WAITING, "reason": "backoff", "retry_at": at(4), "cancel_request": "c"},
        [],
        False,
        0,
    ),
    ("paused", {"status": "PAUSED"}, [], False, None),
    ("paused with a deadline", {"status": "PAUSED", "wait_deadline": at(9)}, [], False, 9),
    ("paused with results", {"status": "PAUSED"}, ["COMPLETED"], True, None),
    ("cancel beats pause", {"status": "PAUSED", "cancel_request": "c"}, [], False, 0),
    ("handed over", {"status": WAITING, "reason": "handed-over"}, [], False, 0),
    ("signal came", {"status": WAITING, "reason": "signal"}, [], True, 0),
    (
        "waits for a signal",
        {"status": WAITING, "reason": "signal", "wait_deadline": at(7)},
        [],
        False,
        7,
    ),
    ("held after deaths", {"held_until": at(3)}, [], False, 3),
    ("suspect", {"status": WAITING, "reason": "suspect", "suspect": True}, [], False, None),
]


@pytest.mark.parametrize(
    ("name", "columns", "calls", "inputs", "expected"), CASES, ids=[case[0] for case in CASES]
)
def test_each_situation_has_its_time(
    name: str,
    columns: dict[str, Any],
    calls: list[str],
    inputs: bool,
    expected: float | None,
) -> None:
    """The table of situations, on a Thread that nobody owns."""
    head = turn(**columns)
    found = wake_at(
        thread(), head, [call(state, route="hands") for state in calls], open_inputs=inputs, now=NOW
    )
    assert found == (None if expected is None else at(expected))


@pytest.mark.parametrize(
    ("name", "columns", "calls", "inputs", "expected"), CASES, ids=[case[0] for case in CASES]
)
def test_a_lease_beats_everything(
    name: str,
    columns: dict[str, Any],
    calls: list[str],
    inputs: bool,
    expected: float | None,
) -> None:
    """While a Thread is leased its time is the lease's expiry, whatever else has arrived."""
    owned = leased()
    found = wake_at(
        owned,
        turn(**columns),
        [call(state, route="hands") for state in calls],
        open_inputs=inputs,
        now=NOW,
    )
    assert found == owned.lease_expires_at


@poses("S2")
@pytest.mark.parametrize("beside", ["COMPLETED", "UNKNOWN"])
def test_a_local_call_that_a_dead_owner_left_is_looked_at(beside: str) -> None:
    """The next owner repeats it, also beside a call that waits for evidence."""
    head = turn(status=WAITING, reason=WaitReason.TOOL)
    calls = [call("STARTED", effect="read"), call(beside)]

    assert wake_at(thread(), head, calls, open_inputs=False, now=NOW) == NOW


@poses("S2")
def test_what_nobody_can_vouch_for_is_looked_at_by_nobody() -> None:
    """Its Turn sleeps until there is evidence; a sibling that ended changes nothing of it."""
    head = turn(status=WAITING, reason=WaitReason.UNKNOWN)
    calls = [call("COMPLETED"), call("UNKNOWN")]

    assert wake_at(thread(), head, calls, open_inputs=False, now=NOW) is None


def test_an_empty_thread_sleeps() -> None:
    """Nothing to do: null."""
    assert wake_at(thread(), None, [], open_inputs=False, now=NOW) is None


@poses("S17")
def test_an_incompatible_thread_waits_for_its_delay() -> None:
    """Other builds look only after the delay (S17)."""
    head = turn(status=WAITING, reason=WaitReason.INCOMPATIBLE)
    assert wake_at(thread(incompatible_until=at(2)), head, [], open_inputs=False, now=NOW) == at(2)


@given(
    status=st.sampled_from(list(TurnStatus)),
    reason=st.sampled_from(list(WaitReason)),
    states=st.lists(st.sampled_from(list(CallState)), max_size=4),
    inputs=st.booleans(),
    deadline=st.none() | st.integers(-5, 60),
    cancel=st.booleans(),
)
def test_no_open_effect_is_overtaken(
    *,
    status: TurnStatus,
    reason: WaitReason,
    states: list[CallState],
    inputs: bool,
    deadline: int | None,
    cancel: bool,
) -> None:
    """A parked Turn with an unsettled call wakes only for a deadline or a cancel.

    One that was given back is looked at, since its next owner begins what is open. Never in the
    past.
    """
    head = turn(
        status=status,
        reason=reason if status == WAITING else None,
        retry_at=at(3),
        wait_deadline=None if deadline is None else at(deadline),
        cancel_request="c" if cancel else None,
    )
    found = wake_at(
        thread(),
        head,
        [call(state, route="hands") for state in states],
        open_inputs=inputs,
        now=NOW,
    )

    open_call = any(state not in SETTLED_CALLS for state in states)
    looked_at = status == TurnStatus.RUNNING or head.reason in LOOKED_AT
    if open_call and not (cancel or looked_at) and deadline is None:
        assert found is None
    if found is not None and head.reason != WaitReason.BACKOFF:
        assert found >= NOW
