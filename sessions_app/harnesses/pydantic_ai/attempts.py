"""Requests as they leave a model's HTTP client: below the client's own retries (R064, R067).

Where every model behind a logical request has such a client, its attempts are counted there and the
level is PROVIDER_ATTEMPTS. Anything else is seen from outside, and retries in it are not guessed.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.models import Model

    from sessions_app.ports import Attempts

_LIBRARIES: Final = frozenset({"httpx", "httpx2"})
_COUNTER: ContextVar[Attempts] = ContextVar("durable_attempts")


@contextmanager
def counted(model: Model, attempts: Attempts) -> Iterator[None]:
    """Count the requests that leave while this is open, if all of them can be seen."""
    clients = [_client(inner) for inner in behind(model)]
    if None in clients:
        yield
        return
    for client in clients:
        if _count not in client.event_hooks["request"]:
            client.event_hooks["request"].append(_count)
    attempts.level, attempts.requests = "PROVIDER_ATTEMPTS", 0
    before = _COUNTER.set(attempts)
    try:
        yield
    finally:
        _COUNTER.reset(before)


def behind(model: Model) -> Iterator[Model]:
    """The models that may serve a request to this one."""
    if isinstance(model, WrapperModel):
        yield from behind(model.wrapped)
    elif isinstance(model, FallbackModel):
        for inner in model.models:
            yield from behind(inner)
    else:
        yield model


def _client(model: Model) -> Any:  # noqa: ANN401 - of whichever library the provider's client uses
    """The HTTP client of the model's provider; None when requests below it could stay unseen."""
    http = getattr(getattr(model, "client", None), "_client", None)
    transport = type(getattr(http, "_transport", None)).__module__.split(".")[0]
    return http if transport in _LIBRARIES and hasattr(http, "event_hooks") else None


async def _count(_request: object) -> None:
    attempts = _COUNTER.get(None)
    if attempts is not None:
        attempts.requests = (attempts.requests or 0) + 1
