"""Read this first: how one claimed Turn is driven, from its last commit to its next.

    load -> run the adapter -> Finish, Park, Fail or HandOver

The adapter thinks and calls tools; `Invocation` stores each outcome before it is applied and each
intent before its effect. Whatever ends the run ends in exactly one last commit, except for a lost
lease, which ends in none (law 4).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from hands_app.contract.faults import declare, faultpoint
from sessions_app.brain.boundary import Buffer, patiently
from sessions_app.brain.failure import Interrupted, failure_of, trace
from sessions_app.brain.guard import Guard
from sessions_app.brain.invocation import Invocation
from sessions_app.brain.observation import foreseen
from sessions_app.contract.backend import Fail, Finish, HandOver, Native, Park
from sessions_app.contract.errors import Incompatible, ObjectLost, OwnershipLost
from sessions_app.ports import EXECUTION_HOST, Finished, Suspended

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sessions_app.brain.agents import AgentDefinition
    from sessions_app.brain.database import Database
    from sessions_app.brain.lease import Held
    from sessions_app.contract.backend import Claim
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import HarnessAdapter, InvocationEnd, SessionBackend

log = logging.getLogger(__name__)

CANCELLED: Final = Fail(
    error_class="Interrupted", code="CANCELLED", text="cancelled on request", retryable=False
)
SETTLED: Final = Fail(error_class="Interrupted", code="SETTLED", text="settled", retryable=False)
STUBBORN_SECONDS: Final = 5.0
_NOTHING: Final = Native(turn_input=None, frame=None, entries=(), calls=())
_LOOK_SECONDS: Final = 1.0

declare("brain.finish.before_commit", "brain.finish.after_commit")


@dataclass(frozen=True, slots=True)
class Driver:
    """What every invocation of a process shares. `drains`: the process was told to stop."""

    backend: SessionBackend
    database: Database
    definition: Callable[[DefinitionKey], Awaitable[AgentDefinition]]
    adapter: Callable[[str], HarnessAdapter]
    drains: Callable[[], bool]

    async def drive(self, held: Held) -> None:
        """Drive one claim to its last commit; never raises: the outermost frame of a Run."""
        claim = held.claim
        try:
            await self._drive(held)
        except OwnershipLost as lost:
            log.info("%s: stopped and wrote nothing more: %s", claim.key, lost)
        except Exception as error:  # noqa: BLE001 # outermost: the lease runs out (R163)
            log.error("%s: run %s broke off: %s", claim.key, claim.run_id, trace(error))  # noqa: TRY400 - its message may be private

    async def _drive(self, held: Held) -> None:
        """Say at once what cannot be run here, else run it, again while a late steer asks (S12)."""
        if self.drains():
            await self._unread(held).end(HandOver(reason="drain"))
            return
        try:
            definition = await self._defined(held)
            if definition is None:
                return
            _refuse_changed(held.claim)
            run = _Run(self, held, definition, self.adapter(definition.harness))
            if held.claim.settling:
                await run.settle(SETTLED, self._unread(held))
                return
            while await run.once():
                pass
        except Incompatible as error:
            handed = HandOver(reason="incompatible", detail=str(error)[:500])
            await self._unread(held).end(handed)
        except ObjectLost as error:
            log.error("%s: cannot go on: %s", held.claim.key, error)  # noqa: TRY400 - says which
            failure = SETTLED if held.claim.settling else failure_of(error)
            await self._unread(held).give_up(failure)

    async def _defined(self, held: Held) -> AgentDefinition | None:
        """The pinned definition; None once a resolver that failed is charged to the Turn."""
        try:
            return await self.definition(held.claim.definition)
        except (Incompatible, OwnershipLost):
            raise
        except Exception as error:  # noqa: BLE001 # outermost: a resolver is the application's
            log.warning("%s: not resolved: %s", held.claim.key, trace(error))
            failure = SETTLED if held.claim.settling else failure_of(error)
            await self._unread(held).give_up(failure)
            return None

    def _unread(self, held: Held) -> Invocation:
        """An invocation that never got as far as reading native state."""
        return Invocation(self.backend, self.database, held, _NOTHING, drains=self.drains)


@dataclass(frozen=True, slots=True)
class _Run:
    """One claim that this process can run."""

    driver: Driver
    held: Held
    definition: AgentDefinition
    adapter: HarnessAdapter

    async def once(self) -> bool:
        """Run the adapter once; True when the store wants another step of it."""
        native = await self._load()
        guard = Guard(self.adapter.read, self.adapter.history(native))
        driver = self.driver
        invocation = Invocation(
            driver.backend, driver.database, self.held, native, drains=driver.drains, guard=guard
        )
        run = asyncio.create_task(self._run(invocation))
        self.held.runs(run)
        await _ended(run, self.held)
        try:
            return await self._conclude(invocation, run)
        except Interrupted as wish:
            return await self._interrupt(invocation, wish)
        except Exception as error:  # outermost: whatever an agent raises is a failure of this Run
            if self.held.is_lost or isinstance(error, Incompatible):
                raise
            await self._fail(invocation, error)
            return False

    async def _run(self, invocation: Invocation) -> InvocationEnd:
        """Run the adapter where the agent's code finds its host (R255)."""
        EXECUTION_HOST.set(invocation)
        invocation.refuse_broken_history()
        return await self.adapter.run(self.definition, invocation)

    async def settle(self, failure: Fail, invocation: Invocation) -> None:
        """Fail with the native clean-up of what is stored, for the store to use or not (R161)."""
        told = await invocation.break_off()
        native = foreseen(await self._load(), told)
        try:
            entries, frame = self.adapter.settle(native)
            Guard(self.adapter.read).check_all((*native.entries, *entries))
        except Exception as error:  # noqa: BLE001 # outermost: the failure itself must stand
            log.error("%s: no clean state: %s", self.held.claim.key, trace(error))  # noqa: TRY400 - its message may be private
            entries, frame = (), None
        shown = {call.execution_id: call.state for call in native.calls if not call.applied}
        cleaned = {"settled": frame, "settled_entries": entries, "shown": shown}
        await invocation.last(failure.model_copy(update=cleaned))

    async def _conclude(self, invocation: Invocation, run: asyncio.Task[InvocationEnd]) -> bool:
        """Turn what became of the run into its last commit; raises what the agent raised."""
        if self.held.is_lost:
            await invocation.over()
            self.held.check()
        if self.held.stopped == "drain":
            await invocation.give_up(HandOver(reason="drain", detail="stopped in mid-request"))
            return False
        if invocation.interrupted is not None:
            return await self._interrupt(invocation, invocation.interrupted)
        match _result(run):
            case Finished() as finished:
                return await _finish(invocation, finished)
            case Suspended(waits=waits):
                await invocation.end(Park(waits=waits))
                return False
            case other:
                assert_never(other)

    async def _interrupt(self, invocation: Invocation, wish: Interrupted) -> bool:
        """Stop here; True when the run has to begin again without a withdrawn input (R041)."""
        match wish.why:
            case "withdrawn":
                await invocation.keep_facts()
                return True
            case "pause":
                await invocation.end(Park())
            case "drain":
                await invocation.end(HandOver(reason="drain"))
            case "cancel":
                await self.settle(CANCELLED, invocation)
            case _:
                assert_never(wish.why)
        return False

    async def _fail(self, invocation: Invocation, error: Exception) -> None:
        """Record a failure; the facts that stand go with it (R152)."""
        claim = self.held.claim
        log.warning("%s: run %s failed: %s", claim.key, claim.run_id, trace(error))
        await self.settle(failure_of(error, self.definition.is_retryable), invocation)

    async def _load(self) -> Native:
        driver, definition = self.driver, self.definition
        load = partial(driver.database, driver.backend.load, self.held.claim)
        native = await patiently(self.held, load)
        if native.round_limit is not None:
            return native
        # Of a resolved version no claim knows the limits.
        return replace(
            native, round_limit=definition.round_limit, token_limit=definition.token_limit
        )


def _refuse_changed(claim: Claim) -> None:
    if claim.changed:
        msg = (
            f"agent {claim.definition} has other content here than this thread began with; "
            "register it under a new version"
        )
        raise Incompatible(msg)


async def _finish(invocation: Invocation, finished: Finished) -> bool:
    faultpoint("brain.finish.before_commit")
    final = Buffer(entries=list(finished.entries), frame=finished.frame)
    answer = await invocation.end(Finish(result=finished.result), final)
    faultpoint("brain.finish.after_commit")
    return answer.went_on


async def _ended(run: asyncio.Task[InvocationEnd], held: Held) -> None:
    """Wait for the run; one that ignores its cancellation is left alone, it can write nothing."""
    patience = STUBBORN_SECONDS
    while not run.done() and patience > 0:
        await asyncio.wait([run], timeout=_LOOK_SECONDS)
        patience -= _LOOK_SECONDS if held.stopped else 0
    _ = run.done() and not run.cancelled() and run.exception()  # looked at, whoever needs it


def _result(run: asyncio.Task[InvocationEnd]) -> InvocationEnd:
    """What the adapter returned; raises what it raised."""
    if run.cancelled():
        msg = "the agent cancelled its own task"
        raise RuntimeError(msg)
    return run.result()
