"""The journal at the model object: every request of the loop passes here, auxiliary ones too."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import CompletedStreamedResponse, Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import clean
from sessions_app.harnesses.calls import distinct
from sessions_app.harnesses.pydantic_ai.attempts import behind, counted

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.settings import ModelSettings

    from sessions_app.harnesses.pydantic_ai.record import Record
    from sessions_app.ports import Attempts

_LOCAL: Final = frozenset({"function", "test"})


class CutReplyError(EOFError):
    """The reply ended before it was complete: nothing is stored, no tool of it starts (C53)."""


class JournaledModel(WrapperModel):
    """Replays stored outcomes and stores fresh ones, for whichever model serves the request.

    A provider's stream is read to its end here, so that the loop only ever sees whole replies.
    """

    def __init__(self, wrapped: Model, record: Record) -> None:
        """`record` is of this invocation."""
        super().__init__(wrapped)
        self._record = record

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """See the base class."""

        async def send(attempts: Attempts) -> ModelResponse:
            with counted(self.wrapped, attempts):
                return await self._send(messages, model_settings, model_request_parameters)

        return await self._record.ask(
            messages, model_settings, model_request_parameters, send, self.model_name
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - the base's signature
    ) -> AsyncGenerator[StreamedResponse]:
        """See the base class; the whole reply is played to the consumer."""
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )

    async def _send(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if not can_stream(self.wrapped):
            response = await self.wrapped.request(messages, settings, parameters)
            return _whole(response)
        try:
            async with self.wrapped.request_stream(messages, settings, parameters) as stream:
                async for _event in stream:
                    pass
                response = stream.get()
        except UnexpectedModelBehavior as error:
            msg = "the stream ended before it said anything, or made no sense"
            raise CutReplyError(msg) from error
        _refuse_unended(response, self.wrapped)
        return _whole(response)


def can_stream(model: Model) -> bool:
    """Whether the model can answer as a stream, which is noticed at once when it is cut."""
    if isinstance(model, WrapperModel):
        return can_stream(model.wrapped)
    if isinstance(model, FallbackModel):
        return all(can_stream(inner) for inner in model.models)
    if isinstance(model, FunctionModel):
        return model.stream_function is not None
    return type(model).request_stream is not Model.request_stream


def _whole(response: ModelResponse) -> ModelResponse:
    """The reply, if it is complete or will be continued; calls in one cut for length are not."""
    if response.state not in {"complete", "suspended"}:
        msg = f"the reply is {response.state}"
        raise CutReplyError(msg)
    if response.tool_calls and response.finish_reason == "length":
        msg = "the reply was cut for length in the midst of its tool calls"
        raise CutReplyError(msg)
    ids = iter(distinct([call.tool_call_id for call in response.tool_calls]))
    parts = [
        _portable(part, next(ids)) if isinstance(part, ToolCallPart) else part
        for part in response.parts
    ]
    return replace(response, parts=parts)


def _portable(call: ToolCallPart, call_id: str) -> ToolCallPart:
    """The call under an id of its own in the reply (C52), with arguments that JSON can hold.

    As text they can hold any number; the tool's validation decides on it. A marker stands for text
    that nothing can store.
    """
    try:
        args = cast("str | dict[str, Any] | None", clean(call.args).value)
    except InvalidJson:
        args = json.dumps(call.args)
    return replace(call, args=args, tool_call_id=call_id)


def _refuse_unended(response: ModelResponse, model: Model) -> None:
    """A stream that was closed cleanly without its end says no reason; it may be cut anywhere.

    The framework's own models keep the provider's word for it; of others only calls are doubted,
    since a text without a reason may be all that they ever say.
    """
    if model.system in _LOCAL or response.state != "complete":
        return
    said = (response.provider_details or {}).get("finish_reason")
    made_up = response.finish_reason is None or (response.finish_reason == "stop" and said is None)
    if made_up and (response.tool_calls or all(map(_keeps_reasons, behind(model)))):
        msg = "the stream ended without a finish reason"
        raise CutReplyError(msg)


def _keeps_reasons(model: Model) -> bool:
    return type(model).__module__.startswith("pydantic_ai.models.")
