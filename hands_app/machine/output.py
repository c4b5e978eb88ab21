"""What a tool writes while it runs: one stream of bytes for each execution (R190, I31).

Attempts follow each other in it, each with its number. Only the owner of a started attempt adds
to it; what an attempt lost by the death of its worker is a gap behind its last bytes. The commit
that ends an execution seals it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from hands_app.contract.output import Gap
from hands_app.machine.execution import Decision, Execution, Piece, Refusal, State, output_news

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""What is kept of one execution, over all attempts, unless the host says otherwise."""

CHUNK_BYTES: Final = 64 * 1024
"""Size of one piece in the ledger."""

BATCH_BYTES: Final = 16 * CHUNK_BYTES
"""What one commit adds at most."""

_SIZE_UNKNOWN: Final = 1


@dataclass(frozen=True, slots=True)
class Written:
    """What one commit adds: bytes from `start` on, then perhaps a gap of `lost` bytes.

    `start` is where the writer believes the stream to end, which makes writing it again harmless
    (S7). `told`: whether the Brain hears of it now.
    """

    start: int
    body: bytes = b""
    gap: Gap | None = None
    lost: int = 0
    told: bool = True

    @property
    def end(self) -> int:
        """Where the stream ends afterwards."""
        return self.start + len(self.body) + self.lost


def write(execution: Execution, token: str, written: Written) -> Decision | Refusal:
    """Add to the output of a running attempt."""
    if execution.token != token or execution.state is not State.STARTED:
        return Refusal.LOST
    if written.start < written.end == execution.output_bytes:
        return Decision(execution)
    if execution.output_bytes != written.start:
        return Refusal.LOST
    grown = replace(execution, output_bytes=written.end)
    news = (output_news(grown),) if written.told else ()
    return Decision(grown, news, output=tuple(_pieces(execution.attempt, written)))


def died(execution: Execution) -> tuple[Execution, tuple[Piece, ...]]:
    """Mark the loss of a worker that died in an attempt, where output is on record at all."""
    if execution.output_bytes == 0:
        return execution, ()
    gap = unknown_loss(execution.output_bytes, Gap.DIED)
    left = replace(execution, output_bytes=gap.end)
    return left, tuple(_pieces(execution.attempt, gap))


def unknown_loss(start: int, gap: Gap) -> Written:
    """A gap whose size nobody knows."""
    return Written(start, gap=gap, lost=_SIZE_UNKNOWN, told=False)


def _pieces(attempt: int, written: Written) -> Iterator[Piece]:
    body = written.body
    for at in range(0, len(body), CHUNK_BYTES):
        chunk = body[at : at + CHUNK_BYTES]
        yield Piece(written.start + at, len(chunk), attempt, chunk)
    if written.lost:
        yield Piece(written.start + len(body), written.lost, attempt, gap=written.gap)
