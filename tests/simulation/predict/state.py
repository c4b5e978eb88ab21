"""What the simulation expects to be true, in plain dicts, written down from the requirements.

Nothing here looks at the product's decisions: it is their second opinion. Functions of this folder
change the dicts as the store should change its rows, and return what it should answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

Facts = dict[str, Any]

ENDED: Final = ("COMPLETED", "FAILED", "CANCELLED")
SETTLED: Final = ("COMPLETED", "FAILED", "DENIED", "CANCELLED", "NOT_EXECUTED")
LEASE: Final = timedelta(seconds=30)
RENEWAL: Final = timedelta(seconds=10)
GAP: Final = timedelta(seconds=5)
RETRIES: Final = 3
HERE: Final = ("local",)
REPEATABLE: Final = ("read", "idempotent")
GIVEN_BACK: Final = ("handed-over", "incompatible", "suspect")


class Disagreement(AssertionError):
    """The product and the prediction differ; the seed has failed."""


@dataclass
class Expected:
    """All that should be in the database, and the time that it is."""

    now: datetime
    sessions: dict[str, Facts] = field(default_factory=dict)
    threads: dict[str, Facts] = field(default_factory=dict)
    turns: dict[str, Facts] = field(default_factory=dict)
    calls: dict[str, Facts] = field(default_factory=dict)
    inputs: dict[str, Facts] = field(default_factory=dict)
    asked: dict[tuple[str, str], Facts] = field(default_factory=dict)
    waits: dict[str, Facts] = field(default_factory=dict)
    rules: dict[str, Facts] = field(default_factory=dict)
    hosts: dict[str, Facts] = field(default_factory=dict)
    scanned: datetime | None = None
    grace: datetime | None = None

    # --- looking things up ---

    def queue(self, thread: Facts) -> list[Facts]:
        """Unfinished Turns of a Thread, in order of admission (R033)."""
        return [turn for turn in self.turns_of(thread) if not ended(turn)]

    def head(self, thread: Facts) -> Facts | None:
        """The Turn that may run: the first unfinished one (R033, R034)."""
        return next(iter(self.queue(thread)), None)

    def turns_of(self, thread: Facts) -> list[Facts]:
        """All Turns of a Thread, in order of admission."""
        return [turn for turn in self.turns.values() if turn["thread"] == thread["pk"]]

    def open_calls(self, turn: Facts) -> list[Facts]:
        """Calls of a Turn that no checkpoint contains yet."""
        return [
            call
            for call in self.calls.values()
            if call["turn"] == turn["id"] and not call["applied"]
        ]

    def pending(self, turn: Facts) -> list[Facts]:
        """Inputs of a Turn that wait to be applied."""
        return [
            given
            for given in self.inputs.values()
            if given["turn"] == turn["id"] and given["status"] == "PENDING"
        ]

    def in_grace(self) -> bool:
        """Whether a gap in scanning forbids every takeover at present (S4)."""
        if self.scanned is not None and self.now - self.scanned > GAP:
            return True
        return self.grace is not None and self.now < self.grace

    # --- when somebody should look ---

    def wake(self, thread: Facts) -> datetime | None:
        """When a scanner should look at a Thread; a time in the past stands for now (S2)."""
        if thread["token"] is not None:
            return self._latest(thread["expires"])
        head = self.head(thread)
        if head is None or head["suspect"]:
            return None
        if head["cancel"] and head["status"] != "CANCELLING":
            return self.now
        if head["status"] == "PAUSED":
            return self._latest(self.deadline(head))
        ready = self._ready(head)
        holds = (ready, head["held"], thread["incompatible_until"])
        return None if ready is None else max(hold for hold in holds if hold is not None)

    def is_due(self, thread: Facts) -> bool:
        """Whether it should be looked at now."""
        wake = self.wake(thread)
        return wake is not None and wake <= self.now

    def _ready(self, head: Facts) -> datetime | None:
        if head["reason"] == "backoff":
            deadline = self.deadline(head)
            times = [time for time in (head["retry_at"], deadline) if time is not None]
            return self._latest(min(times))
        calls = self.open_calls(head) if head["started"] else []
        if head["status"] == "RUNNING" or head["reason"] in GIVEN_BACK:
            return self.now
        if not all(map(settled, calls)):
            return self.now if goes_on(calls) else self._latest(self.deadline(head))
        if head["status"] != "WAITING" or calls or head["reason"] == "unknown":
            return self.now
        if any(given["kind"] != "INJECT" for given in self.pending(head)):
            return self.now
        return self._latest(self.deadline(head))

    def deadline(self, head: Facts) -> datetime | None:
        """The earliest time at which a question or a wait of a Turn is over."""
        open_ = (*self.asked.values(), *self.waits.values())
        ours = (one for one in open_ if one["turn"] == head["id"] and one["status"] == "OPEN")
        return min((one["deadline"] for one in ours if one["deadline"]), default=None)

    def _latest(self, moment: datetime | None) -> datetime | None:
        return None if moment is None else max(moment, self.now)


def ended(turn: Facts) -> bool:
    """Whether a Turn is terminal."""
    return turn["status"] in ENDED


def settled(call: Facts) -> bool:
    """Whether a call has ended and nothing of it is in doubt."""
    return call["state"] in SETTLED


def waits_for(calls: list[Facts]) -> str:
    """What a Turn waits for that nobody owns: evidence, a person, a signal, else results."""
    if any(call["state"] == "UNKNOWN" for call in calls):
        return "unknown"
    resting = [c for c in calls if c["state"] == "INTENDED" and c["deliver_at"] is None]
    if any(not call["allowed"] or call["route"] == "manual" for call in resting):
        return "interaction"
    return "signal" if any(call["route"] == "signal" for call in resting) else "tool"


def goes_on(calls: list[Facts]) -> bool:
    """Whether an owner would find a call to begin or to repeat, beside one in doubt too."""
    return any(may_begin(call) or _is_repeated(call) for call in calls)


def may_begin(call: Facts) -> bool:
    """Whether a call is allowed, and nothing from outside is missing for it to begin."""
    waits = call["route"] in {"manual", "signal"} or call["deliver_at"] is not None
    return bool(call["state"] == "INTENDED" and call["allowed"] and not waits)


def _is_repeated(call: Facts) -> bool:
    return call["state"] == "STARTED" and call["route"] in HERE and call["effect"] in REPEATABLE


def move(turn: Facts, status: str, reason: str | None = None) -> None:
    """Change a status: each change raises the revision by one (I2)."""
    turn["status"], turn["reason"] = status, reason
    turn["revision"] += 1


def new_turn(turn_id: str, thread: Facts, ordinal: int) -> Facts:
    """A Turn as admission leaves it."""
    return {
        "id": turn_id,
        "thread": thread["pk"],
        "ordinal": ordinal,
        "status": "QUEUED",
        "revision": 1,
        "reason": None,
        "run": None,
        "last_change": None,
        "cancel": None,
        "pause": None,
        "went_on": False,
        "started": False,
        "failures": 0,
        "retry_at": None,
        "failed_for_good": False,
        "deaths": 0,
        "takeovers": 0,
        "held": None,
        "suspect": False,
        "rounds": 0,
    }


def new_thread(pk: str, session: str, name: str, definition: str) -> Facts:
    """A Thread as its creation leaves it."""
    return {
        "pk": pk,
        "session": session,
        "name": name,
        "definition": definition,
        "status": "OPEN",
        "token": None,
        "host": None,
        "expires": None,
        "epoch": 0,
        "builds": [],
        "incompatible_until": None,
    }
