"""Reads output of the ledger, page by page (R190); nothing here changes anything."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from hands_app.contract.output import Gap, OutputPage
from hands_app.ledger.tables import execution, output_chunk

if TYPE_CHECKING:
    from sqlalchemy import Connection, RowMapping

    from hands_app.contract.messages import Output


class Extent(NamedTuple):
    """How far the output of an execution reaches."""

    available: int
    sealed: bool


def extent(connection: Connection, command: Output) -> Extent | None:
    """Return how far it reaches; None for an execution or request that is not known."""
    found = select(
        execution.c.request_digest, execution.c.output_bytes, execution.c.output_sealed_at
    ).where(execution.c.execution_id == command.execution_id)
    row = connection.execute(found).one_or_none()
    if row is None or row.request_digest != command.request_digest:
        return None
    return Extent(row.output_bytes, row.output_sealed_at is not None)


def page(connection: Connection, command: Output, reach: Extent) -> OutputPage:
    """Return what stands at the offset: bytes of one attempt, a gap, or nothing (yet)."""
    if command.offset >= reach.available:
        return _page(command, reach, command.offset)
    end = min(command.offset + command.limit, reach.available)
    rows = _rows(connection, command, end)
    if not rows:
        return _page(command, reach, reach.available, gap=Gap.EXPIRED)
    first = rows[0]
    if first["gap"] is not None:
        next_offset, gap, body = first["start"] + first["size"], Gap(first["gap"]), b""
    elif first["start"] > command.offset:
        next_offset, gap, body = first["start"], Gap.EXPIRED, b""
    else:
        body, gap = _bytes(rows, command.offset, end), None
        next_offset = command.offset + len(body)
    return _page(command, reach, next_offset, body, gap, first["attempt"])


def nothing_left(command: Output) -> OutputPage:
    """Say that the ledger does not know the execution (any more)."""
    return _page(command, Extent(0, sealed=True), command.offset)


def _rows(connection: Connection, command: Output, end: int) -> list[RowMapping]:
    """Return the chunks from the one that holds the offset to the one before `end`, in order."""
    mine = output_chunk.c.execution_id == command.execution_id
    before = select(output_chunk).where(mine, output_chunk.c.start <= command.offset)
    last = before.order_by(output_chunk.c.start.desc()).limit(1)
    after = select(output_chunk).where(
        mine, output_chunk.c.start > command.offset, output_chunk.c.start < end
    )
    rows = [*connection.execute(last).mappings()]
    rows = [row for row in rows if row["start"] + row["size"] > command.offset]
    return [*rows, *connection.execute(after.order_by(output_chunk.c.start)).mappings()]


def _bytes(rows: list[RowMapping], offset: int, end: int) -> bytes:
    """Join what follows without a gap and within one attempt."""
    body, at = bytearray(), offset
    for row in rows:
        follows = row["start"] <= at and row["attempt"] == rows[0]["attempt"]
        if row["gap"] is not None or not follows or at >= end:
            break
        body += bytes(row["body"])[at - row["start"] :]
        at = row["start"] + row["size"]
    return bytes(body[: end - offset])


def _page(
    command: Output,
    reach: Extent,
    next_offset: int,
    body: bytes = b"",
    gap: Gap | None = None,
    attempt: int = 0,
) -> OutputPage:
    return OutputPage(
        command_id=command.command_id,
        offset=command.offset,
        next=next_offset,
        data=base64.b64encode(body).decode(),
        gap=gap,
        attempt=attempt,
        available=reach.available,
        sealed=reach.sealed,
    )
