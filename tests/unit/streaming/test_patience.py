"""A reader that takes nothing does not keep its response for ever (T7)."""

from __future__ import annotations

import asyncio

import pytest

from sessions_app.streaming.patience import Message, Receive, Scope, Send, patient
from tests.covers import poses


async def _never_ends(_scope: Scope, _receive: Receive, send: Send) -> None:
    while True:
        await send({"type": "http.response.body", "body": b"more", "more_body": True})


async def _receive() -> Message:
    raise AssertionError


@poses("T7")
async def test_a_response_that_nobody_takes_ends() -> None:
    """What was taken stays; then the reader stops, and the application with it."""
    taken: list[Message] = []

    async def send(message: Message) -> None:
        if len(taken) == 3:
            await asyncio.Event().wait()
        taken.append(message)

    await asyncio.wait_for(patient(_never_ends, 0.05)({"path": "/"}, _receive, send), 5)

    assert len(taken) == 3


async def test_other_ends_are_left_alone() -> None:
    """A reset is the server's to tell; a time-out of the application's own is no absent reader."""

    async def reset(_message: Message) -> None:
        raise ConnectionResetError

    async def late(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise TimeoutError

    with pytest.raises(ConnectionResetError):
        await patient(_never_ends)({"path": "/"}, _receive, reset)
    with pytest.raises(TimeoutError):
        await patient(late)({"path": "/"}, _receive, reset)
