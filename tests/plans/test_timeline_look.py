"""What the look of all open streams reads grows with the streams alone (R107, C24)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.contract.identity import SessionKey
from sessions_app.models import Session
from sessions_app.store import timeline
from tests.plans.test_ready_index import SESSIONS, statistics

if TYPE_CHECKING:
    from tests.stores import Store

pytestmark = [pytest.mark.postgresql, pytest.mark.tampers]
MANY = 200_000
FOLLOWED = [SessionKey("acme", f"s{n}") for n in range(1, 2001, 2)] + [SessionKey("other", "s1")]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "fresh", [True, False], ids=["fresh-statistics", "statistics-of-empty-tables"]
)
def test_a_look_of_1_000_streams_reads_no_other_session(store: Store, *, fresh: bool) -> None:
    """Each followed Session is found by the index, whatever the statistics say."""
    statistics("ANALYZE sessions_app_session")
    with connection.cursor() as cursor:
        cursor.execute(SESSIONS, [MANY])
    grown = FOLLOWED[500]
    Session.objects.filter(session_id=grown.session_id).update(last_sequence=7)
    if fresh:
        statistics("ANALYZE sessions_app_session")

    with CaptureQueriesContext(connection) as asked:
        found = timeline.grown(dict.fromkeys(FOLLOWED, 0))

    assert found == {grown: 7, SessionKey("other", "s1"): None}
    plan = _plan(asked[-1]["sql"])
    assert "Seq Scan" not in json.dumps(plan)
    assert _read(plan) <= 3 * len(FOLLOWED), _read(plan)


def _plan(statement: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement)
        (found,) = cursor.fetchone()
    plan: dict[str, Any] = (found if isinstance(found, list) else json.loads(found))[0]["Plan"]
    return plan


def _read(node: dict[str, Any]) -> int:
    own = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return int(own) + sum(_read(below) for below in node.get("Plans", ()))
