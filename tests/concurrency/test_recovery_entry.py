"""The entries of recovery, called as often and as much at once as anybody likes (C41)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from django.db import connections

from sessions_app.contract.status import RunStatus, TurnStatus
from sessions_app.models import Run, Thread
from sessions_app.store.invariants import check
from tests.covers import covers, poses
from tests.stores import Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sessions_app.contract.backend import Claim, LivingHost

TIMES = 20


def recover(store: Store, dead: Sequence[LivingHost] = ()) -> list[Claim]:
    """What a starting or idle process does: join, scan, look for the dead, claim."""
    try:
        me = store.join(host())
        store.backend.scan(me, own=True)
        store.backend.sweep(me, dead)
        return store.backend.claim(me, limit=4)
    finally:
        connections.close_all()


def everybody(work: Callable[[], list[Claim]]) -> list[Claim]:
    """Have many do it at once; gives what they claimed."""
    with ThreadPoolExecutor(8) as pool:
        done = [pool.submit(work) for _ in range(TIMES)]
    return [claim for each in done for claim in each.result()]


@covers("R164")
@poses("C41")
def test_recovery_in_parallel_takes_nothing_that_lives(store: Store) -> None:
    """Twenty at once on a live Turn in mid-tool: lease, Run and effect are left alone.

    Each of them took its owner for dead before that renewed.
    """
    turn_id = store.submit(store.session())
    owner = store.join(host())
    claim = store.claim(owner)
    store.answered(claim, tool_intent("once"))
    before = Thread.objects.values_list("lease_token", "lease_host").get()
    dead = [living for living in store.backend.living() if living.host_id == owner.host_id]
    store.backend.renew(owner.host_id, [(claim.thread_pk, claim.token)])

    claims = everybody(lambda: recover(store, dead))

    assert claims == []
    assert Thread.objects.values_list("lease_token", "lease_host").get() == before
    assert Run.objects.get(turn=turn_id).status == RunStatus.OPEN
    done = {"execution_id": store.call(turn_id).id, "state": "COMPLETED", "content": 1}
    store.commit(claim, results=(done,))
    assert (store.call(turn_id).state, store.call(turn_id).attempts) == ("COMPLETED", 1)


@covers("R164")
@poses("C41")
def test_recovery_in_parallel_takes_a_dead_turn_once(store: Store) -> None:
    """Of twenty that find the owner dead exactly one goes on; there is one more Run."""
    turn_id = store.submit(store.session())
    owner = store.join(host())
    store.claim(owner)
    store.die(owner)

    claims = everybody(lambda: recover(store))

    (winner,) = claims
    store.finish(winner)
    assert store.turn(turn_id).status == TurnStatus.COMPLETED
    assert list(Run.objects.order_by("ordinal").values_list("status", flat=True)) == [
        RunStatus.LOST,
        RunStatus.COMPLETED,
    ]
    assert check().is_clean
