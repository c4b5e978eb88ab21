"""Tokens: the counter that each claim's token carries before its random part (I6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.models import Run
from sessions_app.store.invariants.look import ROWS, Look
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator


def counter_grows(look: Look) -> Iterator[Breach]:
    """I6: a later Run of a Thread has a higher counter, and the Thread has the highest."""
    for batch in look.batches:
        rows = Run.objects.filter(batch.within()).order_by("thread_id", "started_at", "ordinal")
        columns = rows.values_list("id", "thread_id", "token", "thread__lease_epoch")
        newest: dict[str, int] = {}
        for name, thread, token, epoch in columns.iterator(chunk_size=ROWS):
            counter = _counter(token)
            if counter <= newest.get(thread, 0):
                yield Breach(6, name, f"claimed with counter {counter} after {newest[thread]}")
            elif counter > epoch:
                yield Breach(6, name, f"claimed with counter {counter}, above its Thread's {epoch}")
            newest[thread] = max(counter, newest.get(thread, 0))


def _counter(token: str) -> int:
    number, _, _ = token.partition(".")
    return int(number) if number.isdecimal() else 0
