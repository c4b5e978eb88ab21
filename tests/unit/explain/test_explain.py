"""Every state of a Turn that does not advance has a reason made by the machine (law 11, R262)."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.contract.explanation import NextAction, Verb
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.machine.explain import Cause, explain
from tests.covers import covers
from tests.unit.explain.scenes import AGO, CASES, LATER, NOW, SOON, Scene, call, waiting


@pytest.mark.parametrize(("cause", "scene", "shown"), CASES, ids=lambda value: str(value)[:20])
def test_first_cause_is_named_with_its_facts(
    cause: Cause, scene: Scene, shown: dict[str, Any]
) -> None:
    """The cause is the first that blocks; what it rests on stands beside it."""
    said = explain(scene.facts)

    assert said.cause == cause
    assert {name: said.facts[name] for name in shown} == shown
    assert said.next_actions
    assert said.turn_id == "turn_1"


@covers("R265")
def test_tool_wait_names_execution_route_and_times() -> None:
    """R265: the execution, its route, when it was sent, admitted and is asked about next."""
    sent = call(dispatched_at=AGO, admitted_at=NOW, deliveries=1)

    said = explain(Scene(waiting(WaitReason.TOOL), LATER, {"calls": (sent,)}).facts)

    assert said.cause == Cause.TOOL
    assert said.facts["executions"] == [
        {
            "executionId": "exe_1",
            "name": "ship",
            "state": "STARTED",
            "route": "hands",
            "effect": "once",
            "attempts": 0,
            "startedAt": None,
            "dispatchedAt": AGO.isoformat(),
            "admittedAt": NOW.isoformat(),
            "deliverAt": SOON.isoformat(),
            "cancelRequestedAt": None,
            "cancelAcceptedAt": None,
            "unreadCode": None,
            "unreadAt": None,
        }
    ]


@covers("R268")
def test_unknown_effect_forbids_a_second_submission() -> None:
    """R268: the way out of UNKNOWN is evidence, never a second effect."""
    lost = call(CallState.UNKNOWN, deliver_at=None, started_at=AGO)

    said = explain(Scene(waiting(WaitReason.UNKNOWN), given={"calls": (lost, call())}).facts)

    assert said.cause == Cause.UNKNOWN_EFFECT
    look, end = said.next_actions
    assert (look.verb, end.verb) == (Verb.VERIFY, Verb.RECONCILE)
    assert look.text.endswith("never resubmit it")
    assert (end.target, end.text.split(" --")[0]) == ("exe_1", "durable reconcile exe_1")


@covers("R266")
def test_resume_names_the_revision_that_it_needs() -> None:
    """R048: who resumes says which PAUSED state was seen."""
    said = explain(Scene({"status": TurnStatus.PAUSED, "revision": 7}).facts)

    assert said.next_actions[0] == NextAction(Verb.RESUME, "turn_1", "resume --revision 7")


def test_handed_over_turn_with_calls_of_its_own_waits_for_no_tool() -> None:
    """A local call that was not begun is the next owner's work, not a wait."""
    local = call(CallState.INTENDED, route="local", deliver_at=None)

    said = explain(Scene(waiting(WaitReason.HANDED_OVER), given={"calls": (local,)}).facts)

    assert said.cause == Cause.HANDED_OVER


@pytest.mark.parametrize("status", list(TurnStatus))
def test_explain_is_total(status: TurnStatus) -> None:
    """Whatever the status and whatever is missing, there is an answer."""
    bare = {"hosts": (), "scanned_at": None, "queue": ()}

    said = explain(Scene({"status": status, "deaths": 0}, given=bare).facts)

    assert said.status == status
    assert said.text


def test_every_cause_is_told_by_a_case() -> None:
    """No word of the list is without an example here."""
    told = {cause for cause, _, _ in CASES} | {Cause.TOOL}

    assert told == set(Cause)
