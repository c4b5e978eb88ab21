"""System checks: what would break the store's promises is said before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import redis
from celery import current_app
from django.conf import settings as configured
from django.core.checks import CheckMessage, run_checks
from django.db import connection

import durable_site.checks  # noqa: F401 - registers the checks
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Iterator

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {"transaction_mode": "IMMEDIATE"}}
POSTGRESQL = {"ENGINE": "django.db.backends.postgresql"}


def found(**asked: Any) -> dict[str, CheckMessage]:
    """Run the checks of this house and give their messages by id."""
    return {str(message.id): message for message in run_checks(tags=["durable"], **asked)}


def test_settings_of_this_site_pass() -> None:
    """What the site is shipped with has no error and no warning."""
    assert found() == {}


@poses("S21")
@pytest.mark.parametrize("mode", [None, "DEFERRED", "EXCLUSIVE"])
def test_s21_deferred_transactions_are_refused(
    monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    """S21: on SQLite a transaction that is not immediate is an error."""
    options = {} if mode is None else {"transaction_mode": mode}
    monkeypatch.setitem(configured.DATABASES, "default", {**SQLITE, "OPTIONS": options})

    message = found()["durable.E001"]

    assert message.is_serious()


@poses("S21")
def test_s21_a_second_writing_thread_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """S21: on SQLite a process has one writing thread; on PostgreSQL it may have more."""
    monkeypatch.setitem(configured.DURABLE, "DB_THREADS", 2)
    monkeypatch.setitem(configured.DATABASES, "default", SQLITE)
    on_sqlite = found()
    monkeypatch.setitem(configured.DATABASES, "default", POSTGRESQL)
    on_postgresql = found()

    assert on_sqlite["durable.E002"].is_serious()
    assert "durable.E002" not in on_postgresql


@pytest.mark.parametrize("content", ["pickle", "yaml"])
def test_messages_that_could_run_code_are_refused(
    monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    """JSON only: nothing else is sent or accepted."""
    monkeypatch.setitem(current_app.conf, "accept_content", ["json", content])

    assert found()["durable.E003"].is_serious()


def test_result_backend_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 1: the database is the truth, so nobody would read a result backend."""
    monkeypatch.setitem(current_app.conf, "result_backend", "redis://127.0.0.1/0")

    assert "durable.W001" in found()


def test_commits_that_could_be_lost_are_noticed(database: None) -> None:
    """The database is asked itself, and only when Django asks for such checks."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA synchronous = NORMAL")
        else:
            cursor.execute("SET synchronous_commit = off")

    assert "durable.W002" in found(databases=["default"])
    assert found() == {}


@pytest.fixture
def evicting() -> Iterator[None]:
    """Have the suite's Redis evict any key if it were full, which it is not."""
    with redis.Redis.from_url(configured.DURABLE["REDIS_URL"]) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        yield
        client.config_set("maxmemory-policy", "noeviction")


@poses("C5")
@pytest.mark.postgresql
def test_c5_redis_that_evicts_queues_is_noticed(evicting: None) -> None:
    """C5: a full Redis that throws any key away throws hints and commands away."""
    message = found(include_deployment_checks=True)["durable.W003"]

    assert "allkeys-lru" in message.msg
    assert "noeviction" in message.msg
