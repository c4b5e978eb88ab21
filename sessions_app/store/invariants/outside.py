"""The outside view: the effects that an oracle saw, and the prompts that a provider got."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hands_app.contract.binding import EffectClass
from sessions_app.contract.status import CallState
from sessions_app.machine.awaiting import IN_PROCESS
from sessions_app.models import ToolCall
from sessions_app.store.invariants.look import ROWS, Look
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

_NEVER_RAN: Final = frozenset({CallState.DENIED, CallState.NOT_EXECUTED})
_MAY_REPEAT: Final = frozenset({EffectClass.READ, EffectClass.IDEMPOTENT})


class Call(NamedTuple):
    """What the database says of one execution."""

    id: str
    name: str
    state: str
    effect: str
    route: str
    attempts: int
    started_at: datetime | None
    dispatched_at: datetime | None


def effects(look: Look, oracle: Path) -> Iterator[Breach]:
    """I27: an execution has one effect at most, exactly one when completed, none when it never ran.

    The oracle file has one line for each effect: the execution id and whatever else, or a JSON
    object with the id under `key`. A tool takes part when the file has ever heard of it. A call
    whose effect class allows a repeat may have one effect for each of its start records.
    """
    seen = Counter(_execution(line) for line in oracle.read_text().splitlines() if line.strip())
    tools = {call.name for call in _calls(look) if call.id in seen}
    unknown = set(seen)
    for call in _calls(look):
        unknown.discard(call.id)
        if call.name in tools:
            yield from _wrong(call, seen[call.id])
    for name in sorted(unknown):
        yield Breach(27, name, f"{seen[name]} effects of an execution that is not in the database")


def _wrong(call: Call, count: int) -> Iterator[Breach]:
    if call.state == CallState.COMPLETED and count == 0:
        yield Breach(27, call.id, f"{call.name} is COMPLETED, but had no effect")
    if _never_ran(call) and count > 0:
        yield Breach(
            27, call.id, f"{call.name} is {call.state} without a start, but had {count} effects"
        )
    elif count > _most(call):
        yield Breach(27, call.id, f"{call.name} had {count} effects, at most {_most(call)} may be")


def _never_ran(call: Call) -> bool:
    unsent = call.started_at is None and call.dispatched_at is None
    return call.state in _NEVER_RAN or (call.state == CallState.CANCELLED and unsent)


def _most(call: Call) -> float:
    """Of starts in Hands the Brain hears later, so that their number is not known yet."""
    if call.effect not in _MAY_REPEAT:
        return 1
    return max(call.attempts, 1) if call.route in IN_PROCESS else float("inf")


def _calls(look: Look) -> Iterator[Call]:
    for batch in look.batches:
        rows = ToolCall.objects.filter(batch.within()).order_by("id")
        yield from map(Call._make, rows.values_list(*Call._fields).iterator(chunk_size=ROWS))


def _execution(line: str) -> str:
    if line.lstrip().startswith("{"):
        value = json.loads(line)
        return str(value.get("key") or value.get("executionId"))
    return line.split(maxsplit=1)[0]


def prompts_whole(_look: Look, prompts: Path) -> Iterator[Breach]:
    """I33: in every prompt each call has one result, in its place, and each result its call.

    The file has one JSON object in a line: a chat-completions request, or a record with one as
    `body`.
    """
    with prompts.open() as lines:
        for number, line in enumerate(lines, 1):
            record = json.loads(line)
            messages = record.get("body", record).get("messages")
            for text in _broken(messages or []):
                yield Breach(33, f"prompt in line {number}", text)


def _broken(messages: list[dict[str, Any]]) -> Iterator[str]:
    expected: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            result = message.get("tool_call_id")
            if not expected or result != expected[0]:
                due = expected[0] if expected else "no call"
                yield f"result of {result} where that of {due} belongs"
            expected = [call for call in expected if call != result]
            continue
        if expected:
            yield f"no result for {', '.join(expected)}"
        expected = [str(call.get("id")) for call in message.get("tool_calls") or ()]
    if expected:
        yield f"no result for {', '.join(expected)}"
