"""Every cause that an explanation knows, brought about by the real store for one Turn."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract.ids import new_id
from hands_app.contract.messages import Update, UpdateKind
from sessions_app.contract.backend import HandOver, IntentDraft, Park
from sessions_app.machine.explain import Cause
from sessions_app.models import Thread, ToolCall
from sessions_app.store import clock, hosts
from sessions_app.store.inbox import StoreInbox
from tests.stores import FRAME, host, tool_intent

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.strict_json import JsonValue
    from sessions_app.contract.backend import Claim
    from sessions_app.runtime import TurnHandle
    from tests.stores import Store

    Bring = Callable[[Store, TurnHandle], object]

KEY: Final = "x.shop.paid"


def scanned(store: Store) -> None:
    """Have somebody look at the ready index."""
    store.backend.scan(store.host, own=False)


def parks(store: Store, intent: IntentDraft) -> Claim:
    """Claim, ask for a call, and give the Turn back."""
    claim = store.claim()
    store.answered(claim, intent)
    store.commit(claim, Park(), frame=FRAME)
    return claim


def on_hands() -> IntentDraft:
    """A call that Hands runs."""
    return tool_intent(route="hands", start=False)


def gated() -> IntentDraft:
    """A call that a person has to allow."""
    return tool_intent(start=False).model_copy(update={"needs_approval": True})


def signalled() -> IntentDraft:
    """A call that a signal settles."""
    made = tool_intent(route="signal", start=False)
    return made.model_copy(update={"binding": {"name": "tool", "target": KEY}, "arguments": {}})


def result_arrives(call: ToolCall) -> str:
    """Take in the result of a call from Hands; gives the execution id."""
    payload: dict[str, JsonValue] = {"state": "COMPLETED", "content": "done"}
    update = Update(
        event_id=new_id("evt_"),
        namespace="durable",
        execution_id=call.id,
        request_digest=call.request_digest,
        route=call.route,
        sequence=1,
        kind=UpdateKind.RESULT,
        payload=payload,
        at=call.intended_at,
    )
    StoreInbox().take(update)
    return call.id


def dies(store: Store, times: int) -> None:
    """Have so many owners die, each as soon as the Turn may be claimed again.

    Somebody looks in the midst of each pause too, so that a slow machine makes it no gap (S4).
    """
    passed = before = 0.0
    for deaths in range(1, times + 1):
        for moment in ((before + passed) / 2, passed):
            with clock.offset(timedelta(seconds=moment)):
                scanned(store)
        before = passed
        with clock.offset(timedelta(seconds=passed)):
            owner = store.join(host())
            store.claim(owner)
            store.die(owner)
            if deaths > 1:  # the next look only buries it
                assert store.backend.claim(store.host, limit=1) == []
        passed += 2.0 ** (deaths - 2) + 0.2 if deaths > 1 else 0.0


def _owner_dies(store: Store, _turn: TurnHandle) -> None:
    owner = store.join(host())
    store.claim(owner)
    store.die(owner)


def _dies_in_a_tool(store: Store, _turn: TurnHandle) -> None:
    owner = store.join(host())
    store.answered(store.claim(owner), tool_intent(effect="once"))
    store.die(owner)
    assert store.backend.claim(store.host, limit=1) == []


def _pausing(store: Store, turn: TurnHandle) -> None:
    store.claim()
    turn.pause("p1")


def _cancelling(store: Store, turn: TurnHandle) -> None:
    parks(store, on_hands())
    turn.cancel("c1")


def _handed_over(store: Store, _turn: TurnHandle) -> None:
    scanned(store)
    store.commit(store.claim(), HandOver(reason="drain"))


def _stranded(_store: Store, turn: TurnHandle) -> None:
    Thread.objects.update(wake_at=None)  # what a broken rule would leave behind


SITUATIONS: Final[dict[Cause, Bring]] = {
    Cause.READY: lambda store, _turn: scanned(store),
    Cause.NO_SCAN: lambda _store, _turn: None,
    Cause.NO_HOST: lambda store, _turn: hosts.leave(store.host.host_id),
    Cause.RUNNING: lambda store, _turn: store.claim(),
    Cause.OWNER_LOST: _owner_dies,
    Cause.PAUSING: _pausing,
    Cause.PAUSED: lambda _store, turn: turn.pause("p1"),
    Cause.CANCELLING: _cancelling,
    Cause.CANCELLED: lambda _store, turn: turn.cancel("c1"),
    Cause.COMPLETED: lambda store, _turn: store.finish(store.claim()),
    Cause.FAILED: lambda store, _turn: store.fail(store.claim(), retryable=False),
    Cause.BACKOFF: lambda store, _turn: store.fail(store.claim()),
    Cause.TOOL: lambda store, _turn: parks(store, on_hands()),
    Cause.INTERACTION: lambda store, _turn: parks(store, gated()),
    Cause.SIGNAL: lambda store, _turn: parks(store, signalled()),
    Cause.UNKNOWN_EFFECT: _dies_in_a_tool,
    Cause.INCOMPATIBLE: lambda store, _turn: store.commit(
        store.claim(), HandOver(reason="incompatible", detail="format 9")
    ),
    Cause.HELD: lambda store, _turn: dies(store, 2),
    Cause.SUSPECT: lambda store, _turn: dies(store, 5),
    Cause.HANDED_OVER: _handed_over,
    Cause.STRANDED: _stranded,
}
"""Those that one Turn by itself can be brought to; the others have tests of their own."""
