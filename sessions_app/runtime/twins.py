"""Twins: each blocking method has an awaitable one of the same form, made instead of written."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from asgiref.sync import sync_to_async

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def twin(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Give the awaitable twin of a blocking method.

    It runs where Django runs all its synchronous work for asynchronous callers (one thread a
    request, or one for the program): off the loop, and inside the caller's transaction if one is
    open there. Cancelling the awaiting task takes nothing back (R023).
    """
    off_loop = sync_to_async(method, thread_sensitive=True)

    @wraps(method)
    async def awaited(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await off_loop(self, *args, **kwargs)

    return awaited
