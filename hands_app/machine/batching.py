"""What a batch does next: which children it admits and cancels, and what it comes to (R203, R204).

One step is one transaction under the lock of the batch's row, so nobody owns a batch and no host
has to take it over: whichever looks next decides on the rows, with the mode, the bound and the
identities that were admitted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from hands_app.contract.binding import BatchMode
from hands_app.contract.messages import ExecutionResult, ExecutionState, ResultError, UpdateKind
from hands_app.contract.strict_json import canonical
from hands_app.machine.execution import (
    TERMINAL,
    Decision,
    Execution,
    News,
    State,
    failed,
    settle,
)
from hands_app.machine.owning import is_too_late

if TYPE_CHECKING:
    from datetime import datetime

    from hands_app.contract.binding import BatchPolicy
    from hands_app.contract.messages import Execute
    from hands_app.contract.strict_json import JsonValue

MOST_CONTENT: Final = 512 * 1024
"""Bytes of the children's contents that a batch's result repeats; beyond, it names their sizes."""
_MOST_TEXT: Final = 2000
_MOST_WORDS: Final = 12_000


class Seen(StrEnum):
    """What the batch has recorded of a child."""

    WAITING = "WAITING"
    """Not admitted: it has no execution, and surely no effect."""
    OPEN = "OPEN"
    """Admitted; how it ended is not recorded yet."""
    COMPLETED = "COMPLETED"
    """It ran to its end."""
    FAILED = "FAILED"
    """It did not do what was asked, and nothing is in doubt."""
    CANCELLED = "CANCELLED"
    """It has no effect, because it was cancelled."""
    UNKNOWN = "UNKNOWN"
    """Nobody can say how it ended; evidence may come."""


@dataclass(frozen=True, slots=True)
class Child:
    """One line of the manifest: its identity, what was recorded, and how its execution stands.

    `state`, `result` and `cancel_asked` are of its execution; it has none while it is WAITING.
    """

    ordinal: int
    call_id: str
    execution_id: str
    tool: str
    seen: Seen
    state: State | None = None
    result: ExecutionResult | None = field(default=None, repr=False)
    cancel_asked: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What one look changes: children to admit and to cancel, records, and the batch itself."""

    admit: tuple[Child, ...] = ()
    cancel: tuple[Child, ...] = ()
    recorded: tuple[Child, ...] = ()
    decision: Decision | None = None


def step(
    batch: Execution, policy: BatchPolicy, children: tuple[Child, ...], now: datetime
) -> Step | None:
    """Decide what a batch does now; None when there is nothing to do."""
    if batch.state is State.UNKNOWN:
        return _by_evidence(batch, policy, children, now)
    if batch.state is not State.DIVIDED:
        return None
    if is_too_late(batch, now):
        late = failed("NOT_STARTED", "no worker could start it in time; it has no effect")
        return Step(decision=settle(batch, late, now))
    begun, news = _begin(batch, now)
    recorded = _record(children)
    children = _merge(children, recorded)
    news += _told(recorded, children)
    stopped = _is_stopped(batch, policy, children)
    admit = () if stopped else _next(policy, children)
    cancel = _to_cancel(batch, children)
    if not admit and not any(child.seen is Seen.OPEN for child in children):
        ended = settle(begun, outcome(batch, policy, children), now)
        return Step(recorded=recorded, decision=replace(ended, news=(*news, *ended.news)))
    if not (news or admit or cancel or recorded):
        return None
    return Step(admit, cancel, recorded, Decision(begun, news))


def refuse(batch: Execution, why: str, now: datetime) -> Step:
    """End a batch whose manifest cannot be read; nothing of it was started."""
    wrong = failed("INVALID_ARGUMENTS", why[:_MOST_TEXT])
    return Step(decision=settle(batch, wrong, now))


def outcome(batch: Execution, policy: BatchPolicy, children: tuple[Child, ...]) -> ExecutionResult:
    """Sum a batch up; its content names each child, so that a partial result says so (R205)."""
    found = Counter(child.seen for child in children)
    content = _content(policy, children)
    if found[Seen.COMPLETED] == len(children):
        return ExecutionResult(state=ExecutionState.COMPLETED, content=content)
    state, code = _verdict(batch, found)
    error = ResultError(code=code, message=_said(found, children, content))
    return ExecutionResult(state=state, content=content, error=error)


def _said(found: Counter[Seen], children: tuple[Child, ...], content: dict[str, JsonValue]) -> str:
    """Put a partial result into words: of a failure a model reads the text alone."""
    counts = ", ".join(f"{many} {_word(seen)}" for seen, many in sorted(found.items()))
    head = f"of {len(children)} calls: {counts}"
    whole = canonical(content["children"]).decode()
    if len(whole) <= _MOST_WORDS:
        return f"{head}; {whole}"
    return f"{head}; {', '.join(f'{each.call_id} {_word(each.seen)}' for each in children)}"


def _verdict(batch: Execution, found: Counter[Seen]) -> tuple[ExecutionState, str]:
    """UNKNOWN while one child is; CANCELLED only when no child ran to an end."""
    if found[Seen.UNKNOWN]:
        return ExecutionState.UNKNOWN, "UNCERTAIN"
    ran = found[Seen.COMPLETED] + found[Seen.FAILED]
    if batch.cancel_requested_at is not None and not ran:
        return ExecutionState.CANCELLED, "CANCELLED"
    return ExecutionState.FAILED, "PARTIAL"


def _by_evidence(
    batch: Execution, policy: BatchPolicy, children: tuple[Child, ...], now: datetime
) -> Step | None:
    """End the doubt of a batch once none of its children is in doubt (law 7)."""
    recorded = _record(children)
    if not recorded:
        return None
    children = _merge(children, recorded)
    if any(child.seen is Seen.UNKNOWN for child in children):
        return Step(recorded=recorded)
    return Step(recorded=recorded, decision=settle(batch, outcome(batch, policy, children), now))


def _begin(batch: Execution, now: datetime) -> tuple[Execution, tuple[News, ...]]:
    """Write the start record of a batch, before any child may have an effect (S10)."""
    if not batch.was_never_started:
        return batch, ()
    begun = replace(batch, attempt=1, started_at=now)
    return begun, (News(UpdateKind.STARTED, {"attempt": 1, "reason": "first"}),)


def _record(children: tuple[Child, ...]) -> tuple[Child, ...]:
    """Return the children whose execution has ended, or found its evidence, since the last look."""
    return tuple(
        replace(child, seen=Seen(child.state))
        for child in children
        if (child.seen is Seen.OPEN and child.state in {*TERMINAL, State.UNKNOWN})
        or (child.seen is Seen.UNKNOWN and child.state in TERMINAL)
    )


def _merge(children: tuple[Child, ...], changed: tuple[Child, ...]) -> tuple[Child, ...]:
    new = {child.ordinal: child for child in changed}
    return tuple(new.get(child.ordinal, child) for child in children)


def _told(recorded: tuple[Child, ...], children: tuple[Child, ...]) -> tuple[News, ...]:
    """Tell of each child that ended, by its call and its execution (R205)."""
    ended = sum(child.seen not in {Seen.WAITING, Seen.OPEN} for child in children)
    return tuple(
        News(
            UpdateKind.PROGRESS,
            {
                "message": f"{child.tool} (call {child.call_id}) {_word(child.seen)}",
                "fraction": ended / len(children),
                "data": {**_names(child), "state": child.seen.value},
            },
        )
        for child in recorded
    )


def _is_stopped(batch: Execution, policy: BatchPolicy, children: tuple[Child, ...]) -> bool:
    """Whether nothing more is admitted: after a cancel, or behind the first ordered failure."""
    if batch.cancel_requested_at is not None:
        return True
    bad = {Seen.FAILED, Seen.CANCELLED, Seen.UNKNOWN}
    return policy.mode is BatchMode.ORDERED and any(child.seen in bad for child in children)


def _next(policy: BatchPolicy, children: tuple[Child, ...]) -> tuple[Child, ...]:
    bound = 1 if policy.mode is BatchMode.ORDERED else policy.bound
    free = bound - sum(child.seen is Seen.OPEN for child in children)
    waiting = [child for child in children if child.seen is Seen.WAITING]
    return tuple(waiting[: max(free, 0)])


def _to_cancel(batch: Execution, children: tuple[Child, ...]) -> tuple[Child, ...]:
    if batch.cancel_requested_at is None:
        return ()
    return tuple(child for child in children if child.seen is Seen.OPEN and not child.cancel_asked)


def _content(policy: BatchPolicy, children: tuple[Child, ...]) -> dict[str, JsonValue]:
    sizes = {child.ordinal: _size(child) for child in children}
    fits = sum(sizes.values()) <= MOST_CONTENT
    lines: list[JsonValue] = [_line(child, sizes[child.ordinal], fits=fits) for child in children]
    whole = all(child.seen is Seen.COMPLETED for child in children)
    return {"mode": policy.mode.value, "complete": whole, "children": lines}


def _line(child: Child, size: int, *, fits: bool) -> dict[str, JsonValue]:
    state = "NOT_STARTED" if child.seen is Seen.WAITING else child.seen.value
    line: dict[str, JsonValue] = {**_names(child), "tool": child.tool, "state": state}
    result = child.result
    if result is None or child.seen is Seen.WAITING:
        return line
    if result.error is not None:
        line["error"] = {"code": result.error.code, "message": result.error.message[:_MOST_TEXT]}
    if not fits:
        return {**line, "contentBytes": size}
    return {**line, "content": result.content} if result.error is None else line


def _size(child: Child) -> int:
    return 0 if child.result is None else len(canonical(child.result.content))


def _names(child: Child) -> dict[str, JsonValue]:
    return {"callId": child.call_id, "executionId": child.execution_id}


def _word(seen: Seen) -> str:
    return "not started" if seen is Seen.WAITING else seen.value


def admitted(batch: Execution, child: Child, command: Execute, now: datetime) -> Decision:
    """Make the execution of a child that is admitted now.

    It may start whenever it comes to it, unless it is cancelled: its batch started in time (S8).
    """
    execution = Execution(
        execution_id=child.execution_id,
        namespace=batch.namespace,
        route=batch.route,
        request_digest=command.request_digest,
        state=State.ADMITTED,
        effect=command.binding.effect,
        binding_digest=command.binding.digest,
        available_at=now,
        not_after=None,
        admitted_at=now,
        batch_id=batch.execution_id,
    )
    return Decision(execution, (News(UpdateKind.ADMITTED, {"runnable": True}),))
