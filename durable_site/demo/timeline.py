"""The words for each event of a Turn, as the demo tells the story."""

from collections import defaultdict
from collections.abc import Mapping

from hands_app.contract.strict_json import JsonValue
from sessions_app.contract.events import EventType

_WORDS = {
    EventType.TURN_ADMITTED: ("bold", "Turn admitted: from here on it survives everything"),
    EventType.TURN_STATUS: ("dim", "{from} -> {to}{because}"),
    EventType.RUN_STARTED: ("blue", "run {ordinal} started"),
    EventType.RUN_ENDED: ("dim", "run ended {status}{because}"),
    EventType.MODEL_CALL_LOST: ("red", "model call {ordinal} is LOST: nobody heard its answer"),
    EventType.MESSAGE_COMPLETED: ("bold", "{role}: {text}"),
    EventType.TOOL_REQUESTED: ("yellow", "{name} asked for"),
    EventType.TOOL_STARTED: ("yellow", "{name} started"),
    EventType.TOOL_PROGRESS: ("dim", "{name} works"),
    EventType.TOOL_RESULT: ("green", "{name} {state}"),
    EventType.TOOL_UNKNOWN: ("red", "{name} is UNKNOWN: nobody can say how it ended"),
    EventType.TURN_RECOVERY: ("red", "attempt failed, {failures} so far"),
}
_COLOUR_OF_A_WORD = {"LOST": "red", "FAILED": "red", "CANCELLED": "red", "COMPLETED": "green"}


def tell(kind: str, payload: Mapping[str, JsonValue]) -> tuple[str, str] | None:
    """Return colour and words of an event, or None for one that adds nothing to the story."""
    if kind not in _WORDS:
        return None
    colour, words = _WORDS[EventType(kind)]
    because = f" ({payload['reason']})" if payload.get("reason") else ""
    known = defaultdict(str, {**payload, "because": because, "text": _text(payload.get("parts"))})
    outcome = str(payload.get("to") or payload.get("status") or payload.get("state"))
    return _COLOUR_OF_A_WORD.get(outcome, colour), words.format_map(known)


def _text(parts: JsonValue) -> str:
    """Return the text of a message in one line."""
    if not isinstance(parts, list):
        return ""
    texts = [str(part.get("text", "")) for part in parts if isinstance(part, dict)]
    return " ".join(" ".join(texts).split())
