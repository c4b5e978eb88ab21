"""The store as the Brain sees it: the `SessionBackend` port over Django's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.store import claims, commits, hosts, native, scans

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sessions_app.contract.backend import (
        Claim,
        Commit,
        CommitAnswer,
        HostIdentity,
        LivingHost,
        Native,
        RenewAnswer,
        ScanReport,
    )


class StoreBackend:
    """Every method is one or a few transactions and may block.

    Raises Unavailable, never waits for long.
    """

    def __init__(self, build: str = "") -> None:
        """`build` names this code, for Threads that a build turned out not to fit (S17)."""
        self._build = build

    def join(self, host: HostIdentity, presence_key: int) -> None:
        """See the port."""
        hosts.join(host, presence_key)

    def leave(self, host_id: str) -> None:
        """See the port."""
        hosts.leave(host_id)

    def claim(
        self,
        host: HostIdentity,
        *,
        limit: int,
        first: str | None = None,
        suspects: bool = True,
        running: Collection[str] = (),
    ) -> list[Claim]:
        """See the port."""
        return claims.claim(host, limit=limit, first=first, suspects=suspects, running=running)

    def load(self, claim: Claim) -> Native:
        """See the port."""
        return native.load(claim)

    def renew(
        self, host_id: str, held: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], RenewAnswer]:
        """See the port."""
        return hosts.renew(host_id, held)

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """See the port."""
        return commits.commit(claim, change, self._build)

    def scan(self, host: HostIdentity, *, own: bool) -> ScanReport:
        """See the port."""
        return scans.scan(host, own=own)

    def last_scan_age(self) -> float | None:
        """See the port."""
        return scans.last_scan_age()

    def living(self) -> list[LivingHost]:
        """See the port."""
        return hosts.living()

    def sweep(self, host: HostIdentity, dead: Sequence[LivingHost]) -> int:
        """See the port."""
        return hosts.sweep(host, dead)
