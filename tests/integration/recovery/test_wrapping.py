"""What the durable layer adds to an agent, and what it leaves alone (R001 to R012)."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pydantic_ai
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from hands_app.contract.faults import plan
from hands_app.contract.tools import ToolContext, tool
from sessions_app.contract.events import EventType
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply, Transcript
from sessions_app.models import Event, JournalEntry, Message, Run, Thread, Turn
from sessions_app.registry import Definition
from tests.contracts.harness.native import transcript
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers
from tests.integration.brain.brains import until
from tests.integration.brain.doubles import Gate
from tests.stores import AGENT, in_thread

if TYPE_CHECKING:
    from tests.integration.brain.brains import Brains


class Plain:
    """Any agent of the framework: a loop, a tool and an instruction of its own."""

    def __init__(self) -> None:
        self.prompts: list[Transcript] = []
        self.run_ids: list[str | None] = []

    def agent(self, _binding: object = None) -> pydantic_ai.Agent[object, str]:
        """Build it; it knows of no durable layer."""
        made = pydantic_ai.Agent(FunctionModel(self._answer), instructions="Add with care.")

        @made.tool
        def add(ctx: pydantic_ai.RunContext[object], a: int, b: int) -> int:
            """Add two numbers."""
            self.run_ids.append(ctx.run_id)
            return a + b

        return made

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.prompts.append([{"instructions": info.instructions}, *transcript(messages)])
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("three")])
        return ModelResponse(parts=[ToolCallPart("add", {"a": 1, "b": 2}, "c1")])


def register(brains: Brains, plain: Plain) -> None:
    """Make the same agent durable."""
    brains.registry.add(Definition(AGENT, "pydantic_ai", plain.agent))


@covers("R001")
def test_an_agent_does_durably_what_it_does_plainly(brains: Brains) -> None:
    """The same factory, called or wrapped: the same prompts, instructions, tools and answer."""
    called, wrapped = Plain(), Plain()
    answer = asyncio.run(called.agent().run("1 and 2")).output
    register(brains, wrapped)
    turn_id = brains.store.submit(brains.store.session(), text="1 and 2")

    brains.start()

    result = brains.ended(turn_id).result
    assert result == {"parts": [{"type": "text", "text": answer}]}
    assert wrapped.prompts == called.prompts


@covers("R059")
def test_a_run_has_the_id_that_the_agent_knows(brains: Brains) -> None:
    """What the framework hands to a tool as its run id is the id of our Run."""
    plain = Plain()
    register(brains, plain)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()
    brains.ended(turn_id)

    assert plain.run_ids == [Run.objects.get(turn=turn_id).pk]


@covers("R002", "R005")
def test_another_host_goes_on_from_the_checkpoint(brains: Brains) -> None:
    """One identity, one task, one more Run: nothing that was answered or done is asked again."""
    box, gate = Toolbox(), Gate()
    requests: list[Transcript] = []

    async def send(prompt: Transcript) -> None:
        requests.append(list(prompt))
        if len(requests) > 1:
            await gate(prompt)

    replies = (Reply("", (Call("add", {"a": 1, "b": 2}),)), Reply("three"))
    brains.agent(replies, box.add(), send=send)
    key = brains.store.session()
    turn_id = brains.store.submit(key)
    former = brains.start()
    assert gate.reached.wait(10)
    before = Turn.objects.get(pk=turn_id)

    former._scheduler._drains = True  # it would come back and claim its own Turn again
    brains.store.die(former.host)
    brains.start()
    until(lambda: len(requests) == 3)
    gate.open()
    turn = brains.ended(turn_id)

    assert (turn.thread_id, turn.ordinal, turn.request_id) == (
        before.thread_id,
        before.ordinal,
        before.request_id,
    )
    assert Run.objects.filter(turn=turn_id).values("host").distinct().count() == 2
    assert Run.objects.filter(turn=turn_id).count() == 2
    assert box.ran == {"add": 1}
    assert requests[2] == requests[1]
    assert Turn.objects.count() == 1
    assert Message.objects.filter(turn=turn_id, role="user").count() == 1


@covers("R008")
def test_each_invocation_knows_its_own_tenant(brains: Brains) -> None:
    """Two tenants at the same time, one process: factory and tool are told whose work it is."""
    told: dict[str, str] = {}
    both = threading.Barrier(2)

    @tool(effect="read")
    def whose(context: ToolContext) -> str:
        """Say it."""
        both.wait(10)
        return context.origin.namespace

    def reply(prompt: Transcript) -> Reply:
        results = [said["content"] for said in prompt if said["role"] == "tool"]
        return Reply(results[0]) if results else Reply("", (Call("whose"),))

    brains.agent(reply, whose)
    turns = {
        namespace: brains.store.submit(brains.store.session("same", namespace))
        for namespace in ("acme", "other")
    }

    brains.start()

    for namespace, turn_id in turns.items():
        told[namespace] = brains.ended(turn_id).result["parts"][0]["text"]
    assert told == {"acme": "acme", "other": "other"}


@pytest.mark.tampers
@covers("R011")
def test_history_is_the_journals_and_the_lease_is_the_runtimes(brains: Brains) -> None:
    """What the agent remembers comes from its Thread's journal; who may work is not its affair."""
    held: list[tuple[Any, ...]] = []
    prompts: list[Transcript] = []

    async def send(prompt: Transcript) -> None:
        prompts.append(list(prompt))
        held.append(await asyncio.wrap_future(in_thread(_lease)))

    brains.agent((Reply("first"),), send=send)
    key = brains.store.session()
    first = brains.store.submit(key, "r1", "one")
    owner = brains.start()
    brains.ended(first)
    Message.objects.all().delete()  # the public history is no source of the private one

    brains.ended(brains.store.submit(key, "r2", "two"))

    stored = JournalEntry.objects.filter(turn=first).order_by("position")
    remembered = [said for entry in stored for said in entry.body["messages"]]
    assert prompts[1] == [*remembered, {"role": "user", "text": "two"}]
    tokens = list(Run.objects.order_by("started_at").values_list("token", flat=True))
    assert held == [(owner.host.host_id, token) for token in tokens]
    assert _lease() == (None, None)


def _lease() -> tuple[str | None, str | None]:
    thread = Thread.objects.get()
    return thread.lease_host, thread.lease_token


@covers("R012")
def test_the_end_of_a_run_is_not_the_end_of_the_turn(brains: Brains) -> None:
    """The agent has said its last word; until that is committed the Turn goes on, asking none."""
    gate = Gate().open()
    brains.agent(send=gate, is_retryable=lambda _error: True)
    turn_id = brains.store.submit(brains.store.session())

    with plan({"brain.finish.before_commit": "raise@1"}):
        brains.start()
        until(lambda: Turn.objects.get(pk=turn_id).failures == 1)
        unfinished = Turn.objects.get(pk=turn_id)
        turn = brains.ended(turn_id)

    assert (unfinished.is_terminal, unfinished.result) == (False, None)
    assert gate.requests == 1
    told = Event.objects.filter(turn_id=turn_id, type=EventType.TURN_STATUS)
    assert [event.payload["to"] for event in told].count("COMPLETED") == 1
    assert turn.status == TurnStatus.COMPLETED
