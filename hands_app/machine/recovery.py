"""What follows from a lost or unconfirmed outcome; the effect class decides (design section 7).

| Effect | Owner died after the start | Exception, deadline or empty return |
| - | - | - |
| `read` | run again | FAILED: there is no effect to be in doubt about |
| `idempotent` | run again with the same key | run again with the same key, then FAILED |
| `queryable` | look up | look up |
| `once` | UNKNOWN | UNKNOWN |

A cancel ends the repeating: what only reads is CANCELLED, an `idempotent` one FAILED (ABANDONED).
UNKNOWN comes only from a started `once`, or a `queryable` whose lookup cannot say.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, assert_never

from hands_app.contract.binding import EffectClass
from hands_app.machine import output
from hands_app.machine.execution import (
    OWNED,
    Decision,
    Execution,
    Refusal,
    Resume,
    State,
    abandoned,
    cancelled,
    failed,
    give_back,
    settle,
    unknown,
)

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.messages import ExecutionResult

MAX_ATTEMPTS: Final = 3
"""Starts of an `idempotent` tool whose exceptions leave the outcome unconfirmed."""

MAX_DEATHS: Final = 5
"""Starts of one execution that may end with the death of the worker."""

MAX_LOOKUPS: Final = 5
"""Lookups that may fail before the outcome is called UNKNOWN."""

_FIRST_DELAY: Final = timedelta(seconds=1)
_LONGEST_DELAY: Final = timedelta(minutes=5)


def recover(execution: Execution, now: datetime) -> Decision | None:
    """Decide about an execution whose owner is gone; None when it is not owned.

    The caller has established that the owner is gone: an ended lease, or its presence lost (S4).
    """
    if execution.state is State.CLAIMED:
        return give_back(execution, now, execution.resume)
    if execution.state is not State.STARTED:
        return None
    left, lost = output.died(execution)
    return replace(_recover_started(left, now), output=lost)


def _recover_started(execution: Execution, now: datetime) -> Decision:
    match execution.effect:
        case EffectClass.READ | EffectClass.IDEMPOTENT:
            return _run_again(execution, now)
        case EffectClass.QUERYABLE:
            return give_back(execution, now, Resume.LOOKUP)
        case EffectClass.ONCE | None:
            lost = unknown("its worker died after the start; nobody knows how far it came")
            return settle(execution, lost, now)
        case never:
            assert_never(never)


def _run_again(execution: Execution, now: datetime) -> Decision:
    """Run again at once, later with growing delay, and not for ever: it may kill its workers.

    Nothing begins again that somebody wants to stop.
    """
    if execution.cancel_requested_at is not None:
        reads = execution.effect is EffectClass.READ
        result = cancelled("its worker died; it only reads") if reads else abandoned()
        return settle(execution, result, now)
    if execution.attempt >= MAX_DEATHS:
        many = failed("WORKER_DIED", f"its worker died {execution.attempt} times while it ran")
        return settle(execution, many, now)
    delay = timedelta(0) if execution.attempt == 1 else backoff(execution.attempt - 1)
    return give_back(execution, now + delay)


def unconfirmed(
    execution: Execution, token: str, failure: ExecutionResult, now: datetime
) -> Decision | Refusal:
    """Decide about an attempt whose end says nothing of its effect (R209).

    `failure` is the FAILED result to record where the effect class leaves no doubt.
    """
    if execution.token != token or execution.state is not State.STARTED:
        return Refusal.LOST
    reason = failure.error.message if failure.error is not None else "no outcome"
    match execution.effect:
        case EffectClass.READ:
            return settle(execution, failure, now)
        case EffectClass.IDEMPOTENT if _may_try_again(execution):
            return give_back(execution, now + backoff(execution.attempt))
        case EffectClass.IDEMPOTENT:
            return settle(execution, failure, now)
        case EffectClass.QUERYABLE:
            return give_back(execution, now, Resume.LOOKUP)
        case EffectClass.ONCE | None:
            return settle(execution, unknown(f"it may have had its effect: {reason}"), now)
        case never:
            assert_never(never)


def _may_try_again(execution: Execution) -> bool:
    """Whether another start is due; none is once somebody wants it to stop."""
    return execution.attempt < MAX_ATTEMPTS and execution.cancel_requested_at is None


def never_happened(execution: Execution, token: str, now: datetime) -> Decision | Refusal:
    """Decide after a lookup found no effect: the owner may start again, a few times (I26)."""
    if execution.token != token or execution.state is not State.CLAIMED:
        return Refusal.LOST
    if execution.cancel_requested_at is not None:
        return settle(execution, cancelled("the lookup found no effect"), now)
    if execution.attempt >= MAX_ATTEMPTS:
        often = failed("NO_EFFECT", f"{execution.attempt} attempts left no effect")
        return settle(execution, often, now)
    return Decision(replace(execution, resume=Resume.RUN, lookups=execution.lookups + 1))


def unsure(execution: Execution, token: str, now: datetime) -> Decision | Refusal:
    """Decide after a lookup that cannot say what happened: UNKNOWN until there is evidence."""
    if execution.token != token or execution.state not in OWNED:
        return Refusal.LOST
    return settle(execution, unknown("the lookup cannot say what happened"), now)


def lookup_failed(execution: Execution, token: str, now: datetime) -> Decision | Refusal:
    """Decide after a lookup that broke: ask again later, a few times, then it cannot say."""
    if execution.token != token or execution.state is not State.CLAIMED:
        return Refusal.LOST
    asked = replace(execution, lookups=execution.lookups + 1)
    if asked.lookups >= MAX_LOOKUPS:
        return unsure(asked, token, now)
    return give_back(asked, now + backoff(asked.lookups), Resume.LOOKUP)


def backoff(times: int) -> timedelta:
    """Return 1 s, doubled with each further time, at most 5 minutes."""
    return min(_FIRST_DELAY * (1 << min(times - 1, 16)), _LONGEST_DELAY)
