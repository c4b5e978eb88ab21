"""What one invocation is given: a fresh agent, its context, its inputs, a clean transcript."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from hands_app.contract.ids import new_id
from sessions_app.contract.content import user_input
from sessions_app.contract.identity import DefinitionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply, Script, Transcript
from sessions_app.models import Run, Signal, Turn
from sessions_app.registry import AgentBinding, Definition
from sessions_app.store import clock
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers
from tests.stores import AGENT

if TYPE_CHECKING:
    from tests.integration.brain.brains import Brains


@covers("R254")
def test_each_invocation_gets_a_fresh_agent_and_sees_no_storage(brains: Brains) -> None:
    """The factory is called once for each Run, with definition, context and tools only (R254)."""
    bindings: list[AgentBinding] = []

    def build(binding: AgentBinding) -> Script:
        bindings.append(binding)
        return Script((Reply("hello"),))

    brains.registry.add(Definition(AGENT, "scripted", build))
    turns = [brains.store.submit(brains.store.session(f"s{n}")) for n in range(2)]
    brains.start()
    for turn_id in turns:
        brains.ended(turn_id)

    assert {binding.context.turn_id for binding in bindings} == set(turns)
    assert {binding.context.run_id for binding in bindings} == set(
        Run.objects.values_list("pk", flat=True)
    )
    assert {binding.context.namespace for binding in bindings} == {"acme"}
    assert {field.name for field in fields(AgentBinding)} == {"context", "tools"}


@covers("R255")
def test_durable_input_is_applied_without_middleware_of_the_agent(brains: Brains) -> None:
    """A steer admitted before the start is in the first request, once, and is applied (R255)."""
    requests: list[Transcript] = []

    async def send(transcript: Transcript) -> None:
        requests.append(list(transcript))

    brains.agent((Reply("hello"),), send=send)
    turn_id = brains.store.submit(brains.store.session())
    turn = Turn.objects.get(pk=turn_id)
    Signal.objects.create(
        id=new_id("sig_"),
        session_id=turn.session_id,
        turn=turn,
        ordinal=1,
        kind="STEER",
        request_id="s1",
        content=user_input("be brief").wire(),
        at=clock.now(),
    )

    brains.start()
    brains.ended(turn_id)

    said = [message["text"] for message in requests[0] if message["role"] == "user"]
    assert said.count("be brief") == 1
    assert Signal.objects.get().status == "APPLIED"


def test_law_8_every_call_has_one_result_before_the_next_request(brains: Brains) -> None:
    """Local, failing and unknown tools: the strict model accepts every prompt it gets (I33)."""
    box = Toolbox()
    calls = (Call("add", {"a": 1, "b": 2}), Call("fail", {}), Call("no_such_tool", {}))
    requests: list[Transcript] = []

    async def send(transcript: Transcript) -> None:
        requests.append(list(transcript))

    brains.agent((Reply("work", calls), Reply("done")), box.add(), box.fail(), send=send)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()
    brains.ended(turn_id)

    results = [message for message in requests[-1] if message["role"] == "tool"]
    assert len(results) == len(calls)
    assert box.ran["add"] == 1


class Refused(Exception):
    """A definite refusal of the provider."""

    status_code = 400


@covers("R161")
def test_law_8_the_next_turn_finds_a_clean_context_after_a_failure(brains: Brains) -> None:
    """A Turn that failed in mid-work leaves a transcript that the strict model accepts (R161)."""
    box = Toolbox()

    def reply(transcript: Transcript) -> Reply:
        users = [message for message in transcript if message["role"] == "user"]
        return Reply("clean") if len(users) > 1 else Reply("work", (Call("add", {"a": 1, "b": 2}),))

    async def send(transcript: Transcript) -> None:
        if transcript[-1]["role"] == "tool":
            raise Refused

    brains.agent(reply, box.add(), send=send)
    key = brains.store.session()
    first, second = brains.store.submit(key, "r1"), brains.store.submit(key, "r2")

    brains.start()

    assert brains.ended(second).result["parts"][0]["text"] == "clean"
    assert brains.ended(first, TurnStatus.FAILED).error_code == "HTTP_400"


@covers("R251")
def test_a_definition_is_looked_up_by_its_exact_pin(brains: Brains) -> None:
    """A Thread pinned to version 1 is left alone by a process that has version 2 only (R251)."""
    other = DefinitionKey("agent", "2")
    brains.registry.add(Definition(other, "scripted", lambda _binding: Script((Reply("two"),))))
    turn_id = brains.store.submit(brains.store.session())

    process = brains.start()
    process.scan()

    assert Turn.objects.get(pk=turn_id).status == "QUEUED"
