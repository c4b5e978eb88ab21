"""Laws and store rules that need a Brain and a real database, in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.faults import plan
from hands_app.contract.tools import tool
from sessions_app.contract.status import (
    CallState,
    RunStatus,
    WaitReason,
)
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import (
    JournalEntry,
    ModelCall,
    Run,
    Thread,
    ToolCall,
    Turn,
)
from tests.contracts.harness.toolbox import Toolbox
from tests.covers import covers, poses
from tests.integration.brain.brains import Brains, until
from tests.integration.brain.doubles import Gate, Meddling
from tests.stores import host

if TYPE_CHECKING:
    from sessions_app.contract.backend import Claim, Commit, HostIdentity


def meddle(brains: Brains) -> Meddling:
    """Put a meddling backend between Brain and store."""
    made = Meddling("build-1")
    brains.backend = lambda _build: made
    return made


def take_over(brains: Brains, owner: HostIdentity, thief: HostIdentity) -> Claim:
    """Have `owner` found dead and its only Thread claimed by `thief`."""

    def claimed() -> list[Claim]:
        brains.store.die(owner)
        return brains.store.backend.claim(thief, limit=1)

    found: list[Claim] = until(claimed)
    return found[0]


@covers("R164", "R165")
def test_law_4_a_superseded_owner_stops_and_writes_nothing_more(brains: Brains) -> None:
    """Its renewal says superseded; the Turn goes on with the next owner (R164, R165)."""
    gate = Gate()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())
    owner = brains.start(renew=0.1)
    assert gate.reached.wait(10)

    claim = take_over(brains, owner.host, brains.store.join(host()))
    until(lambda: not owner._leases.live())
    brains.store.finish(claim)

    assert brains.ended(turn_id).failures == 0
    assert JournalEntry.objects.filter(turn=turn_id, token=claim.token).count() == 0
    assert list(Run.objects.order_by("ordinal").values_list("status", flat=True)) == [
        RunStatus.LOST,
        RunStatus.COMPLETED,
    ]
    gate.open()


def test_law_4_a_zombie_that_hears_nothing_still_commits_nothing(brains: Brains) -> None:
    """Without any renewal the commit itself finds the other token, and the zombie stops."""
    gate = Gate()
    brains.agent(send=gate)
    turn_id = brains.store.submit(brains.store.session())
    owner = brains.start(renew=600.0)
    assert gate.reached.wait(10)

    claim = take_over(brains, owner.host, brains.store.join(host()))
    gate.open()
    until(lambda: not owner._leases.live())

    assert JournalEntry.objects.filter(turn=turn_id).count() == 0
    assert Turn.objects.get(pk=turn_id).run_id == claim.run_id


@poses("S3")
def test_s3_a_claim_whose_answer_was_lost_is_not_renewed(brains: Brains) -> None:
    """Renewals name what lives in this process, never all that the store knows of this host."""
    meddling = meddle(brains)
    meddling.lose_claims = 1
    gate = Gate()
    brains.agent(send=gate)
    brains.store.submit(brains.store.session("lost"))
    owner = brains.start(renew=0.1)
    until(lambda: Run.objects.count() == 1)
    brains.store.submit(brains.store.session("held"))
    assert gate.reached.wait(10)
    until(lambda: meddling.renewals[-1])

    (pair,) = meddling.renewals[-1]
    (held,) = owner._leases.live()
    assert pair == held.pair
    assert Thread.objects.filter(lease_host=owner.host.host_id).count() == 2
    gate.open()


@poses("S7")
def test_s7_a_commit_whose_answer_was_lost_is_not_repeated(brains: Brains) -> None:
    """Each commit of the Turn loses its answer once; nothing is there twice."""
    meddling = meddle(brains)
    seen: set[str] = set()

    def once(change: Commit) -> bool:
        fresh = change.change_id not in seen
        seen.add(change.change_id)
        return fresh

    meddling.lose = once
    box = Toolbox()
    replies = (Reply("adding", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    brains.agent(replies, box.add())
    turn_id = brains.store.submit(brains.store.session())
    brains.start()

    turn = brains.ended(turn_id)

    assert turn.failures == 0
    assert box.ran == {"add": 1}
    assert ModelCall.objects.filter(turn=turn_id).count() == 2
    assert Run.objects.filter(turn=turn_id).count() == 1
    assert len(meddling.changes) > len(seen)


def test_law_6_an_outcome_that_was_stored_is_not_asked_for_again(brains: Brains) -> None:
    """The Run breaks off between outcome and application; the next one replays it."""
    gate = Gate().open()
    box = Toolbox()
    replies = (Reply("adding", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    brains.agent(replies, box.add(), send=gate, is_retryable=lambda _error: True)
    turn_id = brains.store.submit(brains.store.session())

    with plan({"brain.outcome.after_commit": "raise@1"}):
        brains.start()
        turn = brains.ended(turn_id)

    assert turn.failures == 1
    assert gate.requests == 2
    assert Run.objects.filter(turn=turn_id).count() == 2


def test_law_6_an_outcome_that_broke_its_run_is_kept(brains: Brains) -> None:
    """Received and not yet stored when the Run breaks off: it goes with the failure record."""
    gate = Gate().open()
    box = Toolbox()
    replies = (Reply("adding", (Call("add", {"a": 1, "b": 2}),)), Reply("done"))
    brains.agent(replies, box.add(), send=gate, is_retryable=lambda _error: True)
    turn_id = brains.store.submit(brains.store.session())

    with plan({"brain.tool.before_effect": "raise@1"}):
        brains.start()
        brains.ended(turn_id)

    assert gate.requests == 2
    assert box.ran == {"add": 1}


def test_law_7_a_once_tool_that_broke_off_is_unknown_and_not_repeated(brains: Brains) -> None:
    """An undeclared exception says nothing about the effect; the Turn waits for evidence."""
    ran = []

    @tool(effect="once")
    def charge(amount: int) -> str:
        """Charge a card."""
        ran.append(amount)
        raise ConnectionResetError

    replies = (Reply("charging", (Call("charge", {"amount": 5}),)), Reply("done"))
    brains.agent(replies, charge)
    turn_id = brains.store.submit(brains.store.session())

    brains.start()

    until(lambda: Turn.objects.filter(pk=turn_id, reason=WaitReason.UNKNOWN).exists())
    assert ran == [5]
    assert ToolCall.objects.get().state == CallState.UNKNOWN
