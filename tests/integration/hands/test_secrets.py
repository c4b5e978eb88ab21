"""Canary secrets in everything that a tool and its caller may hold: no log or update has them."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pytest
from celery import Celery
from sqlalchemy import insert

from hands_app.contract.ids import new_id
from hands_app.contract.messages import ExecutionState, Update, UpdateKind
from hands_app.contract.wire import encode
from hands_app.ledger.tables import execution
from hands_app.transports.app import make_app
from hands_app.transports.broker import broker_configuration
from hands_app.transports.updates import CeleryUpdates
from hands_app.worker.configuration import Configuration
from hands_app.worker.rhythm import Rhythm
from sessions_app.transports.celery_delivery import CeleryDelivery
from tests.covers import poses
from tests.integration.hands.examples import execute, until
from tests.integration.hands.hosting import Mailbox, call, remote, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hands_app.contract.messages import Execute
    from hands_app.contract.tools import Tool
    from hands_app.ledger.engine import Database

CANARY: Final = "sk-canary-4711"


class _Client:
    """What a careless library would show of itself."""

    def __repr__(self) -> str:
        return f"Client(key={CANARY})"


def _fail_openly() -> str:
    key = CANARY
    message = f"GET https://api.example/?key={key} failed"
    raise ConnectionError(message)


def _raises() -> Tool:
    @remote(effect="once")
    def broken() -> str:
        return _fail_openly()

    return broken


def _lookup_raises() -> Tool:
    def look(execution_key: str, arguments: dict[str, object]) -> object:
        return _fail_openly()

    @remote(effect="queryable", lookup=look)
    def doubtful() -> str:
        return _fail_openly()

    return doubtful


def _wrong_arguments() -> Tool:
    @remote(effect="once")
    def count(many: int) -> int:
        return many

    return count


def _unreadable_result() -> Tool:
    @remote(effect="once")
    def connect() -> Any:
        return _Client()

    return connect


def _fails_softly() -> Tool:
    @remote(effect="read", exceptions="failed")
    def soft() -> str:
        return _fail_openly()

    return soft


@poses("T24", "C82")
@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (_raises, {}),
        (_lookup_raises, {}),
        (_wrong_arguments, {"many": CANARY}),
        (_unreadable_result, {}),
        (_fails_softly, {}),
    ],
)
def test_c82_whatever_fails_tells_no_secret(
    configuration: Configuration,
    mailbox: Mailbox,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[], Tool],
    arguments: dict[str, str],
) -> None:
    """An error says its kind, never its text: neither in a log, nor in what the Brain hears."""
    caplog.set_level(logging.DEBUG)
    described = make()

    with serving(configuration, mailbox, described) as host:
        command = call(host, described, **arguments)
        if make is not _lookup_raises:
            assert mailbox.result(command).state is not ExecutionState.COMPLETED
        else:  # it is asked again for a while, which is longer than this test
            until(lambda: "the lookup of" in caplog.text, "a line about the lookup")

    assert CANARY not in caplog.text
    assert [told for told in mailbox.of(command) if CANARY in encode(told)] == []


@poses("T24")
def test_c82_a_statement_that_fails_shows_none_of_its_values(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Arguments and results pass through statements, whose errors would go into logs."""

    def insert_half_a_row() -> None:
        with database.engine.begin() as connection:
            connection.execute(insert(execution).values(execution_id="exe_1", arguments=CANARY))

    rhythm = Rhythm("hands-example", insert_half_a_row, 60)
    rhythm.start()
    until(lambda: "failed and goes on" in caplog.text, "a line about the failure")
    rhythm.stop()

    assert "IntegrityError" in caplog.text
    assert "insert_half_a_row" in caplog.text
    assert CANARY not in caplog.text


@poses("T24", "C82")
def test_what_celery_tells_of_a_message_has_no_arguments(state_dir: Path, mailbox: Mailbox) -> None:
    """Its events and lines show what the sender says of the arguments: that there are some."""
    app = Celery("secrets", set_as_current=False)
    app.conf.update(broker_configuration("", state_dir), task_serializer="json")
    command = execute(arguments={"token": CANARY})
    told = CeleryUpdates(make_app(Configuration(state_dir, "sqlite://")), "durable.updates")

    assert CeleryDelivery(app, "durable").send("hands", encode(command))
    assert told.publish([_progress(command)]) == 1

    found = [json.loads(path.read_text()) for path in (state_dir / "broker/messages").iterdir()]
    assert len(found) == 2
    assert [each["headers"] for each in found if CANARY in json.dumps(each["headers"])] == []


def _progress(command: Execute) -> Update:
    return Update(
        event_id=new_id("evt_"),
        namespace="durable",
        execution_id=command.execution_id,
        request_digest=command.request_digest,
        route=command.route,
        sequence=1,
        kind=UpdateKind.PROGRESS,
        payload={"message": CANARY},
        at=datetime.now(UTC),
    )
