"""The claims that live in this process, each with what its tool can be told."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from hands_app.contract.tools import ToolContext
    from hands_app.worker.ports import Claim


@dataclass
class LiveClaim:
    """One claim and the context of its call; `is_lost` once another owner has it."""

    claim: Claim
    context: ToolContext
    is_lost: bool = False


class LiveClaims:
    """Shared by the loop, the keeper and the sweeper of one process."""

    def __init__(self) -> None:
        self._by_token: dict[str, LiveClaim] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._by_token)

    def add(self, live: LiveClaim) -> None:
        """Begin to renew a claim."""
        with self._lock:
            self._by_token[live.claim.token] = live

    def remove(self, token: str) -> None:
        """Stop renewing a claim."""
        with self._lock:
            self._by_token.pop(token, None)

    def tokens(self) -> frozenset[str]:
        """Return the tokens that are alive here now."""
        with self._lock:
            return frozenset(self._by_token)

    def wish_cancel(self, tokens: Collection[str]) -> None:
        """Tell the tools of these claims that somebody wants them to stop."""
        with self._lock:
            for token in tokens:
                if live := self._by_token.get(token):
                    live.context.cancelled.set()

    def stop(self) -> list[Claim]:
        """Tell all tools that the process ends now; return their claims."""
        with self._lock:
            for live in self._by_token.values():
                live.context.stopping.set()
            return [live.claim for live in self._by_token.values()]

    def lose(self, tokens: Collection[str]) -> None:
        """Note that others own these executions now; their tools are told to stop."""
        with self._lock:
            for token in tokens:
                if live := self._by_token.get(token):
                    live.is_lost = True
                    live.context.cancelled.set()
