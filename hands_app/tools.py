"""What the author of tools imports; the definitions stand in `contract.tools`."""

from hands_app.contract.batch import batch
from hands_app.contract.registering import preset, schema_only, with_context
from hands_app.contract.tools import (
    NeverHappened,
    Tool,
    ToolCancelled,
    ToolContext,
    ToolError,
    Unsure,
    tool,
)

__all__ = [
    "NeverHappened",
    "Tool",
    "ToolCancelled",
    "ToolContext",
    "ToolError",
    "Unsure",
    "batch",
    "preset",
    "schema_only",
    "tool",
    "with_context",
]
