"""Controls as verbs of `manage.py durable`: receipts, exit codes, and who asked on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.management.verbs import VERBS
from sessions_app.models import AuditEntry, Command, Signal, Turn
from tests.covers import covers
from tests.web.terminal import durable
from tests.web.test_cli import shop, turn

if TYPE_CHECKING:
    from tests.stores import Store

__all__ = ["shop", "turn"]


@covers("R017", "R048")
def test_a_turn_is_paused_and_resumed(turn: str) -> None:
    """The pause prints the revision that the resume needs."""
    paused = durable("pause", turn, "--request-id", "p1")
    explained = durable("explain", turn, "--json")
    revision = str(Turn.objects.get().revision)
    resumed = durable("resume", turn, "--revision", revision, "--json")

    assert f"PAUSED at revision {revision}, request p1" in paused.out
    assert f"resume --revision {revision}" in [
        action["text"] for action in explained.data["nextActions"]
    ]
    assert resumed.data["outcome"] == "queued"


@covers("R046")
def test_a_repeat_prints_the_same_receipt(turn: str) -> None:
    """One command, however often it is sent."""
    first = durable("cancel", turn, "--request-id", "c1", "--json")
    second = durable("cancel", turn, "--request-id", "c1", "--json")

    assert first.data == second.data
    assert first.data["outcome"] == "cancelled"
    assert AuditEntry.objects.count() == 1


def test_inputs_are_given_and_taken_back(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A steer and an inject, by words and from standard input; one withdrawn by its request id."""
    steered = durable("steer", turn, "in French", "--request-id", "s1", "--json")
    durable("inject", turn, "a table")
    withdrawn = durable("withdraw", turn, "s1", "--json")

    assert withdrawn.data["outcome"] == "withdrawn"
    assert withdrawn.data["subject"] == steered.data["subject"]
    assert sorted(Signal.objects.values_list("kind", "status")) == [
        ("INJECT", "PENDING"),
        ("STEER", "WITHDRAWN"),
    ]


def test_who_asked_is_on_record(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user of the shell, or whom `--actor` names, with the Turn before and after."""
    monkeypatch.setattr("getpass.getuser", lambda: "dana")

    durable("pause", turn, "--request-id", "p1")
    durable("cancel", turn, "--actor", "ops@acme")

    paused, cancelled = AuditEntry.objects.order_by("id")
    assert (paused.actor, paused.action, paused.target) == ("dana", "turn.pause", turn)
    assert paused.before == {"status": "QUEUED", "revision": 1}
    assert paused.after == {"status": "PAUSED", "revision": 2, "requestId": "p1"}
    assert cancelled.actor == "ops@acme"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("pause", "turn_unknown"), "NOT_FOUND"),
        (("resume", "{turn}", "--revision", "1"), "CONFLICT"),
        (("resume", "{turn}", "--revision", "0"), "INVALID"),
        (("withdraw", "{turn}", "sig_unknown"), "NOT_FOUND"),
        (("cancel", "{turn}", "--request-id", "a b"), "INVALID"),
        (("cancel", "{turn}", "--request-id", "r1"), "CONFLICT"),
        (("submit", "acme/s1", "again", "--policy", "reject"), "CONFLICT"),
        (("submit", "acme/s1", "again", "--policy", "never"), "INVALID"),
    ],
)
def test_a_refusal_is_one_line_and_writes_nothing(
    turn: str, words: tuple[str, ...], code: str
) -> None:
    """Exit code 2, nothing on standard output, no command and no record of it."""
    answer = durable(*(word.format(turn=turn) for word in words))

    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith(f"{code}: ")
    assert answer.err.count("\n") == 1
    assert Command.objects.count() == 1
    assert AuditEntry.objects.count() == 0


def test_submit_says_what_the_policy_came_to(turn: str, shop: Store) -> None:
    """A steer names the Turn that it went into."""
    shop.claim()

    answer = durable("submit", "acme/s1", "in French", "--policy", "steer")

    assert answer.out.startswith(f"{turn} RUNNING")
    assert "steered" in answer.out


def test_controls_that_explain_names_are_verbs(turn: str) -> None:
    """The next actions of a paused and of a queued Turn can be typed."""
    durable("pause", turn)

    actions = durable("explain", turn, "--json").data["nextActions"]

    assert {action["verb"] for action in actions} <= VERBS.keys()
