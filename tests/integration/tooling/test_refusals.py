"""What is not from the pool that was asked, or cannot be read, changes nothing (T21, T23)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.ids import new_id
from hands_app.contract.wire import encode
from sessions_app.models import Event, ToolCall
from tests.covers import poses
from tests.integration.tooling.house import House, audited, fresh
from tests.stores import tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

Envelope = dict[str, Any]


def _last(house: House) -> tuple[ToolCall, Envelope]:
    """A call that ran to its end, whose result alone is still on the way, as a document."""
    call = house.ask()
    house.carry_commands()
    house.pool.run()
    *others, result = house.take_updates()
    for update in others:
        house.bring(update)
    return call, json.loads(encode(result))


def _foreign_route(envelope: Envelope, _call: ToolCall) -> None:
    envelope["route"] = "other"


def _other_request(envelope: Envelope, _call: ToolCall) -> None:
    envelope["requestDigest"] = f"sha256:{'0' * 64}"


@poses("T23")
@pytest.mark.parametrize("forge", [_foreign_route, _other_request])
def test_a_result_from_elsewhere_is_refused_and_audited(
    house: House, forge: Callable[[Envelope, ToolCall], None]
) -> None:
    """Another pool, or another request under the same identity, never ends a call (T23)."""
    call, envelope = _last(house)
    forge(envelope, call)
    before, events = fresh(call), Event.objects.count()

    taken = [house.intake.receive(json.dumps(envelope)) for _ in range(3)]

    assert taken == ["refused"] * 3
    assert fresh(call).state == before.state
    assert fresh(call).inbox_position == before.inbox_position
    assert Event.objects.count() == events
    (entry,) = audited(call)
    assert entry.action == "update.refused"
    assert (entry.actor, entry.session_id) == (f"route {envelope['route']}", call.session_id)


def test_the_real_result_is_taken_in_after_a_forged_one(house: House) -> None:
    """A refusal uses up no place in the prefix."""
    call, envelope = _last(house)
    house.intake.receive(json.dumps({**envelope, "route": "other"}))

    assert house.intake.receive(json.dumps(envelope)) == "applied"
    assert fresh(call).result is not None


@pytest.mark.parametrize("route", ["local", "manual"])
def test_nobody_answers_for_a_call_that_was_never_sent(house: House, route: str) -> None:
    """Calls of this process and of people take no update, whatever route it claims."""
    _, envelope = _last(house)
    (call,) = house.asks(tool_intent(route=route, start=False), park=False)
    envelope |= {
        "executionId": call.pk,
        "route": route,
        "requestDigest": call.request_digest,
        "sequence": 1,
    }

    taken = house.intake.receive(json.dumps(envelope))

    assert taken == "refused"
    assert fresh(call).received_at is None


def test_an_unknown_execution_is_not_ours(house: House) -> None:
    """An update about an execution that this house never made is named and dropped."""
    _, envelope = _last(house)
    envelope["executionId"] = new_id("exe_")

    assert house.intake.receive(json.dumps(envelope)) == "foreign"


def _no_json(_envelope: Envelope) -> str:
    return "{"


def _two_roots(envelope: Envelope) -> str:
    return json.dumps(envelope) * 2


def _double_key(envelope: Envelope) -> str:
    return json.dumps(envelope)[:-1] + ', "sequence": 1}'


def _other_version(envelope: Envelope) -> str:
    return json.dumps({**envelope, "version": "2"})


def _more_members(envelope: Envelope) -> str:
    return json.dumps({**envelope, "more": 1})


def _too_large(envelope: Envelope) -> str:
    return json.dumps({**envelope, "payload": {"content": "x" * 1024 * 1024}})


def _wrong_result(envelope: Envelope) -> str:
    return json.dumps({**envelope, "payload": {"state": "DONE"}})


@pytest.mark.parametrize(
    "spoil",
    [
        _no_json,
        _two_roots,
        _double_key,
        _other_version,
        _more_members,
        _too_large,
        _wrong_result,
    ],
)
def test_what_cannot_be_read_is_counted_and_never_raised(
    house: House, spoil: Callable[[Envelope], str], caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed envelope crashes no worker, changes nothing, and its content is in no log."""
    call, envelope = _last(house)
    before = fresh(call)

    taken = house.intake.receive(spoil(envelope))

    assert taken == "unreadable"
    assert house.intake.counts["unreadable"] == 1
    assert "rejected" in caplog.text
    assert "hello" not in caplog.text
    assert fresh(call).inbox_position == before.inbox_position
    assert house.intake.receive(json.dumps(envelope)) == "applied"
