"""The fixtures that the other tests stand on keep their word."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connection

from sessions_app.models import StoreState
from tests.databases import empty_tables
from tests.sites import Site

_COUNT = "from django.contrib.auth.models import User; print('users:', User.objects.count())"


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_database_test_starts_with_empty_tables(database: None, turn: str) -> None:
    """What one test wrote is gone for the next."""
    found = User.objects.count()

    User.objects.create(username=turn)

    assert found == 0


@pytest.mark.parametrize("turn", ["first", "second"])
def test_each_database_test_starts_with_a_store_that_knows_nothing(
    database: None, turn: str
) -> None:
    """Neither an object store nor where retention stood is known from the test before."""
    found = StoreState.objects.values_list("object_store", "pruned_to", "scanned_at").get()

    StoreState.objects.update(object_store=turn, pruned_to=turn)

    assert found == ("", "", None)


def test_database_tests_commit_for_real(database: None) -> None:
    """Another thread, on a connection of its own, sees what a test wrote."""
    User.objects.create(username="ann")
    seen = []

    def look() -> None:
        seen.append(User.objects.count())
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [1]


def test_without_the_fixture_the_database_is_blocked() -> None:
    """A unit test that reaches for the database fails, whatever ran before it."""
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        User.objects.count()


def test_fresh_site_shares_no_data(database: None, fresh_site: Site) -> None:
    """A site has a migrated database that knows nothing of the test's own."""
    User.objects.create(username="ann")

    printed = fresh_site.run("manage.py", "shell", "-c", _COUNT)

    assert "users: 0" in printed


def test_process_of_a_site_ends_when_it_is_killed(fresh_site: Site) -> None:
    """A killed process takes along what it started, and its output stays readable."""
    process = fresh_site.start(("-c", "print('up', flush=True); input()"))

    fresh_site.kill(process)

    assert process.returncode != 0
    assert "Traceback" not in fresh_site.log(process)


@pytest.mark.postgresql
def test_what_a_test_left_running_is_ended(database: None) -> None:
    """An open transaction of one test holds up no other."""
    User.objects.create(username="ann")
    left = connection.copy()
    with left.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE auth_user")

    empty_tables()

    assert not User.objects.exists()
    left.close()
