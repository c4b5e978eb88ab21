"""The way of output to the ledger: bounded, in few commits, and repeated until it is recorded."""

from __future__ import annotations

from hands_app.contract.output import Gap
from hands_app.machine.output import BATCH_BYTES, Written
from hands_app.worker.recording import Recorder
from tests.covers import covers

MOST = 10 * BATCH_BYTES


def recorded(recorder: Recorder, now: float) -> Written | None:
    """Commit what is due at a time."""
    written = recorder.due(now)
    if written is not None:
        recorder.recorded(written)
    return written


def rest(recorder: Recorder, *, runs_on: bool = False) -> list[Written]:
    """Commit all that is left at the end."""
    found = []
    while (written := recorder.rest(runs_on=runs_on)) is not None:
        recorder.recorded(written)
        found.append(written)
    return found


def test_the_first_bytes_are_due_at_once() -> None:
    """Whoever looks sees that there is output."""
    recorder = Recorder(0, MOST)

    assert recorder.add(b"first")
    assert not recorder.add(b" words")

    assert recorded(recorder, 100.0) == Written(0, b"first words", told=True)


@covers("R190")
def test_a_chatty_tool_makes_few_commits_and_fewer_updates() -> None:
    """A byte each millisecond for a minute: about one commit in two seconds."""
    recorder = Recorder(0, MOST)
    commits: list[Written] = []

    for millisecond in range(60_000):
        recorder.add(b"x")
        if (written := recorded(recorder, 100.0 + millisecond / 1000)) is not None:
            commits.append(written)
    left = b"".join(written.body for written in rest(recorder))

    assert len(commits) <= 35
    assert sum(written.told for written in commits) <= 8
    assert sum(len(written.body) for written in commits) + len(left) == 60_000


def test_what_was_not_told_is_told_later() -> None:
    """The last bytes before a long silence are known to the Brain before the end."""
    recorder = Recorder(0, MOST)
    recorder.add(b"one")
    recorded(recorder, 100.0)
    recorder.add(b"two")
    quiet = recorded(recorder, 100.3)
    assert quiet is not None
    assert not quiet.told

    (due,) = recorder.next_at()
    told = recorded(recorder, due)

    assert told == Written(6, b"", told=True)
    assert recorder.next_at() == []
    assert recorder.due(due + 100) is None


def test_a_commit_without_an_answer_is_repeated_as_it_was() -> None:
    """What came meanwhile waits for the next one (S7)."""
    recorder = Recorder(0, MOST)
    recorder.add(b"one")

    first = recorder.due(100.0)
    recorder.add(b"two")

    assert recorder.due(100.1) == first == Written(0, b"one", told=True)
    assert [written.body for written in rest(recorder)] == [b"one", b"two"]


@covers("R190")
def test_beyond_the_bound_bytes_are_counted_and_not_held() -> None:
    """Fifty megabytes are one bounded buffer and one gap that says how much is missing."""
    recorder = Recorder(0, BATCH_BYTES + 10)

    recorder.add(b"x" * 50_000_000)
    recorder.add(b"more")
    batch, tail, gap = rest(recorder)

    assert [len(written.body) for written in (batch, tail)] == [BATCH_BYTES, 10]
    assert gap.gap is Gap.LIMIT
    assert gap.lost == 50_000_004 - BATCH_BYTES - 10
    assert gap.end == 50_000_004


def test_earlier_attempts_count_against_the_bound() -> None:
    """An execution that is tried again and again stays within its bound."""
    recorder = Recorder(8, 10)

    recorder.add(b"four")

    assert rest(recorder) == [
        Written(8, b"fo", told=False),
        Written(10, gap=Gap.LIMIT, lost=2, told=False),
    ]


def test_a_tool_that_runs_on_leaves_a_gap_behind_its_bytes() -> None:
    """Nobody keeps what it writes after its deadline; one that wrote nothing leaves none."""
    silent, loud = Recorder(0, MOST), Recorder(0, MOST)
    loud.add(b"so far")

    assert rest(silent, runs_on=True) == []
    assert [written.gap for written in rest(loud, runs_on=True)] == [None, Gap.LATE]
