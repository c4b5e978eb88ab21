"""A bound on the time that a reader takes nothing: whoever stopped reading keeps no seat (T7)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = dict[str, Any]
Message: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

SECONDS: Final = 60.0
log = logging.getLogger(__name__)


def patient(application: Application, seconds: float = SECONDS) -> Application:
    """Wrap an ASGI application: a response of which nothing is taken for so long ends there."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(seconds):
                    await send(message)
            except TimeoutError:
                raise _ReaderIsGoneError from None

        try:
            await application(scope, receive, send_in_time)
        except _ReaderIsGoneError:
            log.info("%s: its reader took nothing for %s s", scope.get("path"), seconds)

    return serve


class _ReaderIsGoneError(Exception):
    """The response has nobody to go to."""
