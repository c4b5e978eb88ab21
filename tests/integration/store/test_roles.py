"""What the runtime's own database role may do, and what it may not (T39, T40)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import Error, connection, transaction

from sessions_app.contract.errors import Forbidden, Invalid
from sessions_app.machine.retention import Keep
from sessions_app.models import Event
from sessions_app.store import admission, purging, retention
from sessions_app.store.roles import grants
from tests.covers import poses
from tests.stores import Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLE = "durable_app_under_test"


@pytest.fixture
def as_app_role(store: Store) -> Iterator[Store]:
    """Work under a role that has exactly the documented rights."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {ROLE} NOLOGIN")
        cursor.execute(grants(ROLE))
        cursor.execute(f"SET ROLE {ROLE}")
    yield store
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute(f"DROP OWNED BY {ROLE}")
        cursor.execute(f"DROP ROLE {ROLE}")


@pytest.mark.postgresql
def test_the_app_role_runs_a_turn_through_a_death_to_its_end(as_app_role: Store) -> None:
    """Submit, claim, commit, takeover, scan and finish need no more than the documented rights."""
    store = as_app_role
    store.submit(store.session())
    first = store.join(host())
    store.answered(store.claim(first), tool_intent("idempotent"))
    store.die(first)
    again = store.claim()
    store.backend.renew(store.host.host_id, [(again.thread_pk, again.token)])
    store.finish(again)

    assert store.turn(again.turn_id).status == "COMPLETED"


@pytest.mark.postgresql
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sessions_app_event SET type = 'x'",
        "DELETE FROM sessions_app_event",
        "TRUNCATE sessions_app_event",
        "UPDATE sessions_app_auditentry SET actor = 'x'",
        "DELETE FROM sessions_app_auditentry",
        "ALTER TABLE sessions_app_turn ADD COLUMN x int",
        "DROP TABLE sessions_app_turn",
        "CREATE TABLE x (y int)",
        "DELETE FROM django_migrations",
    ],
)
def test_the_app_role_changes_no_table_and_no_fact(as_app_role: Store, statement: str) -> None:
    """No DDL, and stated facts stay as they are."""
    as_app_role.submit(as_app_role.session())

    with (
        pytest.raises(Error, match=r"permission denied|must be owner"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.postgresql
@poses("T40")
def test_the_app_role_is_told_what_it_may_not_delete(as_app_role: Store) -> None:
    """Pruning and purging need the owner of the events, and say so; nothing is changed."""
    key = as_app_role.session()
    retention.retain(key, Keep(events=0))
    admission.close_session(key)

    with pytest.raises(Forbidden, match="may not delete events"):
        retention.prune(key)
    with pytest.raises(Forbidden, match="may not delete events"):
        purging.purge(key, actor="ann", reason="asked")
    assert Event.objects.count() == 4


def test_a_stored_event_never_changes_even_for_the_owner(store: Store) -> None:
    """The database refuses an UPDATE of events from anybody (I19)."""
    store.submit(store.session())

    with (
        pytest.raises(Error, match="never changed"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("UPDATE sessions_app_event SET type = 'x'")


@pytest.mark.parametrize("name", ["", "a b", 'x"; DROP TABLE y; --', "X", "a" * 64])
def test_a_role_name_that_is_no_identifier_is_refused(name: str) -> None:
    """Nothing but a plain name gets into the statements."""
    with pytest.raises(Invalid):
        grants(name)


INJECTIONS = [
    "'; DROP TABLE sessions_app_turn; --",
    'a" OR "1"="1',
    "%s",
    "x' UNION SELECT 1 --",
    "\\'; --",
    "{0}",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_text_of_users_is_always_a_bound_value(store: Store, text: str) -> None:
    """Injection attempts in names are refused by form, in content they are stored as they are."""
    with pytest.raises(Invalid):
        store.session(text)
    turn_id = store.submit(store.session(), text=text)

    assert store.turn(turn_id).input["parts"][0]["text"] == text
