"""The catalogue of events: names, payloads of exactly one form, and names of applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from sessions_app.contract import catalogue
from sessions_app.contract.catalogue import PAYLOADS, IllegalEvent
from sessions_app.contract.errors import Invalid
from sessions_app.contract.events import EventType
from sessions_app.contract.payloads import RunEnded, SessionCreated
from tests.covers import covers

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

CREATED = {"namespace": "acme", "sessionId": "chat"}


def test_every_event_has_a_payload_that_says_what_it_states() -> None:
    """No event is without its form, and no form without its sentence."""
    assert set(PAYLOADS) == set(EventType)
    assert [model for model in PAYLOADS.values() if not (model.__doc__ or "").strip()] == []


@covers("R086", "R097")
def test_the_names_of_the_specification_are_there() -> None:
    """Lifecycle events of both levels, and those that programs wait for by name."""
    asked = {
        *("session.created", "session.closed", "thread.created", "thread.closed"),
        *("signal.applied", "interaction.resolved", "message.completed", "turn.recovery"),
    }

    assert asked <= {kind.value for kind in PAYLOADS}


@covers("R096")
@pytest.mark.parametrize(
    "payload",
    [{"namespace": "acme"}, {**CREATED, "token": "secret"}, {}],
    ids=["lacks one", "has one more", "empty"],
)
def test_a_payload_has_exactly_its_members(payload: dict[str, str]) -> None:
    """What is not in the catalogue cannot be told, whoever makes the event."""
    with pytest.raises(IllegalEvent, match=r"session\.created"):
        catalogue.check_members(EventType.SESSION_CREATED, payload)
    with pytest.raises(ValidationError):
        catalogue.check("session.created", payload)


def test_what_is_in_the_catalogue_passes() -> None:
    """A member with a default may be missing."""
    catalogue.check_members(EventType.SESSION_CREATED, CREATED)
    catalogue.check("session.created", CREATED)
    moved: dict[str, JsonValue] = {"from": "QUEUED", "to": "RUNNING", "revision": 2, "reason": None}
    catalogue.check_members(EventType.TURN_STATUS, moved)


def test_a_member_of_another_type_is_found() -> None:
    """The whole check looks at values too."""
    with pytest.raises(ValidationError):
        catalogue.check("run.ended", {"status": 3, "reason": None})


def test_a_reader_outlives_the_next_release() -> None:
    """Members and names that a reader does not know yet are left aside."""
    newer = {**CREATED, "colour": "blue"}

    assert catalogue.typed("session.created", newer) == SessionCreated(**CREATED)
    assert catalogue.typed("run.ended", {"status": "LOST", "reason": None}) == RunEnded(
        status="LOST", reason=None
    )
    assert catalogue.typed("session.renamed", {}) is None


@covers("R096")
@pytest.mark.parametrize("name", ["x.acme.report", "x.acme-1.report.page_2"])
def test_an_application_names_its_own_events(name: str) -> None:
    """`x.<namespace>.<name>`, with a payload of its own."""
    assert catalogue.custom_name(name) == name
    catalogue.check(name, {"anything": [1, 2]})


@covers("R096")
@pytest.mark.parametrize("name", ["x.acme", "tool.report", "X.acme.report", "x..report", "", 7])
def test_other_names_are_reserved(name: object) -> None:
    """No application can state a fact of the house, or a name that nobody could read."""
    with pytest.raises(Invalid, match="event name"):
        catalogue.custom_name(name)
    with pytest.raises((IllegalEvent, TypeError)):
        catalogue.check(name, {})  # type: ignore[arg-type]  # one of them is no text
