"""What a claim reads does not grow with what is finished or due later (R169, S18, C23, C24)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from sessions_app.contract.backend import Park
from sessions_app.models import Thread
from sessions_app.store import claims, clock, sql
from tests.covers import covers, poses
from tests.stores import AGENT, Store, tool_intent

pytestmark = [pytest.mark.postgresql, pytest.mark.tampers]
MANY = 200_000
PARAMETERS: dict[str, str | int] = {
    "definition": AGENT.name,
    "version": AGENT.version,
    "state_version": AGENT.state_version,
    "after": "",
    "namespaces": claims.NAMESPACES_PER_WALK,
    "limit": 8,
    "build": '"build-1"',
    "suspects": True,
    "held": 2,
}


SESSIONS = """
INSERT INTO sessions_app_session (
    id, namespace, session_id, status, last_sequence, last_ordinal, pruned_through, created_at)
SELECT 'ses_' || n, 'acme', 's' || n, 'OPEN', 0, 0, 0, now() FROM generate_series(1, %s) n
"""
THREADS = """
INSERT INTO sessions_app_thread (
    id, session_id, thread_id, namespace, status, definition, version, state_version,
    journal_position, checkpoint_position, lease_epoch, wake_at, incompatible_builds,
    incompatible_count, definition_digest, created_at)
SELECT 'thr_' || n, 'ses_' || n, 'main', 'acme', 'OPEN', %s, %s, 1, 0, 0, 0,
       now() + n * interval '1 ms' + %s::interval, '[]', 0, '', now()
  FROM generate_series(1, %s) n
"""
QUEUED = """
INSERT INTO sessions_app_turn (
    id, session_id, thread_id, ordinal, request_id, input, input_digest, status, revision,
    failures, failed_for_good, deaths, suspect, takeovers, rounds, round_limit, requests,
    usage_complete, created_at)
SELECT 'turn_' || n, session_id, id, 1000 + n, 'q' || n, '{}', '', 'QUEUED', 1, 0, false, 0,
       false, 0, 0, 50, 0, true, now()
  FROM sessions_app_thread, generate_series(1, 5000) n WHERE id = %s
"""


def fill(number: int, wake_in: str | None) -> None:
    """Add Sessions with one Thread each, due after `wake_in`, or never."""
    with connection.cursor() as cursor:
        cursor.execute(SESSIONS, [number])
        # Else each Thread's reference may be checked by reading all Sessions, as planned for few.
        cursor.execute("ANALYZE sessions_app_session")
        cursor.execute(THREADS, [AGENT.name, AGENT.version, wake_in, number])


def plan_of(
    statement: str = "candidates", parameters: dict[str, str | int] = PARAMETERS
) -> tuple[int, int, str]:
    """Rows read, buffers touched, and the plan as text, of a statement that looks for work."""
    with connection.cursor() as cursor:
        cursor.execute(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql._text(statement, "postgresql"),
            parameters,
        )
        (found,) = cursor.fetchone()
    top = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
    rows = sum(
        (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        for node in _nodes(top)
        if node.get("Relation Name")
    )
    return int(rows), top["Shared Hit Blocks"] + top["Shared Read Blocks"], json.dumps(top)


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(below for child in node.get("Plans", ()) for below in _nodes(child))]


def statistics(target: str) -> None:
    """Let the planner know, or not know, what the tables hold."""
    with connection.cursor() as cursor:
        cursor.execute(target)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("wake_in", [None, "1 hour"], ids=["finished", "future"])
@pytest.mark.parametrize(
    "fresh", [True, False], ids=["fresh-statistics", "statistics-of-empty-tables"]
)
def test_a_scan_reads_the_same_with_200_000_sessions(
    store: Store, wake_in: str | None, *, fresh: bool
) -> None:
    """Neither finished nor future Threads are read, whatever the statistics say."""
    statistics("ANALYZE sessions_app_thread")
    for number in range(10):
        store.submit(store.session(f"ready-{number}", f"tenant-{number % 3}"), "r1")
    before, buffers_before, _ = plan_of()

    fill(MANY, wake_in)
    statistics("VACUUM sessions_app_thread")
    if fresh:
        statistics("ANALYZE sessions_app_thread")
    after, buffers_after, plan = plan_of()

    assert "thread_ready" in plan
    assert "Seq Scan" not in plan
    assert after <= before + 4, (before, after)
    assert buffers_after <= buffers_before + 40, (buffers_before, buffers_after)
    found = claims.candidates(store.host, 20)
    assert len(found) == 10


def test_a_walk_goes_on_where_it_ended(store: Store) -> None:
    """More namespaces than one walk visits: those behind it are found all the same."""
    later = clock.now() + timedelta(hours=1)
    for number in range(claims.NAMESPACES_PER_WALK + 6):
        store.submit(store.session("s", f"n{number:03}"), "r1")
    Thread.objects.exclude(namespace="n069").update(wake_at=later)

    assert store.claim().key.session.namespace == "n069"


@poses("C24")
def test_a_blocked_head_hides_nobody(store: Store) -> None:
    """5,000 queued Turns behind a blocked head cost a scan nothing.

    And 200 others are all found (C24).
    """
    blocked = store.session("blocked")
    store.submit(blocked, "r0")
    head = store.claim()
    store.answered(head, tool_intent(route="hands"))
    store.commit(head, Park())
    for number in range(200):
        store.submit(store.session(f"free-{number}", f"tenant-{number % 7}"), "r1")
    before, _, _ = plan_of()

    with connection.cursor() as cursor:
        cursor.execute(QUEUED, [head.thread_pk])
    after, _, _ = plan_of()

    assert after == before
    assert len(claims.candidates(store.host, 500)) == 200


@covers("R251")
def test_versions_are_found_without_reading_their_backlogs(store: Store) -> None:
    """5,000 Threads wait for one version of a resolved agent, one for another: both are named."""
    fill(5_000, "1 hour")
    Thread.objects.filter(pk="thr_77").update(version="7")
    statistics("VACUUM ANALYZE sessions_app_thread")
    asked: dict[str, str | int] = {"definition": AGENT.name, "limit": claims.VERSIONS_PER_LOOK}

    read, buffers, plan = plan_of("versions", asked)

    assert sql.rows("versions", **asked) == [("1", 1), ("7", 1)]
    assert "Seq Scan" not in plan
    assert read <= 8, read
    assert buffers <= 40, buffers
