"""The agent of the simulation: scripted; the seed draws every reply, tool and failure."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hands_app.contract.tools import ToolContext, ToolError, tool
from sessions_app.contract.errors import Incompatible
from sessions_app.contract.identity import DefinitionKey
from sessions_app.harnesses.scripted.model import Call, Reply, Script, refuse_broken
from sessions_app.registry import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from sessions_app.harnesses.scripted.model import Transcript
    from sessions_app.registry import AgentBinding
    from tests.simulation.brains import Brain

AGENT: Final = DefinitionKey("agent", "1")
OTHER: Final = DefinitionKey("other", "1")
ROUNDS: Final = 6
HANDS: Final = "hands"
KEY: Final = "x.sim.go"
OTHER_KEY: Final = "x.sim.other"

brain_of: dict[str, Brain] = {}
"""The process in which a Run lives, by run id: how a tool of this one process finds its host."""


async def _act(context: ToolContext) -> str:
    """Wait until the seed lets the tool act, and return or raise as it says."""
    run_id = context.origin.run_id
    assert run_id is not None
    brain = brain_of[run_id]

    def act(rng: Random) -> str:
        brain.effects.append((context.execution_key, run_id))
        return _ending(rng)

    return await brain.later("tool", act)


def _ending(rng: Random) -> str:
    chance = 1.0 if _mood["calm"] else rng.random()
    if chance < 0.1:
        msg = "no paper"
        raise ToolError(msg)
    if chance < 0.18:
        msg = "nobody knows what happened"
        raise RuntimeError(msg)
    return "done"


@tool(effect="read")
async def look(context: ToolContext) -> str:
    """Look."""
    return await _act(context)


@tool(effect="idempotent")
async def put(context: ToolContext) -> str:
    """Put."""
    return await _act(context)


@tool(effect="once")
async def ring(context: ToolContext) -> str:
    """Ring once."""
    return await _act(context)


@tool(route=HANDS, effect="once")
async def send(context: ToolContext) -> str:
    """Send from elsewhere."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


@tool(route=HANDS, effect="read")
async def fetch(context: ToolContext) -> str:
    """Fetch from elsewhere."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


@tool(effect="once", approval="always", answer_within=40)
async def guarded(context: ToolContext) -> str:
    """Act here once a person allowed it."""
    return await _act(context)


@tool(route=HANDS, effect="once", approval="always")
async def guarded_send(context: ToolContext) -> str:
    """Send from elsewhere once a person allowed it."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


@tool(route="manual", answer_within=60)
async def ask(context: ToolContext) -> str:
    """Have a person answer."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


@tool(route="signal", target=KEY, deadline=50)
async def hold(context: ToolContext) -> str:
    """Wait for a signal, not for ever."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


@tool(route="signal", target=KEY)
async def hold_on(context: ToolContext) -> str:
    """Wait for a signal."""
    raise AssertionError  # its route carries it elsewhere: run here it is a bug


TOOLS = (look, put, ring, send, fetch, guarded, guarded_send, ask, hold, hold_on)
GATED: Final = (guarded, guarded_send)


async def definition(key: DefinitionKey) -> Definition:
    """The agent as a process finds it."""
    return Definition(key, "scripted", _build, TOOLS, ROUNDS)


def _build(binding: AgentBinding) -> Script:
    brain = brain_of[binding.context.run_id]
    prepared: list[Reply] = []

    async def request(transcript: Transcript) -> None:
        refuse_broken(transcript)
        prepared.append(await brain.later("model", reply))

    return Script(lambda _: prepared.pop(), request)


_mood: Final = {"calm": False}


@contextmanager
def calm() -> Iterator[None]:
    """Have every model answer and every tool do its work."""
    _mood["calm"] = True
    try:
        yield
    finally:
        _mood["calm"] = False


def reply(rng: Random) -> Reply:
    """What the model says next, or how the request fails."""
    chance = 0.3 if _mood["calm"] else rng.random()
    for limit, error in _FAILURES:
        if chance < limit:
            raise error()
    if chance < 0.5:
        return Reply(text="done")
    names = [rng.choice(TOOLS).name for _ in range(rng.choice((1, 1, 2, 3)))]
    return Reply(calls=tuple(Call(name) for name in names))


_FAILURES: Final[tuple[tuple[float, Callable[[], Exception]], ...]] = (
    (0.10, lambda: TimeoutError("the provider was silent")),
    (0.13, lambda: ValueError("a bug of the agent")),
    (0.15, lambda: Incompatible("this build cannot go on")),
)
