"""Every control by the Python API, blocking and awaited; reading and waiting submit nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Invalid, WaitTimeout
from tests.covers import covers
from tests.integration.runtime.world import everything

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.runtime import DurableRuntime, SessionHandle, TurnHandle
    from tests.stores import Store


@covers("R017", "R029")
def test_a_turn_takes_every_control(session: SessionHandle) -> None:
    """The handle of a submission can be asked and controlled at once."""
    turn = session.submit("r1", "hello")

    outcomes = [
        turn.steer("s1", "in French").outcome,
        turn.inject("i1", "a table").outcome,
        turn.withdraw("w1", "s1").outcome,
        turn.pause("p1").outcome,
        turn.resume("go", turn.status().revision).outcome,
        turn.signal("x1", "x.test.go").outcome,
        turn.cancel("c1").outcome,
    ]

    assert outcomes == [
        "admitted",
        "admitted",
        "withdrawn",
        "paused",
        "queued",
        "kept",
        "cancelled",
    ]
    assert turn.status().is_terminal


@covers("R024")
async def test_each_control_has_an_awaitable_twin(session: SessionHandle) -> None:
    """With the same receipts."""
    turn = await session.asubmit("r1", "hello")

    receipts = [
        await turn.asteer("s1", "in French"),
        await turn.ainject("i1", "a table"),
        await turn.awithdraw("w1", "s1"),
        await turn.apause("p1"),
        await turn.aresume("go", (await turn.astatus()).revision),
        await turn.acancel("c1"),
    ]

    assert [receipt.operation for receipt in receipts] == [
        "steer",
        "inject",
        "withdraw",
        "pause",
        "resume",
        "cancel",
    ]


BAD: dict[str, Callable[[TurnHandle], object]] = {
    "request id": lambda turn: turn.cancel("a b"),
    "no request id": lambda turn: turn.pause(""),
    "input of a framework": lambda turn: turn.steer("x", object()),
    "NUL": lambda turn: turn.inject("x", "a\0b"),
    "revision as text": lambda turn: turn.resume("x", "1"),  # type: ignore[arg-type]  # bad on purpose
    "revision zero": lambda turn: turn.resume("x", 0),
    "revision true": lambda turn: turn.resume("x", True),  # noqa: FBT003 - bad on purpose
}


@covers("R037")
@pytest.mark.parametrize("name", BAD)
def test_a_control_of_bad_form_is_invalid(session: SessionHandle, name: str) -> None:
    """Nothing is written and the request id stays free."""
    turn = session.submit("r1", "hello")
    before = everything()

    with pytest.raises(Invalid):
        BAD[name](turn)

    assert everything() == before


@covers("R032", "R039")
def test_watching_a_turn_from_its_ids_submits_nothing(
    runtime: DurableRuntime, session: SessionHandle, store: Store
) -> None:
    """Events, history, explanation and waits of a rebuilt handle write no row at all."""
    turn = session.submit("r1", "hello")
    store.claim()
    before = everything()

    again = runtime.find_turn(turn.turn_id)
    again.list_events()
    again.explain()
    runtime.get_session("acme", "s1").main.history()
    with pytest.raises(WaitTimeout):
        again.wait(0.05)

    assert again == turn
    assert everything() == before
