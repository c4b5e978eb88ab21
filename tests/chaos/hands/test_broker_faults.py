"""Whatever a broker does to envelopes changes nothing but time (law 1, I44, I30)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from sessions_app.contract.status import CallState
from sessions_app.models import ToolCall
from tests.chaos.brokers import RabbitBroker, of_leg
from tests.chaos.field import TIMEOUT, until
from tests.chaos.final import final_state
from tests.chaos.hands.desk import NAMESPACE, SOON, UPDATES, Mail
from tests.chaos.hands.ledger import breaches
from tests.chaos.hands.mail import Doubling, Dropping, Emptying, Holding, Shuffling
from tests.chaos.hands.tools import QUICK, effects, send
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from tests.chaos.brokers import Broker
    from tests.chaos.hands.desk import Desk
    from tests.chaos.hands.workers import Worker, Workers

pytestmark = pytest.mark.timeout(TIMEOUT)
ALL: Final = tuple(
    f"{each.binding.route}.{kind}" for each in QUICK for kind in ("commands", "controls")
)
EACH: Final = 2
HOUR: Final = timedelta(hours=1)


@dataclass
class Line:
    """Two workers, and the same plan again and again under other conditions."""

    workers: Workers
    desk: Desk
    ledger: Database
    oracle: Path
    working: list[Worker]

    def run(self, namespace: str) -> dict[str, Any]:
        """Ask for calls of each class, carry them to their end, and say what remains of them."""
        calls = [
            self.desk.ask(tool, f"{tool.name}-{number}", namespace)
            for tool in QUICK
            for number in range(EACH)
        ]
        self.desk.until(lambda: self._all_ended(calls), f"{len(calls)} ends in {namespace}")
        for call in calls:
            self.desk.go_on(call)
        return final_state(namespace, Counter(effects(self.oracle)))

    def _all_ended(self, calls: list[ToolCall]) -> bool:
        ended = ToolCall.objects.filter(
            pk__in=[call.pk for call in calls], state=CallState.COMPLETED
        )
        return ended.count() == len(calls)

    def verdict(self) -> None:
        """Everybody lives, and both databases hold what they must."""
        assert [worker.ended() for worker in self.working] == [None] * len(self.working)
        until(lambda: not breaches(self.ledger))
        self.desk.take_in()
        self.desk.verdict(self.oracle)


@pytest.fixture(params=["own", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def broker(request: pytest.FixtureRequest, state_dir: Path) -> Iterator[Broker]:
    """Give the leg's own broker, and RabbitMQ where there is one."""
    if request.param == "own":
        with of_leg(state_dir) as made:
            yield made
        return
    rabbit = RabbitBroker(
        request.getfixturevalue("rabbit"), [UPDATES, *(f"{NAMESPACE}.{queue}" for queue in ALL)]
    )
    rabbit.forget()
    yield rabbit


@pytest.fixture
def line(workers: Workers, desk: Desk, ledger: Database, oracle: Path) -> Iterator[Line]:
    """Give two workers that serve every route."""
    working = [workers.start(*ALL, slots=2) for _ in range(2)]
    workers.ready(working)
    made = Line(workers, desk, ledger, oracle, working)
    yield made
    for worker in workers.all:
        worker.kill()


@poses("C51")
def test_c51_lost_doubled_shuffled_and_forgotten_envelopes_change_nothing(
    line: Line, broker: Broker
) -> None:
    """The same plan ends in the same rows, with the same effects, under each fault (C51, I30)."""
    calm = line.run("calm")
    mails: dict[str, Mail] = {
        "dropping": Dropping(),
        "doubling": Doubling(),
        "shuffling": Shuffling(),
        "emptying": Emptying(broker.forget),
    }

    found = {}
    for name, mail in mails.items():
        line.desk.post.mail = mail
        found[name] = line.run(name)

    assert {name: rows for name, rows in found.items() if rows != calm} == {}
    line.desk.post.mail = Mail()
    line.verdict()


@poses("S8")
@pytest.mark.parametrize("arrived", [True, False])
def test_s8_an_envelope_that_comes_an_hour_late_starts_nothing(
    line: Line, desk: Desk, arrived: bool
) -> None:
    """Neither the copy of one that was obeyed nor the only one: a fresh one was sent (S8)."""
    mail = Holding(swallows=not arrived)
    desk.post.mail = mail
    call = desk.ask(send)
    desk.work()
    assert mail.copies
    if arrived:
        desk.until(lambda: desk.state(call) == CallState.COMPLETED, "the result")
        desk.go_on(call)
    for worker in line.working:
        worker.kill()
    line.working = [line.workers.start(*ALL, ahead=HOUR)]
    line.workers.ready(line.working)
    desk.let_pass(HOUR)

    mail.release()
    if not arrived:
        desk.until(lambda: ": too late" in line.working[-1].said(), "the refusal")
        desk.post.mail = Mail()
        desk.until(lambda: desk.state(call) == CallState.COMPLETED, "the result of a fresh one")
        desk.go_on(call)
    after = desk.ask(send)
    desk.post.mail = Mail()
    desk.until(lambda: desk.state(after) == CallState.COMPLETED, "a later call")
    desk.go_on(after)

    assert effects(line.oracle) == [call.pk, after.pk]
    line.verdict()


def test_i44_a_broker_that_is_away_for_a_while_changes_nothing(line: Line, broker: Broker) -> None:
    """Away while commands are sent and while results are told; 20 s pass for the Brain (I44)."""
    calm = line.run("calm")

    broker.vanish()
    calls = [line.desk.ask(tool, f"{tool.name}-0", "dark") for tool in QUICK]
    for _ in range(4):
        line.desk.work()
        line.desk.let_pass(SOON)
    unsent = line.desk.dispatch.unconfirmed
    broker.come_back()
    line.desk.until(lambda: line._all_ended(calls), "all ends")
    for call in calls:
        line.desk.go_on(call)

    assert unsent >= len(calls)
    found = final_state("dark", Counter(effects(line.oracle)))
    assert found == {name: calm[name] for name in found}
    line.verdict()
