"""`durable versions` and `durable repin`: who needs a version, and how threads leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.identity import DefinitionKey
from sessions_app.management import exits
from sessions_app.models import AuditEntry, Thread
from sessions_app.registry import Definition, registry
from tests.stores import AGENT
from tests.web.terminal import durable

if TYPE_CHECKING:
    from tests.stores import Store

NEXT = DefinitionKey(AGENT.name, "2")


@pytest.fixture
def shop(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Give two Sessions of version 1 where version 2 is known as well."""
    known = {key: Definition(key, "scripted", lambda binding: binding) for key in (AGENT, NEXT)}
    monkeypatch.setattr(registry, "_definitions", known)
    for name in ("s1", "s2"):
        store.session(name)
    return store


def test_versions_say_who_needs_each_and_who_has_it(shop: Store) -> None:
    """A version that nobody needs says so."""
    shop.submit(shop.session("s1"))

    answer = durable("versions")
    page = durable("versions", AGENT.name, "--json")

    assert answer.code == 0
    assert "agent@1: 2 threads, 1 unfinished turns, the oldest since " in answer.out
    assert f"run by {shop.host.host_id}" in answer.out
    assert "agent@2: nobody needs it; run by nobody" in answer.out
    assert [line["threads"] for line in page.data] == [2, 0]


def test_an_agent_that_nobody_knows_is_no_success(shop: Store) -> None:
    """A mistyped name is told apart from an agent without threads."""
    answer = durable("versions", "agnet")

    assert answer.err.startswith("NOT_FOUND: no version of agent 'agnet'")
    assert answer.code == exits.REJECTED


def test_repin_is_a_dry_run_unless_it_is_told_to_apply(shop: Store) -> None:
    """Nothing is written, and the answer says what would be."""
    answer = durable("repin", "acme/s1", "--to", "2")

    assert answer.out == "acme/s1/main: agent@1 to agent@2: possible\n"
    assert not Thread.objects.filter(version="2").exists()


def test_repin_moves_every_thread_of_a_version_that_it_can(shop: Store) -> None:
    """One that is owned stays and is told with its reason; the exit code says that one was."""
    shop.submit(shop.session("s2"))
    shop.claim()
    words = ("repin", "agent@1", "--to", "2", "--apply", "--reason", "1 is withdrawn")

    answer = durable(*words)

    assert answer.code == exits.FOUND
    assert "acme/s1/main: agent@1 to agent@2: done" in answer.out
    assert "acme/s2/main: agent@1 to agent@2: refused" in answer.out
    assert "owns it" in answer.out
    assert AuditEntry.objects.get().reason == "1 is withdrawn"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("acme/s1", "--to", "2", "--apply"), "INVALID"),
        (("acme/s1", "--to", "9"), "INVALID"),
        (("acme/nobody", "--to", "2"), "NOT_FOUND"),
        (("agent", "--to", "2"), "INVALID"),
        (("a/b/c/d", "--to", "2"), "INVALID"),
    ],
    ids=["no-reason", "no-version", "no-session", "no-pin", "no-thread"],
)
def test_a_repin_of_wrong_form_is_refused(shop: Store, words: tuple[str, ...], code: str) -> None:
    """Exit code 2, one line, nothing written."""
    answer = durable("repin", *words)

    assert (answer.code, answer.out) == (exits.REJECTED, "")
    assert answer.err.startswith(f"{code}: ")


def test_a_version_without_threads_has_nothing_to_move(shop: Store) -> None:
    """No error: it is what an operator wants to reach."""
    answer = durable("repin", "agent@7", "--to", "2")

    assert (answer.code, answer.out) == (0, "no open thread is pinned to it\n")
