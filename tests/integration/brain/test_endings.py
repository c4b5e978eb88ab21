"""How Turns end or are handed over: failures, cancel, pause, drain (R151 to R162, S24)."""

from __future__ import annotations

import threading

import psutil

from hands_app.contract.faults import plan
from hands_app.contract.tools import tool
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.status import (
    CallState,
    CheckpointKind,
    TurnStatus,
    WaitReason,
)
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import (
    Checkpoint,
    ModelCall,
    Run,
    Thread,
    ToolCall,
    Turn,
)
from sessions_app.store import controls
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers, poses
from tests.integration.brain.brains import Brains, until
from tests.integration.brain.doubles import Gate
from tests.stores import in_thread

THREAD = SessionKey("acme", "chat").thread()
"""Where the test's store submits when nothing else is said."""


@covers("R151")
def test_r151_a_failure_backs_off_and_the_turn_recovers(brains: Brains) -> None:
    """A provider that was away for one request costs one failure and one more Run."""
    gate = Gate(TimeoutError()).open()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    turn = brains.ended(turn_id)
    assert (turn.failures, turn.error_code) == (1, "TIMEOUT")
    assert sorted(ModelCall.objects.values_list("status", flat=True)) == ["COMPLETED", "LOST"]


@covers("R152")
def test_r152_a_programming_error_is_not_tried_again(brains: Brains) -> None:
    """The Turn fails at once, and its record shows no more than the error's class."""
    gate = Gate(KeyError("secret-token")).open()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    turn = brains.ended(turn_id, TurnStatus.FAILED)
    assert turn.error_text == "KeyError"
    assert gate.requests == 1


@covers("R167", "R162")
def test_r162_an_agent_that_is_not_registered_is_left_to_other_builds(brains: Brains) -> None:
    """Nothing is charged; the reason stands on the Thread; this host does not try again (R167)."""
    brains.agent()
    turn_id = brains.store.submit(brains.store.session())
    owner = brains.start()
    brains.ended(turn_id)
    brains.registry._definitions.clear()

    second = brains.store.submit(brains.store.session("later"))

    until(lambda: Turn.objects.filter(pk=second, reason=WaitReason.INCOMPATIBLE).exists())
    assert Turn.objects.get(pk=second).failures == 0
    assert Run.objects.filter(turn=second).count() == 1
    assert owner.host.build in Thread.objects.get(turns=second).incompatible_builds


@covers("R045")
def test_a_cancel_ends_the_turn_at_its_next_boundary(brains: Brains) -> None:
    """The owner hears of it from a commit, begins no effect any more, sends nothing, settles."""
    gate = Gate()
    box = Toolbox()
    replies = (Reply("adding", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    brains.agent(replies, box.add(), send=gate)
    turn_id = brains.store.submit(brains.store.session())
    brains.start()
    assert gate.reached.wait(10)

    controls.cancel(THREAD, turn_id, "c1")
    gate.open()

    turn = brains.ended(turn_id, TurnStatus.CANCELLED)
    assert (turn.failures, gate.requests) == (0, 1)
    assert not ToolCall.objects.exists()
    assert box.ran == {}
    kinds = Checkpoint.objects.order_by("-ordinal").values_list("kind", flat=True)
    assert kinds[0] == CheckpointKind.SETTLED


@covers("R047")
def test_a_pause_stops_the_turn_at_its_next_boundary(brains: Brains) -> None:
    """Nothing is sent after the commit that tells of it; slot and lease are given back."""
    gate = Gate()
    box = Toolbox()
    replies = (Reply("adding", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    brains.agent(replies, box.add(), send=gate)
    turn_id = brains.store.submit(brains.store.session())
    brains.start()
    assert gate.reached.wait(10)

    assert controls.pause(THREAD, turn_id, "p1").outcome == "pausing"
    gate.open()

    brains.reaches(turn_id, TurnStatus.PAUSED)
    assert gate.requests == 1
    assert Thread.objects.get().lease_token is None


@covers("R257")
@poses("S24")
def test_s24_a_drain_hands_over_and_charges_nothing(brains: Brains) -> None:
    """A request in flight at the timeout is abandoned; another host goes on at once (R257)."""
    gate = Gate()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())
    first = brains.start()
    assert gate.reached.wait(10)

    assert first.drain(0.1)

    turn = Turn.objects.get(pk=turn_id)
    assert (turn.failures, turn.deaths, turn.takeovers) == (0, 0, 0)
    assert turn.reason == WaitReason.HANDED_OVER
    assert Thread.objects.get().lease_token is None
    gate.open()
    brains.start()
    assert brains.ended(turn_id).failures == 0


@poses("C11")
def test_c11_a_claim_made_while_the_drain_begins_is_given_back(brains: Brains) -> None:
    """Claimed in the last moment before the shutdown: handed over before anything is asked."""
    gate = Gate().open()
    brains.agent(send=gate)
    claiming = threading.Event()
    process = brains.start()
    turn_id = brains.store.submit(brains.store.session())

    def drain(_point: str) -> None:
        if not claiming.is_set() and Run.objects.filter(turn=turn_id).exists():
            process._scheduler._drains = True
            claiming.set()

    with plan({"brain.claim.after_commit": drain}):
        assert claiming.wait(10)
        until(lambda: Turn.objects.filter(pk=turn_id, reason=WaitReason.HANDED_OVER).exists())

    assert gate.requests == 0
    assert Turn.objects.get(pk=turn_id).failures == 0


@poses("C12")
def test_c12_threads_and_files_do_not_grow_with_turns(brains: Brains) -> None:
    """After the first Turns a process keeps the threads and files that it has."""
    process = psutil.Process()
    brains.start()
    sizes = []
    for round_ in range(3):
        keys = [brains.store.session(f"chat-{round_}-{number}") for number in range(15)]
        for turn_id in [brains.store.submit(key) for key in keys]:
            brains.ended(turn_id)
        sizes.append((process.num_threads(), process.num_fds()))

    assert sizes[1] == sizes[2]


@poses("S24")
def test_s24_a_local_effect_in_flight_keeps_its_lease(brains: Brains) -> None:
    """At the timeout the Thread is not released while its tool still runs here."""
    go_on = threading.Event()

    @tool(effect="once")
    def slow(word: str) -> str:
        """Take long."""
        go_on.wait(20)
        return word

    brains.agent((Reply("slow", (Call("slow", {"word": "a"}),)), Reply("done")), slow)
    turn_id = brains.store.submit(brains.store.session())
    first = brains.start()
    until(lambda: ToolCall.objects.filter(state=CallState.STARTED).exists())

    draining = in_thread(lambda: first.drain(0.1))
    assert draining.result(20) is False
    assert Thread.objects.get().lease_host == first.host.host_id
    go_on.set()
    until(lambda: Turn.objects.filter(pk=turn_id, reason=WaitReason.HANDED_OVER).exists())

    assert ToolCall.objects.get().state == CallState.COMPLETED
    brains.start()
    assert brains.ended(turn_id).failures == 0
