"""Hands as the Brain sees it: a ledger in plain dicts, and updates that wait to be carried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from tests.simulation.agents import HANDS

if TYPE_CHECKING:
    from random import Random

    from sessions_app.tooling.boxes import Delivery
    from tests.simulation.clockwork import Clock

OVER: Final = ("COMPLETED", "FAILED", "CANCELLED")
_ENDINGS: Final = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "UNKNOWN")
NAMESPACE: Final = "durable"
_PROGRESS: Final = 0.2
_OUTPUT: Final = 0.35


@dataclass
class Pool:
    """One pool: executions that it knows, and what it told of each."""

    clock: Clock
    ledger: dict[str, dict[str, Any]] = field(default_factory=dict)
    letters: list[Delivery] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    starts: list[str] = field(default_factory=list)

    def obey(self, letter: Delivery) -> None:
        """Take a command in. A known execution is not admitted twice."""
        known = self.ledger.get(letter.execution_id)
        if known is None:
            self._obey_anew(letter)
            return
        match letter.sent:
            case "execute":
                self.updates.extend(known["told"])
            case "cancel":
                self._cancel(known)
            case "query":
                self.updates.extend(known["told"][min(letter.position, len(known["told"]) - 1) :])

    def _obey_anew(self, letter: Delivery) -> None:
        match letter.sent:
            case "execute":
                if letter.not_after is not None and letter.not_after >= self.clock.now:
                    self._tell(self._admit(letter), UpdateKind.ADMITTED, {"runnable": True})
            case "cancel":
                self._end(self._admit(letter), "CANCELLED")
            case "query":
                self.updates.append(self._update(letter, UpdateKind.UNKNOWN_EXECUTION, 0, {}))

    def work(self, rng: Random) -> str | None:
        """Let one execution go on: start, tell of progress or output, end, or find evidence."""
        live = [one for one in self.ledger.values() if one["state"] not in OVER]
        if not live:
            return None
        one = rng.choice(live)
        match one["state"]:
            case "ADMITTED":
                one["state"] = "STARTED"
                self.starts.append(one["id"])
                self._tell(one, UpdateKind.STARTED, {"attempt": 1})
            case "STARTED":
                self._go_on(one, rng)
            case _:
                self._end(one, "COMPLETED")
        return str(one["id"])

    def tell_on(self, rng: Random) -> str | None:
        """Tell once more of an execution that has ended, as a zombie does."""
        over = [one for one in self.ledger.values() if one["state"] in OVER]
        if not over:
            return None
        one = rng.choice(over)
        self._tell(one, UpdateKind.PROGRESS, {"message": "not over yet"})
        return str(one["id"])

    def _go_on(self, one: dict[str, Any], rng: Random) -> None:
        """Tell of progress or of output, or end."""
        drawn = rng.random()
        if drawn < _PROGRESS:
            self._tell(one, UpdateKind.PROGRESS, {"message": "going on"})
        elif drawn < _OUTPUT:
            available = len(one["told"]) * 100
            self._tell(one, UpdateKind.OUTPUT, {"available": available, "sealed": False})
        else:
            self._end(one, rng.choice(_ENDINGS))

    def has_news(self, name: str, position: int) -> bool:
        """Whether it can still tell something of an execution behind this position."""
        known = self.ledger.get(name)
        return known is not None and (known["state"] not in OVER or len(known["told"]) > position)

    def forget(self) -> bool:
        """Lose the ledger, as a restore from an older copy would."""
        had = bool(self.ledger)
        self.ledger.clear()
        return had

    def _admit(self, letter: Delivery) -> dict[str, Any]:
        known = {
            "id": letter.execution_id,
            "state": "ADMITTED",
            "told": [],
            "letter": letter,
            "cancelled": False,
        }
        self.ledger[letter.execution_id] = known
        return known

    def _cancel(self, known: dict[str, Any]) -> None:
        if known["state"] == "ADMITTED":
            self._end(known, "CANCELLED")
        elif known["state"] == "STARTED" and not known["cancelled"]:
            known["cancelled"] = True
            self._tell(known, UpdateKind.PROGRESS, {"cancel": "accepted"})
        else:
            self.updates.extend(known["told"])

    def _end(self, known: dict[str, Any], state: str) -> None:
        known["state"] = state
        payload: dict[str, Any] = {"state": state, "content": None, "metadata": {}, "error": None}
        if state == "COMPLETED":
            payload["content"] = "done"
        else:
            payload["error"] = {"code": "SAID_SO", "message": "as the seed drew it"}
        self._tell(known, UpdateKind.RESULT, payload)

    def _tell(self, known: dict[str, Any], kind: UpdateKind, payload: dict[str, Any]) -> None:
        update = self._update(known["letter"], kind, len(known["told"]) + 1, payload)
        known["told"].append(update)
        self.updates.append(update)

    def _update(
        self, letter: Delivery, kind: UpdateKind, sequence: int, payload: dict[str, Any]
    ) -> Update:
        return Update(
            event_id=new_id("evt_"),
            namespace=NAMESPACE,
            execution_id=letter.execution_id,
            request_digest=letter.request_digest,
            route=HANDS,
            sequence=sequence,
            kind=kind,
            payload=payload,
            at=self.clock.now,
        )
