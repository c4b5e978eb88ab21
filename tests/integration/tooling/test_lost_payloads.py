"""Bodies between the houses that are lost, damaged, forged or out of reach (C73, C74, T36)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import (
    Forbidden,
    ObjectDamaged,
    ObjectForeign,
    ObjectMissing,
    Rejected,
    Unavailable,
)
from hands_app.contract.messages import ExecuteByReference, parse_execute
from hands_app.contract.strict_json import canonical
from hands_app.contract.tools import tool
from hands_app.contract.wire import encode
from sessions_app.contract.errors import Unavailable as StoreAway
from sessions_app.contract.status import CallState
from sessions_app.models import AuditEntry, Event
from sessions_app.store import bodies, clock, reads, sweeping
from tests.covers import covers, poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import SOON, House, audited, fresh, intent, turn_of
from tests.integration.tooling.large import (
    HUGE,
    asked,
    facts,
    given,
    house,
    pool,
    seen,
)
from tests.objects import Cellar, cellar

if TYPE_CHECKING:
    from hands_app.worker.gate import Gate

__all__ = ["cellar", "house", "pool"]


@covers("R192")
@poses("C74")
def test_arguments_that_cannot_be_read_are_not_admitted(house: House, cellar: Cellar) -> None:
    """C74: nothing in the ledger, nothing runs, the Brain sends again and all is well."""
    call = asked(house)
    house.dispatch.due()
    (letter,) = house.post.take()
    (digest,) = cellar.digests(call.session_id)
    path = cellar.file(digest)
    whole = path.read_bytes()

    path.write_bytes(whole.replace(b"huge", b"HUGE", 1))
    with pytest.raises(ObjectDamaged):
        house.pool.obey(letter.text)
    path.unlink()
    with pytest.raises(ObjectMissing):
        house.pool.obey(letter.text)
    assert house.pool.told == []
    assert fresh(call).state == CallState.INTENDED

    with clock.offset(SOON):
        assert house.carry_commands() == ["new"]


@poses("C74", "T21")
def test_arguments_of_another_call_are_refused(house: House) -> None:
    """T21: an object of this Session that is not the one that the request's digest names."""
    asked(house)
    house.dispatch.due()
    (letter,) = house.post.take()
    command = parse_execute(letter.text)
    assert isinstance(command, ExecuteByReference)
    scope = command.origin.scope
    assert scope is not None
    store = bodies.shared()
    assert store is not None
    other = store.put(scope, canonical({"text": "rm -rf"}))
    for arguments in (other, store.put(scope, b"[]"), store.put(scope, b"{no json")):
        forged = command.model_copy(update={"arguments": arguments})
        with pytest.raises(Rejected) as refused:
            house.pool.obey(encode(forged))
        assert "rm -rf" not in str(refused.value)

    house.pool.run()

    assert seen == []


@poses("T21", "T36")
def test_arguments_of_another_session_are_refused(house: House) -> None:
    """T36: the scope is the call's own, whatever the reference says."""
    theirs = asked(house, HUGE + "theirs")
    mine = asked(house)
    house.dispatch.due()
    letters = [parse_execute(letter.text) for letter in house.post.take()]
    one, two = (letter for letter in letters if isinstance(letter, ExecuteByReference))
    assert {one.execution_id, two.execution_id} == {theirs.pk, mine.pk}

    forged = one.model_copy(update={"arguments": two.arguments})

    with pytest.raises(ObjectForeign):
        house.pool.obey(encode(forged))


@poses("T22")
def test_a_policy_comes_before_any_object(house: House, cellar: Cellar) -> None:
    """T22: a command for somebody else reads nothing, whatever it names."""
    asked(house)
    house.dispatch.due()
    (letter,) = house.post.take()
    command = parse_execute(letter.text)
    foreign = command.model_copy(update={"namespace": "other"})
    cellar.folder.rename(cellar.folder.with_name("away"))

    with pytest.raises(Forbidden, match="serves"):
        house.pool.obey(encode(foreign))
    with pytest.raises(Unavailable):
        _seen_before(house).execute(letter.text)


def _seen_before(house: House) -> Gate:
    """The gate of a process that had seen the store."""
    gate = house.pool._gate
    gate._bodies._was_seen = True
    return gate


@covers("R192")
@poses("C74")
def test_a_result_that_cannot_be_read_is_kept_and_told_again(house: House, cellar: Cellar) -> None:
    """C74: not acknowledged, seen in the explanation, and whole once the object is back."""
    call, updates = given(house)
    (digest,) = cellar.digests(call.session_id)
    path = cellar.file(digest)
    kept = path.rename(path.with_suffix(".kept"))

    outcomes = [house.bring(update) for update in updates]
    row = fresh(call)
    said = reads.explain(call.turn_id)
    kept.rename(path)
    with clock.offset(timedelta(minutes=5)):
        house.carry_commands()
        house.carry_updates()
        found = facts(house, call)

    assert outcomes[-1] == "unread"
    assert (row.state, row.unread_code) == (CallState.STARTED, "OBJECT_MISSING")
    assert "OBJECT_MISSING" in said.text
    assert str(cellar.folder) not in str(said)
    assert fresh(call).unread_at is None
    assert found.result == {"content": [HUGE], "errorText": None}


@poses("C74")
def test_a_result_whose_body_stays_lost_says_so(house: House, cellar: Cellar) -> None:
    """C74: after an hour the call ends as it did, told by its beginning; nothing loops for ever."""
    call, updates = given(house)
    (digest,) = cellar.digests(call.session_id)
    cellar.file(digest).write_bytes(b"{}")
    first = [house.bring(update) for update in updates][-1]

    with clock.offset(timedelta(minutes=61)):
        last = house.bring(updates[-1])

    row = fresh(call)
    assert (first, last) == ("unread", "applied")
    assert row.state == CallState.COMPLETED
    assert row.result["metadata"] == {"truncated": True, "lost": "OBJECT_DAMAGED"}
    assert row.result["content"]["truncated"] is True
    assert row.result_ref is None


@poses("T23", "T36")
def test_a_result_with_a_body_of_another_session_is_refused_and_audited(
    house: House, cellar: Cellar
) -> None:
    """T23: a pool can name what it has seen elsewhere; nobody here gets it by that."""
    _, theirs = given(house)
    call, mine = given(house, times=250_000)
    forged = mine[-1].model_copy(update={"payload": theirs[-1].payload})
    for update in mine[:-1]:
        house.bring(update)

    taken = house.bring(forged)

    assert taken == "refused"
    assert len(audited(call)) == 1
    assert fresh(call).state == CallState.STARTED
    assert HUGE[:100] not in str(list(AuditEntry.objects.values()))


@poses("C73")
def test_the_same_large_result_twice_is_one(house: House, cellar: Cellar) -> None:
    """C73: nobody takes a body away by reading it, and a sweep in between takes nothing."""
    call, updates = given(house)
    for update in updates:
        house.bring(update)
    cellar.age()

    swept = sweeping.every()
    again = house.bring(updates[-1])

    assert (swept.objects, again) == (0, "duplicate")
    assert facts(house, call).result == {"content": [HUGE], "errorText": None}


@poses("T36")
def test_a_tool_cannot_name_an_object(house: House, cellar: Cellar) -> None:
    """T36: what a tool returns is content, whatever it looks like."""
    call, updates = given(house)
    payload = updates[-1].payload["body"]

    @tool(route=pools.ROUTE, effect="once", name="forge")
    def forge() -> dict[str, object]:
        """Return what looks like a reference."""
        return {"state": "COMPLETED", "content": None, "body": payload}

    house.pool.tools = Catalogue([forge])
    (other,) = house.asks(intent(forge, {}))
    house.carry_commands()
    house.pool.run()
    house.carry_updates()

    assert fresh(other).result_ref is None
    assert fresh(other).result["content"]["body"] == payload
    assert call.session_id != other.session_id


@poses("T24")
def test_no_body_and_no_path_is_logged_or_told(
    house: House, cellar: Cellar, caplog: pytest.LogCaptureFixture
) -> None:
    """Law 10: a canary in arguments and result is in the rows and objects of its Session alone."""
    caplog.set_level(logging.DEBUG)
    canary = "canary-5b1d " * 120_000
    call = asked(house, canary)
    house.carry_commands()
    house.pool.run()
    for update in house.take_updates():
        house.bring(update)
    (digest, *_) = cellar.digests(call.session_id)
    cellar.file(digest).unlink()

    told = str(list(Event.objects.exclude(type="tool.requested").values_list("payload")))

    assert str(cellar.folder) not in caplog.text
    assert "canary-5b1d" not in caplog.text
    assert "canary-5b1d" not in told


@poses("C74")
def test_a_store_that_is_away_delays_and_loses_nothing(house: House, cellar: Cellar) -> None:
    """C74: both ways: a command is not sent yet, an update is delivered again."""
    _, updates = given(house)
    for update in updates[:-1]:
        house.bring(update)
    call = asked(house)
    folder = cellar.folder
    folder.rename(folder.with_name("away"))
    folder.write_text("")

    with pytest.raises(StoreAway):
        house.bring(updates[-1])
    house.dispatch.due()
    letters = [letter for letter in house.post.take() if call.pk in letter.text]

    assert letters == []
    assert fresh(call).state == CallState.INTENDED
    folder.unlink()
    folder.with_name("away").rename(folder)
    assert house.bring(updates[-1]) == "applied"
    with clock.offset(SOON * 3):
        assert "new" in house.carry_commands()
    assert turn_of(call).finished_at is None
