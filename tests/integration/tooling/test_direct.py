"""Tools inside of the Brain's process: the same ledger rules, no queue (R141, R174, R193)."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from django.conf import settings

from durable_site.direct import DirectExecutor
from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import Incompatible
from hands_app.contract.faults import plan
from hands_app.contract.tools import Tool, ToolContext, tool
from hands_app.worker.configuration import Configuration
from sessions_app.contract.status import CallState, TurnStatus, WaitReason
from sessions_app.harnesses.scripted.model import Call, Reply
from sessions_app.models import ToolCall, Turn
from sessions_app.ports import ExecutorCapabilities
from sessions_app.runtime import DurableRuntime
from sessions_app.store.bell import watch_outbox
from sessions_app.tooling.routing import Routes
from tests.covers import covers
from tests.integration.brain.brains import Brains, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hands_app.ledger.engine import Database
    from tests.stores import Store

ran: list[str] = []


class Nowhere:
    """The queues of a system that has no broker."""

    capabilities = ExecutorCapabilities(query=False, cancel=False, output=False)

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """Confirm nothing."""
        del route, envelope, control
        return False


@tool(route="direct", effect="once")
def send(text: str, context: ToolContext) -> dict[str, str]:
    """Send a text."""
    ran.append(context.execution_key)
    context.progress("on its way", fraction=0.5)
    return {"sent": text, "by": str(context.origin.run_id)}


@tool(route="direct", effect="idempotent")
def put(text: str, context: ToolContext) -> str:
    """Put a text somewhere."""
    ran.append(context.execution_key)
    return text


@tool(route="direct", effect="once")
def talk(text: str, context: ToolContext) -> str:
    """Write a text as output."""
    context.output(text)
    return "said"


class Hosts:
    """Starts Brain processes with a host inside, one after the other, over the same two stores."""

    def __init__(self, store: Store, state_dir: Path, ledger: Database) -> None:
        self.store = store
        self.state_dir = state_dir
        self.configuration = Configuration(
            state_dir,
            ledger.url.render_as_string(hide_password=False),
            poll_seconds=0.02,
            sweep_seconds=0.05,
            renew_seconds=0.2,
            grace_seconds=10,
        )

    @contextmanager
    def running(self, tools: Tool, *replies: Reply) -> Iterator[Brains]:
        """Run a Brain whose agent has one tool, for the length of a block."""
        executor = DirectExecutor("direct", self.configuration, catalogue=Catalogue([tools]))
        brains = Brains(self.store, self.state_dir)
        brains.routes = Routes(Nowhere(), {"direct": executor})
        brains.agent(replies, tools)
        try:
            process = brains.start(scan=0.05)
            watch_outbox(process.send_due)
            yield brains
        finally:
            watch_outbox(lambda: None)
            brains.close()


@pytest.fixture
def hosts(store: Store, ledger: Database, state_dir: Path) -> Hosts:
    """Give clean stores of both houses and the means to run over them."""
    ran.clear()
    return Hosts(store, state_dir, ledger)


def _asks(name: str) -> tuple[Reply, Reply]:
    return Reply(calls=(Call(name, {"text": "hello"}),)), Reply("done")


@covers("R141", "R174", "R193")
def test_a_tool_runs_without_a_broker(hosts: Hosts, store: Store) -> None:
    """Its schema alone is known to the agent; the call runs once, through the ledger."""
    with hosts.running(send, *_asks("send")) as brains:
        turn_id = store.submit(store.session("chat"))
        brains.ended(turn_id)

    call = ToolCall.objects.get(turn=turn_id)
    assert (call.route, call.state, call.attempts) == ("direct", CallState.COMPLETED, 1)
    assert call.result["content"] == {"sent": "hello", "by": call.origin_run}
    assert ran == [call.pk]
    assert None not in (call.admitted_at, call.started_at, call.received_at, call.applied_at)


@pytest.mark.parametrize(
    ("described", "state", "runs"),
    [(put, CallState.COMPLETED, 2), (send, CallState.UNKNOWN, 1)],
    ids=["idempotent", "once"],
)
@covers("R173", "R174", "R193")
def test_after_a_crash_the_next_process_finds_the_ledger(
    hosts: Hosts, store: Store, described: Tool, state: str, runs: int
) -> None:
    """The effect happened, its record did not: run again with the same key, or UNKNOWN."""
    broke = threading.Event()
    with (
        plan({"hands.effect.after_done": _die_once(broke)}),
        hosts.running(described, *_asks(described.name)),
    ):
        turn_id = store.submit(store.session("chat"))
        assert broke.wait(30)

    with hosts.running(described, *_asks(described.name)) as brains:
        until(lambda: ToolCall.objects.filter(turn=turn_id, state=state).first())
        if state == CallState.COMPLETED:
            brains.ended(turn_id)

    call = ToolCall.objects.get(turn=turn_id)
    assert ran == [call.pk] * runs
    turn = Turn.objects.get(pk=turn_id)
    if state == CallState.UNKNOWN:
        assert (turn.status, turn.reason) == (TurnStatus.WAITING, WaitReason.UNKNOWN)


def _die_once(broke: threading.Event) -> Callable[[str], Any]:
    """End the slot's thread without a record, as the death of its process does."""

    def die(_point: str) -> None:
        if not broke.is_set():
            broke.set()
            raise RuntimeError

    return die


@covers("R193")
def test_a_ledger_that_nobody_migrated_keeps_the_process_from_starting(
    state_dir: Path, store: Store
) -> None:
    """A Brain says so at its start; nothing makes tables by the way."""
    configuration = Configuration(state_dir, f"sqlite:///{state_dir}/empty.sqlite3")
    executor = DirectExecutor("direct", configuration, catalogue=Catalogue([send]))
    brains = Brains(store, state_dir)
    brains.routes = Routes(Nowhere(), {"direct": executor})

    with pytest.raises(Incompatible, match="python -m hands_app migrate"):
        brains.begin()

    executor.close()


@covers("R191")
def test_a_brain_asks_its_own_executor_for_output(
    hosts: Hosts, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads needs neither a broker nor that process: the question waits for a Brain."""
    monkeypatch.setitem(settings.DURABLE, "EXECUTORS", {"direct": "any"})
    with hosts.running(talk, *_asks("talk")) as brains:
        turn_id = store.submit(store.session("chat"))
        brains.ended(turn_id)
        turn = DurableRuntime(executor=Nowhere()).find_turn(turn_id)

        page = turn.output(ToolCall.objects.get(turn=turn_id).call_id, timeout=30)

    assert (page.data, page.sealed, page.gap) == (b"hello", True, None)
