"""The doorbell in Redis: a flag for each definition, with the lifetime of one scan period (S16)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import redis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sessions_app.contract.identity import DefinitionKey

log = logging.getLogger(__name__)

_SECONDS: Final = 1.0


class RedisDoorbell:
    """Flags that live for one scan period: whoever dies in between silences nobody longer."""

    def __init__(self, url: str, namespace: str, lifetime: float) -> None:
        """Connects when it is first used."""
        self._redis = redis.Redis.from_url(
            url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, retry=None
        )
        self._prefix = f"{namespace}:bell:"
        self._lifetime_ms = max(1, round(lifetime * 1000))

    def press(self, definition: DefinitionKey) -> bool:
        """See the protocol. Raises what Redis raises."""
        return bool(self._redis.set(self._key(definition), 1, nx=True, px=self._lifetime_ms))

    def clear(self, definitions: Iterable[DefinitionKey]) -> None:
        """See the protocol; a Redis that is away has no flags that matter."""
        keys = [self._key(definition) for definition in definitions]
        try:
            if keys:
                self._redis.delete(*keys)
        except redis.RedisError as error:
            log.debug("the doorbell could not be cleared: %s", type(error).__name__)

    def _key(self, definition: DefinitionKey) -> str:
        return f"{self._prefix}{definition}#{definition.state_version}"
