"""When a host counts as dead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hands_app.machine.takeover import APART, DeathWatch, Look, resume_at
from hands_app.worker.keeper import LOOK_SECONDS
from tests.covers import poses

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RENEWAL = timedelta(seconds=10)


def at(seconds: float) -> datetime:
    """Return a moment of the test."""
    return NOW + timedelta(seconds=seconds)


def gone(renewed: float = 0) -> list[Look]:
    """See one host without its lock, last renewed at a moment."""
    return [Look("host", gone=True, renewed_at=at(renewed))]


@poses("S4")
def test_a_host_is_dead_after_two_looks_half_a_second_apart() -> None:
    """S4: one look proves nothing."""
    watch = DeathWatch()

    assert watch.look(gone(), at(0)) == []
    assert watch.look(gone(), at(0.4)) == []
    assert watch.look(gone(), at(0.5)) == ["host"]


@poses("S4")
def test_a_renewal_between_the_looks_proves_life() -> None:
    """S4: after a database restart the owner renews, and nobody takes it over."""
    watch = DeathWatch()

    watch.look(gone(renewed=0), at(1))

    assert watch.look(gone(renewed=1.2), at(2)) == []
    assert watch.look(gone(renewed=1.2), at(2.6)) == ["host"]


@poses("S4")
def test_a_lock_that_is_held_again_proves_life() -> None:
    """S4: the count of looks begins anew."""
    watch = DeathWatch()

    watch.look(gone(), at(0))
    watch.look([Look("host", gone=False, renewed_at=at(0))], at(0.5))

    assert watch.look(gone(), at(1)) == []


@poses("S4")
def test_a_broken_connection_begins_anew() -> None:
    """S4: both looks come from one unbroken connection."""
    watch = DeathWatch()

    watch.look(gone(), at(0))
    watch.forget()

    assert watch.look(gone(), at(1)) == []


@poses("S4")
def test_after_a_gap_owners_renew_first() -> None:
    """S4: no scan for 5 s means that nobody takes over for one renewal period."""
    resume = resume_at(at(0), None, at(5.1), RENEWAL)

    assert resume == at(15.1)
    assert resume_at(at(6), resume, at(7), RENEWAL) == at(15.1)
    assert resume_at(at(15), resume, at(15.2), RENEWAL) is None
    assert resume_at(at(0), None, at(4.9), RENEWAL) is None


@poses("S4")
def test_a_living_host_retakes_its_lock_before_it_may_be_called_dead() -> None:
    """S4: a restarted server drops all locks; two looks must not fit between two of the owner's."""
    assert timedelta(seconds=2 * LOOK_SECONDS) <= APART
