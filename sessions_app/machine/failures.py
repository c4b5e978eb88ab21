"""Failures: charged to a persisted policy, or ended for good (R151 to R163).

Times are the database's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sessions_app.contract.events import EventType
from sessions_app.contract.status import TurnStatus, WaitReason
from sessions_app.machine.table import move

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Fail
    from sessions_app.machine.change import Change
    from sessions_app.models import Turn

MAX_DOUBLINGS: Final = 30


@dataclass(frozen=True, slots=True)
class Policy:
    """Extra tries and their waits in milliseconds.

    3, then 1 s doubling up to 30 s by default (R151).
    """

    retries: int = 3
    first_ms: int = 1000
    max_ms: int = 30_000

    def delay(self, failures: int) -> timedelta:
        """Wait before the try that follows the `failures`-th failure."""
        doublings = min(failures - 1, MAX_DOUBLINGS)
        return timedelta(milliseconds=min(self.first_ms * 2**doublings, self.max_ms))


def in_force(turn: Turn, configured: Policy) -> Policy:
    """The policy stored with the first failure.

    Another host's configuration never replaces it (R153, R154).
    """
    if turn.policy_retries is None or turn.policy_first_ms is None or turn.policy_max_ms is None:
        return configured
    return Policy(turn.policy_retries, turn.policy_first_ms, turn.policy_max_ms)


def record(change: Change, turn: Turn, failure: Fail, configured: Policy) -> bool:
    """Charge one failure.

    True: the Turn waits for its next try; False: it has failed for good (R159).
    """
    policy = in_force(turn, configured)
    turn.policy_retries, turn.policy_first_ms, turn.policy_max_ms = (
        policy.retries,
        policy.first_ms,
        policy.max_ms,
    )
    turn.failures += 1
    turn.error_class, turn.error_code = failure.error_class[:128], failure.code[:64]
    turn.error_text = failure.text[:2000]
    again = failure.retryable and turn.failures <= policy.retries and turn.cancel_request is None
    turn.retry_at = change.now + policy.delay(turn.failures) if again else None
    turn.failed_for_good = not again
    _publish(change, turn, policy)
    if again:
        _back_off(change, turn)
    return again


def _back_off(change: Change, turn: Turn) -> None:
    """Pause has priority over automatic recovery (R054)."""
    if turn.status == TurnStatus.PAUSING:
        move(change, turn, TurnStatus.PAUSED, WaitReason.BACKOFF)
    else:
        move(change, turn, TurnStatus.WAITING, WaitReason.BACKOFF)


def _publish(change: Change, turn: Turn, policy: Policy) -> None:
    payload: dict[str, JsonValue] = {
        "failures": turn.failures,
        "retries": policy.retries,
        "firstDelayMs": policy.first_ms,
        "maxDelayMs": policy.max_ms,
        "nextTryAt": turn.retry_at.isoformat() if turn.retry_at else None,
        "errorClass": turn.error_class,
        "errorCode": turn.error_code,
        "errorText": turn.error_text,
    }
    change.emit(turn.session_id, EventType.TURN_RECOVERY, payload, turn=turn)
