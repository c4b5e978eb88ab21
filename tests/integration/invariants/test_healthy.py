"""What the store writes is clean, whatever happens to a Turn."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from sessions_app.contract.backend import Fail, HandOver
from sessions_app.models import ToolCall, Turn
from sessions_app.store import clock
from sessions_app.store.inbox import StoreInbox
from sessions_app.store.invariants import check
from sessions_app.store.outbox import StoreOutbox

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Claim
    from tests.integration.invariants.world import World

AFTER_THE_LEASE = timedelta(seconds=31)


def _clean() -> str:
    """Give every line of a check at rest; nothing if all is well."""
    return "\n".join(map(str, check(quiet=True).breaches))


def _taken_over(world: World) -> Claim:
    """Give the claim of another host, after the lease of the first one ran out."""
    other = replace(world.host, host_id=new_id("host_"))
    world.store.join(other, presence_key=2)
    (claim,) = world.store.claim(other, limit=1)
    return claim


def _updated(call: ToolCall, sequence: int, kind: UpdateKind, payload: JsonValue) -> str:
    """Take in one update from Hands and give what became of it."""
    update = Update(
        event_id=new_id("evt_"),
        namespace="durable",
        execution_id=call.id,
        request_digest=call.request_digest,
        route=call.route,
        sequence=sequence,
        kind=kind,
        payload=payload if isinstance(payload, dict) else {},
        at=call.intended_at,
    )
    return StoreInbox().take(update).taken


def test_submits_claims_and_commits_are_clean(world: World) -> None:
    """Turns that finished, that wait for their next try and that stand in line leave no breach."""
    world.finished("finished")
    world.backing_off("backing-off")
    world.submitted("in line")

    assert _clean() == ""


def test_a_next_try_is_clean(world: World) -> None:
    """A Turn that failed, waited and then finished leaves no breach."""
    world.backing_off()
    with clock.offset(timedelta(seconds=5)):
        world.answers(world.claimed(), 1)
        assert _clean() == ""


def test_a_takeover_is_clean(world: World) -> None:
    """A Turn whose host died in a model call is carried on by another host."""
    world.running()
    with clock.offset(AFTER_THE_LEASE):
        claim = _taken_over(world)
        assert claim.takeover
        world.answers(claim, 1)

        assert _clean() == ""


def test_an_unknown_outcome_is_clean(world: World) -> None:
    """A Turn whose host died in a tool that may happen once only waits for evidence."""
    call = world.asks_tool(world.running())
    with clock.offset(AFTER_THE_LEASE):
        assert world.store.claim(replace(world.host, host_id=new_id("host_")), limit=1) == []
        call.refresh_from_db()
        assert call.state == "UNKNOWN"

        assert _clean() == ""


def test_handing_over_is_clean(world: World) -> None:
    """A Turn whose host drained, and one whose build did not fit, leave no breach."""
    world.commit(world.running(), end=HandOver(reason="drain"))
    assert _clean() == ""

    world.commit(world.claimed(), end=HandOver(reason="incompatible", detail="format 2"))
    assert _clean() == ""


def test_an_end_by_failure_is_clean(world: World) -> None:
    """A Turn that failed for good ends FAILED, and the next one of its Thread goes on."""
    claim = world.running()
    world.submitted("next")
    end = Fail(error_class="ValueError", code="INTERNAL", text="no", retryable=False)
    world.commit(claim, end=end)
    assert Turn.objects.get(id=claim.turn_id).status == "FAILED"
    world.answers(world.claimed(), 1)

    assert _clean() == ""


def test_a_result_from_hands_is_clean(world: World) -> None:
    """An external call is sent, started, ended and applied, without a breach on the way."""
    call = world.waiting_for_tool()
    assert _clean() == ""

    (delivery,) = StoreOutbox().take(10)
    assert delivery.execution_id == call.id
    assert _clean() == ""

    assert _updated(call, 1, UpdateKind.ADMITTED, {"runnable": True}) == "applied"
    assert _updated(call, 2, UpdateKind.STARTED, {"attempt": 1}) == "applied"
    assert _clean() == ""

    result: JsonValue = {"state": "COMPLETED", "content": "done"}
    assert _updated(call, 3, UpdateKind.RESULT, result) == "applied"
    assert _updated(call, 3, UpdateKind.RESULT, result) == "duplicate"
    assert _clean() == ""

    claim = world.claimed()
    world.applies(claim, call)
    world.answers(claim, 2)
    assert _clean() == ""
