"""Rule S2 after every commit of the suite: `wake_at` is what the pure function says of the rows.

Whatever a test is about, each change that it makes in this process is looked at before it commits,
for every Thread that the change knew. Where somebody counts statements nothing is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connection

from sessions_app.contract.status import SignalKind, SignalStatus
from sessions_app.machine.waking import wake_at
from sessions_app.models import Signal, Thread, ToolCall, Turn
from sessions_app.store.unit import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_write = Unit.write


@pytest.fixture(scope="session", autouse=True)
def every_commit_wakes_as_its_rows_ask() -> Iterator[None]:
    """Look at each change once it is written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Unit, "write", _write_and_look)
        yield


def _write_and_look(unit: Unit) -> None:
    _write(unit)
    if connection.force_debug_cursor or connection.execute_wrappers:
        return
    for row, _ in list(unit._loaded.values()):
        if isinstance(row, Thread):
            _look(Thread.objects.get(pk=row.pk), unit.now)


def _look(thread: Thread, now: datetime) -> None:
    if thread.lease_expires_at is not None:  # a renewal may have come in between
        assert thread.wake_at == thread.lease_expires_at, f"S2: {thread.pk} is leased"
        return
    head = Turn.objects.filter(thread=thread, finished_at=None).order_by("ordinal").first()
    calls: list[ToolCall] = []
    inputs = False
    if head is not None and head.started_at is not None:
        calls = list(ToolCall.objects.filter(turn=head, applied_at=None))
        pending = Signal.objects.filter(turn=head, status=SignalStatus.PENDING)
        inputs = pending.exclude(kind=SignalKind.INJECT).exists()
    asked = _due(wake_at(thread, head, calls, open_inputs=inputs, now=now), now)
    found = _due(thread.wake_at, now)
    assert found == asked, f"S2: {thread.pk} wakes at {found}, its rows ask for {asked}"


def _due(moment: datetime | None, now: datetime) -> datetime | None:
    return moment if moment is None or moment > now else now
