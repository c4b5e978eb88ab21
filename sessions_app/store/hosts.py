"""Hosts: who lives, whose leases are renewed, whose are taken away (S3, S4)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import connection

from sessions_app.contract.backend import HostIdentity, LivingHost, RenewAnswer
from sessions_app.contract.errors import Incompatible, OwnershipLost
from sessions_app.contract.identity import any_version
from sessions_app.contract.status import Lifecycle
from sessions_app.models import Host, Thread
from sessions_app.store import clock, scans, sql
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from django.db.models import QuerySet

    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.store.unit import Unit

Pair = tuple[str, str]
_NEWEST: Final = 200
"""Hosts that are asked what a label stood for; beyond them each claim still compares."""


def join(host: HostIdentity, presence_key: int) -> None:
    """Write the Host row; the presence lock is already held.

    Raises Incompatible when a definition changed under the label that open Threads are pinned to.
    """

    def body(unit: Unit) -> None:
        for refusal in changed(host.definitions, host.digests):
            raise Incompatible(refusal)
        columns = {
            "role": host.role,
            "hostname": host.hostname[:255],
            "pid": host.pid,
            "build": host.build,
            "definitions": [
                *(str(key) for key in host.definitions),
                *(any_version(name) for name in host.resolves),
            ],
            "digests": dict(host.digests),
            "presence_key": presence_key,
            "seen_at": unit.now,
            "lost_at": None,
            "stopped_at": None,
        }
        Host.objects.update_or_create(
            pk=host.host_id, defaults=columns, create_defaults={**columns, "started_at": unit.now}
        )

    run("host.presence", body)


def changed(definitions: Iterable[DefinitionKey], digests: Mapping[str, str]) -> Iterator[str]:
    """Say which definitions have other content than open Threads began with (C39).

    The newest host that had a label says what it stood for, the Threads who relies on it.
    """
    newest = Host.objects.order_by("-started_at").values_list("digests", flat=True)[:_NEWEST]
    said = {label: content for known in reversed(newest) for label, content in known.items()}
    for key in definitions:
        content = digests.get(str(key), "")
        if content in {"", said.get(str(key), content)}:
            continue
        pinned = Thread.objects.filter(
            status=Lifecycle.OPEN,
            definition=key.name,
            version=key.version,
            state_version=key.state_version,
        ).exclude(definition_digest__in=["", content])
        if count := pinned.count():
            yield (
                f"agent {key} has other content than {count} open threads that are pinned to it "
                "began with; register it under a new version, or set "
                "DURABLE_CHANGED_DEFINITIONS=accept to run those threads with the new content"
            )


def leave(host_id: str) -> None:
    """Mark the Host stopped in order."""
    run(
        "host.presence",
        lambda unit: Host.objects.filter(pk=host_id, stopped_at=None).update(stopped_at=unit.now),
    )


def draining(host_id: str) -> None:
    """Mark the Host as one that claims nothing any more."""
    run(
        "host.presence",
        lambda unit: Host.objects.filter(pk=host_id, draining_at=None).update(draining_at=unit.now),
    )


def living() -> list[LivingHost]:
    """Hosts that neither stopped in order nor were found dead."""
    found = Host.objects.filter(stopped_at=None, lost_at=None)
    rows = found.values_list("id", "presence_key", "seen_at", "draining_at")
    return [LivingHost(key, lock, seen, draining is not None) for key, lock, seen, draining in rows]


def progressed(unit: Unit, host_id: str) -> None:
    """Stamp the Host that claims, as a renewal would: whoever claims is alive (S4).

    The update waits for a sweep that marks the row in this moment and sees what that wrote; a
    sweep that comes later finds the Host renewed. So nobody holds a lease under a lost Host row.

    Raises:
        OwnershipLost: the row says lost or stopped, or there is none; nothing may be claimed under
            it until the process has joined again.
    """
    alive = Host.objects.filter(pk=host_id, lost_at=None, stopped_at=None)
    if not alive.update(progressed_at=unit.now, seen_at=unit.now):
        msg = f"host {host_id} was taken for dead or has left; it claims after it has joined again"
        raise OwnershipLost(msg)


def renew(host_id: str, held: Sequence[Pair]) -> dict[Pair, RenewAnswer]:
    """Renew the named pairs in one statement and stamp the Host.

    Losing a renewal in a crash is harmless, so this commit does not wait for the disk (design
    section 5).
    """

    def body(unit: Unit) -> dict[Pair, RenewAnswer]:
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL synchronous_commit = off")
        if not Host.objects.filter(pk=host_id, lost_at=None).update(seen_at=unit.now):
            return dict.fromkeys(
                held, "superseded"
            )  # found dead meanwhile: it stops its Turns (S4)
        return _renew(unit, held) if held else {}

    return run("host.presence", body)


def _renew(unit: Unit, held: Sequence[Pair]) -> dict[Pair, RenewAnswer]:
    lease = settings.DURABLE["LEASE_SECONDS"]
    if connection.vendor == "postgresql":
        threads, tokens = [pair[0] for pair in held], [pair[1] for pair in held]
        seen = sql.rows("renew", threads=threads, tokens=tokens, lease=lease)
        return {(thread, token): answer for thread, token, answer in seen}
    until = unit.now + timedelta(seconds=lease)
    answers: dict[Pair, RenewAnswer] = {}
    for thread, token in held:
        count = Thread.objects.filter(pk=thread, lease_token=token).update(
            lease_expires_at=until, wake_at=until
        )
        answers[thread, token] = "renewed" if count else "superseded"
    return answers


def sweep(host: HostIdentity, dead: Sequence[LivingHost]) -> int:
    """Expire the leases of dead hosts, one Session a transaction (S13).

    Gives how many Threads were freed.
    """
    return sum(_sweep_one(gone) for gone in dead if gone.host_id != host.host_id)


def _sweep_one(gone: LivingHost) -> int:
    leased = list(Thread.objects.filter(lease_host=gone.host_id).values_list("pk", "session_id"))
    freed = sum(_free(gone, thread_pk, session_pk) for thread_pk, session_pk in leased)
    if Thread.objects.filter(lease_host=gone.host_id, lease_expires_at__gt=clock.now()).exists():
        return freed
    run("host.presence", lambda unit: _unrenewed(gone).update(lost_at=unit.now))
    return freed


def _unrenewed(gone: LivingHost) -> QuerySet[Host]:
    return Host.objects.filter(pk=gone.host_id, seen_at=gone.seen_at, lost_at=None, stopped_at=None)


def _free(gone: LivingHost, thread_pk: str, session_pk: str) -> int:
    def body(unit: Unit) -> int:
        unit.lock_session(session_pk)
        thread = Thread.objects.filter(pk=thread_pk, lease_host=gone.host_id).first()
        if thread is None or scans.in_grace(unit.now) or not _unrenewed(gone).exists():
            return 0
        unit.watch(thread).lease_expires_at = unit.now
        unit.change.touch(thread)
        return 1

    return run("brain.release", body)
