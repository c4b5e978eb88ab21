"""Local tool calls: at most one effect under each start record, whatever interrupts it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from hands_app.contract.errors import InvalidJson
from hands_app.contract.faults import declare, faultpoint
from hands_app.contract.strict_json import clean
from sessions_app.brain.observation import REPEATABLE
from sessions_app.contract.backend import ResultDraft
from sessions_app.contract.status import CallState

if TYPE_CHECKING:
    from sessions_app.brain.boundary import Commits
    from sessions_app.brain.lease import Held
    from sessions_app.brain.observation import Observation
    from sessions_app.contract.backend import CallFacts
    from sessions_app.ports import ToolReturn

Body = Callable[[], Awaitable["ToolReturn"]]

UNREADABLE: Final = "INVALID_RESULT"
_STUBBORN_SECONDS: Final = 5.0
_UNREADABLE_TEXT: Final = "The tool ran, but what it returned is no JSON value within limits."

declare("brain.tool.before_effect", "brain.tool.after_effect", "brain.result.after_commit")


class Effects:
    """Runs local calls of one invocation. A body that has begun is cancelled only when lost."""

    def __init__(
        self,
        known: Observation,
        commits: Commits,
        held: Held,
        flush: Callable[[], Awaitable[None]],
        interrupt: Callable[[], None],
    ) -> None:
        """`flush` commits the buffer; `interrupt` raises when the invocation has to stop here."""
        self._known = known
        self._commits = commits
        self._held = held
        self._flush = flush
        self._interrupt = interrupt
        self._bodies: dict[str, asyncio.Task[None]] = {}

    def any_open(self) -> bool:
        """True while a start record of this lease has no outcome: no safe place to stop."""
        return bool(self._known.started)

    async def run(self, execution_id: str, body: Body) -> CallFacts:
        """Give the stored result, or run the call once."""
        call = self._known.calls[execution_id]
        if call.state not in {CallState.INTENDED, CallState.STARTED}:
            return call
        if execution_id not in self._bodies:
            if execution_id not in self._known.started and not await self._start(call):
                return self._known.calls[execution_id]
            self._bodies[execution_id] = asyncio.create_task(self._perform(execution_id, body))
        await asyncio.shield(self._bodies[execution_id])
        return self._known.calls[execution_id]

    async def over(self) -> None:
        """Wait for bodies that have begun, so that nothing is written behind the last commit."""
        bodies = list(self._bodies.values())
        if self._held.is_lost:
            for body in bodies:
                body.cancel()
        if bodies:
            limit = _STUBBORN_SECONDS if self._held.is_lost else None
            done, _ = await asyncio.wait(bodies, timeout=limit)
            for body in done:
                _ = body.cancelled() or body.exception()

    def close_open(self) -> None:
        """Say what is known of calls that must not be repeated and have a start record only.

        One that began is UNKNOWN (law 7); one that did not was not executed, and only we know it.
        """
        for call in self._known.unrepeatable():
            began = call.execution_id in self._known.begun
            state = CallState.UNKNOWN if began else CallState.NOT_EXECUTED
            draft = ResultDraft(execution_id=call.execution_id, state=state)
            self._commits.buffer.results.append(draft)

    async def _start(self, call: CallFacts) -> bool:
        """Make the start record in a commit of its own: without one no effect (S10).

        False: an earlier lease began it and left no outcome, and its effect must not be repeated;
        or a cancel was recorded first.
        """
        if call.started and call.effect not in REPEATABLE:
            draft = ResultDraft(execution_id=call.execution_id, state=CallState.UNKNOWN)
            self._commits.buffer.results.append(draft)
            await self._flush()
            return False
        if not self.any_open():
            self._interrupt()
        self._commits.buffer.starts.append(call.execution_id)
        await self._flush()
        if call.execution_id in self._known.started:
            return True
        self._interrupt()  # a cancel came first
        return False

    async def _perform(self, execution_id: str, body: Body) -> None:
        await self._held.trusted()
        self._known.begun.add(execution_id)
        faultpoint("brain.tool.before_effect")
        returned = await body()
        faultpoint("brain.tool.after_effect")
        self._commits.buffer.results.append(_result(execution_id, returned))
        await self._flush()
        faultpoint("brain.result.after_commit")


def _result(execution_id: str, returned: ToolReturn) -> ResultDraft:
    """The outcome as stored: an effect that happened is recorded, readable or not."""
    try:
        return ResultDraft(
            execution_id=execution_id,
            state=CallState.COMPLETED if returned.error_code is None else CallState.FAILED,
            content=clean(returned.content).value,
            error_code=returned.error_code,
            error_text=returned.error_text,
        )
    except (InvalidJson, ValidationError):
        return ResultDraft(
            execution_id=execution_id,
            state=CallState.FAILED,
            error_code=UNREADABLE,
            error_text=_UNREADABLE_TEXT,
        )
