"""The agent of the benchmarks, as a site registers it."""

from __future__ import annotations

from sessions_app.harnesses.scripted.model import Script
from sessions_app.registry import AgentBinding, agent
from tests.benchmarks.crew.scripts import TOOLS, reply, send
from tests.benchmarks.loads import STEPS


@agent(
    "bench",
    version="1",
    harness="scripted",
    tools=TOOLS,
    round_limit=2 * STEPS,
)
def build(_binding: AgentBinding) -> Script:
    """Return the script of one invocation."""
    return Script(reply, send)
