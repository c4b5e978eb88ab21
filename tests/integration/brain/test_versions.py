"""Several versions side by side, resolved ones among them; a Thread stays with its framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Invalid, Unavailable
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply, Script
from sessions_app.models import Host, Thread, Turn
from sessions_app.ports import execution_host
from sessions_app.registry import Definition, define
from sessions_app.store import admission
from tests.covers import covers, poses
from tests.integration.brain.brains import until
from tests.stores import AGENT

if TYPE_CHECKING:
    from sessions_app.harnesses.scripted.model import Transcript
    from sessions_app.registry import AgentBinding
    from tests.integration.brain.brains import Brains


class Tenants:
    """A resolver of `bot`: every version answers with its own name."""

    def __init__(self, *errors: Exception) -> None:
        self.asked: list[str] = []
        self.errors = list(errors)

    def __call__(self, version: str) -> Definition:
        """Fail as often as was said, then resolve."""
        self.asked.append(version)
        if self.errors:
            raise self.errors.pop(0)

        def build(_binding: AgentBinding) -> Script:
            return Script((Reply(f"I am {version}"),))

        return define("bot", version, build, harness="scripted")


def pinned(brains: Brains, version: str) -> str:
    """Submit to a new Session that is pinned to a version of `bot`, and lose the hint."""
    key = SessionKey("acme", f"bot-{version}")
    admission.create_session(key, DefinitionKey("bot", version))
    return brains.store.submit(key)


@covers("R251")
def test_a_resolver_runs_every_version_that_threads_are_pinned_to(brains: Brains) -> None:
    """Nobody registered them and no hint came: scans find what a resolver may have."""
    tenants = Tenants()
    brains.registry.resolve_with("bot", tenants)
    turns = {version: pinned(brains, version) for version in ("7", "8")}

    brains.start()

    for version, turn_id in turns.items():
        result = brains.ended(turn_id).result
        assert result["parts"][0]["text"] == f"I am {version}"
    assert sorted(tenants.asked) == ["7", "8"]
    assert "bot@*" in Host.objects.latest("started_at").definitions


@covers("R062")
def test_limits_of_a_version_hold_whoever_admitted_its_turn(brains: Brains) -> None:
    """Whoever submits may know nothing of the agent; its Turns are bounded all the same."""

    def build(_binding: AgentBinding) -> Script:
        return Script((Reply("again", (Call("none", {}),)), Reply("too late")))

    def bounded(version: str) -> Definition:
        return define("bot", version, build, harness="scripted", round_limit=1)

    brains.registry.resolve_with("bot", bounded)
    turn_id = pinned(brains, "7")

    brains.start()

    assert brains.ended(turn_id, TurnStatus.FAILED).error_code == "ITERATION_LIMIT"


@poses("S17")
def test_another_resolver_is_another_build(brains: Brains) -> None:
    """What one could not give is looked for again once there is another one."""
    brains.agent()
    plain = brains.start()

    brains.registry.resolve_with("bot", build_of_another)
    resolving = brains.start()

    assert plain.host.build != resolving.host.build
    assert resolving.host.resolves == ("bot",)


def build_of_another(version: str) -> Definition:
    """Give the version, as any resolver."""
    return Tenants()(version)


@covers("R151")
def test_a_resolver_that_fails_passingly_is_asked_again(brains: Brains) -> None:
    """It reads a database that is away: a failure of the Turn, with its backoff."""
    tenants = Tenants(Unavailable("away"))
    brains.registry.resolve_with("bot", tenants)
    turn_id = pinned(brains, "7")

    brains.start()

    turn = brains.ended(turn_id)
    assert (turn.failures, turn.error_code) == (1, "UNAVAILABLE")


@covers("R252")
def test_a_thread_never_moves_to_another_framework(brains: Brains) -> None:
    """Even where changed definitions are accepted: its checkpoint is not read by the other one."""
    brains.agent((Reply("first"),))
    key = brains.store.session()
    first = brains.store.submit(key, "r1")
    brains.start()
    brains.ended(first)
    brains.close()
    brains.registry._definitions.clear()
    brains.registry.add(Definition(AGENT, "pydantic_ai", lambda _binding: None))
    second = brains.store.submit(key, "r2")

    brains.made.clear()
    brains.start(accepts_changes=True)

    turn = until(lambda: Turn.objects.filter(pk=second, reason="incompatible").first())
    assert turn.failures == 0
    thread = Thread.objects.get()
    assert "harness scripted, not pydantic_ai" in str(thread.incompatible_reason)


@covers("R255")
def test_running_code_finds_its_host_and_other_code_none(brains: Brains) -> None:
    """An agent's own code has the host of its own invocation at hand, side by side with others."""
    seen: dict[str, str] = {}

    async def send(_transcript: Transcript) -> None:
        host = execution_host()
        await host.commit()
        seen[host.context.turn_id] = host.context.session_id

    brains.agent(send=send)
    turns = {brains.store.submit(brains.store.session(name)): name for name in ("s1", "s2")}

    brains.start()
    for turn_id in turns:
        brains.ended(turn_id)

    assert seen == turns
    with pytest.raises(Invalid, match="no durable invocation"):
        execution_host()
