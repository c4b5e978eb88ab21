"""The one capability that a durable run adds to the user's agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering

from sessions_app.harnesses.pydantic_ai.model import JournaledModel
from sessions_app.harnesses.pydantic_ai.tools import refuse_two_readings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic_ai import RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models import Model
    from pydantic_ai.output import OutputContext
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDefinition

    from sessions_app.harnesses.pydantic_ai.record import Record
    from sessions_app.harnesses.pydantic_ai.tools import Calls


class Durable(AbstractCapability[Any]):
    """Stands outside all others, so that what is stored is what the loop was given."""

    def __init__(self, record: Record, calls: Calls) -> None:
        """Both are of this invocation."""
        self._record = record
        self._calls = calls

    def get_ordering(self) -> CapabilityOrdering:
        """See the base class."""
        return CapabilityOrdering(position="outermost")

    def get_wrapper_model(self, model: Model) -> Model:
        """See the base class."""
        return JournaledModel(model, self._record)

    async def prepare_tools(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        tool_defs: list[ToolDefinition],
    ) -> list[ToolDefinition]:
        """See the base class."""
        return self._calls.prepare(tool_defs)

    async def handle_deferred_tool_calls(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        *,
        requests: DeferredToolRequests,
    ) -> DeferredToolResults | None:
        """Open calls are the runtime's: no other capability is asked, no output type is needed."""
        self._calls.park(requests)

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """See the base class."""
        self._calls.validated(call, tool_def)
        return args

    async def before_output_validate(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        *,
        output_context: OutputContext,  # noqa: ARG002 - the base's signature
        output: str | dict[str, Any],
    ) -> str | dict[str, Any]:
        """See the base class."""
        refuse_two_readings(output)
        return output

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,  # noqa: ARG002 - the base's signature
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> object:
        """See the base class."""
        return await self._calls.execute(call, args, handler)
