"""Steps: the phases of each Run are told as they change, and name the Step that they resume."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.backend import Go, HandOver, Park
from sessions_app.contract.events import EventType
from sessions_app.contract.status import StepPhase, StepStatus
from sessions_app.models import Event, Run, Step
from sessions_app.store.invariants import check
from tests.covers import covers
from tests.integration.recovery.test_backoff import when
from tests.stores import FRAME, Store, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Claim


def dies(store: Store, _claim: Claim) -> None:
    """The process goes away without a word."""
    former, store.host = store.host, store.join(host())
    store.die(former)


def fails(store: Store, claim: Claim) -> None:
    """The invocation raises something that may pass."""
    store.fail(claim)


def drains(store: Store, claim: Claim) -> None:
    """The process is told to stop."""
    store.commit(claim, HandOver(reason="drain"))


@covers("R060")
@pytest.mark.parametrize("ends", [dies, fails, drains], ids=lambda ends: ends.__name__)
def test_a_new_run_names_the_step_that_was_interrupted(
    store: Store, ends: Callable[[Store, Claim], None]
) -> None:
    """However the former Run broke off, its open Step is the one that the next Run resumes."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent("read"))
    broken = Step.objects.get(run=claim.run_id, phase=StepPhase.TOOL)

    ends(store, claim)
    retry_at = store.turn(turn_id).retry_at
    with when(retry_at) if retry_at else nullcontext():
        again = store.claim()

    resumed = Step.objects.get(run=again.run_id)
    assert (resumed.phase, resumed.resumed_from) == (StepPhase.TOOL, broken.id)
    assert Run.objects.filter(turn=turn_id).count() == 2


@covers("R060")
def test_a_hold_between_two_deaths_does_not_lose_the_link(store: Store) -> None:
    """The claim that buries a second dead Run begins none; the next one still names its Step."""
    store.submit(store.session())
    for _ in range(2):
        claim = store.claim()
        dies(store, claim)
    assert store.backend.claim(store.host, limit=1) == []
    broken = Step.objects.get(run=claim.run_id)
    assert broken.ended_at is not None

    with when(store.turn(claim.turn_id).held_until):
        again = store.claim()

    assert Step.objects.get(run=again.run_id).resumed_from == broken.id


def test_a_step_that_ended_is_resumed_by_none(store: Store) -> None:
    """A Run that was suspended in order leaves nothing to resume."""
    turn_id = store.submit(store.session())
    store.commit(store.claim(), Park())

    again = store.claim()

    assert Step.objects.get(run=again.run_id).resumed_from is None
    assert Run.objects.filter(turn=turn_id).count() == 2


@covers("R061")
def test_each_change_of_phase_is_told(store: Store) -> None:
    """Reasoning, tools, reasoning, and finalisation of what was stored before its process died."""
    turn_id = store.submit(store.session())
    claim = store.claim()
    store.answered(claim, tool_intent("read"))
    call = store.call(turn_id).id
    done = {"execution_id": call, "state": "COMPLETED", "content": 1}
    reason = Go(phase=StepPhase.REASONING)
    store.commit(claim, reason, results=(done,), frame=FRAME, applied=(call,))
    entry = {"kind": "OUTCOME", "body": {}, "ordinal": 2, "request_digest": "sha256:2"}
    asked = {"ordinal": 2, "request_digest": "sha256:2", "model": "m"}
    store.commit(claim, entries=(entry,), model_calls=(asked,))
    dies(store, claim)
    store.claim()

    kinds = [EventType.STEP_STARTED, EventType.STEP_ENDED]
    told = Event.objects.filter(turn_id=turn_id, type__in=kinds).order_by("sequence")
    seen = [(e.payload["phase"], e.payload.get("status", "started"), e.run_id) for e in told]
    first, second = Run.objects.filter(turn=turn_id).order_by("ordinal")
    assert seen == [
        (StepPhase.REASONING, "started", first.id),
        (StepPhase.REASONING, StepStatus.COMPLETED, first.id),
        (StepPhase.TOOL, "started", first.id),
        (StepPhase.TOOL, StepStatus.COMPLETED, first.id),
        (StepPhase.REASONING, "started", first.id),
        (StepPhase.REASONING, StepStatus.COMPLETED, first.id),
        (StepPhase.FINALIZATION, "started", first.id),
        (StepPhase.FINALIZATION, StepStatus.LOST, first.id),
        (StepPhase.FINALIZATION, "started", second.id),
    ]
    assert check().is_clean
