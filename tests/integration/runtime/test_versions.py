"""Capabilities, versions and the re-pin over real rows; views start nothing (R249 to R252)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from django.db import connection

from hands_app.contract.tools import tool
from sessions_app.contract.backend import Finish, Park
from sessions_app.contract.errors import Conflict, Invalid, NotFound
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import CheckpointKind
from sessions_app.contract.versions import ExecutorView, Resolved
from sessions_app.harnesses.scripted import codec
from sessions_app.models import AuditEntry, Checkpoint, Event, Run, Thread
from sessions_app.registry import Definition, define, registry
from sessions_app.store import hosts
from tests.covers import covers
from tests.stores import AGENT, FRAME, host, tool_intent

if TYPE_CHECKING:
    from sessions_app.runtime import DurableRuntime, SessionHandle
    from tests.stores import Store

STATE: Final = codec.ENVELOPE.seal({"turn": "turn_1"}, CheckpointKind.SETTLED)
REASON: Final = {"actor": "ann", "reason": "version 0 is withdrawn"}


@tool(effect="read", route="hands")
def look(place: str) -> str:
    """Look there."""
    return place


def _finish(store: Store) -> None:
    """End the Turn as the scripted kernel would, with state that it can read."""
    store.commit(store.claim(), Finish(result={"parts": []}), frame=STATE)


@covers("R249")
def test_capabilities_tell_what_store_harness_and_executors_can_do(runtime: DurableRuntime) -> None:
    """Guarantees of the store, boundaries of the harness, questions that an executor answers."""
    able = runtime.capabilities()

    shared = connection.vendor == "postgresql"
    assert (able.backend.shared, able.backend.writers == "many") == (shared, shared)
    assert able.backend.authoritative_time
    (scripted,) = able.harnesses
    assert scripted.recovers_at == ("model outcome", "tool result", "turn")
    assert "message" in scripted.events_at
    assert able.executors == (
        ExecutorView("local", query=False, cancel=False, output=False),
        ExecutorView("hands", query=True, cancel=True, output=True),
    )


@covers("R249")
def test_a_harness_that_is_not_installed_is_told_and_no_error(runtime: DurableRuntime) -> None:
    """This process can admit work for it; another one runs it."""
    registry.add(Definition(DefinitionKey("far", "1"), "elsewhere", lambda binding: binding))

    missing = {each.name: each.missing for each in runtime.capabilities().harnesses}

    assert missing["scripted"] is None
    assert "no harness named 'elsewhere'" in str(missing["elsewhere"])


@covers("R250")
def test_a_frozen_version_is_shown_without_starting_anything(
    runtime: DurableRuntime, store: Store
) -> None:
    """No factory is called, nothing is claimed; what a resolver gives is listed from then on."""

    def build(_binding: object) -> None:
        raise AssertionError

    def resolve(version: str) -> Definition:
        return define("bot", version, build, harness="scripted", tools=[look], round_limit=3)

    registry.resolve_with("bot", resolve)
    key = DefinitionKey("bot", "7")
    before = runtime.capabilities().resolved_harnesses

    view = runtime.definition("bot", "7")

    assert before == ()
    assert runtime.capabilities().resolved_harnesses == (Resolved(key, "scripted"),)
    assert (view.definition, view.resolved, view.round_limit) == (key, True, 3)
    assert [(each.name, each.route, each.effect) for each in view.tools] == [
        ("look", "hands", "read")
    ]
    assert view.tools[0].digest == look.binding.digest
    assert view.hosts == ()
    assert not Run.objects.exists()


@covers("R251")
def test_threads_keep_their_version_beside_a_newer_one(
    runtime: DurableRuntime, store: Store
) -> None:
    """Who needs version 0 is told with threads, turns, age and hosts, and so for version 1."""
    old = runtime.create_session("acme", "old", agent=AGENT.name, version="0")
    runtime.create_session("acme", "new", agent=AGENT.name)
    turn = old.submit("r1", "hello")

    first, second = runtime.versions(AGENT.name)

    assert (first.definition, first.threads, first.turns) == (DefinitionKey(AGENT.name, "0"), 1, 1)
    assert first.oldest == turn.status().created_at
    assert first.hosts == ()
    assert (second.threads, second.turns, second.oldest) == (1, 0, None)
    assert second.hosts == (store.host.host_id,)
    assert runtime.versions("nobody") == []


def test_a_host_with_a_resolver_has_every_version(runtime: DurableRuntime, store: Store) -> None:
    """It may be able to run what nobody registered; one that drains is none."""
    anybody = store.join(host())
    store.join(host("b2", DefinitionKey("other", "1")))
    hosts.draining(anybody.host_id)

    assert runtime.definition(AGENT.name, "1").hosts == (store.host.host_id,)


@pytest.mark.tampers
def test_a_version_that_only_threads_know_is_listed(session: SessionHandle) -> None:
    """It was taken out of the code too early: it is needed, and nobody has it."""
    Thread.objects.update(version="gone")

    lost = next(each for each in session.runtime.versions() if each.definition.version == "gone")

    assert (lost.threads, lost.known, lost.hosts) == (1, False, ())


def test_a_dry_run_says_what_would_happen_and_writes_nothing(session: SessionHandle) -> None:
    """Possible, and the Thread is where it was."""
    view = session.runtime.repin(session.main.key, "0")

    assert (view.outcome, view.before, view.after.version) == ("possible", AGENT, "0")
    assert session.main.view().definition == AGENT
    assert not AuditEntry.objects.exists()


def test_a_repin_moves_the_thread_and_is_put_on_record(
    session: SessionHandle, store: Store
) -> None:
    """After a Turn: its state is taken up under the new pin, which a claim then needs."""
    session.submit("r1", "hello")
    _finish(store)

    view = session.runtime.repin(session.main.key, "0", dry_run=False, **REASON)
    again = session.runtime.repin(session.main.key, "0", dry_run=False, **REASON)

    assert (view.outcome, again.outcome) == ("done", "unchanged")
    assert session.main.view().definition.version == "0"
    newest = Checkpoint.objects.latest("ordinal")
    assert (newest.version, newest.body) == ("0", Checkpoint.objects.earliest("ordinal").body)
    assert Event.objects.latest("sequence").type == "thread.repinned"
    assert AuditEntry.objects.get().reason == REASON["reason"]
    session.submit("r2", "more")
    assert store.backend.claim(store.host, limit=1) == []
    store.claim(store.join(host("b0", DefinitionKey(AGENT.name, "0"))))


@covers("R252")
def test_a_thread_is_not_moved_to_another_harness(session: SessionHandle, store: Store) -> None:
    """A store is shared; a Thread still stays with the framework that wrote its state."""
    session.submit("r1", "hello")
    _finish(store)
    registry.add(Definition(DefinitionKey(AGENT.name, "9"), "pydantic_ai", lambda binding: binding))

    with pytest.raises(Conflict, match="belongs to harness"):
        session.runtime.repin(session.main.key, "9", dry_run=False, **REASON)

    assert session.main.view().definition == AGENT
    assert not AuditEntry.objects.exists()


def test_an_owned_thread_is_not_moved(session: SessionHandle, store: Store) -> None:
    """Its owner works under the old version until it lets go."""
    session.submit("r1", "hello")
    store.claim()

    with pytest.raises(Conflict, match="owns it"):
        session.runtime.repin(session.main.key, "0", dry_run=False, **REASON)


def test_a_turn_that_waits_is_moved_only_with_its_tools(
    session: SessionHandle, store: Store
) -> None:
    """An open call's tool has to be bound in the new version as it was in the old one."""
    session.submit("r1", "hello")
    claim = store.claim()
    store.answered(claim, tool_intent(route="hands", start=False))
    store.commit(claim, Park(), frame=FRAME)

    view = session.runtime.repin(session.main.key, "0")

    assert view.outcome == "refused"
    assert any("tool tool of open call" in line for line in view.objections)


def test_what_is_not_there_is_refused(session: SessionHandle) -> None:
    """An unknown Thread and an unknown version are told apart."""
    nowhere = SessionKey("acme", "nobody").thread()

    with pytest.raises(NotFound):
        session.runtime.repin(nowhere, "0")
    with pytest.raises(Invalid, match="no version"):
        session.runtime.repin(session.main.key, "77")
