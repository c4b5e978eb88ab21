"""Which versions of agents are still needed, by whom, and which living hosts have them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db.models import Count, Min, Q

from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import Lifecycle
from sessions_app.contract.versions import VersionView
from sessions_app.models import Thread, Turn
from sessions_app.store import clock, fleet
from sessions_app.store.looking import look, snapshot

if TYPE_CHECKING:
    from collections.abc import Collection

    from sessions_app.contract.identity import ThreadKey

_PIN = ("definition", "version", "state_version")


@look
def needed(known: Collection[DefinitionKey], agent: str | None = None) -> list[VersionView]:
    """Every version that an open Thread is pinned to or that this process knows, by name."""
    threads = Thread.objects.filter(status=Lifecycle.OPEN)
    if agent is not None:
        threads = threads.filter(definition=agent)
        known = [key for key in known if key.name == agent]
    refused = Count("id", filter=Q(incompatible_reason__isnull=False))
    with snapshot():
        pins = {
            DefinitionKey(*row[:3]): (row[3], row[4])
            for row in threads.values_list(*_PIN).annotate(open=Count("id"), refused=refused)
        }
        work = Turn.objects.filter(finished_at=None, thread__in=threads)
        through = work.values_list(*(f"thread__{name}" for name in _PIN))
        turns = {
            DefinitionKey(*row[:3]): (row[3], row[4])
            for row in through.annotate(open=Count("id"), oldest=Min("created_at"))
        }
        return [
            VersionView(
                definition=key,
                threads=pins.get(key, (0, 0))[0],
                turns=turns.get(key, (0, None))[0],
                oldest=turns.get(key, (0, None))[1],
                refused=pins.get(key, (0, 0))[1],
                hosts=_hosts_of(key),
                known=key in known,
            )
            for key in sorted({*pins, *known})
        ]


@look
def hosts_of(key: DefinitionKey) -> tuple[str, ...]:
    """Living hosts that have this version, those that drain left aside."""
    return _hosts_of(key)


def _hosts_of(key: DefinitionKey) -> tuple[str, ...]:
    late = clock.now() - timedelta(seconds=settings.DURABLE["LEASE_SECONDS"])
    names = {str(key), key.any_version}
    return tuple(
        host.host_id
        for host in fleet.hosts()
        if host.seen_at > late and not host.draining_at and not names.isdisjoint(host.definitions)
    )


@look
def threads_of(agent: str, version: str) -> list[ThreadKey]:
    """Open Threads of one version, in the order in which they were made."""
    found = Thread.objects.filter(definition=agent, version=version, status=Lifecycle.OPEN)
    where = found.order_by("id").values_list("namespace", "session__session_id", "thread_id")
    return [
        SessionKey(namespace, session_id).thread(thread_id)
        for namespace, session_id, thread_id in where
    ]
