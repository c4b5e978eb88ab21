"""The chat-completions request of the OpenAI wire protocol, refused as real providers refuse it."""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

_ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
    "'tool_calls'."
)
_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: {}"
)
_WRONG_CALLER = "'tool_calls' is not allowed with role '{}'."
_SAME_ID = "Duplicate value for 'id' in 'tool_calls'."


class RefusedError(Exception):
    """The request is wrong; carries what the provider says about it."""

    def __init__(self, message: str, param: str | None = None, status: int = 400) -> None:
        """Keep the answer's parts."""
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status


class _Wire(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Function(_Wire):
    """What a tool call asks for; `arguments` is JSON text."""

    name: str
    arguments: str = "{}"


class ToolCall(_Wire):
    """One call in an assistant's message."""

    id: str
    type: Literal["function"] = "function"
    function: Function


class TextPart(_Wire):
    """A part of a message; only text is read here."""

    type: str
    text: str = ""


class Message(_Wire):
    """One message of the history."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart] | None = None
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """All text of the message."""
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class OfferedFunction(_Wire):
    """A function's name; its schema is not looked at."""

    name: str


class OfferedTool(_Wire):
    """A tool that the model may call."""

    function: OfferedFunction


class StreamOptions(_Wire):
    """What a stream contains beside the answer."""

    include_usage: bool = False


class ChatRequest(_Wire):
    """The body of a chat-completions request."""

    model: str
    messages: list[Message] = Field(min_length=1)
    tools: list[OfferedTool] = Field(default_factory=list)
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()

    @property
    def offered(self) -> frozenset[str]:
        """The names of the tools that may be called."""
        return frozenset(tool.function.name for tool in self.tools)


def refuse_broken(messages: Sequence[Message]) -> None:
    """Raise unless every tool call has exactly one result, directly behind the call's message."""
    open_calls: set[str] = set()
    calling = 0
    for index, message in enumerate(messages):
        if message.role == "tool":
            _close(open_calls, message, index)
            continue
        _refuse_unanswered(open_calls, calling)
        if message.tool_calls:
            open_calls, calling = _open(message, index), index
    _refuse_unanswered(open_calls, calling)


def _open(message: Message, index: int) -> set[str]:
    calls = [call.id for call in message.tool_calls]
    param = f"messages.[{index}].tool_calls"
    if message.role != "assistant":
        raise RefusedError(_WRONG_CALLER.format(message.role), param)
    if len(set(calls)) < len(calls):
        raise RefusedError(_SAME_ID, param)
    return set(calls)


def _close(open_calls: set[str], message: Message, index: int) -> None:
    if message.tool_call_id not in open_calls:
        raise RefusedError(_ORPHAN, f"messages.[{index}].role")
    open_calls.remove(message.tool_call_id)


def _refuse_unanswered(open_calls: set[str], calling: int) -> None:
    if open_calls:
        missing = ", ".join(sorted(open_calls))
        raise RefusedError(_UNANSWERED.format(missing), f"messages.[{calling}].role")
