"""The broker as a doctor looks at it. Without it everything still runs, later (law 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import redis
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from sessions_app.management.diagnosis.findings import Finding, Level

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS: Final = 1.0


def reachable() -> Iterator[Finding]:
    """Whether hints can leave; the transport's own limits end the attempt within about a second."""
    with current_app.connection_for_write() as broker:
        where = "the folder broker" if "." in broker.transport_cls else broker.as_uri()
        try:
            broker.default_channel  # noqa: B018 - asking for it connects
        except (OSError, OperationalError) as error:
            text = f"{where} is away ({error}): scans alone find turns, up to a second later"
            yield Finding("broker", Level.WARNING, text)
        else:
            yield Finding("broker", Level.OK, f"{where} answers")


def eviction() -> Iterator[Finding]:
    """Whether a full Redis would throw queues away (C5)."""
    url = settings.DURABLE["REDIS_URL"]
    if not url:
        return
    with redis.Redis.from_url(
        url, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
    ) as client:
        memory = client.info("memory")
    policy = str(memory.get("maxmemory_policy", "unknown"))
    bounded = f", maxmemory {memory.get('maxmemory', 0)}"
    yield Finding.judged(
        "redis eviction",
        policy + bounded,
        fine=not policy.startswith("allkeys-"),
        advice="a full Redis evicts the queues; set maxmemory-policy noeviction",
    )
