"""A stream over HTTP comes again, whatever ended it, and never in a hurry (R126)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from sessions_app.client import observing
from sessions_app.contract import errors, wire
from sessions_app.contract.events import EVERYTHING
from sessions_app.contract.frames import Frame, FrameKind, render
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.observing import Committed, SnapshotReset
from sessions_app.contract.snapshot import nothing
from tests.unit.streaming.timelines import event

if TYPE_CHECKING:
    from collections.abc import Generator

    from sessions_app.client.transport import Transport

KEY = SessionKey("acme", "chat")


class Lines:
    """A transport whose connections give these frames, one list each, or fail."""

    def __init__(self, *connections: list[Frame] | Exception) -> None:
        self.connections = list(connections)
        self.asked: list[str | None] = []
        self.pauses: list[float] = []
        self.pause = self.pauses.append

    def stream(self, _path: str, after: str | None) -> Generator[bytes]:
        """Open the next connection."""
        self.asked.append(after)
        found = self.connections.pop(0)
        if isinstance(found, Exception):
            raise found
        for frame in found:
            yield render(frame)

    def get(self, _path: str, **_query: Any) -> Any:
        """Give a snapshot."""
        return wire.render(nothing(KEY, EVERYTHING))


def _durable(sequence: int) -> Frame:
    said = event(sequence)
    return Frame(FrameKind.DURABLE, wire.render(said), said.cursor)


def _follow(lines: Lines) -> Generator[Any]:
    transport = cast("Transport", lines)
    return cast("Generator[Any]", observing.stream(transport, KEY, None, EVERYTHING))


def test_each_end_of_a_line_is_followed_by_a_pause_and_the_next_one() -> None:
    """A server that ends it, a line that breaks, one that asks for time: nothing twice."""
    lines = Lines(
        [_durable(1)],
        errors.Unavailable("reset"),
        errors.RateLimited("later", 7),
        [Frame(FrameKind.CURSOR, {"cursor": "3"}, "3")],
        [_durable(4)],
    )
    stream = _follow(lines)

    assert next(stream) == Committed(event(1))
    assert next(stream) == Committed(event(4))
    assert lines.asked == [None, "1", "1", "1", "3"]
    assert lines.pauses == [0.5, 0.5, 7, 0.5]


def test_a_position_that_expired_begins_again_behind_a_snapshot() -> None:
    """At connect and in the midst."""
    resync = Frame(FrameKind.RESYNC, {"code": "CURSOR_EXPIRED"})
    lines = Lines(errors.CursorExpired("gone"), [resync], [_durable(9)])
    stream = _follow(lines)

    assert [type(next(stream)) for _ in range(3)] == [SnapshotReset, SnapshotReset, Committed]


def test_what_is_refused_for_good_is_raised() -> None:
    """A token that lets nobody in any more ends the stream for its reader."""
    lines = Lines([_durable(1)], errors.Unauthenticated("revoked"))
    stream = _follow(lines)
    next(stream)

    with pytest.raises(errors.Unauthenticated):
        next(stream)
