"""The catalogue of events: which payload belongs to which name (R096, R097).

Reserved names have exactly the members of their model. Names of applications have the form
`x.<namespace>.<name>` and payloads of their own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sessions_app.contract import payloads
from sessions_app.contract.errors import Invalid
from sessions_app.contract.events import EventType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hands_app.contract.strict_json import JsonValue

CUSTOM: Final = re.compile(r"x\.[a-z0-9][a-z0-9_-]{0,62}\.[a-z0-9][a-z0-9_.-]{0,62}")
_REFERENCES: Final = re.compile(r" \((law|R\d{3})[^)]*\)")


class IllegalEvent(AssertionError):
    """A decision stated a fact in another form than the catalogue's: a bug of ours."""


PAYLOADS: Final[Mapping[EventType, type[payloads.Payload]]] = {
    EventType.SESSION_CREATED: payloads.SessionCreated,
    EventType.SESSION_CLOSED: payloads.SessionClosed,
    EventType.THREAD_CREATED: payloads.ThreadCreated,
    EventType.THREAD_CLOSED: payloads.ThreadClosed,
    EventType.THREAD_REPINNED: payloads.ThreadRepinned,
    EventType.TURN_ADMITTED: payloads.TurnAdmitted,
    EventType.TURN_STATUS: payloads.TurnMoved,
    EventType.TURN_RECOVERY: payloads.TurnRecovery,
    EventType.TURN_INCOMPATIBLE: payloads.TurnIncompatible,
    EventType.TURN_USAGE: payloads.TurnUsage,
    EventType.RUN_STARTED: payloads.RunStarted,
    EventType.RUN_ENDED: payloads.RunEnded,
    EventType.STEP_STARTED: payloads.StepStarted,
    EventType.STEP_ENDED: payloads.StepEnded,
    EventType.MESSAGE_COMPLETED: payloads.MessageCompleted,
    EventType.MODEL_CALL_LOST: payloads.ModelCallLost,
    EventType.TOOL_REQUESTED: payloads.ToolRequested,
    EventType.TOOL_STARTED: payloads.ToolStarted,
    EventType.TOOL_PROGRESS: payloads.ToolProgress,
    EventType.TOOL_OUTPUT: payloads.ToolOutput,
    EventType.TOOL_RESULT: payloads.ToolResult,
    EventType.TOOL_APPLIED: payloads.ToolApplied,
    EventType.TOOL_UNKNOWN: payloads.ToolUnknown,
    EventType.TOOL_CANCEL_REQUESTED: payloads.ToolCancelRequested,
    EventType.TOOL_CANCEL_ACCEPTED: payloads.ToolCancelAccepted,
    EventType.SIGNAL_ADMITTED: payloads.SignalAdmitted,
    EventType.SIGNAL_APPLIED: payloads.SignalApplied,
    EventType.SIGNAL_WITHDRAWN: payloads.SignalWithdrawn,
    EventType.SIGNAL_CLOSED: payloads.SignalClosed,
    EventType.INTERACTION_OPENED: payloads.InteractionOpened,
    EventType.INTERACTION_SET_ASIDE: payloads.InteractionSetAside,
    EventType.INTERACTION_RESOLVED: payloads.InteractionResolved,
    EventType.WAIT_OPENED: payloads.WaitOpened,
    EventType.WAIT_ENDED: payloads.WaitEnded,
}


def _members(model: type[payloads.Payload], *, required: bool) -> frozenset[str]:
    fields = model.model_fields.values()
    return frozenset(str(f.alias) for f in fields if f.is_required() or not required)


_MUST: Final = {kind: _members(model, required=True) for kind, model in PAYLOADS.items()}
_MAY: Final = {kind: _members(model, required=False) for kind, model in PAYLOADS.items()}


def check_members(kind: EventType, payload: Mapping[str, JsonValue]) -> None:
    """Hold the names in a payload against the catalogue, which costs two set comparisons.

    Raises IllegalEvent. What the members hold is checked by `typed`, in tests and by readers.
    """
    if not _MUST[kind] <= payload.keys() <= _MAY[kind]:
        lacks, has = sorted(_MUST[kind] - payload.keys()), sorted(payload.keys() - _MAY[kind])
        msg = f"{kind} lacks {lacks} or has {has}; its payload is {PAYLOADS[kind].__name__}"
        raise IllegalEvent(msg)


def check(kind: str, payload: Mapping[str, JsonValue]) -> None:
    """Hold an event against the catalogue as a whole.

    Raises IllegalEvent for an unknown name, pydantic's ValidationError for another payload.
    """
    if kind in PAYLOADS:
        PAYLOADS[EventType(kind)].model_validate(payload)
    elif not CUSTOM.fullmatch(kind):
        msg = f"{kind} is neither a name of the catalogue nor one of an application"
        raise IllegalEvent(msg)


def typed(kind: str, payload: Mapping[str, JsonValue]) -> payloads.Payload | None:
    """The payload as its model; None for a name that this version does not know.

    Members that this version does not know are left aside, so that a reader outlives its server's
    next release. Raises pydantic's ValidationError for a payload that is not of its type.
    """
    model = PAYLOADS.get(kind)  # type: ignore[call-overload]  # any text may be asked for
    return None if model is None else model.model_validate(payload, extra="ignore")


def custom_name(name: object) -> str:
    """Return `name` if an application may use it for its events, else raise Invalid (R096)."""
    if isinstance(name, str) and CUSTOM.fullmatch(name):
        return name
    msg = f"event name {name!r:.80} is not one of an application: x.<namespace>.<name>, lower case"
    raise Invalid(msg)


def as_markdown() -> str:
    """The catalogue as the reference page shows it."""
    rows = [f"| `{kind}` | {_fact(model)} | {_shown(kind)} |" for kind, model in PAYLOADS.items()]
    return "\n".join([_HEAD, "| Event | States that | Payload |", "| - | - | - |", *rows]) + "\n"


_HEAD: Final = """\
# Events

Persisted public facts, numbered without a gap in their Session. A payload has exactly the members
named here; one with a `?` may be missing. Names of applications have the form
`x.<namespace>.<name>`, and payloads of their own.
"""


def _fact(model: type[payloads.Payload]) -> str:
    text = _REFERENCES.sub("", (model.__doc__ or "").split("\n\n")[0])
    return text[:1].lower() + text[1:].rstrip(".")


def _shown(kind: EventType) -> str:
    members = (str(field.alias) for field in PAYLOADS[kind].model_fields.values())
    return ", ".join(name if name in _MUST[kind] else f"{name}?" for name in members)
