"""Threads of a Session: contexts of their own that run side by side, each in strict order."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING

from django.db.models import F

from hands_app.contract.tools import ToolContext, tool
from sessions_app.contract.identity import SessionKey, ThreadKey
from sessions_app.harnesses.scripted.model import Call, Reply, Script, Transcript
from sessions_app.models import Checkpoint, JournalEntry, Run
from sessions_app.registry import AgentBinding, Definition
from sessions_app.store import admission
from tests.covers import covers
from tests.stores import AGENT

if TYPE_CHECKING:
    from tests.integration.brain.brains import Brains
    from tests.stores import Store

TOGETHER = 20.0


def _aside(store: Store, name: str = "aside") -> ThreadKey:
    key = store.session().thread(name)
    admission.create_thread(key, AGENT)
    return key


def _heard(transcript: Transcript) -> Reply:
    """Say what the users have said so far."""
    return Reply(" ".join(said["text"] for said in transcript if said["role"] == "user"))


def _text(result: object) -> str:
    match result:
        case {"parts": [{"text": str() as text}]}:
            return text
        case _:
            raise AssertionError(result)


@covers("R055", "R057")
def test_each_thread_remembers_its_own_talk(brains: Brains) -> None:
    """A follow-up by the same id goes on in that context; the other Thread never hears of it."""
    store = brains.store
    aside = _aside(store)
    brains.agent(_heard)
    brains.start(scan=0.05)

    said = [
        _text(brains.ended(store.submit(key, request, text)).result)
        for key, request, text in (
            (store.session().thread(), "r1", "alpha"),
            (aside, "r2", "beta"),
            (aside, "r3", "gamma"),
            (store.session().thread(), "r4", "delta"),
        )
    ]

    assert said == ["alpha", "beta", "beta gamma", "alpha delta"]
    for rows in (JournalEntry, Checkpoint):
        assert not rows.objects.exclude(turn__thread=F("thread")).exists()


@covers("R035", "R056")
def test_two_threads_are_in_their_tools_at_the_same_moment(brains: Brains) -> None:
    """Nothing orders them: each waits inside its tool for the other, and both come through."""
    meeting = threading.Barrier(2)

    @tool(effect="once")
    def meet() -> str:
        """Wait for the other Thread."""
        meeting.wait(TOGETHER)
        return "met"

    store = brains.store
    brains.agent((Reply("", (Call("meet"),)), Reply("done")), meet)
    brains.start(slots=2)

    turns = [
        store.submit(store.session().thread(), "r1"),
        store.submit(_aside(store), "r2"),
    ]

    assert [_text(brains.ended(turn).result) for turn in turns] == ["done", "done"]


@covers("R033")
def test_turns_of_one_thread_never_overlap(brains: Brains) -> None:
    """With slots to spare they run one after the other, in the order of admission."""
    store, key = brains.store, brains.store.session()
    turns = [store.submit(key, f"r{number}") for number in range(4)]
    brains.start(slots=4)
    for turn in turns:
        brains.ended(turn)

    runs = list(Run.objects.order_by("started_at"))

    assert [run.turn_id for run in runs] == turns
    for earlier, later in pairwise(runs):
        assert earlier.ended_at is not None
        assert earlier.ended_at <= later.started_at


@covers("R058")
def test_nobody_waits_for_a_second_thread(brains: Brains) -> None:
    """A Thread made by hand has no parent: main ends and takes its next Turn while it is held."""
    held = threading.Event()

    @tool(effect="once")
    def hold() -> str:
        """Wait until the test is over."""
        held.wait(TOGETHER)
        return "let go"

    def asks(transcript: Transcript) -> Reply:
        last = transcript[-1]
        return Reply("", (Call("hold"),)) if last.get("text") == "hold" else Reply("done")

    store = brains.store
    brains.agent(asks, hold)
    brains.start(slots=2)
    waiting = store.submit(_aside(store), "r1", "hold")

    first, second = (store.submit(store.session(), f"r{number}", "go") for number in (2, 3))

    assert [_text(brains.ended(turn).result) for turn in (first, second)] == ["done", "done"]
    assert store.turn(waiting).finished_at is None
    held.set()
    brains.ended(waiting)


@covers("R008")
def test_each_invocation_is_told_its_own_namespace(brains: Brains) -> None:
    """Two tenants in one process at the same moment: factory and tool see their own, no global."""
    meeting = threading.Barrier(2)

    @tool(effect="once")
    def whose(context: ToolContext) -> str:
        """Say whose call it is, while the other is under way too."""
        meeting.wait(TOGETHER)
        return context.origin.namespace

    def build(binding: AgentBinding) -> Script:
        def reply(transcript: Transcript) -> Reply:
            heard = [said["content"] for said in transcript if said["role"] == "tool"]
            if not heard:
                return Reply("", (Call("whose"),))
            return Reply(f"{binding.context.namespace} {heard[0]}")

        return Script(reply)

    store = brains.store
    bindings = {"whose": whose.binding}
    brains.registry.add(Definition(AGENT, "scripted", build, (whose,), bindings=bindings))
    brains.start(slots=2)

    for namespace in ("acme", "other"):
        store.session("chat", namespace)
    turns = [store.submit(SessionKey(name, "chat"), "r1") for name in ("acme", "other")]

    assert [_text(brains.ended(turn).result) for turn in turns] == ["acme acme", "other other"]
