"""Runs Python functions: synchronous ones in threads of their own, async ones on one loop.

What an end means (R209, R210):

| The function | Counts as |
| - | - |
| returns a value | COMPLETED, the value as produced |
| returns None where its hint allows it | COMPLETED, content null |
| raises `ToolError` | FAILED, declared by the tool |
| raises `ToolCancelled` after a cancel was asked for | CANCELLED, confirmed by the tool |
| raises anything else | FAILED if the binding says `exceptions="failed"`, else unconfirmed |
| misses its deadline | unconfirmed |
| returns None where its hint does not allow it | unconfirmed |
| returns something suspended (a coroutine, a generator) | unconfirmed |

After an unconfirmed end the effect class decides, as after a crash (`machine.recovery`).

A thread cannot be stopped: after a missed deadline it runs on, keeps its slot, and its real
outcome is taken in as evidence. Threads are no sandbox (R196) and end with their process (R211).
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as DeadlineMissed
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.binding import ExceptionPolicy
from hands_app.contract.messages import ExecutionResult
from hands_app.contract.tools import NeverHappened, ToolCancelled, ToolError, Unsure
from hands_app.executors import content
from hands_app.machine.execution import cancelled
from hands_app.worker.ports import Call, Confirmed, Unconfirmed

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.tools import Lookup
    from hands_app.worker.ports import Outcome

_LOOKUP_SECONDS: Final = 30.0


class CallableExecutor:
    """Implements `worker.ports.Executor`; make it after the fork, close it with the host (S22)."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="hands-tools-loop", daemon=True)
        self._thread.start()

    def run(self, call: Call) -> Outcome:
        """Run one call to its end or its deadline; never raises."""
        future = self._begin(call.tool.function, call.arguments, call.context.execution_key)
        try:
            returned = future.result(call.tool.binding.deadline)
        except DeadlineMissed as missed:
            if future.done():
                return _judge_exception(call, missed)
            return self._missed(call, future)
        except BaseException as error:  # noqa: BLE001 - the outermost frame of foreign code
            return _judge_exception(call, error)
        return _judge_return(call, returned)

    def look_up(self, call: Call) -> Lookup:
        """Ask a queryable tool what became of a call; raises whatever the lookup raises."""
        if call.tool.lookup is None:
            return Unsure()
        arguments = {"execution_key": call.context.execution_key, "arguments": call.raw}
        future = self._begin(call.tool.lookup, arguments, call.context.execution_key)
        answer = future.result(_LOOKUP_SECONDS)
        if isinstance(answer, ExecutionResult | NeverHappened | Unsure):
            return answer
        return Unsure() if answer is None else content.completed(answer)

    def close(self) -> None:
        """Stop the loop; tools that still run are left to their leases."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run_loop(self) -> None:
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def _begin(
        self, function: Callable[..., Any], arguments: dict[str, Any], name: str
    ) -> Future[Any]:
        if inspect.iscoroutinefunction(function):
            return asyncio.run_coroutine_threadsafe(function(**arguments), self._loop)
        future: Future[Any] = Future()
        context = copy_context()  # a thread would begin with an empty one, a task has ours
        thread = threading.Thread(
            target=context.run,
            args=(_run_into, future, function, arguments),
            name=f"tool-{name}",
            daemon=True,
        )
        thread.start()
        return future

    def _missed(self, call: Call, future: Future[Any]) -> Outcome:
        failure = content.failed(
            "DEADLINE", f"no outcome within its deadline of {call.tool.binding.deadline:g} s"
        )
        if future.cancel():
            return Unconfirmed(failure)
        return Unconfirmed(failure, late=lambda: _late(call, future))


def _run_into(future: Future[Any], function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    future.set_running_or_notify_cancel()
    try:
        future.set_result(function(**arguments))
    except BaseException as error:  # noqa: BLE001 - the outermost frame of foreign code
        future.set_exception(error)


def _late(call: Call, future: Future[Any]) -> Outcome:
    """Wait for what a call that missed its deadline comes to."""
    try:
        return _judge_return(call, future.result())
    except BaseException as error:  # noqa: BLE001 - the outermost frame of foreign code
        return _judge_exception(call, error)


def _judge_return(call: Call, returned: object) -> Outcome:
    if _is_suspended(returned):
        return Unconfirmed(content.failed("SUSPENDED", "the tool returned before it was done"))
    if returned is None and not call.tool.binding.allows_none:
        return Unconfirmed(content.failed("EMPTY", "the tool returned nothing"))
    return Confirmed(content.completed(returned))


def _judge_exception(call: Call, error: BaseException) -> Outcome:
    if isinstance(error, ToolError):
        return Confirmed(content.declared(error))
    if isinstance(error, ToolCancelled) and call.context.cancelled.is_set():
        return Confirmed(cancelled("the tool confirms that it stopped without an effect"))
    failure = content.failed("EXCEPTION", f"the tool raised {type(error).__name__}")
    if call.tool.binding.exceptions is ExceptionPolicy.FAILED and not _is_stop(error):
        return Confirmed(failure)
    return Unconfirmed(failure)


def _is_stop(error: BaseException) -> bool:
    """Whether it came from outside of the tool and so says nothing about it."""
    return isinstance(error, CancelledError | asyncio.CancelledError)


def _is_suspended(returned: object) -> bool:
    if inspect.iscoroutine(returned):
        returned.close()
        return True
    return (
        inspect.isawaitable(returned)
        or inspect.isgenerator(returned)
        or inspect.isasyncgen(returned)
    )
