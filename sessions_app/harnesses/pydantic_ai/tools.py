"""Tool calls of a native run: intents before effects, each call once by its id, stored results."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
)
from pydantic_ai.tools import ToolDenied

from hands_app.contract.binding import ApprovalPolicy, ToolBinding
from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import check, loads_lenient
from hands_app.contract.tools import ToolError
from sessions_app.contract.errors import Invalid
from sessions_app.contract.status import CallState
from sessions_app.harnesses import calls, local
from sessions_app.harnesses.pydantic_ai import codec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pydantic_ai.messages import ModelResponse, ToolCallPart
    from pydantic_ai.tools import DeferredToolRequests, ToolDefinition

    from hands_app.contract.tools import ToolContext
    from sessions_app.contract.backend import CallFacts
    from sessions_app.harnesses.calls import Shown
    from sessions_app.harnesses.pydantic_ai.record import Record
    from sessions_app.ports import ToolReturn
    from sessions_app.registry import Definition

    Handler = Callable[[dict[str, Any]], Awaitable[Any]]

_DESCRIPTION_LIMIT: Final = 16_000
_INSIDE: Final = "A tool cannot defer itself or ask for approval here; its registration says so."


class Parked(BaseException):
    """Leaves the run at a tool boundary. No error, so that no hook of the agent handles it."""


class Calls:
    """The calls of one reply after the other."""

    def __init__(self, record: Record, definition: Definition) -> None:
        """`definition` names the tools that have a binding; all others run here, once."""
        self._record = record
        self._host = record.host
        self._bindings = definition.bindings
        self._kinds: dict[str, str] = {}
        self._lock = asyncio.Lock()
        self._asked: Sequence[ToolCallPart] = ()
        self._valid: dict[str, tuple[ToolCallPart, ToolBinding]] = {}
        self._buffered: set[str] = set()

    def begin(self, response: ModelResponse) -> None:
        """Turn to the calls of this reply."""
        self._asked = response.tool_calls
        self._valid = {}
        self._buffered = set()

    def prepare(self, definitions: list[ToolDefinition]) -> list[ToolDefinition]:
        """Take the decision where a tool runs from the framework: the binding says it."""
        self._kinds = {tool.name: tool.kind for tool in definitions}
        return [replace(tool, kind="function") for tool in definitions]

    def validated(self, call: ToolCallPart, tool: ToolDefinition) -> None:
        """Note a call that is about to be executed; raises ModelRetry for what no JSON can hold."""
        refuse_two_readings(call.args)
        try:
            check(call.args_as_dict())
        except InvalidJson as error:
            raise _retry(error) from None
        self._valid[call.tool_call_id] = (call, self._binding(tool))

    async def execute(self, call: ToolCallPart, args: dict[str, Any], handler: Handler) -> object:
        """Give the result of a call, run here if it belongs here; defer it while it is open."""
        facts = await self._known(call)
        if facts is None:
            raise CallDeferred
        _, binding = self._valid[call.tool_call_id]
        if calls.runs_here(facts):
            facts = await self._host.run_local(
                facts.execution_id, lambda: _body(binding, args, handler)
            )
        outcome = calls.shown(facts)
        if outcome is None:
            raise CallDeferred
        if not facts.applied:
            self._record.gave(facts.execution_id)
        return _given(outcome, here=facts.route in calls.IN_PROCESS)

    def park(self, requests: DeferredToolRequests) -> NoReturn:
        """Leave the run with all that could run here done; missing intents go with the park."""
        deferred = {call.tool_call_id for call in (*requests.calls, *requests.approvals)}
        if inside := sorted(deferred - self._valid.keys()):
            msg = f"calls {inside}: {_INSIDE}"
            raise Invalid(msg)
        self._intend(outside=True)
        raise Parked

    def context(self, call_id: str) -> ToolContext:
        """What a registered tool may know of the call that it runs for."""
        call, _ = self._valid[call_id]
        facts = self._look(call)
        return local.tool_context(self._host.context, facts.execution_id if facts else call_id)

    async def _known(self, call: ToolCallPart) -> CallFacts | None:
        """Facts of the call once its intent stands; None when it is to be committed with the park.

        The first call of a reply commits the outcome and the intents of all (law 6).
        """
        async with self._lock:
            if self._look(call) is None and self._intend(outside=not self._may_be_final()):
                await self._host.commit()
            return self._look(call)

    def _intend(self, *, outside: bool) -> bool:
        """Buffer missing intents, those of outside calls on request; True if one starts here."""
        begins = False
        for call, binding in self._valid.values():
            starts = calls.starts(binding)
            if call.tool_call_id in self._buffered or not (starts or outside) or self._look(call):
                continue
            self._buffered.add(call.tool_call_id)
            arguments = call.args_as_dict()
            self._host.intend(
                calls.intent(call.tool_call_id, self._place(call), arguments, binding)
            )
            self._record.checkpoint()
            begins |= starts
        return begins

    def _may_be_final(self) -> bool:
        """Whether the reply holds an output call: if that wins, outside calls are not executed."""
        return any(call.tool_name not in self._kinds for call in self._asked)

    def _look(self, call: ToolCallPart) -> CallFacts | None:
        number = self._record.state.stand.round
        return self._host.call(call.tool_call_id, self._place(call), number)

    def _place(self, call: ToolCallPart) -> int:
        return [asked.tool_call_id for asked in self._asked].index(call.tool_call_id)

    def _binding(self, tool: ToolDefinition) -> ToolBinding:
        """The registered binding, or what the agent's own tool says of itself."""
        known = self._bindings.get(tool.name)
        if known is not None:
            return known
        kind = self._kinds.get(tool.name)
        return ToolBinding(
            name=tool.name,
            description=(tool.description or "")[:_DESCRIPTION_LIMIT],
            parameters=dict(tool.parameters_json_schema),
            route="manual" if kind == "external" else "local",
            approval=ApprovalPolicy.ALWAYS if kind == "unapproved" else ApprovalPolicy.NEVER,
        )


def refuse_two_readings(written: object) -> None:
    """Raise ModelRetry for a text that is read one way here and another way elsewhere (C16).

    The framework would take the last of two equal keys. What is no JSON at all it refuses itself.
    """
    try:
        loads_lenient(written if isinstance(written, str) else "0")
    except InvalidJson as error:
        if error.reason != "SYNTAX":
            raise _retry(error) from None


def _retry(error: InvalidJson) -> ModelRetry:
    return ModelRetry(f"This is no strict JSON: {error}")


async def _body(binding: ToolBinding, args: dict[str, Any], handler: Handler) -> ToolReturn:
    """What runs once under the start record."""

    async def run() -> object:
        try:
            return codec.as_data(await handler(args))
        except ToolRetryError as error:
            raise ToolError(_words(error.tool_retry.content), code=calls.RETRY) from error
        except (ToolFailed, ToolFailedError) as error:
            raise ToolError(str(error), code="TOOL_FAILED") from error
        except (CallDeferred, ApprovalRequired) as error:
            raise ToolError(_INSIDE, code="UNSUPPORTED") from error
        except UnexpectedModelBehavior as error:
            if isinstance(error.__cause__, ModelRetry):
                raise ToolError(error.__cause__.message, code=calls.RETRY) from error
            raise

    return await local.judged(binding, run, codec.dump_return)


def _given(outcome: Shown, *, here: bool) -> object:
    """A result as the framework takes it; errors are raised.

    Only a tool that ran `here` can return the framework's own forms; all else is data (T18).
    """
    if not outcome.failed:
        return codec.load_return(outcome.content) if here else outcome.content
    if outcome.state == CallState.DENIED:
        return ToolDenied(outcome.text)
    if outcome.code == calls.RETRY:
        raise ModelRetry(outcome.text)
    raise ToolFailed(outcome.text)


def _words(content: object) -> str:
    return content if isinstance(content, str) else str(content)
