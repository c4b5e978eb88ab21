"""Pause and resume: nothing advances in between, and what the Turn waited for still holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sessions_app.contract.backend import Committed, Finish, HandOver, Park
from sessions_app.contract.errors import Conflict
from sessions_app.contract.status import TurnStatus, WaitReason
from sessions_app.models import Thread, Turn
from sessions_app.store import admission, clock, controls
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.integration.controls.scenes import held, running, submitted, waiting
from tests.integration.runtime.world import everything
from tests.stores import AGENT, FRAME, Store, host, tool_intent


def nobody_claims(store: Store) -> bool:
    """Whether there is nothing to do for a host."""
    return store.backend.claim(store.host, limit=1) == []


@covers("R047")
@poses("S2")
def test_a_turn_that_has_not_begun_is_paused_where_it_stands(store: Store) -> None:
    """Also behind the head, which goes on; then it blocks what is behind it."""
    subject = submitted(store)
    second, third = (store.submit(subject.key, name) for name in ("r2", "r3"))

    receipt = controls.pause(subject.key, second, "p1")
    store.finish(subject.claimed())

    assert receipt.outcome == "paused"
    assert nobody_claims(store)
    controls.cancel(subject.key, second, "c1")
    assert store.claim().turn_id == third


@covers("R034", "R051")
def test_a_pause_blocks_its_own_thread_only(store: Store) -> None:
    """Later Turns of the Thread stay queued; another Thread of the Session runs."""
    subject = waiting(store)
    store.submit(subject.key, "behind")
    aside = subject.key.session.thread("aside")
    admission.create_thread(aside, AGENT)
    other = store.submit(aside, "aside")

    subject.pause()

    assert store.claim().turn_id == other
    assert nobody_claims(store)


@covers("R048")
@pytest.mark.parametrize("seen", [-1, +1])
def test_resume_of_another_revision_names_the_current_one(store: Store, seen: int) -> None:
    """Nothing is written, and the request id stays free."""
    subject = waiting(store)
    subject.pause()
    revision, before = subject.row.revision, everything()

    with pytest.raises(Conflict, match=f"at revision {revision}, not {revision + seen}"):
        subject.resume(revision=revision + seen)

    assert everything() == before
    assert subject.resume().outcome == "waiting"


@covers("R048")
def test_a_second_pause_needs_another_resume(store: Store) -> None:
    """The revision of the first PAUSED state does not lift the second one."""
    subject = waiting(store)
    subject.pause("p1")
    first = subject.row.revision
    subject.resume("one")
    subject.pause("p2")

    with pytest.raises(Conflict):
        subject.resume("two", revision=first)

    assert subject.row.status == TurnStatus.PAUSED


def test_a_pause_that_is_asked_for_twice_is_one_pause(store: Store) -> None:
    """The second request is admitted and changes nothing; the first one stays named."""
    subject = running(store)
    subject.pause("p1")
    revision = subject.row.revision

    second = subject.pause("p2")

    assert second.outcome == "pausing"
    assert (subject.row.revision, subject.row.pause_request) == (revision, "p1")


@covers("R052")
def test_resume_gives_a_turn_that_has_not_begun_its_place_back(store: Store) -> None:
    """It is QUEUED and the next to run."""
    subject = submitted(store)
    store.submit(subject.key, "behind")
    subject.pause()

    assert subject.resume().outcome == "queued"
    assert store.claim().turn_id == subject.turn_id


@covers("R052")
def test_resume_leaves_an_open_call_open(store: Store) -> None:
    """The Turn waits for its result as before and nobody claims it."""
    subject = waiting(store)
    subject.pause()

    subject.resume()

    assert (subject.row.status, subject.row.reason) == (TurnStatus.WAITING, WaitReason.TOOL)
    assert nobody_claims(store)


@covers("R052")
def test_resume_leaves_a_question_open(store: Store) -> None:
    """An approval that nobody gave still holds the Turn."""
    subject = submitted(store)
    gated = tool_intent(route="manual", start=False)
    store.answered(subject.claimed(), gated)
    store.commit(subject.claim, Park())
    subject.pause()

    subject.resume()

    assert (subject.row.status, subject.row.reason) == (TurnStatus.WAITING, WaitReason.INTERACTION)
    assert nobody_claims(store)


@covers("R052")
def test_resume_leaves_an_unknown_effect_unknown(store: Store) -> None:
    """No resume stands for evidence (law 7)."""
    subject = submitted(store)
    first = store.join(host())
    store.answered(store.claim(first), tool_intent("once"))
    store.die(first)
    assert nobody_claims(store)
    subject.pause()

    subject.resume()

    assert subject.row.reason == WaitReason.UNKNOWN
    assert nobody_claims(store)


@covers("R052", "R054")
@poses("S2")
def test_resume_leaves_a_backoff_in_force(store: Store) -> None:
    """Paused it is not tried again, whatever time passes; resumed early it waits for its time."""
    subject = submitted(store)
    subject.fails()
    planned = subject.row.retry_at
    subject.pause()

    with clock.offset(timedelta(hours=1)):
        assert nobody_claims(store)
    subject.resume()

    assert (subject.row.reason, subject.row.retry_at) == (WaitReason.BACKOFF, planned)
    assert Thread.objects.get().wake_at == planned
    with clock.offset(timedelta(seconds=2)):
        assert subject.claimed().turn_id == subject.turn_id


@covers("R052")
def test_resume_leaves_a_backoff_in_force_beside_an_open_call(store: Store) -> None:
    """The next try is what it waits for first, whatever else is open."""
    subject = submitted(store)
    store.answered(subject.claimed(), tool_intent(route="hands", start=False))
    store.fail(subject.claim)
    subject.pause()

    subject.resume()

    assert subject.row.reason == WaitReason.BACKOFF
    assert Thread.objects.get().wake_at == subject.row.retry_at


@covers("R054")
def test_a_pause_beats_the_recovery_of_its_owner(store: Store) -> None:
    """The owner fails after the pause was asked for: PAUSED, not tried again until resumed."""
    subject = running(store)
    subject.pause()

    store.fail(subject.claim)

    turn = subject.row
    assert (turn.status, turn.failures) == (TurnStatus.PAUSED, 1)
    with clock.offset(timedelta(minutes=1)):
        assert nobody_claims(store)
    subject.resume()
    assert subject.row.reason == WaitReason.BACKOFF


@covers("R042")
@poses("S6")
def test_completion_may_beat_a_pause(store: Store) -> None:
    """The owner had nothing left to do; who paused looks again and finds COMPLETED."""
    subject = running(store)
    assert subject.pause().outcome == "pausing"

    store.finish(subject.claim)

    assert subject.row.status == TurnStatus.COMPLETED


@covers("R047")
@poses("S6")
@pytest.mark.parametrize("end", [Park(), HandOver(reason="drain"), HandOver(reason="incompatible")])
def test_an_owner_that_gives_the_turn_back_has_stopped(store: Store, end: Park | HandOver) -> None:
    """However it leaves, the Turn is PAUSED and goes on after a resume."""
    subject = running(store)
    subject.pause()

    store.commit(subject.claim, end)

    assert subject.row.status == TurnStatus.PAUSED
    assert nobody_claims(store)
    subject.resume()
    other = store.join(host("build-2"))
    with clock.offset(timedelta(seconds=2)):
        assert store.claim(other).turn_id == subject.turn_id


@poses("S5")
def test_the_death_of_its_owner_stops_a_turn_that_was_pausing(store: Store) -> None:
    """No call is active any more; nothing runs before the resume, and the death is counted."""
    subject = submitted(store)
    first = store.join(host())
    store.claim(first)
    subject.pause()

    store.die(first)
    assert nobody_claims(store)

    assert (subject.row.status, subject.row.deaths) == (TurnStatus.PAUSED, 1)
    subject.resume()
    assert subject.claimed().turn_id == subject.turn_id


@poses("S5")
def test_a_suspect_stays_one_over_pause_and_resume(store: Store) -> None:
    """Only an operator's release lets it run again."""
    subject = submitted(store)
    subject.fails()
    Turn.objects.update(suspect=True, reason=WaitReason.SUSPECT, deaths=5)
    subject.pause()

    subject.resume()

    assert (subject.row.reason, subject.row.deaths) == (WaitReason.SUSPECT, 5)
    with clock.offset(timedelta(days=1)):
        assert nobody_claims(store)


@poses("S5")
def test_a_turn_that_nobody_owns_is_paused_at_once(store: Store) -> None:
    """RUNNING by name, held after two deaths: there is no boundary to wait for."""
    subject = held(store)

    assert subject.pause().outcome == "paused"

    with clock.offset(timedelta(minutes=1)):
        assert nobody_claims(store)
        subject.resume()
        assert subject.claimed().suspect


def test_a_finish_of_a_pausing_turn_with_an_open_steer_stops_instead(store: Store) -> None:
    """The steer leads on, and the next boundary is where it stops (S12)."""
    subject = running(store)
    subject.steer()
    subject.pause()

    answer = store.commit(subject.claim, Finish(result={"parts": []}), frame=FRAME)

    assert isinstance(answer, Committed)
    assert (answer.went_on, answer.pause) == (True, True)
    store.commit(subject.claim, Park())
    assert subject.row.status == TurnStatus.PAUSED
    assert check().is_clean
