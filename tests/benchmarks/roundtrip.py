"""One Turn with a call to Hands, both houses in this process and a person as the broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hands_app.contract.wire import encode
from hands_app.machine.admission import Admission
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.outbox import StoreOutbox
from sessions_app.tooling.dispatch import Dispatch
from sessions_app.tooling.intake import Intake
from tests.benchmarks.counting import Operation, recorded, recorded_ledger
from tests.integration.tooling.house import Post

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from hands_app.ledger.engine import Database as Ledger
    from tests.benchmarks.stage import Stage


class Pool(Protocol):
    """What a pool of Hands can be asked for; see `tests.integration.tooling.pool`."""

    database: Ledger
    told: list[Update]

    def obey(self, envelope: str, *, control: bool = False) -> str:
        """Take a command in."""

    def run(self) -> None:
        """Carry what was admitted to its end."""


@dataclass
class RoundTrip:
    """A Turn that asks Hands once; what only the call costs is kept, of either house."""

    stage: Stage
    pool: Pool
    namespace: str
    brain: dict[str, Operation] = field(default_factory=dict)
    hands: dict[str, Operation] = field(default_factory=dict)
    messages: int = 0

    def run(self) -> str:
        """Drive a Turn to its call, carry out and back, drive to the end; gives the Turn's id."""
        post = Post()
        _, turn_id = self.stage.submit(self.stage.session(), "hands k")
        _, _, self.brain["park"], _ = self.stage.drive(turn_id)
        self._carry_out(post)
        self._bring_back(Intake(StoreInbox(), post, self.namespace))
        self.brain["claim again"], _, self.brain["apply"], _, _ = self.stage.drive(turn_id)
        return turn_id

    def _carry_out(self, post: Post) -> None:
        dispatch = Dispatch(StoreOutbox(), post, self.namespace)
        with recorded("send") as self.brain["send"]:
            assert dispatch.due() == 1
        (letter,) = post.letters
        with recorded_ledger("admit", self.pool.database) as self.hands["admit"]:
            assert self.pool.obey(letter.text) == Admission.NEW
        with recorded_ledger("execute", self.pool.database) as self.hands["execute"]:
            self.pool.run()
        self.messages = len(post.letters) + len(self.pool.told)

    def _bring_back(self, intake: Intake) -> None:
        for update in self.pool.told:
            name = f"receive {update.kind.value}"
            with recorded(name) as self.brain[name]:
                assert intake.receive(encode(update)) == "applied"
        self.pool.told.clear()
