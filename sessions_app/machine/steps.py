"""Steps: the phases of a Run, each begun and ended with its event (R059 to R061)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.events import EventType
from sessions_app.models import Step

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.status import StepPhase, StepStatus
    from sessions_app.machine.change import Change
    from sessions_app.models import Run, Turn


def begin(
    change: Change, run: Run, turn: Turn, phase: StepPhase, ordinal: int, interrupted: Step | None
) -> Step:
    """A Step of this phase; `interrupted` is the one of an earlier Run that it resumes (R060)."""
    step = Step(
        id=change.new_id("step_"),
        run=run,
        turn=turn,
        ordinal=ordinal,
        phase=phase,
        resumed_from=interrupted.id if interrupted is not None else None,
        started_at=change.now,
    )
    change.add(step)
    payload: dict[str, JsonValue] = {
        "stepId": step.id,
        "phase": phase.value,
        "ordinal": ordinal,
        "resumedFromStepId": step.resumed_from,
    }
    change.emit(turn.session_id, EventType.STEP_STARTED, payload, turn=turn, run=run.id)
    return step


def end(change: Change, run: Run, turn: Turn, step: Step, status: StepStatus) -> None:
    """Close a Step and say so."""
    step.status = status
    step.ended_at = change.now
    payload: dict[str, JsonValue] = {
        "stepId": step.id,
        "phase": step.phase,
        "status": status.value,
    }
    change.emit(turn.session_id, EventType.STEP_ENDED, payload, turn=turn, run=run.id)
