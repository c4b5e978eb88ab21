"""The living processes of a pool: introduction, renewal, end, and who sweeps."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from hands_app.ledger.tables import execution, host, scan
from hands_app.machine import takeover
from hands_app.machine.owning import LEASE, RENEWAL
from hands_app.worker.ports import HostProfile, HostView, Renewed, SweepTurn

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection, Row

    from hands_app.ledger.engine import Database
    from hands_app.worker.ports import HostCard

_SWEEPER_HOLDS: Final = timedelta(seconds=2)
_SCAN_NOTED: Final = timedelta(seconds=1)


class SqlHosts:
    """Implements `worker.ports.Hosts` on SQLite and PostgreSQL."""

    def __init__(
        self, database: Database, *, lease: timedelta = LEASE, renewal: timedelta = RENEWAL
    ) -> None:
        self._database = database
        self._lease: Final = lease
        self._renewal: Final = renewal

    def enroll(self, card: HostCard) -> None:
        """Write the Host row of a process that already holds its presence (S4)."""
        with self._database.change("host") as connection:
            now = self._database.clock(connection)
            connection.execute(
                insert(host).values(
                    host_id=card.host_id,
                    role=card.profile.role,
                    routes=",".join(card.profile.routes),
                    process_id=card.process_id,
                    presence=card.presence,
                    slots=card.profile.slots,
                    started_at=now,
                    renewed_at=now,
                )
            )

    def present_again(self, host_id: str, presence: str) -> None:
        """Note by what others test a host that had to take its lock again."""
        with self._database.change("host") as connection:
            connection.execute(
                update(host).where(host.c.host_id == host_id).values(presence=presence)
            )

    def renew(self, host_id: str, tokens: Collection[str]) -> Renewed:
        """Renew the host and the leases that live in it, skipping what is locked (S3)."""
        with self._database.change("renew", durable=False) as connection:
            now = self._database.clock(connection)
            alive = connection.execute(
                update(host)
                .where(host.c.host_id == host_id, host.c.ended_at.is_(None))
                .values(renewed_at=now)
            )
            kept = self._renew_leases(connection, tokens, now)
            rest = select(execution.c.token).where(
                execution.c.token.in_(set(tokens) - kept), execution.c.lease_until.is_not(None)
            )
            locked = set(connection.execute(rest).scalars())
        superseded = frozenset(tokens) - kept - locked
        return Renewed(frozenset(kept), superseded, host_is_lost=alive.rowcount != 1)

    def _renew_leases(
        self, connection: Connection, tokens: Collection[str], now: datetime
    ) -> set[str]:
        if not tokens:
            return set()
        mine = (
            select(execution.c.execution_id)
            .where(execution.c.token.in_(tokens), execution.c.lease_until.is_not(None))
            .order_by(execution.c.execution_id)
            .with_for_update(key_share=True, skip_locked=True)
        )
        renewed = (
            update(execution)
            .where(execution.c.execution_id.in_(mine))
            .values(lease_until=now + self._lease)
            .returning(execution.c.token)
        )
        return set(connection.execute(renewed).scalars())

    def drain(self, host_id: str) -> None:
        """Note that the host claims nothing more."""
        with self._database.change("host") as connection:
            now = self._database.clock(connection)
            connection.execute(
                update(host).where(host.c.host_id == host_id).values(draining_at=now)
            )

    def close(self, host_id: str) -> None:
        """Note that the host ended in order, with nothing running."""
        self._end([host_id], "closed")

    def mark_lost(self, host_ids: Collection[str]) -> None:
        """Note that these hosts died; one that lives after all finds this and stops (S4)."""
        self._end(host_ids, "lost")

    def _end(self, host_ids: Collection[str], kind: str) -> None:
        with self._database.change("host") as connection:
            now = self._database.clock(connection)
            connection.execute(
                update(host)
                .where(host.c.host_id.in_(host_ids), host.c.ended_at.is_(None))
                .values(ended_at=now, ending=kind)
            )

    def living(self) -> list[HostView]:
        """Return the hosts whose end is not known."""
        with self._database.read() as connection:
            query = select(host).where(host.c.ended_at.is_(None)).order_by(host.c.host_id)
            return [_view(row) for row in connection.execute(query)]

    def sweep_turn(self, host_id: str) -> SweepTurn | None:
        """Take or keep the right to sweep; None while another living host has it.

        A scan is recorded at most once a second, so that quiet sweeps write little.
        """
        with self._database.read() as connection:
            now = self._database.clock(connection)
            row = connection.execute(select(scan).where(scan.c.name == "sweep")).one_or_none()
        if row is not None and row.holder != host_id and row.held_until > now:
            return None
        if row is not None and row.holder == host_id and now - row.last_at < _SCAN_NOTED:
            return SweepTurn(now, in_gap=_is_in_gap(row.resume_at, now), is_new=False)
        return self._record_scan(host_id)

    def _record_scan(self, host_id: str) -> SweepTurn | None:
        with self._database.change("sweep") as connection:
            row = _locked_scan(connection)
            now = self._database.clock(connection)
            if row is None:
                return self._first_scan(connection, host_id, now)
            if row.holder != host_id and row.held_until > now:
                return None
            resume = takeover.resume_at(row.last_at, row.resume_at, now, self._renewal)
            connection.execute(
                update(scan)
                .where(scan.c.name == "sweep")
                .values(
                    holder=host_id, held_until=now + _SWEEPER_HOLDS, last_at=now, resume_at=resume
                )
            )
            return SweepTurn(now, in_gap=_is_in_gap(resume, now), is_new=row.holder != host_id)

    def _first_scan(self, connection: Connection, host_id: str, now: datetime) -> SweepTurn | None:
        dialect = sqlite if self._database.is_sqlite else postgresql
        first = (
            dialect.insert(scan)
            .values(name="sweep", holder=host_id, held_until=now + _SWEEPER_HOLDS, last_at=now)
            .on_conflict_do_nothing()
            .returning(scan.c.name)
        )
        if connection.execute(first).first() is None:
            return None
        return SweepTurn(now, in_gap=False, is_new=True)


def _locked_scan(connection: Connection) -> Row[tuple[object, ...]] | None:
    query = select(scan).where(scan.c.name == "sweep").with_for_update(key_share=True)
    return connection.execute(query).one_or_none()


def _is_in_gap(resume: datetime | None, now: datetime) -> bool:
    return resume is not None and now < resume


def _view(row: Row[tuple[object, ...]]) -> HostView:
    return HostView(
        host_id=row.host_id,
        profile=HostProfile(row.role, tuple(row.routes.split(",")), row.slots),
        process_id=row.process_id,
        presence=row.presence,
        started_at=row.started_at,
        renewed_at=row.renewed_at,
        draining_at=row.draining_at,
    )
