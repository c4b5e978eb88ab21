"""One round: a call of each effect class, each in a worker that is killed at the named place.

Each class has a route with two workers. Whichever comes to the place first is killed, the other,
started ahead, finds the death and does what design section 7 says.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.models import Turn
from tests.chaos.field import until
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.tools import ANSWERS, BY_CLASS, HALFWAY, effects

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hands_app.contract.binding import EffectClass
    from hands_app.ledger.engine import Database
    from sessions_app.models import ToolCall
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Worker, Workers


class Place(NamedTuple):
    """A fault point, and how far a call has come there: the start record, the effect, the end."""

    point: str
    started: bool = False
    happened: bool = False
    ended: bool = False


PLACES: Final[Mapping[str, Place]] = {
    "before-admit": Place("hands.admit.before_commit"),
    "after-admit": Place("hands.admit.after_commit"),
    "before-start": Place("hands.start.before_commit"),
    "after-start": Place("hands.start.after_commit", started=True),
    "mid-effect": Place(HALFWAY, started=True, happened=True),
    "after-effect": Place("hands.effect.after_done", started=True, happened=True),
    "after-finish": Place("hands.finish.after_commit", started=True, happened=True, ended=True),
    "before-publish": Place("hands.publish.before_send", started=True, happened=True, ended=True),
    "after-publish": Place("hands.publish.after_send", started=True, happened=True, ended=True),
}
FINISHED: Final = PLACES["after-finish"].point


class Expected(NamedTuple):
    """What must have become of a call."""

    state: CallState
    effects: int
    attempts: int


def expected(effect: EffectClass, place: Place) -> Expected:
    """What design section 7 says of a call whose worker died at a place."""
    if place.ended or not place.started:
        return Expected(CallState.COMPLETED, 1, 1)
    match effect:
        case "once":
            return Expected(CallState.UNKNOWN, int(place.happened), 1)
        case "queryable":
            return Expected(CallState.COMPLETED, 1, 1 if place.happened else 2)
        case _:
            return Expected(CallState.COMPLETED, 2 if place.happened else 1, 2)


@dataclass
class Deaths:
    """Two workers for each effect class, and a kill of one of each in every round."""

    workers: Workers
    desk: Desk
    ledger: Database
    oracle: Path
    place: Place
    pairs: dict[EffectClass, list[Worker]] = field(default_factory=dict)
    settled: list[float] = field(default_factory=list)

    def round(self) -> None:
        """Run four calls through four deaths and hold them against everything that must be true."""
        self._complete_the_pairs()
        calls = {effect: self.desk.ask(tool) for effect, tool in BY_CLASS.items()}
        self.desk.until(self._all_died, "four deaths")
        died = time.monotonic()
        self.desk.until(lambda: self._all_settled(calls), "four ends")
        self.settled.append(time.monotonic() - died)
        for effect, call in calls.items():
            self._judge(effect, call)
        self._bury()

    def verdict(self) -> None:
        """Both databases hold what they must, and everything was published."""
        with suppress(AssertionError):  # which would not say what is wrong
            until(lambda: not breaches(self.ledger), 20)
        assert breaches(self.ledger) == []
        self.desk.take_in()
        self.desk.verdict(self.oracle)

    def _complete_the_pairs(self) -> None:
        for effect in BY_CLASS:
            pair = self.pairs.setdefault(effect, [])
            pair += [self._start(effect) for _ in range(2 - len(pair))]
        self.workers.ready(worker for pair in self.pairs.values() for worker in pair)

    def _start(self, effect: str) -> Worker:
        kill = {self.place.point: f"kill-once:{self._mark(effect)}"}
        only_after = FINISHED if self.place.point.startswith("hands.publish") else None
        queues = (f"{effect}.commands", f"{effect}.controls")
        return self.workers.start(*queues, faults=kill, only_after=only_after, slots=2)

    def _mark(self, effect: str) -> Path:
        return self.workers.folder / f"killed-{effect}"

    def _all_died(self) -> bool:
        return all(self._mark(effect).exists() for effect in BY_CLASS)

    def _all_settled(self, calls: Mapping[EffectClass, ToolCall]) -> bool:
        return all(
            self.desk.state(call) == expected(effect, self.place).state
            for effect, call in calls.items()
        )

    def _judge(self, effect: EffectClass, call: ToolCall) -> None:
        """Effects, attempts, the Turn's view and its end."""
        want = expected(effect, self.place)
        call.refresh_from_db()
        found = Expected(CallState(call.state), effects(self.oracle).count(call.pk), call.attempts)
        assert found == want, (effect, self.place.point)
        if want.state is CallState.UNKNOWN:
            turn = Turn.objects.get(pk=call.turn_id)
            assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)
            return
        assert call.result["content"] == ANSWERS[call.name]
        self.desk.go_on(call)

    def _bury(self) -> None:
        """See that one of each pair was killed, and only that one."""
        for effect, pair in self.pairs.items():
            until(partial(_dead, pair), 15)
            dead = _dead(pair)
            assert [worker.status for worker in dead] == [-signal.SIGKILL], effect
            self.pairs[effect] = [each for each in pair if each not in dead]
            self._mark(effect).unlink()


def _dead(pair: list[Worker]) -> list[Worker]:
    return [worker for worker in pair if worker.ended() is not None]
