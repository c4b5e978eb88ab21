"""Both houses over RabbitMQ: hints, commands, controls and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.status import TurnStatus
from sessions_app.models import Turn
from tests.chaos.brokers import Broker, RabbitBroker
from tests.chaos.field import TIMEOUT

if TYPE_CHECKING:
    from tests.chaos.field import Field
    from tests.rabbitmq import RabbitNode

pytestmark = [pytest.mark.timeout(TIMEOUT), pytest.mark.rabbitmq]
QUEUES = ("durable.brain", "durable.updates", "durable.hands.commands", "durable.hands.controls")


@pytest.fixture
def broker(rabbit: RabbitNode) -> Broker:
    """Give RabbitMQ, with nothing in the queues."""
    made = RabbitBroker(rabbit, QUEUES)
    made.forget()
    return made


def test_rabbitmq_carries_hints_and_calls(crowd: Field) -> None:
    """With scans a minute apart hints alone start Turns; calls go and results come back once."""
    brain = crowd.brain(DURABLE_SCAN_SECONDS="60")
    crowd.hands()
    crowd.is_ready(brain)

    crowd.submit([(f"chat-{number}", "errand keep say") for number in range(6)])

    crowd.all_end(6)
    assert set(Turn.objects.values_list("status", flat=True)) == {TurnStatus.COMPLETED}
    crowd.each_effect_once(["errand", "keep"])
    assert "sessions_app.advance" in crowd.log(brain)
    assert crowd.farm.stop(brain) == 0, crowd.log(brain)
    crowd.verdict()
