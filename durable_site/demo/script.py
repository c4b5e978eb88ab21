"""What the scripted model says: a function of the history, so that a retry is answered alike."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from durable_site.demo.history import ChatRequest, Message

PROMPT = "Write the night report for checkout."

_SERVICE = re.compile(r"night report for (?:the )?([a-z][a-z0-9-]*)", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to use."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True)
class Reply:
    """One answer of the model: text, calls or both."""

    text: str
    calls: Sequence[Call] = field(default=())


Script = Callable[[ChatRequest], Reply]
"""Decides the next answer."""


def night_report(request: ChatRequest) -> Reply:
    """Count the night's errors, have the report written, then say so."""
    turn = _current_turn(request.messages)
    results = _results(turn)
    service = _service(turn)
    if "count_errors" in request.offered and "count_errors" not in results:
        call = Call("count_errors", {"service": service})
        return Reply(f"I count the errors of {service} first.", [call])
    counted = results.get("count_errors", "no errors counted")
    if "write_report" in request.offered and "write_report" not in results:
        call = Call("write_report", {"service": service, "findings": counted})
        return Reply("The errors are counted; the report is next.", [call])
    written = results.get("write_report", "nowhere")
    return Reply(f"The night report for {service} is written: {written}")


def call_id(request: ChatRequest, index: int) -> str:
    """Name a call by the history that led to it."""
    history = json.dumps([m.model_dump(mode="json") for m in request.messages], sort_keys=True)
    return "call_" + hashlib.sha256(f"{index} {history}".encode()).hexdigest()[:24]


def _current_turn(messages: Sequence[Message]) -> Sequence[Message]:
    """Return what follows the last final answer: the user's words, the calls and their results."""
    final = [i for i, m in enumerate(messages) if m.role == "assistant" and not m.tool_calls]
    return messages[final[-1] + 1 :] if final else messages


def _results(turn: Sequence[Message]) -> dict[str, str]:
    names = {call.id: call.function.name for m in turn for call in m.tool_calls}
    return {names[m.tool_call_id]: m.text for m in turn if m.tool_call_id and m.role == "tool"}


def _service(turn: Sequence[Message]) -> str:
    words = " ".join(m.text for m in turn if m.role == "user")
    found = _SERVICE.search(words)
    return found[1].lower() if found else "checkout"
