"""Who is taken for dead, and when nobody is (S4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.machine.takeover import AFTER_BREAK, APART
from hands_app.worker.live import LiveClaims
from hands_app.worker.sweeper import Sweeper
from tests.covers import poses
from tests.integration.hands.examples import execute

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.integration.hands.examples import Ledger


@dataclass
class Locks:
    """Stands for the presence of a sweeper: every lock but its own looks free."""

    proves_death: bool = False
    taken: int = 1
    held: set[str] = field(default_factory=set)

    def are_gone(self, presences: Collection[str]) -> frozenset[str]:
        """Return those that nobody holds."""
        return frozenset(presences) - self.held


@dataclass
class Watching:
    """A sweeper over the ledger, whose clock the test moves."""

    ledger: Ledger
    locks: Locks

    def __post_init__(self) -> None:
        """Enroll the sweeper's own host."""
        keeper: Any = SimpleNamespace(host_id=self.ledger.enroll())
        locks: Any = self.locks
        self.sweeper = Sweeper(
            self.ledger.hosts,
            locks,
            self.ledger.orphans,
            keeper,
            LiveClaims(),
            tell=lambda _: None,
            wake=lambda: None,
        )

    def look(self, after: timedelta = timedelta(0)) -> None:
        """Sweep once, so much later."""
        self.ledger.clock.ahead += after
        self.sweeper.sweep()


@pytest.fixture
def watching(ledger: Ledger) -> Watching:
    """Give a sweeper on a server's locks."""
    return Watching(ledger, Locks())


@poses("S4")
def test_two_looks_find_a_dead_host_and_its_work(ledger: Ledger, watching: Watching) -> None:
    """S4: without waiting for the lease, and not at the first look."""
    command = execute()
    ledger.started(command)

    watching.look()
    first = ledger.state(command)
    watching.look(APART)

    assert (first, ledger.state(command)) == ("STARTED", "UNKNOWN")


@poses("S4")
def test_after_a_restart_of_the_server_owners_take_their_locks_first(
    ledger: Ledger, watching: Watching
) -> None:
    """S4: the sweeper's own lock went too, so a free lock says nothing for a while."""
    command = execute()
    ledger.started(command)
    watching.look()
    watching.locks.taken += 1

    for _ in range(3):
        watching.look(APART)
    during = ledger.state(command)
    watching.look(AFTER_BREAK)
    watching.look(APART)

    assert (during, ledger.state(command)) == ("STARTED", "UNKNOWN")


@poses("S4")
@pytest.mark.parametrize("renews", [True, False])
def test_a_lock_taken_again_or_a_renewal_makes_the_first_look_worthless(
    ledger: Ledger, watching: Watching, renews: bool
) -> None:
    """S4: an owner whose connection alone broke is back before the second look, and lives."""
    command = execute()
    ledger.started(command)
    watching.look()

    if renews:
        ledger.hosts.renew(ledger.host_id, [])
    else:
        watching.locks.held.add("none")
    watching.look(APART)

    assert ledger.state(command) == "STARTED"


@poses("S4")
def test_a_lock_of_the_kernel_proves_death_though_the_own_was_taken_anew(ledger: Ledger) -> None:
    """S4: on SQLite no server can drop the locks of the living."""
    watching = Watching(ledger, Locks(proves_death=True))
    command = execute()
    ledger.started(command)
    watching.look()
    watching.locks.taken += 1

    watching.look()
    watching.look(APART)

    assert ledger.state(command) == "UNKNOWN"
