"""An owner stops after any number of steps, past its lease, and wakes when others are done (C49).

The Brain's own code on the real store, a step at a time: each place where it can stop is played.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import pytest

from hands_app.contract.tools import (
    ToolContext,
    tool,
)
from sessions_app.contract.content import user_input
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import CallState, EntryKind, RunStatus, TurnStatus, WaitReason
from sessions_app.harnesses.scripted.model import Call, Reply, Script
from sessions_app.models import Event, JournalEntry, Run, Thread, ToolCall, Turn
from sessions_app.registry import Definition
from sessions_app.store import admission, bell
from sessions_app.store.backend import StoreBackend
from sessions_app.store.invariants import check
from tests.covers import poses
from tests.databases import empty_tables, forget_state
from tests.simulation import agents
from tests.simulation.brains import Brain
from tests.simulation.clockwork import TICK, Clock, counted
from tests.simulation.play import stage
from tests.simulation.predict.state import LEASE
from tests.simulation.world import Hints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hands_app.contract.tools import Tool
    from sessions_app.contract.backend import Claim
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.harnesses.scripted.model import Transcript
    from sessions_app.registry import AgentBinding

KEY: Final = SessionKey("acme", "chat")
NO_DICE: Final = Random(0)  # noqa: S311 - nothing is drawn from it
SCAN: Final = timedelta(seconds=2)
LONGEST: Final = 200

RESUMPTION: Final = {
    "before model": (2, 1),
    "after model": (2, 1),
    "started": (1, 1),
    "effect done": (1, 1),
    "result applied": (1, 0),
    "after last model": (1, 0),
}
"""By where the owner stopped: requests and effects of its successor, the tool idempotent.

Three of the eight places of C49 are none here: an intent is stored with its start record, a result
with its application, and the last outcome with the Turn's end; while a command is with Hands,
nobody owns the Turn. Each is one commit, and stopping behind it is stopping at what comes next.
"""
UNCLEAR: Final = {"started", "effect done"}
"""Where a tool that must not be repeated is UNKNOWN instead."""


@dataclass
class Told:
    """What one process really did, whatever became of it."""

    requests: int = 0
    effects: int = 0


@dataclass
class Scene:
    """Two processes, one Turn: a model that asks for one tool and then is done."""

    clock: Clock
    effect: str
    did: dict[str, Told] = field(default_factory=dict)
    brains: list[Brain] = field(default_factory=list)

    def brain(self, number: int) -> Brain:
        """A process that has joined."""
        backend = StoreBackend("build-1")
        made = Brain(self.clock, backend, "build-1", _ended)
        backend.join(made.host, number)
        self.did[made.name] = Told()
        self.brains.append(made)
        return made

    async def definition(self, key: DefinitionKey) -> Definition:
        """The agent as a process finds it."""
        return Definition(key, "scripted", self._build, (self._tool(),), 6)

    def _build(self, binding: AgentBinding) -> Script:
        brain = agents.brain_of[binding.context.run_id]

        def answer(_: Random) -> None:
            self.did[brain.name].requests += 1

        async def request(_: Transcript) -> None:
            await brain.later("model", answer)

        return Script(_reply, request)

    def _tool(self) -> Tool:
        @tool(effect=self.effect)
        async def put(context: ToolContext) -> str:
            """Put."""
            assert context.origin.run_id is not None
            brain = agents.brain_of[context.origin.run_id]

            def act(_: Random) -> str:
                self.did[brain.name].effects += 1
                return "done"

            return await brain.later("tool", act)

        return put


def _reply(transcript: Transcript) -> Reply:
    return Reply("done") if transcript[-1]["role"] == "tool" else Reply(calls=(Call("put"),))


def _ended(_brain: Brain, _claim: Claim) -> None:
    """Nothing is predicted of leases here."""


@contextmanager
def _scene(clock: Clock, effect: str) -> Iterator[Scene]:
    empty_tables()
    forget_state()
    clock.reset()
    agents.brain_of.clear()
    made = Scene(clock, effect)
    with (
        counted(),
        mock.patch.object(bell, "wakeups", return_value=Hints()),
        mock.patch.object(agents, "definition", made.definition),
    ):
        try:
            yield made
        finally:
            for brain in made.brains:
                brain.die()


def _stand(turn_id: str, did: Told) -> str:
    """Where the owner stopped, by what is stored and what it did."""
    outcomes = JournalEntry.objects.filter(turn=turn_id, kind=EntryKind.OUTCOME).count()
    if did.requests > outcomes:
        return "after last model" if outcomes else "after model"
    if not outcomes:
        return "before model"
    call = ToolCall.objects.get(turn=turn_id)
    if call.state == CallState.STARTED:
        return "effect done" if did.effects else "started"
    return "result applied" if call.applied_at else str(call.state)


def _stored(turn_id: str) -> tuple[Any, ...]:
    turn = Turn.objects.get(pk=turn_id)
    runs = Run.objects.filter(turn=turn_id).order_by("ordinal").values_list("status", flat=True)
    calls = ToolCall.objects.filter(turn=turn_id).values_list("state", "applied_at")
    return turn.status, turn.revision, list(runs), list(calls), Event.objects.count()


def _drive(brain: Brain) -> None:
    for _ in range(LONGEST):
        if not brain.ready():
            return
        brain.take(brain.ready()[0], NO_DICE)
    pytest.fail("it does not come to an end")


def _take_over(scene: Scene, brain: Brain, thread_pk: str) -> None:
    """Let the lease pass, with looks in between so that nobody was blind (S4), and drive on."""
    for _ in range(LEASE // SCAN + 2):
        scene.clock.advance(SCAN)
        brain.loop.pump()
        StoreBackend("build-1").scan(brain.host, own=False)
    brain.hint(thread_pk)
    _drive(brain)


def _play(scene: Scene, steps: int) -> str | None:
    """Stop the owner after so many steps; gives where that was, None when it had no more."""
    admission.create_session(KEY, agents.AGENT)
    turn_id = admission.submit(KEY.thread(), "r1", user_input("hello"), {}).turn_id
    thread_pk = Thread.objects.values_list("pk", flat=True).get()
    owner, successor = scene.brain(1), scene.brain(2)
    owner.hint(thread_pk)
    for _ in range(steps):
        owner.take(owner.ready()[0], NO_DICE)
        scene.clock.advance(TICK)
        owner.loop.pump()
    if Turn.objects.filter(pk=turn_id, finished_at__isnull=False).exists():
        return None
    if not Run.objects.exists():
        return "unclaimed"
    stand = _stand(turn_id, scene.did[owner.name])

    _take_over(scene, successor, thread_pk)
    _judge(scene, stand, turn_id, scene.did[successor.name])
    before = _stored(turn_id)
    _drive(owner)  # it wakes up

    assert _stored(turn_id) == before, stand
    assert check().breaches == (), stand
    if scene.effect == "once":
        assert sum(did.effects for did in scene.did.values()) <= 1, stand
    return stand


def _judge(scene: Scene, stand: str, turn_id: str, did: Told) -> None:
    turn = Turn.objects.get(pk=turn_id)
    runs = list(Run.objects.filter(turn=turn_id).order_by("ordinal"))
    assert runs[0].status == RunStatus.LOST, stand
    if scene.effect == "once" and stand in UNCLEAR:
        assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN), stand
        assert (did.requests, did.effects) == (0, 0), stand
        return
    assert (turn.status, turn.takeovers, len(runs)) == (TurnStatus.COMPLETED, 1, 2), stand
    assert (did.requests, did.effects) == RESUMPTION[stand], stand


@poses("C49")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_c49_wherever_an_owner_stops_there_is_one_right_resumption(
    database: None, effect: str
) -> None:
    """C49: each place is reached, resumes as the table says, and the zombie changes nothing."""
    stands = set()
    with stage() as clock:
        for steps in range(LONGEST):
            with _scene(clock, effect) as scene:
                stand = _play(scene, steps)
            if stand is None:
                break
            stands.add(stand)

    assert stands - {"unclaimed"} == RESUMPTION.keys()
