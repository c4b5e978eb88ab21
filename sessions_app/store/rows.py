"""Loading what a decision needs, after the Session's lock.

Each function is one or two statements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.db.models import Count, Max, Q

from sessions_app.contract.status import (
    InteractionStatus,
    RunStatus,
    SignalStatus,
    StepStatus,
    WaitStatus,
)
from sessions_app.machine.awaiting import Awaiting
from sessions_app.machine.claiming import Owned
from sessions_app.models import (
    Checkpoint,
    Interaction,
    ModelCall,
    Run,
    Session,
    Signal,
    StandingRule,
    Step,
    Thread,
    ToolCall,
    Turn,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sessions_app.store.unit import Unit

MAIN_PATH: Final = "main"


def head_of(unit: Unit, thread: Thread, session: Session) -> Turn | None:
    """The first unfinished Turn of a Thread, in order of admission."""
    head = Turn.objects.filter(thread=thread, finished_at=None).order_by("ordinal").first()
    if head is None:
        return None
    head.session, head.thread = session, thread
    return unit.watch(head)


def owned(unit: Unit, thread: Thread, head: Turn) -> Owned:
    """The head with its open Run and Step and its unapplied calls."""
    unit.change.touch(thread)
    if head.started_at is None:
        return Owned(head.session, thread, head, [], [])
    run = Run.objects.filter(turn=head).order_by("-ordinal").first()
    step = Step.objects.filter(run=run).order_by("-ordinal").first() if run else None
    lost = ModelCall.objects.filter(turn=head, path=MAIN_PATH, ordinal=head.rounds + 1).count()
    ends = head.cancel_request is not None
    return Owned(
        head.session,
        thread,
        head,
        unapplied_calls(unit, head),
        [],
        unit.watch(run) if run and run.status == RunStatus.OPEN else None,
        unit.watch(step) if step and step.status == StepStatus.OPEN else None,
        interrupted=step if step and step.status != StepStatus.COMPLETED else None,
        runs=run.ordinal if run else 0,
        lost_calls=lost,
        asked=live_interactions(unit, head) if ends else [],
        waits=open_waits(unit, head) if ends else [],
    )


def open_step(unit: Unit, run: Run) -> tuple[Step | None, int]:
    """The open Step of a Run, and how many Steps it has."""
    steps = list(Step.objects.filter(run=run).order_by("-ordinal")[:1])
    if not steps:
        return None, 0
    last = steps[0]
    return (unit.watch(last) if last.status == StepStatus.OPEN else None), last.ordinal


def pending_signals(unit: Unit, turn: Turn) -> list[Signal]:
    """Inputs admitted and not yet applied, and signals kept, in order of admission."""
    open_ones = [SignalStatus.PENDING, SignalStatus.KEPT]
    return unit.watch_all(
        Signal.objects.filter(turn=turn, status__in=open_ones).order_by("ordinal")
    )


def awaiting(unit: Unit, turn: Turn) -> Awaiting:
    """A Turn with its Session and Thread, and everything that it waits for."""
    return Awaiting(
        turn.session,
        turn.thread,
        turn,
        unapplied_calls(unit, turn),
        pending_signals(unit, turn),
        asked=live_interactions(unit, turn),
        waits=open_waits(unit, turn),
    )


def live_interactions(unit: Unit, turn: Turn) -> list[Interaction]:
    """Interactions that are open, or answered and not consumed; the oldest first."""
    live = [InteractionStatus.OPEN, InteractionStatus.ANSWERED]
    return unit.watch_all(
        Interaction.objects.filter(turn=turn, status__in=live).order_by("opened_at", "id")
    )


def open_waits(unit: Unit, turn: Turn) -> list[Wait]:
    """Wait conditions that nothing ended yet; the oldest first."""
    return unit.watch_all(
        Wait.objects.filter(turn=turn, status=WaitStatus.OPEN).order_by("opened_at", "id")
    )


def rules_for(session: Session, tools: Sequence[str], now: datetime) -> list[StandingRule]:
    """Standing rules that may answer for these tools of this Session."""
    found = StandingRule.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=now),
        Q(session=None) | Q(session=session),
        namespace=session.namespace,
        tool__in=tools,
        revoked_at=None,
    )
    return list(found.order_by("id"))


def unapplied_calls(unit: Unit, turn: Turn) -> list[ToolCall]:
    """Calls that no checkpoint contains yet, in the order in which the model made them."""
    return unit.watch_all(
        ToolCall.objects.filter(turn=turn, applied_at=None).order_by("round", "ordinal")
    )


def newest_checkpoint(thread: Thread) -> int:
    """Ordinal of the newest checkpoint, zero without one."""
    newest: int | None = Checkpoint.objects.filter(thread=thread).aggregate(newest=Max("ordinal"))[
        "newest"
    ]
    return newest or 0


def attempts(turn: Turn, ordinals: Iterable[int]) -> dict[tuple[str, int], int]:
    """How often each logical request was seen so far, the lost ones included."""
    found = ModelCall.objects.filter(Q(turn=turn), ordinal__in=list(ordinals)).values(
        "path", "ordinal"
    )
    return {(row["path"], row["ordinal"]): row["seen"] for row in found.annotate(seen=Count("id"))}
