"""System checks: settings under which the store could not keep its promises, said before it starts.

Those of the tag `database` ask the database itself and run where Django runs such checks
(`migrate`, `check --database default`); the broker is asked by `check --deploy`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from celery import current_app
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

from sessions_app.management.diagnosis import Finding, Level, broker, database, examine

_TAG = "durable"
_SQLITE = "django.db.backends.sqlite3"
_JSON = ("json", "application/json")


@register(_TAG)
def sqlite_has_one_writer(**_: Any) -> list[CheckMessage]:  # noqa: ANN401 - Django's own shape
    """On SQLite only immediate transactions and one writing thread a process keep order (S21)."""
    default = settings.DATABASES["default"]
    if default["ENGINE"] != _SQLITE:
        return []
    found: list[CheckMessage] = []
    if str(default.get("OPTIONS", {}).get("transaction_mode", "")).upper() != "IMMEDIATE":
        message = "SQLite transactions begin deferred: read-then-write fails when writers meet."
        hint = "Set OPTIONS['transaction_mode'] to 'IMMEDIATE'."
        found.append(Error(message, hint=hint, id="durable.E001"))
    if settings.DURABLE["DB_THREADS"] != 1:
        message = f"{settings.DURABLE['DB_THREADS']} threads of a process would write to SQLite."
        hint = "Set DURABLE_DB_THREADS to 1, or use PostgreSQL."
        found.append(Error(message, hint=hint, id="durable.E002"))
    return found


@register(_TAG)
def celery_only_carries_hints(**_: Any) -> list[CheckMessage]:  # noqa: ANN401 - Django's own shape
    """JSON only, and no result backend: the database is the truth (law 1)."""
    conf, found = current_app.conf, list[CheckMessage]()
    accepted = set(conf.accept_content) | {conf.task_serializer}
    if not accepted <= set(_JSON):
        message = f"Celery accepts {', '.join(sorted(accepted))}: a message could run code."
        found.append(Error(message, hint="Accept and send 'json' alone.", id="durable.E003"))
    if conf.result_backend not in (None, "", "disabled://"):
        message = "Celery has a result backend, whose answers nobody reads."
        found.append(checks.Warning(message, hint="Leave result_backend out.", id="durable.W001"))
    return found


@register(_TAG, Tags.database)
def commits_are_durable(
    databases: Sequence[str] | None = None,
    **_: Any,  # noqa: ANN401 - Django's own shape
) -> list[CheckMessage]:
    """An answered commit survives a loss of power."""
    return _ask("durability", database.durability, "durable.W002") if databases else []


@register(_TAG, deploy=True)
def broker_keeps_queues(**_: Any) -> list[CheckMessage]:  # noqa: ANN401 - Django's own shape
    """A full Redis refuses instead of throwing queues away (C5)."""
    return _ask("redis eviction", broker.eviction, "durable.W003")


def _ask(name: str, look: Callable[[], Iterator[Finding]], number: str) -> list[CheckMessage]:
    found = (finding for finding in examine(name, look) if finding.level != Level.OK)
    return [checks.Warning(f"{finding.name} is {finding.text}.", id=number) for finding in found]
