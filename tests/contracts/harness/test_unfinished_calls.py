"""A death between a reply and its last result leaves no history that is refused (C50)."""

from __future__ import annotations

from itertools import count, cycle
from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import CallState, TurnStatus
from sessions_app.harnesses.calls import NOT_EXECUTED
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import ToolCall, Turn
from sessions_app.store import controls
from sessions_app.store.invariants import check
from tests.contracts.harness.house import House, Mortal
from tests.contracts.harness.kernels import KERNELS, Kernel
from tests.covers import covers, poses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sessions_app.brain.database import Database
    from tests.stores import Store

ADD, ONCE, NOTE = Call("add", {"a": 2, "b": 3}), Call("once"), Call("note", {"text": "x"})
ROUNDS: Final = [(ONCE,), (ADD,), (ADD, ONCE), (ADD, ONCE, NOTE, ONCE, ADD)]
MANY: Final = 2
"""Among more calls than these, a death behind a commit is like one before the next."""
ENDS: Final = {
    "recover": TurnStatus.COMPLETED,
    "cancel": TurnStatus.CANCELLED,
    "fail": TurnStatus.FAILED,
}


class Refused(Exception):
    """What a provider says to a request that it will never take."""

    status_code = 400


async def broken_off(
    store: Store, threads: Database, kernel: Kernel, calls: tuple[Call, ...]
) -> AsyncIterator[tuple[House, str, str]]:
    """Turns whose process died at each commit, with what is to become of each."""
    ends = cycle(ENDS)
    for side in ("before", "after")[: 1 if len(calls) > MANY else 2]:
        for number in count():
            replies = [Reply("", calls), *[Reply("done")] * 3]
            name = f"{side}-{number}"
            house = House(store, kernel, Mortal(side, number), threads, replies, session=name)
            turn_id = await house.submit()
            await house.process()
            if await threads(_all_applied, turn_id):
                break
            yield house, turn_id, next(ends)


async def come_to(house: House, turn_id: str, end: str) -> Turn:
    """Go on as said until no process may do anything more."""

    async def refuse(_request: int) -> None:
        raise Refused

    if end == "cancel":
        key = SessionKey("acme", house.session).thread()
        await house.database(controls.cancel, key, turn_id, "cancel")
    elif end == "fail":
        house.provider.hook = refuse
    turn = await house.drive(turn_id)
    house.provider.hook = None
    return turn


@poses("C50")
@covers("R161")
@pytest.mark.parametrize("calls", ROUNDS, ids=["once", "add", "2", "5"])
@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.id)
async def test_a_death_among_calls_leaves_a_history_that_is_taken(
    store: Store, threads: Database, kernel: Kernel, calls: tuple[Call, ...]
) -> None:
    """However the Turn ends, the next prompt has one result for each call, and none is invented."""
    seen: set[str] = set()
    async for house, turn_id, end in broken_off(store, threads, kernel, calls):
        turn = await come_to(house, turn_id, end)
        if CallState.UNKNOWN in await threads(_states, house.session):
            assert not turn.is_terminal
            seen.add("held")
            continue
        assert turn.status == ENDS[end], turn.error_text
        after = await house.complete("r2", "next")
        assert after.failures == 0
        results = [said for said in house.provider.prompts[-1] if said["role"] == "tool"]
        shown = [said["content"] == NOT_EXECUTED for said in results]
        states = await threads(_states, house.session)
        assert shown == [state == CallState.NOT_EXECUTED for state in states]
        seen.add(end)
    assert seen - {"held"}
    assert ("held" in seen) == (ONCE in calls)  # only what must not be repeated is ever in doubt
    assert (await threads(check)).is_clean


def _all_applied(turn_id: str) -> bool:
    applied = ToolCall.objects.filter(turn=turn_id).values_list("applied_at", flat=True)
    return bool(applied) and None not in applied


def _states(session: str) -> list[str]:
    calls = ToolCall.objects.filter(session__session_id=session)
    found = calls.order_by("turn__ordinal", "round", "ordinal")
    return list(found.values_list("state", flat=True))
