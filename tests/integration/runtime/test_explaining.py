"""Explain over real rows: every cause from a real situation, with actions that change it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.ids import new_id
from sessions_app.contract.errors import Conflict, CursorExpired, Invalid, NotFound
from sessions_app.contract.explanation import CONTROLS, OUTSIDE, Verb
from sessions_app.contract.paging import Cursor
from sessions_app.machine.explain import Cause
from sessions_app.management.verbs import VERBS
from sessions_app.models import AuditEntry, Host, Session, StoreState
from sessions_app.runtime import TurnHandle
from sessions_app.store import clock, hosts, reads
from tests.covers import covers, poses
from tests.explained import act, changes
from tests.integration.runtime.situations import (
    KEY,
    SITUATIONS,
    dies,
    gated,
    on_hands,
    parks,
    result_arrives,
    scanned,
    signalled,
)
from tests.stores import host

if TYPE_CHECKING:
    from sessions_app.runtime import SessionHandle
    from tests.integration.runtime.situations import Bring
    from tests.stores import Store

ELSEWHERE = {Cause.BEHIND_HEAD, Cause.EVERY_SLOT_BUSY, Cause.HOST_SILENT}
"""Causes that take more than one Turn or host, or time: each has a test of its own here."""


@covers("R262")
@pytest.mark.parametrize(("cause", "bring"), SITUATIONS.items(), ids=map(str, SITUATIONS))
def test_each_cause_is_read_from_a_real_situation(
    session: SessionHandle, store: Store, cause: Cause, bring: Bring
) -> None:
    """The store, brought there by its own commits, gives the cause, the queue and the last Run.

    Each control among the next actions changes what is said; what has no control names the fact
    that it waits for.
    """
    turn = session.submit("r1", "hello")
    bring(store, turn)

    said = turn.explain()

    assert said.cause == cause
    assert said == reads.explain(turn.turn_id)
    assert [place.turn_id for place in said.queue] == [turn.turn_id] * (not ended(cause))
    assert said.waits_for or ended(cause) or cause == Cause.STRANDED
    assert said.next_actions
    for action in changes(said)[:1]:
        act(turn, action)
        assert turn.explain() != said


def ended(cause: Cause) -> bool:
    """Whether nothing more becomes of it."""
    return cause in {Cause.COMPLETED, Cause.FAILED, Cause.CANCELLED}


def test_every_cause_has_a_real_situation() -> None:
    """No word of the list is without one."""
    assert set(SITUATIONS) | ELSEWHERE == set(Cause)


def test_every_action_is_something_that_can_be_done() -> None:
    """A verb of the command line; those that change a Turn are methods of its handle as well."""
    assert {verb for verb in Verb if verb not in OUTSIDE} <= set(VERBS)
    assert [verb for verb in CONTROLS if not callable(getattr(TurnHandle, verb))] == []


@covers("R262")
def test_a_stopped_run_is_not_a_finished_turn(session: SessionHandle, store: Store) -> None:
    """The answer begins with status, interactions, queue and how the last Run ended."""
    turn = session.submit("r1", "hello")
    later = session.submit("r2", "hello")
    claim = parks(store, gated())

    said = turn.explain()

    assert said.status == "WAITING"
    assert [place.turn_id for place in said.queue] == [turn.turn_id, later.turn_id]
    assert len(said.interactions) == 1
    assert said.last_run is not None
    assert (said.last_run.run_id, said.last_run.status) == (claim.run_id, "SUSPENDED")
    assert said.last_run.ended_at is not None


@covers("R263")
def test_a_turn_behind_a_waiting_head_says_how_to_get_by(
    session: SessionHandle, store: Store
) -> None:
    """Which Turn is first and what it waits for: resolve or cancel it, or use another Thread."""
    head = session.submit("r1", "hello")
    session.submit("r2", "hello")
    last = session.submit("r3", "hello")
    store.fail(store.claim())

    said = last.explain()

    assert (said.cause, said.ahead) == ("behind-head", 2)
    assert said.facts == {
        "head": head.turn_id,
        "headStatus": "WAITING",
        "headReason": "backoff",
        "ahead": 2,
    }
    done = {(action.verb, action.target) for action in said.next_actions}
    assert {(Verb.EXPLAIN, head.turn_id), (Verb.CANCEL, head.turn_id)} <= done
    assert (Verb.SUBMIT, "") in done
    head.cancel("c1")
    assert last.explain().facts["ahead"] == 1


@covers("R264")
def test_busy_hosts_are_counted(session: SessionHandle, store: Store) -> None:
    """Capacity: every slot of every fitting brain is taken, by so many Threads each."""
    more = [store.session(f"more-{number}") for number in range(8)]
    turns = [session.submit("r1", "hello").turn_id, *map(store.submit, more)]
    assert len(store.backend.claim(store.host, limit=8)) == 8

    said = [reads.explain(turn) for turn in turns]

    (left,) = [one for one in said if one.cause != "running"]
    assert left.cause == "every-slot-busy"
    assert (left.facts["hosts"], left.facts["slots"]) == ({store.host.host_id: 8}, 8)


@covers("R264")
def test_a_brain_that_does_not_reach_storage_is_named(session: SessionHandle, store: Store) -> None:
    """It has the definition and is not known to be dead; nothing was heard of it for a lease."""
    turn = session.submit("r1", "hello")
    seen = Host.objects.get(pk=store.host.host_id).seen_at

    with clock.offset(timedelta(seconds=31)):
        said = turn.explain()

    assert said.cause == "host-silent"
    assert said.facts == {"silentHosts": {store.host.host_id: seen.isoformat()}}
    assert Verb.DOCTOR in {action.verb for action in said.next_actions}


@covers("R264")
def test_what_living_brains_have_instead_is_named(session: SessionHandle, store: Store) -> None:
    """Nobody resolves the pinned definition; a brain that drains counts as none."""
    turn = session.submit("r1", "hello")
    hosts.leave(store.host.host_id)
    nobody = turn.explain()

    store.join(store.host)
    hosts.draining(store.host.host_id)
    drains = turn.explain()

    assert (nobody.cause, drains.cause) == ("no-host", "no-host")
    assert "none is alive" in nobody.text
    assert drains.facts["drainingHosts"] == [store.host.host_id]
    assert {Verb.START, Verb.VERSIONS, Verb.REPIN} <= {each.verb for each in drains.next_actions}


@covers("R265")
def test_an_approval_is_asked_for_and_answered(session: SessionHandle, store: Store) -> None:
    """The interaction is named with its call; an answer makes the Turn ready."""
    turn = session.submit("r1", "hello")
    parks(store, gated())

    said = turn.explain()
    (asked,) = turn.pending_interactions().items
    turn.respond("a1", asked.interaction_id, response=True)

    assert said.cause == "waiting-for-interaction"
    assert said.facts["interactions"] == [asked.interaction_id]
    assert said.facts["executionId"] == asked.execution_id
    assert said.next_actions[0].target == asked.interaction_id
    assert turn.explain().cause in {"ready", "no-scan"}


@covers("R265")
def test_an_automatic_result_needs_nobody(session: SessionHandle, store: Store) -> None:
    """It comes by its executor's path: nothing to answer, only to wait or to look."""
    turn = session.submit("r1", "hello")
    parks(store, on_hands())

    said = turn.explain()
    execution = result_arrives(store.call(turn.turn_id))

    assert said.waits_for == f"the result of {execution}"
    assert Verb.RESPOND not in {action.verb for action in said.next_actions}
    assert turn.explain().cause in {"ready", "no-scan"}


@covers("R266")
def test_a_paused_turn_with_a_result_is_resumed_at_its_revision(
    session: SessionHandle, store: Store
) -> None:
    """The result is recorded and advances nothing; the action carries the revision it needs."""
    turn = session.submit("r1", "hello")
    parks(store, on_hands())
    turn.pause("p1")
    execution = result_arrives(store.call(turn.turn_id))

    said = turn.explain()

    assert (said.cause, said.facts["resultsArrived"]) == ("paused", [execution])
    assert said.next_actions[0].verb == Verb.RESUME
    turn.resume("p2", int(str(said.facts["revision"])))
    assert turn.explain().cause in {"ready", "no-scan"}


@covers("R267")
def test_a_backoff_is_shortened_by_nobody(session: SessionHandle, store: Store) -> None:
    """The next try is told; neither a steer nor another host nor a pause changes it."""
    turn = session.submit("r1", "hello")
    store.fail(store.claim())
    before = turn.explain()

    turn.steer("s1", "hurry")
    store.join(host("build-2"))
    turn.pause("p1")
    turn.resume("p2", turn.status().revision)

    said = turn.explain()
    recovery = turn.status().recovery
    assert recovery is not None
    assert recovery.next_try_at is not None
    assert (said.cause, said.facts) == (before.cause, before.facts)
    assert said.facts["nextTryAt"] == said.waits_for == recovery.next_try_at.isoformat()


def test_a_signal_is_named_by_its_key(session: SessionHandle, store: Store) -> None:
    """What is waited for, since when and until when; the signal makes the Turn ready."""
    turn = session.submit("r1", "hello")
    parks(store, signalled())

    said = turn.explain()
    turn.signal("s1", KEY, {"paid": True})

    assert [wait["key"] for wait in said.facts["waits"]] == [KEY]  # type: ignore[union-attr, call-overload, index]  # JSON
    assert said.next_actions[0].text == f"signal {KEY}"
    assert turn.explain().cause in {"ready", "no-scan"}


@poses("S5")
def test_a_suspect_is_released_by_an_operator(session: SessionHandle, store: Store) -> None:
    """Five processes ended while they ran it: held until somebody says why it may go on."""
    turn = session.submit("r1", "hello")
    dies(store, 5)

    said = turn.explain()
    receipt = turn.release("o1", "ann", "more memory")

    assert (said.cause, said.facts) == ("suspect", {"deaths": 5})
    assert turn.release("o1", "ann", "more memory") == receipt
    assert store.turn(turn.turn_id).deaths == 0
    assert AuditEntry.objects.get().action == "turn.release"
    scanned(store)
    store.claim()


def test_a_turn_that_is_not_held_is_not_released(session: SessionHandle, store: Store) -> None:
    """The state found is told; nothing is put on record and the request id stays free."""
    turn = session.submit("r1", "hello")

    with pytest.raises(Conflict, match="not held as a suspect"):
        turn.release("o1", "ann", "why not")

    assert not AuditEntry.objects.exists()
    turn.cancel("o1")


def test_lease_ends_by_the_clock_of_the_database(session: SessionHandle, store: Store) -> None:
    """Law 5: whether an owner is lost is asked of the database's time."""
    turn = session.submit("r1", "hello")
    store.claim()

    with clock.offset(timedelta(seconds=31)):
        later = turn.explain()

    assert turn.explain().cause == "running"
    assert later.cause == "owner-lost"
    assert later.facts["host"] == store.host.host_id


@covers("R269")
def test_a_lost_observer_connects_again_and_the_turn_needs_nothing(
    session: SessionHandle, store: Store
) -> None:
    """A cursor that can be followed, and each way in which one cannot, with what the observer does.

    The Turn goes on meanwhile.
    """
    turn = session.submit("r1", "hello")
    place = session.list_events(limit=1).next_cursor
    assert place is not None
    row = Session.objects.get()
    newest = Cursor(row.id, row.last_sequence, StoreState.objects.get().incarnation)
    states = {"behind": place, "current": newest.encode()}
    states["ahead"] = Cursor(row.id, 99, newest.incarnation).encode()
    states["other incarnation"] = Cursor(row.id, 1, "another").encode()

    said = {state: session.explain_cursor(cursor) for state, cursor in states.items()}

    assert {state: each.state for state, each in said.items()} == {each: each for each in said}
    for state, each in said.items():
        assert ("snapshot" in each.next_actions[0].text) == (state not in {"behind", "current"})
        assert "the turns go on" in each.next_actions[0].text
    Session.objects.update(pruned_through=2)
    assert session.explain_cursor(place).state == "pruned"
    with pytest.raises(CursorExpired):
        session.list_events(place)
    store.finish(store.claim())
    assert turn.status().is_terminal


def test_a_place_in_another_timeline_is_refused(session: SessionHandle) -> None:
    """Text that is no cursor, and a cursor of another Session."""
    foreign = Cursor(new_id("ses_"), 1, "x").encode()

    for text in ("nonsense", foreign):
        with pytest.raises(Invalid):
            session.explain_cursor(text)


def test_unknown_turn_is_not_found(session: SessionHandle) -> None:
    """There is nothing to explain about what does not exist."""
    with pytest.raises(NotFound):
        reads.explain("turn_unknown")
