"""Output of tools in the ledger: written by owners, read by offset, sealed with the result."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.binding import EffectClass
from hands_app.contract.messages import UpdateKind
from hands_app.contract.output import Gap
from hands_app.machine.execution import Refusal, failed
from hands_app.machine.output import CHUNK_BYTES, Written
from tests.covers import covers, poses
from tests.integration.hands.examples import DONE, binding, cancel, execute
from tests.integration.hands.reading import pages, read

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from hands_app.worker.ports import Claim
    from tests.integration.hands.examples import Ledger


def write(ledger: Ledger, claim: Claim, start: int, body: bytes, **how: object) -> list[Update]:
    """Add output as its owner."""
    told = ledger.work.output(claim, Written(start, body, **how))  # type: ignore[arg-type]
    assert not isinstance(told.outcome, Refusal)
    return list(told.updates)


@covers("R190", "R191")
def test_output_is_read_by_offset_while_the_tool_runs_and_after(ledger: Ledger) -> None:
    """R190: any offset, any limit; the end says whether more may come."""
    command = execute()
    claim = ledger.started(command)
    body = bytes(range(256)) * 1024

    (told,) = write(ledger, claim, 0, body)
    running = read(ledger.commands, command, 0, limit=10)
    inside = read(ledger.commands, command, CHUNK_BYTES - 3, limit=6)
    end = read(ledger.commands, command, len(body))
    ledger.work.finish(claim, DONE)

    assert told.payload == {"available": len(body), "sealed": False}
    assert (running.bytes, running.next, running.sealed) == (body[:10], 10, False)
    assert inside.bytes == body[CHUNK_BYTES - 3 : CHUNK_BYTES + 3]
    assert (end.bytes, end.next, end.gap, end.sealed) == (b"", len(body), None, False)
    assert pages(ledger.commands, command, limit=100_000) == [
        body[:100_000],
        body[100_000:200_000],
        body[200_000:],
    ]
    assert read(ledger.commands, command, len(body)).sealed
    assert read(ledger.commands, command, len(body) + 5).next == len(body) + 5


@covers("R190")
def test_output_is_sealed_before_the_result_goes_out(ledger: Ledger) -> None:
    """R190, I31: one commit has both, the seal comes first, and nothing is added after."""
    command = execute()
    claim = ledger.started(command)
    write(ledger, claim, 0, b"words", told=False)

    sealed, result = ledger.work.finish(claim, DONE).updates
    late = ledger.work.output(claim, Written(5, b"more"))

    assert (sealed.kind, sealed.payload) == (UpdateKind.OUTPUT, {"available": 5, "sealed": True})
    assert (result.kind, result.sequence) == (UpdateKind.RESULT, sealed.sequence + 1)
    assert late.outcome is Refusal.LOST
    assert pages(ledger.commands, command) == [b"words"]


def test_a_tool_without_output_tells_of_none(ledger: Ledger) -> None:
    """Most tools write nothing; their executions cost no update more."""
    command = execute()
    ledger.work.finish(ledger.started(command), DONE)

    assert ledger.kinds(command) == ["admitted", "started", "result"]
    assert read(ledger.commands, command).sealed


@poses("S7")
def test_bytes_whose_commit_had_no_answer_are_kept_once(ledger: Ledger) -> None:
    """S7: the same words again are found to be there; others at their place are refused."""
    command = execute()
    claim = ledger.started(command)
    words = Written(0, b"words")

    first = ledger.work.output(claim, words)
    again = ledger.work.output(claim, words)
    wrong = ledger.work.output(claim, Written(3, b"x"))

    assert (len(first.updates), len(again.updates)) == (1, 0)
    assert wrong.outcome is Refusal.LOST
    assert pages(ledger.commands, command) == [b"words"]


@covers("R190")
def test_a_death_leaves_a_gap_and_the_next_attempt_writes_behind_it(ledger: Ledger) -> None:
    """R190: attempts follow each other; what the dead one had not recorded is a gap."""
    command = execute(binding(EffectClass.IDEMPOTENT))
    first = ledger.started(command)
    write(ledger, first, 0, b"first")
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()

    (second,) = ledger.claim(command, host_id=ledger.enroll())
    ledger.work.start(second)
    write(ledger, second, second.output_bytes, b"second")
    ledger.work.finish(second, DONE)

    assert ledger.work.output(first, Written(5, b"zombie")).outcome is Refusal.LOST
    assert pages(ledger.commands, command) == [b"first", Gap.DIED, b"second"]
    assert [read(ledger.commands, command, offset).attempt for offset in (0, 5, 6)] == [1, 1, 2]


def test_a_page_holds_bytes_of_one_attempt(ledger: Ledger) -> None:
    """An attempt that ended in order leaves no gap; the page still ends with it."""
    command = execute(binding(EffectClass.IDEMPOTENT))
    first = ledger.started(command)
    write(ledger, first, 0, b"first")
    ledger.work.unconfirmed(first, failed("EXCEPTION", "it broke"))
    ledger.clock.ahead += timedelta(seconds=10)

    (second,) = ledger.claim(command)
    ledger.work.start(second)
    write(ledger, second, 5, b"second")

    assert pages(ledger.commands, command) == [b"first", b"second"]


@covers("R190", "R201")
def test_an_outcome_that_nobody_knows_leaves_its_output_open(ledger: Ledger) -> None:
    """R201: what is missing is a gap from the death on; evidence seals it, with the result."""
    command = execute()
    claim = ledger.started(command)
    write(ledger, claim, 0, b"so far")
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()
    open_end = read(ledger.commands, command, 7)

    ledger.work.finish(claim, DONE)

    assert ledger.state(command) == "COMPLETED"
    assert (open_end.next, open_end.sealed) == (7, False)
    assert pages(ledger.commands, command) == [b"so far", Gap.DIED]
    assert [update.payload for update in ledger.updates(command)[-2:-1]] == [
        {"available": 7, "sealed": True}
    ]


@covers("R190")
def test_a_gap_says_how_much_is_missing(ledger: Ledger) -> None:
    """R190: a reader who lands inside of a gap is led behind it."""
    command = execute()
    claim = ledger.started(command)

    write(ledger, claim, 0, b"kept", gap=Gap.LIMIT, lost=1_000_000)
    gap, inside = read(ledger.commands, command, 4), read(ledger.commands, command, 500)

    assert (gap.gap, gap.next, gap.data) == (Gap.LIMIT, 1_000_004, "")
    assert (inside.gap, inside.next) == (Gap.LIMIT, 1_000_004)
    assert gap.gap is not None
    assert gap.gap.has_known_size


@pytest.mark.parametrize("known", [True, False])
def test_of_what_the_ledger_does_not_know_nothing_is_left(ledger: Ledger, *, known: bool) -> None:
    """An execution that is gone, or another request under its id, gives an empty, sealed page."""
    command = execute()
    if known:
        ledger.admit(command)
        command = command.model_copy(update={"request_digest": "sha256:" + "0" * 64})

    page = read(ledger.commands, command, 5)

    assert (page.next, page.available, page.sealed, page.gap) == (5, 0, True, None)


@covers("R190")
def test_a_tombstone_is_sealed_and_empty(ledger: Ledger) -> None:
    """What never starts writes nothing."""
    command = execute()
    ledger.commands.cancel(cancel(command))

    assert read(ledger.commands, command).sealed
    assert ledger.kinds(command) == ["result"]
