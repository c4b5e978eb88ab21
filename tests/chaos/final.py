"""What remains of Turns once all is over, without ids, times and hosts: two runs compare equal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from sessions_app.models import Event, Message, ModelCall, Run, Step, ToolCall, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.chaos.field import Plan

_ENDINGS: Final = ("say", "flaky:{n}", "fatal")


def seeded_plan(seed: int, count: int) -> Plan:
    """Turns of tools, retries and failures, drawn from a seed; every tenth follows in a Session."""
    draw = random.Random(seed)  # noqa: S311 - a plan, no secret
    plan: Plan = []
    for n in range(count):
        name = f"chat-{n - 1 if n % 10 == 9 else n}"
        tools = draw.choices(("note", "once", "refuse"), k=draw.randint(0, 2))
        (ending,) = draw.choices(_ENDINGS, weights=(85, 10, 5))
        plan.append((name, " ".join([*tools, ending.format(n=n)])))
    return plan


def final_state(namespace: str, effects: Mapping[str, int]) -> dict[str, Any]:
    """Everything that must not depend on when and where it happened, by Session and request."""
    turns = Turn.objects.filter(session__namespace=namespace).select_related("session")
    return {
        f"{turn.session.session_id} {turn.request_id}": _of(turn, effects)
        for turn in turns.order_by("session_id", "ordinal")
    }


def _of(turn: Turn, effects: Mapping[str, int]) -> dict[str, Any]:
    counts = ("failures", "deaths", "takeovers", "rounds", "requests", "revision")
    return {
        "ended": (turn.status, turn.reason, turn.result, turn.error_class, turn.error_text),
        "counts": {name: getattr(turn, name) for name in counts},
        "runs": _rows(Run, turn, "ordinal", "status"),
        "steps": _rows(Step, turn, "run__ordinal", "ordinal", "phase", "status"),
        "requests": _rows(ModelCall, turn, "ordinal", "attempt", "status"),
        "messages": _rows(Message, turn, "ordinal", "role", "parts"),
        "calls": [_call(call, effects) for call in _in_order(turn)],
        "events": [
            event.type for event in Event.objects.filter(turn_id=turn.pk).order_by("sequence")
        ],
    }


def _in_order(turn: Turn) -> list[ToolCall]:
    return list(ToolCall.objects.filter(turn=turn).order_by("round", "ordinal"))


def _call(call: ToolCall, effects: Mapping[str, int]) -> dict[str, Any]:
    names = ("round", "ordinal", "name", "arguments", "effect", "state", "attempts", "result")
    return {**{name: getattr(call, name) for name in names}, "effects": effects.get(call.pk, 0)}


def _rows(model: Any, turn: Turn, *columns: str) -> list[tuple[Any, ...]]:
    return list(model.objects.filter(turn=turn).order_by(*columns[:2]).values_list(*columns))
