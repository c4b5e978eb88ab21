"""What is missing before anybody may claim the Turn: evidence, an answer, a result, a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.status import CallState, WaitReason
from sessions_app.machine.explain import actions
from sessions_app.machine.explain.facts import Cause, Facts, as_json, execution, say

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.explanation import Explanation
    from sessions_app.models import ToolCall, Wait

_ENDED_BY_HAND: Final = frozenset({"manual", "signal"})


def held(facts: Facts) -> Explanation | None:
    """It took processes down (S5)."""
    turn, until = facts.turn, facts.turn.held_until
    took = f"it took {turn.deaths} processes down in a row and is held until"
    if turn.suspect:
        what = [actions.release(turn), actions.cancel(turn)]
        text = f"{took} it is released"
        return say(facts, Cause.SUSPECT, text, what, "an operator", deaths=turn.deaths)
    if until is None or until <= facts.now:
        return None
    when = until.isoformat()
    what = [actions.WAIT, actions.cancel(turn)]
    return say(facts, Cause.HELD, f"{took} {when}", what, when, deaths=turn.deaths, until=until)


def unknown(facts: Facts) -> Explanation | None:
    """An effect whose outcome nobody can verify (law 7, R268)."""
    lost = [call for call in facts.calls if call.state == CallState.UNKNOWN]
    if not lost:
        return None
    first = lost[0]
    what = f"find out what {first.id} did, where it would have done it; never resubmit it"
    return say(
        facts,
        Cause.UNKNOWN_EFFECT,
        f"{first.name} ({first.id}) was started and nobody can say how it ended",
        [actions.verify(first.id, what), *(actions.reconcile(call.id) for call in lost)],
        f"evidence about {', '.join(call.id for call in lost)}",
        executions=[execution(call) for call in lost],
    )


def missing(facts: Facts) -> Explanation | None:
    """The first thing that is missing; None when a look would take the Turn."""
    if facts.due:
        return None
    return _backoff(facts) or _interaction(facts) or _tool(facts) or _signal(facts)


def _backoff(facts: Facts) -> Explanation | None:
    """A failure is tried again; nobody can shorten it (R153, R154, R267)."""
    turn, when = facts.turn, facts.turn.retry_at
    if turn.reason != WaitReason.BACKOFF or when is None:
        return None
    tries = (turn.policy_retries or 0) + 1
    text = f"failure {turn.failures} of {tries}; tried again at {when.isoformat()}"
    return say(
        facts,
        Cause.BACKOFF,
        f"{text}: {turn.error_code}, {turn.error_text}; neither hosts nor signals shorten it",
        [actions.WAIT, actions.cancel(turn)],
        when.isoformat(),
        failures=turn.failures,
        retries=turn.policy_retries,
        firstDelayMs=turn.policy_first_ms,
        maxDelayMs=turn.policy_max_ms,
        nextTryAt=when,
        errorClass=turn.error_class,
        errorCode=turn.error_code,
    )


def _interaction(facts: Facts) -> Explanation | None:
    """A person can help (R265)."""
    if not facts.interactions:
        return None
    first, names = facts.interactions[0], [asked.id for asked in facts.interactions]
    return say(
        facts,
        Cause.INTERACTION,
        f"a person has to answer {', '.join(names)}",
        [*map(actions.respond, facts.interactions), actions.cancel(facts.turn)],
        f"an answer to {', '.join(names)}",
        interactions=[*names],
        kind=first.kind,
        executionId=first.call_id,
        openedAt=first.opened_at,
        expiresAt=first.expires_at,
    )


def _tool(facts: Facts) -> Explanation | None:
    """Results that come by themselves."""
    open_ = [call for call in facts.unsettled if _is_under_way(call)]
    if not open_:
        return None
    call = open_[0]
    look = f"look at {call.id} in its pool"
    return say(
        facts,
        Cause.TOOL,
        f"{call.name} ({call.id}) on route {call.route} has no result here yet; it {_sent(call)}",
        [actions.WAIT, actions.verify(call.id, look), actions.cancel(facts.turn)],
        f"the result of {', '.join(each.id for each in open_)}",
        executions=[execution(each) for each in open_],
        deadline=facts.turn.wait_deadline,
    )


def _is_under_way(call: ToolCall) -> bool:
    """Whether it was begun or given to the outbox, rather than left to the next owner."""
    begun = call.state != CallState.INTENDED or call.deliver_at is not None
    return begun and call.route not in _ENDED_BY_HAND


def _sent(call: ToolCall) -> str:
    if call.unread_at is not None:
        return f"has one that cannot be read, {call.unread_code} since {call.unread_at.isoformat()}"
    if call.admitted_at is not None:
        return f"was admitted at {call.admitted_at.isoformat()}"
    if call.dispatched_at is not None:
        return f"was sent {call.deliveries} times and not admitted yet"
    return "was not sent yet"


def _signal(facts: Facts) -> Explanation | None:
    """A signal, or the deadline that ends the wait for it (R146)."""
    turn, deadline = facts.turn, facts.turn.wait_deadline
    if turn.reason != WaitReason.SIGNAL and not facts.waits:
        return None
    keys = [wait.key for wait in facts.waits]
    named = f"a signal {' or '.join(keys)}" if keys else "a signal"
    what = [actions.signal(turn, key) for key in keys] or [actions.signal(turn, None)]
    return say(
        facts,
        Cause.SIGNAL,
        f"waits for {named}{f', until {deadline.isoformat()}' if deadline else ''}",
        [*what, actions.cancel(turn)],
        f"{named}{f' or {deadline.isoformat()}' if deadline else ''}",
        waits=[_condition(wait) for wait in facts.waits],
        deadline=deadline,
    )


def _condition(wait: Wait) -> dict[str, JsonValue]:
    return {
        "key": wait.key,
        "openedAt": as_json(wait.opened_at),
        "deadline": as_json(wait.deadline_at),
    }
