"""Reads the output of an execution as the Brain does: by commands, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Output, UpdateKind
from hands_app.contract.output import MAX_PAGE_BYTES, Gap

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute
    from hands_app.contract.output import OutputPage
    from hands_app.worker.ports import Commands


def question(command: Execute, offset: int = 0, limit: int = 1000) -> Output:
    """Make the command that asks for a page."""
    return Output(
        command_id=new_id("cmd_"),
        namespace="durable",
        execution_id=command.execution_id,
        request_digest=command.request_digest,
        route="hands",
        offset=offset,
        limit=limit,
    )


def read(commands: Commands, command: Execute, offset: int = 0, limit: int = 1000) -> OutputPage:
    """Ask the ledger for one page."""
    asked = question(command, offset, limit)
    answer = commands.output(asked)
    assert (answer.kind, answer.sequence) == (UpdateKind.PAGE, 0)
    page = answer.page()
    assert page.command_id == asked.command_id
    return page


def pages(commands: Commands, command: Execute, limit: int = MAX_PAGE_BYTES) -> list[bytes | Gap]:
    """Read from the beginning to the end; hold that the pages are contiguous (I31)."""
    found: list[bytes | Gap] = []
    offset = 0
    while (page := read(commands, command, offset, limit)).next > offset:
        assert page.offset == offset
        found.append(page.bytes if page.gap is None else page.gap)
        offset = page.next
    assert offset == page.available
    return found


def whole(commands: Commands, command: Execute) -> bytes:
    """Return the output of an execution that has no gap."""
    found = pages(commands, command)
    assert not any(isinstance(each, Gap) for each in found)
    return b"".join(each for each in found if isinstance(each, bytes))
