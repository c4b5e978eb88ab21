"""The tasks: one call for a well-formed message, nothing at all for any other (T37)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from sessions_app import tasks
from sessions_app.contract.errors import Forbidden
from sessions_app.contract.identity import SessionKey
from sessions_app.store import retention
from tests.covers import poses

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.brain.process import BrainProcess


class Brain:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def advance(self, thread_pk: str) -> None:
        """Look at this Thread."""
        self.asked.append(thread_pk)

    def scan(self) -> None:
        """Look at everything."""
        self.asked.append("scan")

    def work(self, what: Callable[..., object], *words: object) -> object:
        """Do a piece of database work."""
        return what(*words)


@pytest.fixture
def brain(monkeypatch: pytest.MonkeyPatch) -> Brain:
    """Give the Brain of this worker."""
    made = Brain()
    role = SimpleNamespace(current=lambda: cast("BrainProcess", made))
    monkeypatch.setattr(tasks, "role", role)
    return made


def test_a_hint_makes_one_call(brain: Brain) -> None:
    """With the Thread that it names; further arguments of newer senders change nothing."""
    tasks.advance("thr_1")
    tasks.advance("thr_2", "more", newer=True)
    tasks.scan()

    assert brain.asked == ["thr_1", "thr_2", "scan"]


def test_beat_has_what_is_due_pruned(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Session by Session, each a piece of work of its own; a refusal is said once and ends it."""
    pruned: list[SessionKey] = []
    due = [SessionKey("acme", name) for name in ("a", "b", "c")]

    def prune(key: SessionKey) -> None:
        pruned.append(key)
        if key == due[1]:
            msg = "this role may not"
            raise Forbidden(msg)

    monkeypatch.setattr(retention, "some_due", lambda _number: due)
    monkeypatch.setattr(retention, "prune", prune)

    tasks.prune()

    assert pruned == due[:2]


@poses("T37")
@pytest.mark.parametrize("wrong", [None, 7, ["thr_1"], {"id": "thr_1"}, "t" * 65])
def test_t37_a_hint_of_another_type_is_dropped(brain: Brain, wrong: object) -> None:
    """Whoever can write to the broker can make workers look at rows, and nothing more."""
    tasks.advance(wrong)

    assert brain.asked == []


def test_a_worker_without_a_brain_drops_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of other queues that gets one by mistake does nothing."""
    monkeypatch.setattr(tasks, "role", SimpleNamespace(current=lambda: None))

    tasks.advance("thr_1")
    tasks.scan()
