"""The answers of the OpenAI wire protocol: one completion, or the chunks of a stream."""

import json
from collections.abc import Iterator, Mapping

from durable_site.demo.history import ChatRequest, RefusedError
from durable_site.demo.script import Reply, call_id

MODEL = "scripted"

_CREATED = 1_700_000_000  # fixed, so that equal requests have equal answers
_PIECE = 12
_CHARACTERS_PER_TOKEN = 4

Json = Mapping[str, object]


def completion(request: ChatRequest, reply: Reply) -> Json:
    """Return the whole answer at once."""
    message: dict[str, object] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [_call(request, reply, i) for i in range(len(reply.calls))]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    head = _head(request, "chat.completion")
    return {**head, "choices": [choice], "usage": _usage(request, reply)}


def chunks(request: ChatRequest, reply: Reply) -> Iterator[Json]:
    """Give out the answer as the chunks of a stream, text and arguments in small pieces."""
    yield _chunk(request, {"role": "assistant", "content": ""})
    for piece in _pieces(reply.text):
        yield _chunk(request, {"content": piece})
    for index in range(len(reply.calls)):
        yield from _call_chunks(request, reply, index)
    yield _chunk(request, {}, _finish(reply))
    if request.stream_options.include_usage:
        head = _head(request, "chat.completion.chunk")
        yield {**head, "choices": [], "usage": _usage(request, reply)}


def models() -> Json:
    """Return the list of models."""
    model = {"id": MODEL, "object": "model", "created": _CREATED, "owned_by": "durable_site"}
    return {"object": "list", "data": [model]}


def refusal(error: RefusedError) -> Json:
    """Return an error in the shape that client libraries read."""
    kind = "invalid_request_error"
    body = {"message": error.message, "type": kind, "param": error.param, "code": None}
    return {"error": body}


def _call_chunks(request: ChatRequest, reply: Reply, index: int) -> Iterator[Json]:
    whole = _call(request, reply, index)
    arguments = _arguments(reply, index)
    first = {
        **whole,
        "index": index,
        "function": {"name": reply.calls[index].name, "arguments": ""},
    }
    yield _chunk(request, {"tool_calls": [first]})
    for piece in _pieces(arguments):
        part = {"index": index, "function": {"arguments": piece}}
        yield _chunk(request, {"tool_calls": [part]})


def _call(request: ChatRequest, reply: Reply, index: int) -> Json:
    function = {"name": reply.calls[index].name, "arguments": _arguments(reply, index)}
    return {"id": call_id(request, index), "type": "function", "function": function}


def _arguments(reply: Reply, index: int) -> str:
    return json.dumps(reply.calls[index].arguments)


def _chunk(request: ChatRequest, delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**_head(request, "chat.completion.chunk"), "choices": [choice]}


def _head(request: ChatRequest, kind: str) -> Json:
    answer = "chatcmpl-" + call_id(request, -1).removeprefix("call_")
    return {"id": answer, "object": kind, "created": _CREATED, "model": request.model}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(request: ChatRequest, reply: Reply) -> Json:
    asked = sum(len(message.text) for message in request.messages)
    said = len(reply.text) + sum(len(_arguments(reply, i)) for i in range(len(reply.calls)))
    prompt, answer = 1 + asked // _CHARACTERS_PER_TOKEN, 1 + said // _CHARACTERS_PER_TOKEN
    tokens = {"prompt_tokens": prompt, "completion_tokens": answer}
    return {**tokens, "total_tokens": prompt + answer}


def _pieces(text: str) -> Iterator[str]:
    return (text[i : i + _PIECE] for i in range(0, len(text), _PIECE))
