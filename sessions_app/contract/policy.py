"""Submit policies: what a submission means while its Thread has an unfinished Turn."""

from __future__ import annotations

from enum import StrEnum

from sessions_app.contract.errors import Invalid


class SubmitPolicy(StrEnum):
    """What is asked for. The receipt's outcome says what happened."""

    QUEUE = "queue"  # a new Turn, behind all others
    STEER = "steer"  # direction for the Turn that has begun, if there is one, else a new Turn
    REPLACE = "replace"  # cancel the first unfinished Turn, then a new one, behind all others
    REJECT = "reject"  # Conflict while a Turn is unfinished, else a new Turn


class SubmitOutcome(StrEnum):
    """What happened."""

    QUEUED = "queued"  # a new Turn; the receipt names it
    STEERED = "steered"  # an input to the Turn that the receipt names; the subject is its signal id
    REPLACED = "replaced"  # a new Turn; the subject is the Turn that is being cancelled for it


def submit_policy(value: object) -> SubmitPolicy:
    """Return the policy of this name; raises Invalid."""
    try:
        return SubmitPolicy(str(value))
    except ValueError:
        msg = f"submit policy {value!r:.80} is not one of {', '.join(SubmitPolicy)}"
        raise Invalid(msg) from None
