"""How an UNKNOWN ends by evidence, wherever the call ran, and what follows for its Turn (I28)."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pytest
from django.core.management import call_command

from hands_app import tasks as hands_tasks
from hands_app.contract.errors import InvalidEnvelope
from hands_app.contract.ids import new_id
from hands_app.contract.messages import (
    Command,
    ExecutionResult,
    ExecutionState,
    parse_control,
    parse_execute,
)
from hands_app.contract.reconciling import Reconciliation, verified
from sessions_app import tasks as brain_tasks
from sessions_app.contract.backend import Park, ResultDraft
from sessions_app.contract.errors import Conflict, NotFound
from sessions_app.contract.explanation import Verb
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.harnesses.calls import shown
from sessions_app.models import Command as Receipt
from sessions_app.models import ToolCall
from sessions_app.runtime import DurableRuntime
from sessions_app.store import clock, controls
from sessions_app.store.invariants import check
from sessions_app.store.observing import OBSERVED, RECONCILED
from sessions_app.tooling.boxes import Sent
from tests.covers import covers, poses
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import (
    House,
    audited,
    fresh,
    intent,
    thread_of,
    told,
    turn_of,
)
from tests.stores import host, tool_intent

if TYPE_CHECKING:
    from hands_app.worker.ports import Claim

SENT = verified("COMPLETED", content={"sent": "hello"})
LOST = verified("FAILED", message="Nobody could find out whether it was sent.")
DONE = ExecutionResult(state=ExecutionState.COMPLETED, content={"sent": "by the zombie"})


@pytest.fixture(autouse=True)
def _ledger_of_the_pool(monkeypatch: pytest.MonkeyPatch, house: House) -> None:
    url = house.pool.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HANDS_DATABASE_URL", url)


def evidence(call: ToolCall, result: ExecutionResult = SENT, **others: Any) -> Reconciliation:
    """What an operator brings about a call."""
    asked = Reconciliation("ops-1", call.pk, "UNKNOWN", result, "provider log 4711", "ada")
    return replace(asked, **others)


def reconcile(call: ToolCall, result: ExecutionResult = SENT, **others: Any) -> str:
    """Bring it to the runtime; gives the place of the record."""
    return DurableRuntime().reconcile(evidence(call, result, **others)).place


def outside(house: House) -> tuple[ToolCall, Claim]:
    """A `once` call of a pool whose worker died after the start."""
    call = house.ask()
    house.carry_commands()
    claim = house.pool.start()
    house.pool.die(claim)
    house.carry_updates()
    assert fresh(call).state == CallState.UNKNOWN
    return call, claim


def inside(house: House) -> ToolCall:
    """A `once` call of the Brain whose process died after the start."""
    dead, store = house.store.join(host()), house.store
    turn_id = store.submit(store.session(f"local-{new_id('loc_')}"))
    claim = store.claim(dead, first=store.turn(turn_id).thread_id)
    store.answered(claim, tool_intent())
    store.die(dead)
    assert store.backend.claim(store.host, limit=1, first=claim.thread_pk) == []
    call = store.call(turn_id)
    assert call.state == CallState.UNKNOWN
    return call


@covers("R199", "R201")
def test_a_call_of_a_pool_is_reconciled_in_its_ledger(house: House) -> None:
    """The Brain takes the result in by the ordinary path; then the Turn may go on."""
    call, _ = outside(house)

    place = reconcile(call)
    before = fresh(call).state
    house.pool.publish()
    house.carry_updates()

    ended = fresh(call)
    assert (place, before, ended.state) == ("ledger", CallState.UNKNOWN, CallState.COMPLETED)
    assert told(call)[-2:] == ["tool.unknown", "tool.result"]
    assert house.go_on(call).turn_id == call.turn_id
    (entry,) = audited(call)
    assert (entry.action, entry.before) == (RECONCILED, {"state": "UNKNOWN"})
    assert [str(breach) for breach in check(quiet=True).breaches] == []


@covers("R201")
def test_the_model_is_told_what_was_verified(house: House) -> None:
    """Content like the tool's own, or an error with the operator's words; no word of evidence."""
    first, second = outside(house)[0], inside(house)
    reconcile(first)
    reconcile(second, LOST)
    house.pool.publish()
    house.carry_updates()

    seen = [_shown_of(house, call) for call in (first, second)]

    assert [(each.content, each.failed) for each in seen] == [
        ({"sent": "hello"}, False),
        ("Nobody could find out whether it was sent.", True),
    ]
    assert "4711" not in str([fresh(first).result, fresh(second).result])


def _shown_of(house: House, call: ToolCall) -> Any:
    claim = house.go_on(call)
    (facts,) = house.store.backend.load(claim).calls
    return shown(facts)


@covers("R199", "R201")
@poses("S10")
def test_a_local_call_is_reconciled_in_the_brain(house: House) -> None:
    """Result, audit entry and receipt are one commit, and the Turn is woken."""
    call = inside(house)
    house.store.rings.threads.clear()

    place = reconcile(call)

    assert place == "brain"
    assert fresh(call).state == CallState.COMPLETED
    (entry,) = audited(call)
    assert (entry.actor, entry.action, entry.reason) == ("ada", RECONCILED, "provider log 4711")
    assert house.store.rings.threads == [call.thread_id]
    assert house.go_on(call).turn_id == call.turn_id
    assert [str(breach) for breach in check(quiet=True).breaches] == []


@covers("R199")
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_the_same_request_is_answered_once(house: House, where: str) -> None:
    """A repeat gives the same view; other content under the id is a conflict."""
    call = inside(house) if where == "inside" else outside(house)[0]
    first = DurableRuntime().reconcile(evidence(call))

    again = DurableRuntime().reconcile(evidence(call, operator="grace"))

    assert again == first
    with pytest.raises(Conflict, match="other content"):
        reconcile(call, LOST)
    with pytest.raises(Conflict):
        reconcile(call, LOST, request_id="ops-2")


@covers("R200")
@poses("T43")
def test_only_an_unknown_call_is_reconciled(house: House) -> None:
    """One that runs in a pool, one that was settled here, and one that nobody knows."""
    running = house.admitted()
    claim = house.claimed()
    house.store.answered(claim, tool_intent())
    here = house.store.call(claim.turn_id)

    for call in (running, here):
        with pytest.raises(Conflict, match="only UNKNOWN"):
            reconcile(call)
    with pytest.raises(NotFound):
        reconcile(ToolCall(pk=new_id("exe_")))

    assert Receipt.objects.filter(operation="reconcile").count() == 0
    assert audited(running) == audited(here) == []


@covers("R195", "R148")
@poses("S8")
def test_a_call_that_its_ledger_lost_is_reconciled_here_on_request(house: House) -> None:
    """The ledger knows nothing of it; recording it in the Brain alone has to be said."""
    call = house.admitted()
    house.pool.forget()
    with clock.offset(timedelta(seconds=6)):
        house.carry_commands()
        house.carry_updates()

    with pytest.raises(NotFound, match="--ledger-lost"):
        reconcile(call)
    view = DurableRuntime().reconcile(evidence(call), ledger_lost=True)

    assert (view.place, fresh(call).state) == ("brain", CallState.COMPLETED)
    assert pools.effects == []


@covers("R148")
def test_what_a_zombie_reports_later_changes_nothing_and_is_shown(house: House) -> None:
    """It contradicts the evidence: the explanation and the check say so, the result stays."""
    call, zombie = outside(house)
    reconcile(call, LOST)
    house.pool.publish()
    house.carry_updates()

    house.pool.finish(zombie, DONE)
    taken = house.carry_updates()

    assert taken == ["late"]
    assert fresh(call).state == CallState.FAILED
    assert {entry.action for entry in audited(call)} == {RECONCILED, OBSERVED}
    said = DurableRuntime().find_turn(call.turn_id).explain()
    assert said.facts["contradicted"] == [call.pk]
    assert "contradicted later" in said.text
    report = check()
    assert report.is_clean
    assert report.contradictions == (
        f"{call.pk} ended as FAILED, and its worker reported COMPLETED later",
    )


def test_a_late_outcome_that_agrees_is_no_contradiction(house: House) -> None:
    """It is noted all the same."""
    call, zombie = outside(house)
    reconcile(call)
    house.pool.finish(zombie, DONE.model_copy(update={"content": {"sent": "hello"}}))
    house.pool.publish()
    house.carry_updates()

    assert {entry.action for entry in audited(call)} == {RECONCILED, OBSERVED}
    assert check().contradictions == ()


@covers("R160")
def test_unknown_blocks_only_what_depends_on_it(house: House) -> None:
    """A sibling in the pool ends, another Thread runs, and the Turn waits with that reason."""
    first, second = house.asks(intent(), intent(call_id="call-2", ordinal=1))
    house.carry_commands()
    claims = {claim.execution_id: claim for claim in house.pool.claim()}
    for claim in claims.values():
        house.pool.told.extend(house.pool.work.start(claim).updates)
    house.pool.die(claims[first.pk])
    house.pool.finish(claims[second.pk], DONE)
    house.carry_updates()

    other = house.claimed()

    assert fresh(second).state == CallState.COMPLETED
    assert turn_of(first).reason == WaitReason.UNKNOWN
    assert other.turn_id != first.turn_id


@covers("R160")
@poses("S10")
@pytest.mark.parametrize("start", [True, False], ids=["begun", "not begun"])
def test_a_local_sibling_of_an_unknown_goes_on(house: House, *, start: bool) -> None:
    """Whoever takes the Turn over runs it, and then the Turn waits for evidence alone."""
    store, dead = house.store, house.store.join(host())
    turn_id = store.submit(store.session("siblings"))
    sibling = tool_intent("idempotent", start=start)
    sibling = sibling.model_copy(update={"call_id": "call-2", "ordinal": 1})
    store.answered(store.claim(dead), tool_intent("once"), sibling)
    store.die(dead)

    claim = store.claim()
    second = ToolCall.objects.get(turn=turn_id, ordinal=1)
    store.commit(claim, starts=(second.pk,))
    result = ResultDraft(execution_id=second.pk, state=CallState.COMPLETED, content="done")
    store.commit(claim, Park(), results=(result,))

    first = ToolCall.objects.get(turn=turn_id, ordinal=0)
    assert (first.state, fresh(second).state) == (CallState.UNKNOWN, CallState.COMPLETED)
    assert (turn_of(first).status, turn_of(first).reason) == ("WAITING", WaitReason.UNKNOWN)
    assert thread_of(first).wake_at is None
    reconcile(first)
    assert house.go_on(first).turn_id == turn_id


@covers("R160", "R045")
@poses("S9")
def test_a_cancel_of_unknown_work_does_not_make_it_known(house: House) -> None:
    """The cancelled Turn waits for evidence, says so, and ends once there is some."""
    call, _ = outside(house)
    turn = DurableRuntime().find_turn(call.turn_id)

    controls.cancel(thread_of(call).key_in(turn.key.session), call.turn_id, "c1")
    house.carry_commands()
    house.carry_updates()
    said = turn.explain()

    assert (said.status, said.cause) == (TurnStatus.CANCELLING, "unknown-effect")
    assert fresh(call).state == CallState.UNKNOWN
    assert house.store.backend.claim(house.store.host, limit=1) == []
    reconcile(call, LOST)
    house.pool.publish()
    house.carry_updates()
    assert house.go_on(call).settling


@covers("R199")
def test_an_explanation_names_the_exact_command(house: House) -> None:
    """Its words are the verb's own: what is left out is asked for."""
    call = inside(house)

    said = DurableRuntime().find_turn(call.turn_id).explain()

    (action,) = [each for each in said.next_actions if each.verb is Verb.RECONCILE]
    assert action.target == call.pk
    assert action.text.startswith(f"durable reconcile {call.pk} --request-id")
    for option in ("--expect UNKNOWN", "--state", "--evidence", "--by"):
        assert option in action.text


@covers("R199", "R202")
def test_the_verb_brings_evidence_and_tells_where_it_is(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a program reads it; the Turn that goes on is named."""
    call = inside(house)
    options = ["--request-id", "ops-1", "--expect", "UNKNOWN", "--state", "FAILED"]
    options += ["--message", "It was not sent.", "--evidence", "log 4711", "--by", "ada"]

    call_command("durable", "reconcile", call.pk, *options, "--json")

    view = json.loads(capsys.readouterr().out)
    assert (view["state"], view["place"]) == ("FAILED", "brain")
    assert view["turnId"] == call.turn_id


@covers("R202")
def test_nothing_but_a_shell_and_the_hosts_code_leads_there() -> None:
    """No envelope, no task of either house and no command of the outbox can say it."""
    kinds = {each.model_fields["kind"].default for each in get_args(Command)}
    names = [*vars(hands_tasks), *vars(brain_tasks), *get_args(Sent), *kinds]

    assert [name for name in names if "reconcil" in name.lower()] == []
    for parse in (parse_control, parse_execute):
        with pytest.raises(InvalidEnvelope):
            parse('{"kind":"reconcile","version":"1"}')
