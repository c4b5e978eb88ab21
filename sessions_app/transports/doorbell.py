"""The doorbell: with Redis, one hint a definition is enough until somebody heard it (S16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sessions_app.contract.identity import DefinitionKey


class Doorbell(Protocol):
    """A flag for each definition, version and state version."""

    def press(self, definition: DefinitionKey) -> bool:
        """True when a hint has to be sent; False when one is on its way and not yet heard."""

    def clear(self, definitions: Iterable[DefinitionKey]) -> None:
        """Heard, by somebody who can run these and looks now; or the hint could not be sent."""


class NoDoorbell:
    """Without Redis every commit sends its hint."""

    def press(self, definition: DefinitionKey) -> bool:  # noqa: ARG002 - the protocol's
        """See the protocol."""
        return True

    def clear(self, definitions: Iterable[DefinitionKey]) -> None:
        """See the protocol."""


def doorbell(configured: Mapping[str, Any]) -> Doorbell:
    """The doorbell of this installation."""
    if not configured["REDIS_URL"]:
        return NoDoorbell()
    from sessions_app.transports.redis_doorbell import RedisDoorbell  # noqa: PLC0415 - costs 0.3 s

    return RedisDoorbell(
        configured["REDIS_URL"], configured["NAMESPACE"], configured["SCAN_SECONDS"]
    )
