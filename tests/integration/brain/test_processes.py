"""Brains in real worker processes: killed, stopped, drained, and without a broker."""

from __future__ import annotations

import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psutil
import pytest
from django.db import connection

from sessions_app.contract.status import RunStatus, TurnStatus, WaitReason
from sessions_app.models import Host, Run, Thread, Turn
from tests.covers import poses
from tests.integration.brain.brains import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.integration.brain.farm import Farm

DEFAULTS = {"DURABLE_SCAN_SECONDS": "1", "DURABLE_RENEW_SECONDS": "10"}
SHORT_LEASE = {"DURABLE_LEASE_SECONDS": "3", "DURABLE_RENEW_SECONDS": "1"}


@poses("C26")
def test_law_4_a_zombie_that_wakes_up_changes_nothing(farm: Farm) -> None:
    """Stopped in a request, overtaken at the lease's end, woken: its outcome is refused (C26)."""
    farm.hold()
    zombie = farm.worker(env=SHORT_LEASE)
    turn_id = farm.submit("hold once")
    farm.hears("model:2")
    farm.freeze(zombie)

    farm.worker(env=SHORT_LEASE)
    until(lambda: Run.objects.filter(turn=turn_id).count() == 2)
    farm.let_go()
    turn = farm.ended(turn_id)
    farm.thaw(zombie)

    until(lambda: "stopped and wrote nothing more" in farm.site.log(zombie))
    assert turn.status == TurnStatus.COMPLETED
    runs = Run.objects.filter(turn=turn_id).order_by("ordinal")
    assert [run.status for run in runs] == [RunStatus.LOST, RunStatus.COMPLETED]
    assert Turn.objects.get(pk=turn_id).revision == turn.revision


@poses("S4")
def test_s4_a_dead_owner_is_found_within_two_seconds(farm: Farm) -> None:
    """With default leases, a second Brain takes over as soon as the first one's lock is free."""
    farm.hold()
    first = farm.worker(env=DEFAULTS)
    turn_id = farm.submit("hold say")
    farm.hears("model:2")
    farm.worker(env=DEFAULTS)

    farm.site.kill(first)
    killed = time.monotonic()

    until(lambda: Run.objects.filter(turn=turn_id).count() == 2)
    assert time.monotonic() - killed < 2.0
    farm.let_go()
    assert farm.ended(turn_id).takeovers == 1
    assert Host.objects.get(pid=first.pid).lost_at is not None


@poses("C46", "C41")
def test_c41_a_living_owner_is_never_taken_over(farm: Farm) -> None:
    """However many Brains sweep, work longer than a lease stays with its living owner (C46)."""
    farm.hold()
    farm.worker(env=SHORT_LEASE)
    turn_id = farm.submit("hold say")
    farm.hears("model:2")
    farm.worker(env=SHORT_LEASE)

    began = _expiry()
    until(lambda: (_expiry() - began).total_seconds() > 4)
    farm.let_go()

    assert farm.ended(turn_id).takeovers == 0
    assert Run.objects.filter(turn=turn_id).count() == 1


@poses("S24")
@pytest.mark.parametrize("pool", ["threads", "solo", "prefork"])
def test_s24_a_worker_that_is_told_to_end_charges_nothing(farm: Farm, pool: str) -> None:
    """SIGTERM in the middle of a model call: handed over, and completed by the next worker."""
    farm.hold()
    more = ("-c", "1") if pool == "prefork" else ()
    first = farm.worker(pool, *more, env={"DURABLE_DRAIN_SECONDS": "0.5"})
    turn_id = farm.submit("hold say")
    farm.hears("model:2")

    assert farm.stop(first) == 0, farm.site.log(first)

    turn = Turn.objects.get(pk=turn_id)
    assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.HANDED_OVER)
    assert (turn.failures, turn.deaths, turn.takeovers) == (0, 0, 0)
    assert Host.objects.exclude(hostname="here").get().stopped_at is not None
    farm.let_go()
    farm.worker()
    assert farm.ended(turn_id).status == TurnStatus.COMPLETED


@poses("S15")
def test_s15_a_process_whose_loop_froze_ends_and_another_goes_on(farm: Farm) -> None:
    """It renews nothing more and leaves; its Turn is taken over."""
    hang = f"brain.model.before_request=hang:{farm.folder}/never"
    frozen = farm.site.start(("-m", "tests.integration.brain.frozen"), env={"DURABLE_FAULTS": hang})
    until(lambda: Host.objects.count() == 1)
    turn_id = farm.submit("say")

    assert frozen.wait(30) == 70, farm.site.log(frozen)

    farm.worker()
    assert farm.ended(turn_id).takeovers == 1


def test_law_7_a_kill_in_a_once_tool_ends_unknown(farm: Farm) -> None:
    """After the effect and before its record: never repeated, held for evidence."""
    first = farm.worker(env={"DURABLE_FAULTS": "brain.tool.after_effect=kill"})
    turn_id = farm.submit("once say")
    first.wait(30)

    farm.worker()

    until(lambda: Turn.objects.filter(pk=turn_id, reason=WaitReason.UNKNOWN).exists())
    assert farm.said("once:2") == 1


@pytest.mark.parametrize(
    ("point", "requests"),
    [
        ("brain.model.before_request", 2),
        ("brain.model.after_outcome", 3),
        ("brain.outcome.after_commit", 2),
        ("brain.tool.after_effect", 2),
        ("brain.finish.before_commit", 3),
    ],
)
def test_law_6_a_kill_repeats_no_stored_outcome(farm: Farm, point: str, requests: int) -> None:
    """Wherever the process dies, the Turn completes; a stored outcome is not asked for again."""
    once = f"{point}=kill-once:{farm.folder}/killed"
    first = farm.worker(env={"DURABLE_FAULTS": once})
    turn_id = farm.submit("note say")
    first.wait(30)

    farm.worker()

    assert farm.ended(turn_id).status == TurnStatus.COMPLETED
    assert farm.said("model:2") + farm.said("model:1") == requests
    assert farm.said("note:2") <= 2


def _expiry() -> datetime:
    expiry = Thread.objects.get().lease_expires_at
    assert expiry is not None
    return expiry


@contextmanager
def silent() -> Iterator[int]:
    """A port that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@contextmanager
def refused() -> Iterator[int]:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    yield port


@poses("S15")
@pytest.mark.parametrize("broker", [refused, silent])
def test_i44_turns_complete_without_a_broker(farm: Farm, broker: object) -> None:
    """Down or silent before the worker starts: submits are quick, and 20 Turns complete (S15)."""
    assert callable(broker)
    with broker() as port:
        farm.site.environment["REDIS_URL"] = f"redis://127.0.0.1:{port}/0"
        worker = farm.worker()
        names = [f"chat-{number}" for number in range(20)]

        took = farm.site.run("-m", "tests.integration.brain.outside", "note say", *names)

        assert float(took) < 10.0
        until(lambda: Turn.objects.filter(status=TurnStatus.COMPLETED).count() == 20, 60)
        assert farm.said("note:2") == 20
        assert farm.stop(worker) == 0, farm.site.log(worker)


def test_a_hint_starts_a_turn_before_any_scan(farm: Farm) -> None:
    """With scans a minute apart the hint alone brings the Turn to a worker at once."""
    worker = farm.worker(env={"DURABLE_SCAN_SECONDS": "60"})
    until(lambda: "ready." in farm.site.log(worker))

    farm.site.run("-m", "tests.integration.brain.outside", "say", "chat")

    until(lambda: Turn.objects.filter(status=TurnStatus.COMPLETED).exists(), 10)
    assert "sessions_app.advance" in farm.site.log(worker)


@poses("C9", "S22")
@pytest.mark.postgresql
def test_s22_pool_children_have_connections_of_their_own(farm: Farm) -> None:
    """Each child talks to the server over sockets of its own; the parent over none (C9)."""
    worker = farm.worker("prefork", "-c", "2", wait=2)
    for number in range(6):
        assert farm.ended(farm.submit("say", f"chat-{number}")).status == TurnStatus.COMPLETED
    server = connection.settings_dict["PORT"]
    parent = psutil.Process(worker.pid)

    ports = [_ports_to(server, child) for child in parent.children()]

    assert _ports_to(server, parent) == set()
    first, second = (held for held in ports if held)
    assert first.isdisjoint(second)


def _ports_to(server: object, process: psutil.Process) -> set[int]:
    """Local ports of this process's connections to the database server."""
    seen = process.net_connections(kind="tcp")
    remote = int(str(server))
    return {each.laddr[1] for each in seen if tuple(each.raddr)[1:] == (remote,)}
