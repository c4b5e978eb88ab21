"""Claims: candidates without locks, then Sessions, then Threads.

Then a second look (law 2, R169).
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypedDict

from django.conf import settings
from django.db import connection

from hands_app.contract.strict_json import canonical
from sessions_app.contract.backend import Claim, HostIdentity
from sessions_app.contract.errors import Busy, Unavailable
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import SETTLED_CALLS
from sessions_app.machine import claiming
from sessions_app.models import Session, Thread
from sessions_app.store import hosts, interactions, rows, scans, sql
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sessions_app.store.unit import Unit

NAMESPACES_PER_WALK: Final = 64
VERSIONS_PER_LOOK: Final = 256


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Thread that looked ready before any lock was taken."""

    thread_pk: str
    session_pk: str


class Passes(TypedDict):
    """Which ready Threads a look leaves aside, as it would not get them."""

    build: str
    suspects: bool
    held: int


class Rotation:
    """Where the next walk over namespaces begins, per definition.

    A matter of fairness, not of truth.
    """

    def __init__(self) -> None:
        """Begin at the first namespace."""
        self._after: dict[DefinitionKey, str] = {}
        self._lock = threading.Lock()

    def after(self, key: DefinitionKey) -> str:
        """The namespace served last."""
        with self._lock:
            return self._after.get(key, "")

    def moved(self, key: DefinitionKey, namespace: str) -> None:
        """Remember the namespace served last."""
        with self._lock:
            self._after[key] = namespace


_rotation: Final = Rotation()


def claim(
    host: HostIdentity,
    *,
    limit: int,
    first: str | None = None,
    suspects: bool = True,
    running: Collection[str] = (),
) -> list[Claim]:
    """Claim up to `limit` ready Threads in one transaction; the hinted one is looked at first.

    `running` names Threads that live in this process: it never takes over what it runs itself (S4).
    Raises OwnershipLost, with nothing claimed, for a host whose row says that it is dead.
    """
    if first is not None and first not in running:
        claimed = _claim(host, _hinted(first), suspects=suspects)
        if claimed:
            return claimed
    ready = candidates(host, limit, suspects=suspects)
    found = [seen for seen in ready if seen.thread_pk not in running]
    return _claim(host, found, suspects=suspects)


def _hinted(thread_pk: str) -> list[Candidate]:
    """The hinted Thread, if there is anything to do in it."""
    found = Thread.objects.filter(pk=thread_pk, wake_at__isnull=False)
    return [Candidate(thread_pk, session) for session in found.values_list("session_id", flat=True)]


def candidates(host: HostIdentity, limit: int, *, suspects: bool = True) -> list[Candidate]:
    """Ready Threads that this host may claim, namespaces in turn.

    One definition's backlog beside another's.
    """
    definitions = (*host.definitions, *_awaited(host.resolves))
    build = canonical(host.build).decode()  # as it stands in the list of those that gave it back
    passes = Passes(build=build, suspects=suspects, held=claiming.HELD_AFTER_DEATHS)
    found = [_of_definition(key, limit, passes) for key in definitions]
    mixed = [queue[place] for place in range(limit) for queue in found if place < len(queue)]
    return mixed[:limit]


def _awaited(names: Sequence[str]) -> Iterator[DefinitionKey]:
    """Versions of agents with a resolver that some Thread waits for (R251)."""
    for name in names:
        found = sql.rows("versions", definition=name, limit=VERSIONS_PER_LOOK)
        yield from (DefinitionKey(name, version, state) for version, state in found)


def _of_definition(key: DefinitionKey, limit: int, passes: Passes) -> list[Candidate]:
    after = _rotation.after(key)
    found, last = _walk(key, after, limit, passes)
    while len(found) < limit and (last or after):
        more, last = _walk(key, last or "", limit - len(found), passes)
        found += [candidate for candidate in more if candidate not in found]
        if last is None or (after and last >= after):
            break
    return found


def _walk(
    key: DefinitionKey, after: str, limit: int, passes: Passes
) -> tuple[list[Candidate], str | None]:
    """One bounded walk.

    The second part is where it stopped, None when it saw every namespace behind `after`.
    """
    seen = sql.rows(
        "candidates",
        definition=key.name,
        version=key.version,
        state_version=key.state_version,
        after=after,
        namespaces=NAMESPACES_PER_WALK,
        limit=limit,
        **passes,
    )
    ready = [row for row in seen if row[0] is not None][:limit]
    if ready:
        _rotation.moved(key, max(row[2] for row in ready))
    whole = (
        connection.vendor == "sqlite"
        or max((row[4] for row in seen), default=0) < NAMESPACES_PER_WALK
    )
    last = None if whole else max(row[2] for row in seen)
    return [Candidate(row[0], row[1]) for row in ready], last


def _claim(host: HostIdentity, found: list[Candidate], *, suspects: bool) -> list[Claim]:
    if not found:
        return []
    randoms = {candidate.thread_pk: secrets.token_hex(16) for candidate in found}

    def body(unit: Unit) -> list[Claim]:
        sessions = {session.pk: session for session in _lock(unit, found)}
        wanted = [candidate.thread_pk for candidate in found if candidate.session_pk in sessions]
        free = Thread.objects.select_for_update(
            no_key=True, skip_locked=connection.features.has_select_for_update_skip_locked
        )
        claims: list[Claim] = []
        for thread in unit.watch_all(free.filter(pk__in=wanted).order_by("pk")):
            made = _claim_one(
                unit,
                host,
                sessions[thread.session_id],
                thread,
                randoms[thread.pk],
                suspects=suspects and not any(claim.suspect for claim in claims),
            )
            claims += [made] if made else []
        if claims:
            hosts.progressed(unit, host.host_id)
        return claims

    try:
        return run("brain.claim", body)
    except Busy:
        return []


def _lock(unit: Unit, found: list[Candidate]) -> list[Session]:
    """Many: whatever is free.

    One: the hint waits for its Session a little instead of skipping it (S13).
    """
    if len(found) > 1:
        return unit.lock_free_sessions({candidate.session_pk for candidate in found})
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '100ms'")
    return [unit.lock_session(found[0].session_pk)]


def _claim_one(
    unit: Unit, host: HostIdentity, session: Session, thread: Thread, random: str, *, suspects: bool
) -> Claim | None:
    """The second look, under the locks."""
    token = f"{thread.lease_epoch + 1}.{random}"
    if thread.lease_token is not None and thread.lease_token.endswith(f".{random}"):
        return _again(unit, session, thread)  # the answer to the COMMIT was lost (S7)
    head = rows.head_of(unit, thread, session)
    if (
        head is None
        or interactions.still_waits(unit, thread, head)
        or not claiming.may_claim(thread, head, unit.now, build=host.build)
    ):
        return None
    takeover = thread.lease_token is not None
    if takeover and scans.in_grace(unit.now):
        return None
    if head.deaths >= claiming.HELD_AFTER_DEATHS and not suspects:
        return None
    content = host.digests.get(str(thread.pin), "")
    changed = content not in {"", thread.definition_digest or content}
    thread.definition_digest = thread.definition_digest or content
    if head.round_limit is None:  # admitted where nobody knew the definition
        head.round_limit, head.token_limit = host.limits.get(str(thread.pin), (None, None))
    owned = rows.owned(unit, thread, head)
    expires = unit.now + timedelta(seconds=settings.DURABLE["LEASE_SECONDS"])
    begun = claiming.claim(unit.change, owned, claiming.Owner(host.host_id, token, expires))
    if begun is None:
        return None
    settled = all(call.state in SETTLED_CALLS for call in owned.calls)
    return Claim(
        thread_pk=thread.pk,
        session_pk=session.pk,
        turn_id=head.pk,
        run_id=begun.pk,
        token=token,
        key=thread.key_in(session.key),
        definition=thread.pin,
        lease_expires_at=expires,
        takeover=takeover,
        suspect=head.deaths >= claiming.HELD_AFTER_DEATHS,
        changed=changed,
        settling=head.cancel_request is not None or (head.failed_for_good and settled),
    )


def _again(unit: Unit, session: Session, thread: Thread) -> Claim:
    head = rows.head_of(unit, thread, session)
    if (
        head is None
        or head.run_id is None
        or thread.lease_token is None
        or thread.lease_expires_at is None
    ):
        msg = f"thread {thread.pk} is leased and has no open run"
        raise Unavailable(msg)
    return Claim(
        thread_pk=thread.pk,
        session_pk=session.pk,
        turn_id=head.pk,
        run_id=head.run_id,
        token=thread.lease_token,
        key=thread.key_in(session.key),
        definition=thread.pin,
        lease_expires_at=thread.lease_expires_at,
        takeover=False,
    )
