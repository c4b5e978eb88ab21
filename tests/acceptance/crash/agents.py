"""The agent that is killed: model, local tool, model, through the real OpenAI client."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from durable_site.demo import oracle, wire
from durable_site.demo.script import Call, Reply
from hands_app.contract.tools import ToolContext, tool
from sessions_app.registry import AgentBinding, agent

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from durable_site.demo.history import ChatRequest

PROVIDER = "CRASH_PROVIDER"


@tool(effect="idempotent")
def mark(word: str, context: ToolContext) -> str:
    """Leave a mark; a repeat under the same key is the same mark."""
    oracle.record("mark", context.execution_key)
    return f"marked {word}"


@tool(effect="once")
def mark_once(word: str, context: ToolContext) -> str:
    """Leave a mark that nobody could tell from a second one."""
    oracle.record("mark_once", context.execution_key)
    return f"marked {word}"


def script(request: ChatRequest) -> Reply:
    """Answer the newest user message: use the tool it names, then say what came out."""
    asked = max(n for n, message in enumerate(request.messages) if message.role == "user")
    results = [message.text for message in request.messages[asked:] if message.role == "tool"]
    if results:
        return Reply(f"Done: {results[0]}")
    name = request.messages[asked].text.split()[0]
    return Reply("I leave a mark.", [Call(name, {"word": "here"})])


@agent("agent", version="1", tools=[mark, mark_once])
def build(_binding: AgentBinding) -> Agent:
    """Return a fresh agent that asks the test's provider."""
    from pydantic_ai import Agent, ModelSettings  # noqa: PLC0415 - costs a second; Brains only
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - as above

    provider = OpenAIProvider(base_url=os.environ[PROVIDER], api_key="scripted")
    model = OpenAIChatModel(wire.MODEL, provider=provider)
    return Agent(model, model_settings=ModelSettings(max_retries=0))
