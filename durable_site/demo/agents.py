"""The demo's agent. A user's `agents.py` looks like this one.

Every process of the site imports this module, and only a Brain builds agents: what costs a second
to import is imported where it is used.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from durable_site.demo import wire
from durable_site.demo.source import MODEL_VARIABLE, PROVIDER_VARIABLE
from durable_site.demo.tools import count_errors, write_report
from sessions_app.registry import AgentBinding, agent

if TYPE_CHECKING:
    from pydantic_ai import Agent
    from pydantic_ai.models import Model

_INSTRUCTIONS = (
    "You write night reports. First count the errors of the service with `count_errors`, then have "
    "the report written with `write_report`, giving it the findings, then say where it lies."
)


@agent("night-report", version="1", tools=[count_errors, write_report])
def build(_binding: AgentBinding) -> Agent:
    """Return a fresh agent for one invocation; its tools come with the registration."""
    from pydantic_ai import Agent, ModelSettings  # noqa: PLC0415 - see above

    # The runtime retries and keeps count of it; the library must not do so behind its back.
    settings = ModelSettings(max_retries=0)
    return Agent(_model(), instructions=_INSTRUCTIONS, model_settings=settings)


@cache
def _model() -> Model:
    """Return the process's model: a real one when it is named, the scripted one otherwise."""
    from pydantic_ai.models import infer_model  # noqa: PLC0415 - see above
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - see above
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - see above

    if named := os.environ.get(MODEL_VARIABLE):
        return infer_model(named)
    address = os.environ.get(PROVIDER_VARIABLE)
    if not address:
        message = f"The demo's agent needs a model: set {MODEL_VARIABLE} or {PROVIDER_VARIABLE}."
        raise ImproperlyConfigured(message)
    provider = OpenAIProvider(base_url=address, api_key="scripted")
    return OpenAIChatModel(wire.MODEL, provider=provider)
