"""Bad commands: refused, recorded where an operator looks, and never run."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.errors import Rejected, Unavailable
from hands_app.contract.wire import MAX_ENVELOPE_BYTES, encode
from hands_app.ledger.refusals import SqlRefusals
from hands_app.ledger.summary import summary
from hands_app.worker.refusals import RECENT, Reason, Refusals, Refused
from tests.covers import poses
from tests.integration.hands.examples import binding, cancel, execute, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import Execute
    from hands_app.host import Host
    from hands_app.ledger.engine import Database
    from hands_app.worker.configuration import Configuration
    from hands_app.worker.refusals import Noted
    from tests.integration.hands.examples import Ledger


def _changed(command: Execute, **members: Any) -> str:
    """Return a command's text after somebody changed it on the way."""
    return json.dumps(json.loads(encode(command)) | members)


def _gpu() -> Any:
    return binding().model_copy(update={"route": "gpu"})


def _twice(host: Host, **other: Any) -> None:
    command = execute()
    host.execute(encode(command))
    host.execute(encode(execute(execution_id=command.execution_id, **other) if other else command))


def _after_its_cancel(host: Host, command: Execute) -> None:
    host.control(encode(cancel(command)))
    host.execute(encode(command))


SENT: dict[Reason, Callable[[Host], None]] = {
    Reason.UNDECODABLE: lambda host: host.execute("\x00 secret"),
    Reason.TOO_LARGE: lambda host: host.execute("x" * (MAX_ENVELOPE_BYTES + 1)),
    Reason.INVALID: lambda host: host.control(_changed(execute(), secret=1, kind="cancel")),
    Reason.WRONG_DIGEST: lambda host: host.execute(_changed(execute(), arguments={"secret": 1})),
    Reason.FOREIGN_NAMESPACE: lambda host: host.execute(_changed(execute(), namespace="other")),
    Reason.WRONG_ROUTE: lambda host: host.execute(encode(execute(_gpu()))),
    Reason.TOO_LATE: lambda host: host.execute(encode(execute(minutes=-1))),
    Reason.CONFLICT: lambda host: _twice(host, arguments={"secret": 2}),
    Reason.CANCELLED: lambda host: _after_its_cancel(host, execute()),
    Reason.REPEATED: _twice,
    Reason.UNKNOWN_TOOL: lambda host: host.execute(encode(execute(binding(name="nobody")))),
}


@poses("T21", "T22")
def test_what_is_refused_can_be_seen_and_never_runs(
    configuration: Configuration, mailbox: Mailbox, database: Database
) -> None:
    """T21, T22: a count and the last few in the ledger, with nothing of their content."""
    with serving(configuration, mailbox) as host:
        counts = host.gate.refusals.counts
        for reason, send in SENT.items():
            before = counts[reason]
            with suppress(Rejected):
                send(host)
            assert counts[reason] == before + 1, reason
        until(lambda: _refused(database) == counts, "the record")
        assert "started" not in [update.kind.value for update in mailbox.taken]

    found = summary(database)
    assert {each["reason"] for each in _recent(found)} == set(SENT)
    assert "secret" not in json.dumps(found)


def _refused(database: Database) -> dict[str, int]:
    found = summary(database)["refusals"]
    assert isinstance(found, dict)
    return {reason: int(str(count)) for reason, count in found.items()}


def _recent(found: dict[str, Any]) -> list[dict[str, Any]]:
    return list(found["recentRefusals"])


@poses("C47")
def test_another_version_of_a_tool_is_told_from_an_unknown_one(
    configuration: Configuration, mailbox: Mailbox
) -> None:
    """C47: neither is thrown away; a host that has the version runs it."""

    @remote(effect="read", version="1")
    def look() -> str:
        return "old"

    newer = remote(effect="read", version="2")(look.function)
    with serving(configuration, mailbox, look) as host:
        command = call(host, newer)
        assert host.gate.refusals.counts == {Reason.OTHER_BINDING: 1}
        with serving(configuration, mailbox, newer):
            assert mailbox.result(command).content == "old"


def test_a_flood_leaves_a_bounded_record(ledger: Ledger) -> None:
    """However many there are, a host has one row for each reason, with the last ten."""
    book, refusals = SqlRefusals(ledger.database), Refusals()
    for _ in range(2):
        for number in range(500):
            refusals.note(Refused(Reason.INVALID, detail=str(number)))
        refusals.write_to(book, ledger.host_id)

    found = summary(ledger.database)
    assert found["refusals"] == {"INVALID": 1000}
    assert sorted(each["detail"] for each in _recent(found)) == [str(n) for n in range(490, 500)]
    assert len(_recent(found)) == RECENT


def test_old_refusals_are_let_go(ledger: Ledger) -> None:
    """After thirty days nobody asks."""
    book, refusals = SqlRefusals(ledger.database), Refusals()
    refusals.note(Refused(Reason.INVALID))
    refusals.write_to(book, ledger.host_id)
    ledger.clock.ahead = timedelta(days=31)
    refusals.note(Refused(Reason.TOO_LATE))
    refusals.write_to(book, ledger.host_id)

    assert summary(ledger.database)["refusals"] == {"TOO_LATE": 1}


def test_what_cannot_be_written_now_is_written_later() -> None:
    """A ledger that is away costs no count."""
    written: list[tuple[Reason, int]] = []

    class Book:
        is_down = True

        def write(self, _host_id: str, noted: Sequence[Noted]) -> None:
            if self.is_down:
                message = "away"
                raise Unavailable(message)
            written.extend((each.reason, each.count) for each in noted)

    book, refusals = Book(), Refusals()
    refusals.note(Refused(Reason.INVALID))
    with pytest.raises(Unavailable):
        refusals.write_to(book, "host")
    refusals.note(Refused(Reason.INVALID))
    book.is_down = False
    refusals.write_to(book, "host")
    refusals.write_to(book, "host")

    assert written == [(Reason.INVALID, 2)]
