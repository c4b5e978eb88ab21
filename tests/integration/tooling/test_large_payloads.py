"""Arguments and results beyond an envelope pass by reference or end as documented (R192)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import (
    InvalidEnvelope,
)
from hands_app.contract.messages import Execute, ExecuteByReference, parse_execute
from hands_app.contract.strict_json import canonical, loads
from hands_app.contract.wire import MAX_ENVELOPE_BYTES, decode, encode
from hands_app.objects.files import FileStore
from hands_app.worker.bodies import Bodies
from sessions_app.contract.status import CallState
from sessions_app.models import Event, ToolCall
from sessions_app.store import bodies, clock, reads
from tests.covers import covers, poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import SOON, House, fresh, intent
from tests.integration.tooling.large import (
    HUGE,
    asked,
    facts,
    give,
    given,
    house,
    pool,
    refuse,
    seen,
    take,
)
from tests.objects import Cellar, cellar

if TYPE_CHECKING:
    from pathlib import Path

    from hands_app.contract.strict_json import JsonValue
    from hands_app.ledger.engine import Database
    from tests.stores import Store

__all__ = ["cellar", "house", "pool"]


@covers("R192")
def test_large_arguments_reach_the_tool_whole(house: House, cellar: Cellar) -> None:
    """R192: the envelope stays small, names the object, and one effect happens."""
    call = asked(house)

    house.dispatch.due()
    (letter,) = house.post.take()
    outcome = house.pool.obey(letter.text)
    house.pool.run()
    house.carry_updates()

    command = parse_execute(letter.text)
    assert isinstance(command, ExecuteByReference)
    assert command.arguments.digest in cellar.digests(call.session_id)
    assert len(letter.text) < 10_000
    assert outcome == "new"
    assert seen == [HUGE]
    assert fresh(call).state == CallState.COMPLETED
    assert facts(house, call).result == {"content": len(HUGE), "errorText": None}


@covers("R192", "R209")
def test_large_results_reach_the_agent_whole(house: House, cellar: Cellar) -> None:
    """R192, R209: no envelope beyond its limit, no body in any event or view, all of it stored."""
    call, updates = given(house)

    outcomes = [house.bring(update) for update in updates]

    assert set(outcomes) == {"applied"}
    assert max(len(encode(update)) for update in updates) < 100_000
    row = fresh(call)
    (digest,) = cellar.digests(call.session_id)
    told = Event.objects.get(type="tool.result").payload["content"]
    assert told == {"stored": True, "bytes": told["bytes"], "digest": digest}
    (view,) = reads.tools(call.turn_id).items
    assert view.result == told
    assert row.result_ref is not None
    assert facts(house, call).result == {"content": [HUGE], "errorText": None}


@covers("R192")
def test_a_result_that_fits_an_envelope_and_no_row_goes_to_the_store(
    house: House, cellar: Cellar
) -> None:
    """R245: between the two limits the Brain itself puts it."""
    call, updates = given(house, times=80_000)

    for update in updates:
        house.bring(update)

    assert {update.version for update in updates} == {"1"}
    assert len(cellar.digests(call.session_id)) == 1
    assert facts(house, call).result == {"content": ["huge " * 80_000], "errorText": None}


@covers("R192")
def test_what_a_failure_has_to_say_may_be_large(house: House, cellar: Cellar) -> None:
    """R192: metadata count too: no envelope is too large to be sent, and the code stays."""
    (call,) = house.asks(intent(refuse, {"times": 300_000}))
    house.carry_commands()
    house.pool.run()
    updates = house.take_updates()

    for update in updates:
        assert len(encode(update)) < MAX_ENVELOPE_BYTES
        house.bring(update)

    row = fresh(call)
    assert (row.state, row.error_code) == (CallState.FAILED, "NO_PAPER")
    assert row.result["metadata"]["stored"] is True
    found = facts(house, call).result
    assert isinstance(found, dict)
    assert found["content"] == {"code": "NO_PAPER"}
    assert len(cellar.digests(call.session_id)) == 1


@covers("R188", "R192")
def test_an_older_reader_refuses_what_it_does_not_know(house: House) -> None:
    """R188: version 2 is named in the refusal, for commands and updates alike."""
    asked(house)
    house.dispatch.due()
    (letter,) = house.post.take()
    _, updates = given(house)
    (result,) = [update for update in updates if update.version == "2"]
    forged = {**loads_object(encode(result)), "version": "1"}

    with pytest.raises(InvalidEnvelope, match="version"):
        decode(Execute, letter.text)
    with pytest.raises(InvalidEnvelope):
        decode(type(result), canonical(forged))


def loads_object(text: str) -> dict[str, JsonValue]:
    """An envelope as plain members."""
    document = loads(text)
    assert isinstance(document, dict)
    return document


@covers("R192")
@poses("C17")
def test_without_a_common_store_arguments_end_as_too_large(
    store: Store, ledger: Database, cellar: Cellar, tmp_path: Path
) -> None:
    """R192: the pool has no store, or another one: the call ends before it starts, and says why."""
    others = FileStore(tmp_path / "other")
    assert others.identity
    for bodies_there in (Bodies(None), Bodies(others)):
        pool = pools.Pool(ledger, tools=Catalogue([take]), bodies=bodies_there)
        house = House(store, pool, objects=bodies.shared)
        call = asked(house)

        said = house.carry_commands()
        again = pool.obey(_again(house, call))
        pool.run()
        house.carry_updates()

        row = fresh(call)
        assert (said, again) == (["too large"], "same")
        assert (row.state, row.error_code) == (CallState.FAILED, "TOO_LARGE")
        assert row.started_at is None
        assert pools.effects == []
        pool.close()


def _again(house: House, call: ToolCall) -> str:
    with clock.offset(SOON):
        house.dispatch.due()
    (letter,) = house.post.take()
    assert call.pk in letter.text
    return letter.text


@covers("R192")
@poses("C17")
def test_without_a_common_store_a_result_is_told_by_its_beginning(
    store: Store, ledger: Database, cellar: Cellar, tmp_path: Path
) -> None:
    """R192: the documented form with size, digest and head; the Turn goes on."""
    others = FileStore(tmp_path / "other")
    assert others.identity
    for bodies_there in (Bodies(None), Bodies(others)):
        pool = pools.Pool(ledger, tools=Catalogue([give]), bodies=bodies_there)
        house = House(store, pool, objects=bodies.shared)
        call, updates = given(house)

        assert {house.bring(update) for update in updates} == {"applied"}

        content = fresh(call).result["content"]
        assert content["truncated"] is True
        assert content["bytes"] == len(canonical([HUGE]))
        assert content["head"].startswith('["huge')
        assert fresh(call).result_ref is None
        pool.close()
