"""Native state of pydantic-ai: messages as JSON, folded from the journal, and frames (R131, R133).

Builds no agent and asks no model. Run ids are left out, since the framework refuses to run under
one that it finds in the history, and an invocation may enter the agent twice.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pydantic import Field, TypeAdapter
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserContent,
    VideoUrl,
    tool_return_content_ta,
)
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from hands_app.contract.strict_json import JsonValue, clean
from sessions_app.contract.content import Part, TextPart, user_input
from sessions_app.contract.status import CallState, CheckpointKind
from sessions_app.harnesses import journal
from sessions_app.harnesses.calls import NOT_EXECUTED, at_settling
from sessions_app.harnesses.envelope import Envelope
from sessions_app.harnesses.journal import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sessions_app.contract.backend import CallFacts, EntryDraft, FrameDraft, Native
    from sessions_app.contract.identity import DefinitionKey

FORMAT: Final = 1
ENVELOPE: Final = Envelope("pydantic_ai", FORMAT, f"pydantic-ai {version('pydantic-ai-slim')}")
USAGE: Final = TypeAdapter(RunUsage)

_URLS: Final = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl}
_OUTCOMES: Final[Mapping[CallState, Literal["success", "denied"]]] = {
    CallState.COMPLETED: "success",
    CallState.DENIED: "denied",
}
_NATIVE: Final = "tool-return"
_OF_THIS_RUN: Final = ("run_id", "conversation_id", "workspace_ref")


Prompt = str | list[UserContent]


class Stand(Progress):
    """Where a Turn stands, with what the framework carries along a conversation."""

    usage: dict[str, Any] = Field(default_factory=dict)
    conversation: str | None = None

    def anew(self, turn_id: str) -> Stand:
        """The stand of the Thread's next Turn: fresh counters, the same conversation (R063)."""
        return Stand(turn=turn_id, usage=self.usage, conversation=self.conversation)


@dataclass(slots=True)
class State:
    """Native state in memory."""

    history: list[ModelMessage]
    stand: Stand
    closing: list[ModelMessage] = field(default_factory=list)  # results an earlier Turn left out
    is_new: bool = False  # the Turn's input is not in the history yet

    def frame(self, kind: CheckpointKind = CheckpointKind.BOUNDARY) -> FrameDraft:
        """A checkpoint of where the Turn stands."""
        return ENVELOPE.seal(self.stand.body(), kind)


def restore(native: Native, definition: DefinitionKey, turn_id: str) -> State:
    """Rebuild; raises Incompatible for a frame that this build may not read."""
    if native.frame is None:
        return State([], Stand(turn=turn_id), is_new=True)
    stand = Stand.model_validate(ENVELOPE.open(native.frame, definition))
    history = load(journal.contained(native, stand))
    if stand.turn == turn_id:
        return State(history, stand)
    return State(history, stand.anew(turn_id), closing=_closing(history, {}), is_new=True)


def settle(native: Native) -> tuple[tuple[EntryDraft, ...], FrameDraft | None]:
    """Close the calls that the Turn left open, with what is known of each (R161)."""
    history = load(journal.everything(native))
    if not history:
        return (), None
    stand = progress(native)
    round_ = journal.last_round(native, stand.turn)
    stand.answered(round_)
    stand.finish(None)
    known = {(call.call_id, call.ordinal): call for call in native.calls if call.round == round_}
    results = _closing(history, known)
    entries = (journal.items(len(history), dump(results)),) if results else ()
    return entries, State(history, stand).frame(CheckpointKind.SETTLED)


def progress(native: Native) -> Stand:
    """Where the newest checkpoint stands, or the beginning of a Turn that has none yet."""
    if native.frame is not None:
        return Stand.model_validate(ENVELOPE.open(native.frame))
    return Stand(turn=native.entries[-1].turn_id)


def _closing(
    history: Sequence[ModelMessage], known: Mapping[tuple[str, int], CallFacts]
) -> list[ModelMessage]:
    """A request with one result for each call of the last response, if that has any."""
    last = history[-1] if history else None
    if not isinstance(last, ModelResponse) or not last.tool_calls:
        return []
    parts = []
    for place, call in enumerate(last.tool_calls):
        outcome = at_settling(known.get((call.tool_call_id, place)))
        parts.append(
            ToolReturnPart(
                call.tool_name,
                outcome.content,
                call.tool_call_id,
                outcome=_OUTCOMES.get(outcome.state, "failed"),
                timestamp=last.timestamp,
            )
        )
    return [ModelRequest(parts=parts)]


def not_executed(call: ToolCallPart) -> ToolReturnPart:
    """The result of a call that nobody needs any more."""
    return ToolReturnPart(call.tool_name, NOT_EXECUTED, call.tool_call_id, outcome="failed")


def dump(messages: Sequence[ModelMessage]) -> list[JsonValue]:
    """Messages as stored; a marker stands for what strict JSON refuses in texts."""
    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json", warnings=False)
    return cast("list[JsonValue]", clean([_slim(message) for message in dumped]).value)


def _slim(message: dict[str, Any]) -> dict[str, Any]:
    """Without what belongs to one run, and without members that say nothing."""
    kept = {name: value for name, value in message.items() if name not in _OF_THIS_RUN}
    return {**_said(kept), "parts": [_said(part) for part in message["parts"]]}


def _said(members: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in members.items() if value is not None or name == "content"
    }


def load(stored: Sequence[JsonValue]) -> list[ModelMessage]:
    """Messages as the framework takes them; JSON mode, for bytes travel as base64."""
    return ModelMessagesTypeAdapter.validate_json(json.dumps(list(stored)))


def as_data(value: object) -> object:
    """What a tool returned, so that data which looks like the framework's own form stay data."""
    looks_native = isinstance(value, dict) and value.get("kind") == _NATIVE
    return ToolReturn(value) if looks_native else value


def dump_return(value: object) -> JsonValue:
    """What a tool returned; files and a `ToolReturn` keep their form."""
    if not isinstance(value, ToolReturn):
        return cast(
            "JsonValue", tool_return_content_ta.dump_python(value, mode="json", warnings=False)
        )
    return {
        "kind": value.kind,
        "return_value": dump_return(value.return_value),
        "content": dump_return(value.content),
        "metadata": cast("JsonValue", to_jsonable_python(value.metadata)),
    }


def load_return(stored: JsonValue) -> object:
    """What the framework is given for it. Only the outermost form may be the framework's own."""
    match stored:
        case {"kind": "tool-return", "return_value": value, "content": content, **rest}:
            shown = cast("Any", _loaded(content))
            return ToolReturn(_loaded(value), content=shown, metadata=rest.get("metadata"))
        case _:
            return _loaded(stored)


def _loaded(stored: JsonValue) -> object:
    return tool_return_content_ta.validate_json(json.dumps(stored))


def prompt(*contents: JsonValue) -> Prompt:
    """Users' inputs as the framework takes them; a single text stays a text."""
    pieces = [_user_content(part) for given in contents for part in user_input(given).parts]
    return pieces[0] if len(pieces) == 1 and isinstance(pieces[0], str) else pieces


def _user_content(part: Part) -> UserContent:
    if isinstance(part, TextPart):
        return part.text
    if part.url is not None:
        url: UserContent = _URLS[part.type](part.url, media_type=part.mime_type)
        return url
    return BinaryContent(base64.b64decode(part.data or ""), media_type=part.mime_type)
