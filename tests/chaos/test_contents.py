"""What a reader of the broker learns: ids, and of a command what its contract says (T38)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import pytest

from durable_site.embedded import roles
from sessions_app.contract.status import TurnStatus
from sessions_app.models import Thread, Turn
from tests.chaos.field import TIMEOUT, until
from tests.covers import poses

if TYPE_CHECKING:
    from tests.chaos.brokers import Message
    from tests.chaos.field import Field

pytestmark = pytest.mark.timeout(TIMEOUT)

SECRET: Final = "canary-secret-0123456789-0123456789-0123"
CANARIES: Final = (SECRET, "canary-input", "noted", "done")
"""A secret of the environment, words of the input, a local tool's result, the model's answer."""
COMMAND_KEYS: Final = {
    *("kind", "version", "commandId", "namespace", "executionId", "requestDigest"),
    *("binding", "arguments", "origin", "route", "notAfter"),
}
_THREAD: Final = re.compile(r"thr_[0-9a-z]{26}")


@poses("C77", "T38")
def test_t38_the_broker_holds_ids_and_no_content(crowd: Field) -> None:
    """Nobody takes a message, so all that was ever sent is there to be searched (C77, T38)."""
    crowd.farm.site.environment["DURABLE_SECRET_KEY"] = SECRET
    crowd.farm.site.start(roles.beat())
    crowd.submit([("local", "note canary-input"), ("remote", "errand canary-input")])
    crowd.farm.site.start(("-m", "tests.chaos.deaf"), env={"DURABLE_SCAN_SECONDS": "60"})
    crowd.all_end(1)
    until(lambda: {"advance", "scan", "execute"} <= _kinds(crowd))

    messages, rest = crowd.broker.said()

    assert Turn.objects.filter(status=TurnStatus.COMPLETED).count() == 1
    text = " ".join([rest, *(message.text for message in messages)])
    assert [canary for canary in CANARIES if canary in text] == []
    for message in messages:
        _holds_no_more_than_it_must(message)
    crowd.verdict()


def _kinds(crowd: Field) -> set[str]:
    return {message.task.rpartition(".")[2] for message in crowd.broker.said()[0]}


def _holds_no_more_than_it_must(message: Message) -> None:
    match message.task:
        case "sessions_app.advance":
            (thread,) = message.arguments
            assert _THREAD.fullmatch(thread)
            assert Thread.objects.filter(pk=thread).exists()
        case "sessions_app.scan":
            assert message.arguments == []
        case "hands_app.execute":
            (envelope,) = message.arguments
            command = json.loads(envelope)
            assert command.keys() == COMMAND_KEYS
            assert command["arguments"] == {"word": "errand-2"}
        case other:
            pytest.fail(f"{other} in {message.queue}")
