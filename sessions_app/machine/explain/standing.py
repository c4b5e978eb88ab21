"""Where the Turn itself stands: ended, owned, held by a person, behind another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.status import SETTLED_CALLS, TurnStatus
from sessions_app.machine.explain import actions, hosts
from sessions_app.machine.explain.facts import Cause, Facts, execution, lease, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessions_app.contract.explanation import Explanation, NextAction


def ended(facts: Facts) -> Explanation:
    """COMPLETED, FAILED, CANCELLED (R053)."""
    turn = facts.turn
    cause = Cause(turn.status.lower())
    why = f" with {turn.error_code}: {turn.error_text}" if cause == Cause.FAILED else ""
    return say(
        facts,
        cause,
        f"{cause.value}{why}; it never starts again",
        [actions.submit("submit a new turn")],
        None,
        finishedAt=turn.finished_at,
        errorClass=turn.error_class,
        errorCode=turn.error_code,
        failures=turn.failures,
        cancelRequest=turn.cancel_request,
    )


def owned(facts: Facts) -> Explanation | None:
    """RUNNING or PAUSING: somebody works on it, or has died; None once a dead Run was buried."""
    turn = facts.turn
    if turn.run_id is None or not facts.leased:
        return lost_owner(facts)
    if turn.status == TurnStatus.PAUSING:
        text = f"{facts.thread.lease_host} stops at its next safe boundary"
        what = [actions.WAIT, actions.cancel(turn)]
        return say(facts, Cause.PAUSING, text, what, "the next safe boundary", **lease(facts))
    text = f"{facts.thread.lease_host} works on it"
    what = [actions.WAIT, actions.pause(turn), actions.cancel(turn)]
    return say(
        facts, Cause.RUNNING, text, what, f"the next commit of {turn.run_id}", **lease(facts)
    )


def lost_owner(facts: Facts) -> Explanation | None:
    """An open Run without a living lease waits for a takeover (R164, S4)."""
    if facts.turn.run_id is None or facts.leased:
        return None
    grace = facts.grace_until
    waits = grace is not None and grace > facts.now
    text = f"{facts.thread.lease_host} died or lost the lease; the next look takes it over"
    if waits:
        text += ", once living owners had time to renew"
    return say(
        facts,
        Cause.OWNER_LOST,
        text,
        [actions.WAIT, actions.DOCTOR],
        f"a look by a brain that has {facts.thread.pin}",
        **lease(facts),
        graceUntil=grace if waits else None,
        fittingHosts=[host.id for host in facts.fitting],
        scannedAt=facts.scanned_at,
    )


def paused(facts: Facts) -> Explanation:
    """Results and answers may arrive meanwhile and advance nothing (R050, R052, R266)."""
    turn = facts.turn
    arrived = [call.id for call in facts.calls if call.state in SETTLED_CALLS]
    also = f"; {len(arrived)} results wait to be applied" if arrived else ""
    return say(
        facts,
        Cause.PAUSED,
        f"paused at revision {turn.revision}{also}",
        [actions.resume(turn), actions.cancel(turn)],
        "somebody who resumes it",
        revision=turn.revision,
        pauseRequest=turn.pause_request,
        resultsArrived=[*arrived],
        openInteractions=[asked.id for asked in facts.interactions],
        ahead=facts.ahead,
    )


def cancelling(facts: Facts) -> Explanation:
    """A cancel was recorded; effects settle before it ends (R045, R268)."""
    unsettled = facts.unsettled
    what: Sequence[NextAction]
    waits_for: str | None
    if unsettled:
        text = f"cancelled; {len(unsettled)} executions have to settle first"
        look = "look at the executions; a cancel does not prove that one stopped"
        what = [actions.WAIT, actions.verify(unsettled[0].id, look)]
        waits_for = f"the end of {', '.join(call.id for call in unsettled)}"
    elif facts.leased:
        text, what = f"cancelled; {facts.thread.lease_host} settles it", [actions.WAIT]
        waits_for = f"the last commit of {facts.turn.run_id}"
    else:
        nobody = hosts.missing(facts)
        text, what, waits_for = f"cancelled; {nobody.text}", nobody.next_actions, nobody.waits_for
    return say(
        facts,
        Cause.CANCELLING,
        text,
        what,
        waits_for,
        cancelRequest=facts.turn.cancel_request,
        executions=[execution(call) for call in unsettled],
        **lease(facts),
    )


def behind(facts: Facts) -> Explanation | None:
    """Turns of one Thread run strictly in order (R033, R034, R263)."""
    head = facts.head
    if head is None or head.id == facts.turn.id:
        return None
    reason = f" ({head.reason})" if head.reason else ""
    end_it = [actions.cancel(head)] if head.cancel_request is None else []
    return say(
        facts,
        Cause.BEHIND_HEAD,
        f"{head.id} comes first and is {head.status}{reason}",
        [
            actions.explain(head),
            *end_it,
            actions.submit("submit it to another thread, which has a queue of its own"),
            actions.cancel(facts.turn),
        ],
        f"the end of {head.id}",
        head=head.id,
        headStatus=head.status,
        headReason=head.reason,
        ahead=facts.ahead,
    )
