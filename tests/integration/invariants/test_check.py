"""How a check looks: in one snapshot, without writing, in bounded space."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from django.db import Error, connection, transaction

from sessions_app.contract.errors import Conflict
from sessions_app.models import Session, Turn
from sessions_app.store.invariants import check
from sessions_app.store.invariants.checker import MOST
from sessions_app.store.invariants.snapshot import snapshot

if TYPE_CHECKING:
    from tests.integration.invariants.world import World

_ALONE = {20, 21, 23, 25, 26, 28, 30, 32, 33, 34, 35, 37, 38}
ASKED_FROM_THE_START = {*range(1, 10), *range(11, 19), *_ALONE}


def test_a_check_says_what_it_looked_at(world: World) -> None:
    """The report lists every invariant that was asked about, and those that were not, and why."""
    world.finished()

    report = check()

    assert set(report.checked) == ASKED_FROM_THE_START
    assert {skip.number for skip in report.skipped} == {27, 33, 41, 42}


def test_a_quiet_check_asks_about_waits_too(world: World) -> None:
    """At rest, I41 and I42 are asked about as well."""
    world.finished()

    assert {41, 42} <= set(check(quiet=True).checked)


def test_a_check_reads_one_moment(world: World) -> None:
    """What others commit meanwhile is not seen, and they need not wait for the check."""
    world.submitted("before")

    with snapshot():
        before = Turn.objects.count()
        other = threading.Thread(target=_elsewhere, args=(world,))
        other.start()
        other.join()
        during = Turn.objects.count()

    assert (before, during, Turn.objects.count()) == (1, 1, 2)


def _elsewhere(world: World) -> None:
    try:
        world.submitted("meanwhile")
    finally:
        connection.close()


def test_a_check_writes_nothing(world: World) -> None:
    """The snapshot refuses every write."""
    world.submitted()

    with pytest.raises(Error), snapshot():
        Session.objects.update(namespace="changed")

    assert not Session.objects.filter(namespace="changed").exists()


def test_the_connection_writes_again_after_a_check(world: World) -> None:
    """A check leaves the connection as it found it."""
    check()

    world.submitted()

    assert check().is_clean


def test_a_check_needs_a_snapshot_of_its_own(world: World) -> None:
    """Inside a transaction a check is refused."""
    world.submitted()

    with pytest.raises(Conflict, match="outside of atomic"), transaction.atomic():
        check()


def test_a_rule_that_is_broken_everywhere_stays_short(world: World) -> None:
    """A rule names so many breaches and then says that there are more."""
    for number in range(MOST + 5):
        world.submitted(f"request-{number}")
    Turn.objects.update(input_digest="sha256:0")

    lines = [str(breach) for breach in check().breaches if breach.number == 17]

    assert len(lines) == MOST + 1
    assert any("more than" in line for line in lines)


def test_a_breach_reads_as_one_line(world: World) -> None:
    """A breach names the invariant, the place and what is wrong there."""
    turn = world.submitted()
    Turn.objects.update(input_digest="sha256:0")

    lines = [str(breach) for breach in check().breaches if breach.number == 17]

    assert lines == [f"I17 {turn.id}: its input does not have the digest stored beside it"]
