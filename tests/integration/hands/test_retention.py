"""Retention of the ledger: what goes, what stays, and that nothing starts a second time (S8)."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from hands_app.contract.output import Gap
from hands_app.contract.tools import ToolContext  # noqa: TC001 - read at run time by @tool
from hands_app.ledger import purging, reconciling, tables
from hands_app.ledger.retention import SqlRetention
from hands_app.machine.admission import Admission
from hands_app.machine.execution import failed
from hands_app.machine.output import Written
from hands_app.worker.ports import Pruned
from tests.covers import covers, poses
from tests.integration.hands.examples import DONE, cancel, evidence, execute, query, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving
from tests.integration.hands.reading import pages

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute
    from hands_app.ledger.engine import Database
    from hands_app.worker.configuration import Configuration
    from tests.integration.hands.examples import Ledger

DETAILS = timedelta(hours=12)
DAY = timedelta(days=1)
MANY = 1000
BROKE = failed("EXCEPTION", "it broke")


def finished(ledger: Ledger, *, minutes: float = 10, told: bool = True) -> Execute:
    """Give a command that ran to its end, with some output; its updates were published."""
    command = execute(arguments={"text": "hello"}, minutes=minutes)
    claim = ledger.started(command)
    ledger.work.output(claim, Written(0, b"words"))
    ledger.work.finish(claim, DONE)
    if told:
        ledger.outbox.mark_published(ledger.updates(command))
    return command


def prune(ledger: Ledger, limit: int = MANY) -> Pruned:
    """Prune once."""
    return SqlRetention(ledger.database, details=DETAILS).prune(limit)


def count(database: Database, table: str) -> int:
    """Count the rows of a table."""
    with database.read() as connection:
        rows = select(func.count()).select_from(tables.metadata.tables[table])
        return int(connection.execute(rows).scalar_one())


def stands(ledger: Ledger, command: Execute) -> bool:
    """Whether the ledger knows an execution."""
    return ledger.kinds(command) != ["unknown-execution"]


@poses("S8")
def test_an_hour_old_duplicate_starts_nothing_before_and_after_its_day(ledger: Ledger) -> None:
    """S8: known for a day beyond `not_after`; then gone, and a duplicate is too late."""
    command = finished(ledger)

    ledger.clock.ahead += timedelta(hours=1)
    assert prune(ledger).total == 0
    within = ledger.admit(command)
    ledger.clock.ahead += DAY - timedelta(hours=1) + timedelta(minutes=9)
    still = prune(ledger).removed, stands(ledger, command)
    ledger.clock.ahead += timedelta(minutes=2)
    gone = prune(ledger).removed, stands(ledger, command)
    after = ledger.admit(command)

    assert within is Admission.SAME
    assert still == (0, True)
    assert gone == (1, False)
    assert after is Admission.TOO_LATE
    assert ledger.claim(command) == []
    assert count(ledger.database, "hands_execution") == 0


@poses("S8")
def test_a_later_command_keeps_the_identity_longer(ledger: Ledger) -> None:
    """S8: the day begins with the last `not_after` that the ledger was told."""
    command = execute(minutes=10)
    claim = ledger.started(command)
    later = command.model_copy(update={"not_after": datetime.now(UTC) + timedelta(hours=2)})
    ledger.admit(later)
    ledger.work.finish(claim, DONE)
    ledger.outbox.mark_published(ledger.updates(command))

    ledger.clock.ahead += DAY + timedelta(hours=1)

    assert prune(ledger).removed == 0
    assert ledger.admit(command) is Admission.SAME


def test_details_go_first_and_the_result_stays(ledger: Ledger) -> None:
    """Output and request after hours; who asks for the result still gets it, word for word."""
    command = finished(ledger)
    before = ledger.commands.query(query(command))

    ledger.clock.ahead += DETAILS + timedelta(minutes=1)
    pruned = prune(ledger)

    assert pruned == Pruned(emptied=1, removed=0, hosts=0)
    assert ledger.commands.query(query(command)) == before
    assert pages(ledger.commands, command) == [Gap.EXPIRED]
    assert ledger.admit(command) is Admission.SAME
    with ledger.database.read() as connection:
        row = connection.execute(select(tables.execution)).one()
    assert (row.binding, row.arguments, row.origin, row.state) == (None, None, None, "COMPLETED")
    assert row.request_digest == command.request_digest
    assert prune(ledger).total == 0


@covers("R187")
@poses("C47", "S8")
def test_what_somebody_still_needs_stays(ledger: Ledger) -> None:
    """Running, waiting, UNKNOWN, untold or reconciled: no age takes it."""
    running, untold = execute(), finished(ledger, told=False)
    ledger.started(running)
    waiting, doubtful, verified = execute(), execute(), execute()
    for each in (doubtful, verified):
        ledger.work.unconfirmed(ledger.started(each), BROKE)
    ledger.admit(waiting)
    reconciling.reconcile(ledger.database, evidence(verified))
    for each in (running, waiting, doubtful, verified):
        ledger.outbox.mark_published(ledger.updates(each))

    ledger.clock.ahead += DAY * 30
    pruned = prune(ledger)

    assert pruned.removed == 0
    assert pruned.emptied == 2
    assert all(stands(ledger, each) for each in (running, untold, waiting, doubtful, verified))


@poses("S8")
def test_graves_and_tombstones_go_after_their_day(ledger: Ledger) -> None:
    """What stands for a purged execution, or a cancel that came first, ends too."""
    purged, early = finished(ledger), execute()
    purging.purge(ledger.database, [purged.execution_id])
    ledger.commands.cancel(cancel(early))
    ledger.outbox.mark_published(ledger.updates(early))

    early_on = prune(ledger).removed
    ledger.clock.ahead += DAY + timedelta(minutes=11)
    later = prune(ledger).removed

    assert (early_on, later) == (0, 2)
    assert ledger.admit(purged) is Admission.TOO_LATE
    assert ledger.admit(early) is Admission.TOO_LATE


def test_batches_are_bounded_and_several_hosts_share_them(ledger: Ledger) -> None:
    """Each takes at most what it was told to; nothing is counted twice."""
    for _ in range(10):
        finished(ledger)
    ledger.clock.ahead += DAY + timedelta(minutes=11)
    taken: list[Pruned] = []

    first = prune(ledger, 3)
    others = [threading.Thread(target=lambda: taken.append(prune(ledger, MANY))) for _ in range(4)]
    for each in others:
        each.start()
    for each in others:
        each.join()
    taken.append(prune(ledger, MANY))

    assert (first.emptied, first.removed) == (3, 3)
    assert first.removed + sum(each.removed for each in taken) == 10
    assert count(ledger.database, "hands_execution_event") == 0


def test_rows_of_ended_hosts_go_too(ledger: Ledger) -> None:
    """A host that ended lives on for a day; a living one stays."""
    ended = ledger.enroll()
    ledger.hosts.close(ended)

    ledger.clock.ahead += DAY + timedelta(minutes=1)

    assert prune(ledger).hosts == 1
    assert count(ledger.database, "hands_host") == 1


def test_every_host_prunes_by_itself(configuration: Configuration, mailbox: Mailbox) -> None:
    """Nobody has to think of it."""

    @remote(effect="once")
    def talk(context: ToolContext) -> str:
        context.output("words")
        return "done"

    hasty = replace(configuration, details_seconds=0.001, prune_seconds=0.05)
    with serving(hasty, mailbox, talk) as host:
        command = call(host, talk)
        mailbox.result(command)
        until(lambda: count(host._database, "hands_output_chunk") == 0, "the output is gone")
