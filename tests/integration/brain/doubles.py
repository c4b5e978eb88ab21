"""Things that go wrong on purpose around a Brain."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from sessions_app.contract.errors import Unavailable
from sessions_app.store.backend import StoreBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sessions_app.contract.backend import (
        Claim,
        Commit,
        CommitAnswer,
        HostIdentity,
        RenewAnswer,
    )
    from sessions_app.harnesses.scripted.model import Transcript


class Gate:
    """Model requests that wait on the loop until they are let go; counts them."""

    def __init__(self, *errors: Exception) -> None:
        """`errors` are raised by the first requests, in order; None answers."""
        self.requests = 0
        self.reached = threading.Event()
        self._errors = list(errors)
        self._go = threading.Event()

    async def __call__(self, _transcript: Transcript) -> None:
        """Wait, then fail or be answered."""
        self.requests += 1
        self.reached.set()
        while not self._go.is_set():
            await pause()
        if self._errors:
            raise self._errors.pop(0)

    def open(self) -> Gate:
        """Let it and all that follow go."""
        self._go.set()
        return self


async def pause() -> None:
    """Let a little time pass on the loop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)


class Meddling(StoreBackend):
    """The store, with answers that get lost and a record of what was asked."""

    def __init__(self, build: str = "") -> None:
        super().__init__(build)
        self.renewals: list[list[tuple[str, str]]] = []
        self.changes: list[Commit] = []
        self.lose: Callable[[Commit], bool] = lambda _change: False
        self.lose_claims = 0

    def renew(
        self, host_id: str, held: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], RenewAnswer]:
        """Note which pairs were named."""
        self.renewals.append(list(held))
        return super().renew(host_id, held)

    def commit(self, claim: Claim, change: Commit) -> CommitAnswer:
        """Do it, and perhaps lose the answer."""
        answer = super().commit(claim, change)
        self.changes.append(change)
        if self.lose(change):
            raise Unavailable
        return answer

    def claim(
        self,
        host: HostIdentity,
        *,
        limit: int,
        first: str | None = None,
        suspects: bool = True,
        running: Collection[str] = (),
    ) -> list[Claim]:
        """Claim, and perhaps lose the answer."""
        claims = super().claim(host, limit=limit, first=first, suspects=suspects, running=running)
        if claims and self.lose_claims:
            self.lose_claims -= 1
            raise Unavailable
        return claims
