"""Views travel as camelCase JSON and come back as they were."""

from __future__ import annotations

from dataclasses import is_dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import ValidationError

from hands_app.contract.strict_json import canonical, loads
from sessions_app.contract import (
    events,
    explanation,
    reconciling,
    snapshot,
    versions,
    views,
    wire,
)
from sessions_app.contract.explanation import Explanation, NextAction, QueuePlace, Verb
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.paging import EventPage, Page
from sessions_app.contract.status import TurnStatus
from sessions_app.contract.versions import RepinView
from sessions_app.contract.views import (
    OutputView,
    RecoveryView,
    SessionView,
    ThreadView,
    TurnView,
    UsageView,
)
from tests.covers import covers

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
SESSION = SessionKey("acme", "chat")
MAIN = SESSION.thread()
TURN = TurnView(
    "turn_1",
    MAIN,
    "request",
    TurnStatus.WAITING,
    3,
    "why",
    NOW,
    result={"snake_case": [1, 2.5, None], "camelCase": {"x_y": "ü"}},
    recovery=RecoveryView(1, 2, 100, 1000, NOW, "Timeout", "CODE"),
    usage=UsageView(2, 10, None, complete=False),
)
ALL = [
    TURN,
    SessionView(SESSION, "OPEN", 7, NOW),
    ThreadView(MAIN, "OPEN", DefinitionKey("agent", "2", 3), NOW),
    OutputView(0, 3, b"\x00\xff\n", sealed=True),
    RepinView(MAIN, DefinitionKey("agent", "1"), DefinitionKey("agent", "2"), "possible"),
    Explanation(
        "turn_1",
        TurnStatus.QUEUED,
        "queue",
        "because",
        {"any_name": 1},
        (NextAction(next(iter(Verb)), "turn_1", "text"),),
        queue=(QueuePlace("turn_0", TurnStatus.RUNNING, None),),
    ),
    snapshot.Snapshot(
        SESSION,
        events.EventFilter("main"),
        "cursor",
        9,
        threads={"main": ThreadView(MAIN, "OPEN", DefinitionKey("agent", "2"), NOW)},
        turns={"turn_1": TURN},
    ),
]
VIEWS = [
    each
    for module in (events, explanation, reconciling, snapshot, versions, views)
    for each in vars(module).values()
    if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.__name__
]


@covers("R121")
@pytest.mark.parametrize("view", ALL, ids=lambda view: type(view).__name__)
def test_a_view_comes_back_as_it_was(view: Any) -> None:
    """R121: what one side renders the other reads, by one schema made of the view itself."""
    travelled = loads(canonical(wire.render(view)))

    assert wire.parse(type(view), travelled) == view


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
def test_every_view_has_a_schema_in_camel_case(view: type) -> None:
    """No view names something that cannot travel."""
    schema = wire.model(view).model_json_schema(mode="serialization")

    assert not [name for name in schema["properties"] if "_" in name]


def test_keys_lie_flat_and_instants_are_utc() -> None:
    """Names of ours are camelCase, keys are flat, instants end in Z."""
    there = NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))
    turn = TurnView("turn_1", MAIN, "r", TurnStatus.QUEUED, 1, None, there)

    sent = wire.render(turn)

    assert isinstance(sent, dict)
    assert (sent["namespace"], sent["sessionId"]) == ("acme", "chat")
    assert sent["threadId"] == "main"
    assert sent["createdAt"] == "2026-01-02T03:04:05.678901Z"
    assert "key" not in sent


def test_what_people_said_keeps_its_names() -> None:
    """Names inside of a result are the user's."""
    sent = wire.render(TURN)

    assert isinstance(sent, dict)
    assert sent["result"] == TURN.result


def test_pages_travel() -> None:
    """A page has items and the next cursor; one of events says how far it looked."""
    page = Page((TURN,), "next")
    told = EventPage(
        (events.EventView(4, "turn.status", {"to": "QUEUED"}, NOW, "at"),), "next", 4, 9
    )

    assert wire.parse_page(TurnView, wire.render(page)) == page
    assert wire.parse_event_page(events.EventView, wire.render(told)) == told


def test_members_of_a_newer_server_are_passed_over_and_missing_ones_are_not() -> None:
    """A client reads what it knows, and nothing that is half."""
    sent = wire.render(TURN)
    assert isinstance(sent, dict)

    assert wire.parse(TurnView, {**sent, "somethingNew": 1}) == TURN
    del sent["turnId"]
    with pytest.raises(ValidationError, match="turnId"):
        wire.parse(TurnView, sent)


def test_what_is_no_view_does_not_travel() -> None:
    """A mistake of ours is loud."""
    with pytest.raises(TypeError, match="object"):
        wire.render(object())
