"""The tools registered with a Definition, as a toolset beside those of the user's agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from sessions_app.harnesses import local

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel
    from pydantic_ai import RunContext

    from hands_app.contract.tools import Tool, ToolContext

Partial = bool | Literal["off", "on", "trailing-strings"]


class _Arguments:
    """Validates arguments by the tool's own signature; the framework turns errors into retries."""

    def __init__(self, model: type[BaseModel]) -> None:
        self._model = model

    def validate_json(
        self,
        input: str | bytes | bytearray,  # noqa: A002 - the framework's name
        *,
        allow_partial: Partial = False,  # noqa: ARG002 - arguments are whole here
        **_: object,
    ) -> dict[str, Any]:
        return _members(self._model.model_validate_json(input))

    def validate_python(
        self,
        input: Any,  # noqa: A002, ANN401 - the framework's
        *,
        allow_partial: Partial = False,  # noqa: ARG002 - arguments are whole here
        **_: object,
    ) -> dict[str, Any]:
        return _members(self._model.model_validate(input))


def _members(valid: BaseModel) -> dict[str, Any]:
    return {name: getattr(valid, name) for name in type(valid).model_fields}


class RegisteredToolset(AbstractToolset[Any]):
    """Offers tools and runs those that run here; `context` gives a call's context by its id."""

    def __init__(self, tools: Sequence[Tool], context: Callable[[str], ToolContext]) -> None:
        """One object for one invocation."""
        self._tools = {tool.name: tool for tool in tools}
        self._context = context

    @property
    def id(self) -> str:
        """Name in error messages."""
        return "registered"

    async def get_tools(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - the base's signature
    ) -> dict[str, ToolsetTool[Any]]:
        """All of them, in every step."""
        return {name: self._offered(tool) for name, tool in self._tools.items()}

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],  # noqa: ARG002 - the base's signature
    ) -> object:
        """Run the function; synchronous ones leave the loop."""
        registered = self._tools[name]
        if registered.signature.context is not None:
            context = registered.equip(self._context(ctx.tool_call_id or ""))
            tool_args = {**tool_args, registered.signature.context: context}
        return await local.call(registered, tool_args)

    def _offered(self, tool: Tool) -> ToolsetTool[Any]:
        binding = tool.binding
        offered = ToolDefinition(
            name=binding.name,
            description=binding.description,
            parameters_json_schema=dict(binding.parameters),
        )
        return ToolsetTool(
            toolset=self,
            tool_def=offered,
            max_retries=1,
            args_validator=_Arguments(tool.signature.model),
        )
