"""One contract for three ways to a site: in its process, over HTTP, and where answers get lost."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from durable_site.embedded.roles import CHECKOUT
from sessions_app.client import RemoteRuntime
from sessions_app.client.transport import CODES, Transport
from sessions_app.contract import errors
from sessions_app.contract.events import EVERYTHING, EventFilter
from sessions_app.contract.observing import Committed
from sessions_app.contract.projection import EventProjection
from sessions_app.runtime import DurableRuntime
from sessions_app.store import bell
from tests.contracts.runtime.cutting import CuttingProxy
from tests.covers import covers, poses
from tests.integration.invariants import world as worlds
from tests.web.api.serving import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_django import Settings

    from sessions_app.contract.observing import Observed
    from tests.sites import Site

pytestmark = pytest.mark.timeout(180)
AGENT = "night-report"
LOSS = 0.3
UNKNOWN = "turn_01m8qdmbrdfe2agwscnc9rwtar"


@pytest.fixture
def inside(database: None, settings: Settings) -> Iterator[DurableRuntime]:
    """Give the runtime of this process."""
    settings.DURABLE = {**settings.DURABLE, "WAKEUPS": f"{worlds.__name__}.silence"}
    bell.wakeups.cache_clear()
    with DurableRuntime() as runtime:
        yield runtime
    bell.wakeups.cache_clear()


@pytest.fixture
def served(fresh_site: Site) -> tuple[str, str]:
    """Give the address of a site, and a token for all of its namespaces."""
    asked = ("token", "create", "tests", "--role", "operator", "--all-namespaces")
    secret = fresh_site.manage("durable", *asked).strip().splitlines()[-1]
    return serve(fresh_site, DURABLE_API_RATE="none"), secret


@pytest.fixture(params=["inside", "http", "http that loses answers"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give a runtime of each kind."""
    if request.param == "inside":
        yield request.getfixturevalue("inside")
        return
    address, secret = request.getfixturevalue("served")
    if request.param == "http":
        with RemoteRuntime.at(address, secret) as remote:
            yield remote
        return
    proxy = CuttingProxy(address, LOSS)
    transport = Transport(proxy.address, secret, attempts=40, pause=lambda _seconds: None)
    with RemoteRuntime(transport) as remote:
        yield remote
    proxy.close()
    assert proxy.lost > 0


@covers("R118", "R122")
@poses("C29")
def test_a_turn_is_admitted_once_and_reads_the_same(runtime: Any) -> None:
    """R118: submit, repeat, conflict, read, list, page: one behaviour; R122: also after losses."""
    session = runtime.create_session("acme", "chat", agent=AGENT)
    first = session.submit("r-1", "hello")
    again = session.submit("r-1", "hello")
    with pytest.raises(errors.Conflict):
        session.submit("r-1", "something else")
    others = [session.submit(f"r-{number}", "more").turn_id for number in (2, 3)]

    assert first.turn_id == again.turn_id
    assert first.receipt == again.receipt
    assert first.status().request_id == "r-1"
    assert [each.turn_id for each in session.list_turns().items] == [first.turn_id, *others]
    page = session.list_turns(limit=2)
    rest = session.list_turns(page.next_cursor)
    assert [each.turn_id for each in page.items + rest.items] == [first.turn_id, *others]
    assert session.get_turn(first.turn_id).status() == first.status()
    assert [each.key.session_id for each in runtime.list_sessions("acme").items] == ["chat"]


@covers("R118")
def test_controls_give_the_same_receipts(runtime: Any) -> None:
    """Each control once for its request id, with the same outcomes and refusals."""
    turn = runtime.create_session("acme", "chat", agent=AGENT).submit("r-1", "hello")

    assert turn.steer("c-1", "left").outcome == turn.steer("c-1", "left").outcome
    assert turn.inject("c-2", "a note").operation == "inject"
    assert turn.withdraw("c-3", "c-1").outcome == "withdrawn"
    assert turn.signal("c-4", "x.acme.go", {"any_name": 1}).outcome == "kept"
    assert turn.pause("c-5").outcome == "paused"
    with pytest.raises(errors.Conflict):
        turn.resume("c-6", 1)
    assert turn.resume("c-7", turn.status().revision).operation == "resume"
    assert turn.cancel("c-8").operation == "cancel"
    assert turn.wait(20).status == "CANCELLED"
    with pytest.raises(errors.Closed):
        turn.pause("c-9")
    with pytest.raises(errors.Conflict):
        turn.result()


@covers("R118")
def test_refusals_are_the_same_errors(runtime: Any) -> None:
    """The class says what is wrong, on either side."""
    session = runtime.create_session("acme", "chat", agent=AGENT)

    with pytest.raises(errors.NotFound):
        runtime.get_session("acme", "nowhere")
    with pytest.raises(errors.NotFound):
        session.get_turn(UNKNOWN)
    with pytest.raises(errors.Invalid):
        runtime.create_session("acme", "other", agent="nobody")
    with pytest.raises(errors.Invalid):
        session.submit("r-1", {"version": "1", "parts": []})
    with pytest.raises(errors.Invalid):
        session.submit("bad id", "hello")
    with pytest.raises(errors.Invalid):
        session.list_events("nonsense")
    turn = session.submit("r-1", "hello")
    with pytest.raises(errors.WaitTimeout):
        turn.wait(0.01)
    with pytest.raises(errors.Conflict):
        session.close()


@covers("R118")
def test_events_and_snapshot_are_the_same(runtime: Any) -> None:
    """A projection that follows by pages is the snapshot."""
    session = runtime.create_session("acme", "chat", agent=AGENT)
    session.submit("r-1", "ümläut 猫").pause("p-1")
    projection = EventProjection.of(session.key)

    projection.accept_page(session.list_events(limit=3))
    projection.accept_page(session.list_events(projection.cursor))

    assert projection.snapshot() == session.snapshot()
    assert [each.key.thread_id for each in session.list_threads().items] == ["main"]
    assert session.main.view().definition.name == AGENT
    assert [part for each in session.history().items for part in each.parts]


@covers("R018", "R084", "R090")
def test_events_are_listed_streamed_and_subscribed_on_three_levels(runtime: Any) -> None:
    """R018: a list holds what is stored; stream and subscription give it, within one filter."""
    session = runtime.create_session("acme", "chat", agent=AGENT)
    other = session.create_thread("side", AGENT)
    turn = session.submit("r-1", "hello")
    other.submit("r-2", "not this")
    run_filter = EventFilter("main", turn.turn_id)

    for level, within in (
        (session, EVERYTHING),
        (session.main, EventFilter("main")),
        (turn, run_filter),
    ):
        listed = level.list_events().items
        assert all(within.admits(event) for event in listed)
        assert listed == session.list_events(within=within).items
        stream = level.stream_events()
        assert [next(stream) for _ in listed] == [Committed(event) for event in listed]
        stream.close()
        heard: queue.Queue[Any] = queue.Queue()
        subscription = level.subscribe_events(heard.put)
        assert [heard.get(timeout=20).event for _ in listed] == list(listed)
        subscription.close()
        polled = level.event_client().poll(None)
        assert polled.items == tuple(map(Committed, listed))
        assert polled.is_at_end
    assert session.list_events().last_sequence > len(turn.list_events().items)
    with pytest.raises(errors.NotFound):
        session.subscribe_events(heard.put, within=EventFilter("main", UNKNOWN))
    with pytest.raises(errors.Invalid):
        session.subscribe_events(heard.put, "nonsense")


@covers("R112")
def test_a_subscription_follows_what_comes_until_the_runtime_closes(runtime: Any) -> None:
    """R112: it begins at once; folding what it gives is the snapshot; closing ends it (R111)."""
    session = runtime.create_session("acme", "chat", agent=AGENT)
    projection, heard = EventProjection.of(session.key), threading.Semaphore(0)

    def fold(item: Any) -> None:
        projection.accept(item.event)
        heard.release()

    subscription = session.subscribe_events(fold)
    session.submit("r-1", "hello").pause("p-1")
    for _ in range(session.view().last_sequence):
        assert heard.acquire(timeout=20)

    assert projection.snapshot() == session.snapshot()
    assert subscription.last_failure is None
    runtime.close()
    assert subscription.is_closed


@covers("R127")
@poses("C61")
def test_a_stream_through_losses_gives_each_event_once(served: tuple[str, str]) -> None:
    """The client comes again from the last event that it gave; none is lost, none comes twice."""
    address, secret = served
    proxy = CuttingProxy(address, LOSS)
    transport = Transport(proxy.address, secret, attempts=40, pause=lambda _seconds: None)
    with RemoteRuntime(transport) as runtime:
        session = runtime.create_session("acme", "chat", agent=AGENT)
        for number in range(10):
            session.submit(f"r-{number}", "hello")
        last = session.view().last_sequence
        stream = session.stream_events()
        seen = [_sequence(next(stream)) for _ in range(last)]
    proxy.close()

    assert seen == list(range(1, last + 1))


def test_a_turn_is_watched_from_another_machine(served: tuple[str, str]) -> None:
    """`python -m sessions_app.client watch` prints what happens, and ends as the Turn did."""
    address, secret = served
    with RemoteRuntime.at(address, secret) as runtime:
        turn = runtime.create_session("acme", "chat", agent=AGENT).submit("r-1", "hello")
        watching = _client(address, secret, "watch", turn.turn_id, "--session", "acme/chat")
        turn.cancel("c-1")
        said, _ = watching.communicate(timeout=60)
    refused = _client(address, secret, "watch", UNKNOWN, "--session", "acme/chat")

    assert watching.returncode == 7, said
    assert "turn.admitted" in said
    assert said.splitlines()[-1].startswith(f"{turn.turn_id} CANCELLED")
    assert "NOT_FOUND" in refused.communicate(timeout=60)[1]
    assert refused.returncode == 2


def _client(address: str, secret: str, *arguments: str) -> subprocess.Popen[str]:
    """The client's command, in a Python without Django and without our environment."""
    run = "runpy.run_module('sessions_app.client', run_name='__main__')"
    code = f"import sys, runpy; sys.modules['django'] = None; {run}"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=CHECKOUT,
        env={"DURABLE_SITE": address, "DURABLE_TOKEN": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _sequence(item: Observed) -> int:
    assert isinstance(item, Committed)
    return item.event.sequence


def test_the_client_needs_no_django() -> None:
    """It runs in any program: of this house it takes the contract alone."""
    code = "import sys; sys.modules['django'] = None; import sessions_app.client"
    subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=True)


def test_every_code_has_its_class() -> None:
    """A problem's code is raised as the class that callers in the process meet."""
    assert CODES["CONFLICT"] is errors.Conflict
    assert CODES["CURSOR_EXPIRED"] is errors.CursorExpired
    assert {"INVALID", "NOT_FOUND", "UNCERTAIN", "RATE_LIMITED", "WRONG_ANSWER"} <= CODES.keys()
