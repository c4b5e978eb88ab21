"""Explain: the first thing that keeps a Turn from running, the facts it rests on, the next actions.

Causes are looked for in the order in which they block: the Turn has ended; somebody works on it; a
person holds it; another Turn is before it (`standing.py`); evidence, an answer, a result or a time
is missing (`waits.py`); nobody can take it; nobody has taken it yet (`hosts.py`). Whether anything
is missing is asked of `wake_at`, so that no answer contradicts what hosts go by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.status import TurnStatus
from sessions_app.machine.explain import hosts, standing, waits
from sessions_app.machine.explain.facts import Cause, Facts

if TYPE_CHECKING:
    from sessions_app.contract.explanation import Explanation

__all__ = ["Cause", "Facts", "explain"]


def explain(facts: Facts) -> Explanation:
    """Name the first cause; total over every state of a Turn."""
    match TurnStatus(facts.turn.status):
        case TurnStatus.COMPLETED | TurnStatus.FAILED | TurnStatus.CANCELLED:
            return standing.ended(facts)
        case TurnStatus.RUNNING | TurnStatus.PAUSING:
            return standing.owned(facts) or _unowned(facts)
        case TurnStatus.PAUSED:
            return standing.paused(facts)
        case TurnStatus.CANCELLING:
            return standing.lost_owner(facts) or waits.unknown(facts) or standing.cancelling(facts)
        case TurnStatus.QUEUED | TurnStatus.WAITING:
            if facts.turn.cancel_request is not None:
                return standing.cancelling(facts)
            return standing.behind(facts) or _unowned(facts)


def _unowned(facts: Facts) -> Explanation:
    return waits.held(facts) or waits.unknown(facts) or waits.missing(facts) or hosts.missing(facts)
