"""`manage.py durable`: each verb prints for people or as JSON and tells by its exit code."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from django.core.management.base import OutputWrapper

from sessions_app.contract.errors import (
    CursorExpired,
    DurableError,
    Incompatible,
    OutcomeUnknown,
    OwnershipLost,
    StaleSchema,
    Unavailable,
    WaitTimeout,
)
from sessions_app.contract.status import TurnStatus
from sessions_app.management import exits
from sessions_app.management.output import Output
from sessions_app.models import Event, Host, ScanRun, Thread, Turn
from sessions_app.registry import Definition, registry
from sessions_app.store import clock
from tests.covers import covers, poses
from tests.stores import AGENT, host
from tests.web.terminal import durable

if TYPE_CHECKING:
    from tests.sites import Site
    from tests.stores import Store


@pytest.fixture
def shop(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Give a store whose agent is registered here, with nothing submitted."""
    known = {AGENT: Definition(AGENT, "scripted", lambda binding: binding)}
    monkeypatch.setattr(registry, "_definitions", known)
    return store


@pytest.fixture
def turn(shop: Store) -> str:
    """Give a Turn of the Session acme/s1, submitted by the command."""
    answer = durable("submit", "acme/s1", "hello", "--agent", "agent", "--request-id", "r1")
    assert answer.code == 0
    return Turn.objects.get().pk


def test_submit_prints_the_turn(turn: str) -> None:
    """The same request id and input find the first Turn, also without naming the agent."""
    again = durable("submit", "acme/s1", "hello", "--request-id", "r1", "--json")

    assert again.code == 0
    assert again.data["turnId"] == turn
    assert again.data["status"] == "QUEUED"
    assert again.data["key"] == {
        "session": {"namespace": "acme", "sessionId": "s1"},
        "threadId": "main",
    }


def test_submit_says_what_became_of_it(turn: str) -> None:
    """The outcome of the policy and what it names are there for people and for programs."""
    durable("submit", "acme/s1", "other", "--policy", "replace", "--request-id", "r2")
    again = ("submit", "acme/s1", "other", "--policy", "replace", "--request-id", "r2")

    receipt = durable(*again, "--json").data["receipt"]

    assert (receipt["outcome"], receipt["subject"]) == ("replaced", turn)
    assert durable(*again).out.endswith(f", request r2, replaced {turn}\n")


def test_submit_reads_standard_input(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long task comes by a pipe; a request id is made up and printed."""
    monkeypatch.setattr("sys.stdin", StringIO("a long task"))

    answer = durable("submit", "acme/s1", "-")

    assert "request cli-" in answer.out
    assert Turn.objects.order_by("ordinal").last().input["parts"][0]["text"] == "a long task"  # type: ignore[union-attr]  # it was just made


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("submit", "acme/s1", "other", "--request-id", "r1"), "CONFLICT"),
        (("submit", "acme/nobody", "hello"), "NOT_FOUND"),
        (("submit", "acme", "hello"), "INVALID"),
        (("submit", "acme/s1", "hello", "--request-id", "a b"), "INVALID"),
        (("submit", "acme/s2", "hello", "--agent", "nobody"), "INVALID"),
        (("status", "turn_unknown"), "NOT_FOUND"),
        (("status", "acme/nobody"), "NOT_FOUND"),
        (("explain", "turn_unknown"), "NOT_FOUND"),
        (("watch", "turn_unknown"), "NOT_FOUND"),
        (("drain", "host_unknown"), "NOT_FOUND"),
        (("drain",), "INVALID"),
    ],
)
def test_rejection_is_one_line_with_its_code(turn: str, words: tuple[str, ...], code: str) -> None:
    """Exit code 2: the caller's doing; nothing was written, nothing on standard output."""
    answer = durable(*words)

    assert answer.code == exits.REJECTED
    assert answer.err.startswith(f"{code}: ")
    assert answer.err.count("\n") == 1
    assert answer.out == ""
    assert Turn.objects.count() == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CursorExpired("x"), 2),
        (Unavailable("x"), 3),
        (WaitTimeout("x"), 4),
        (StaleSchema("x"), 5),
        (Incompatible("x"), 6),
        (OwnershipLost("x"), 6),
        (OutcomeUnknown("x"), 6),
    ],
)
def test_class_of_an_error_decides_the_exit_code(error: DurableError, code: int) -> None:
    """Scripts tell a repeat from a mistake by the code alone."""
    assert exits.of(error) == code
    assert f" {code} " in exits.HELP


def test_status_shows_turn_and_session(turn: str) -> None:
    """By Turn, or by Session with its Threads and Turns, page by page."""
    durable("submit", "acme/s1", "more", "--request-id", "r2")

    one = durable("status", turn)
    page = durable("status", "acme/s1", "--limit", "1", "--json")
    rest = durable("status", "acme/s1", "--cursor", page.data["nextCursor"], "--json")

    assert one.out.startswith(f"{turn} QUEUED in acme/s1/main, revision 1")
    assert [view["turnId"] for view in page.data["turns"]] == [turn]
    assert [view["requestId"] for view in rest.data["turns"]] == ["r2"]
    assert page.data["threads"][0]["definition"]["name"] == "agent"


def test_explain_names_cause_and_next_actions(turn: str) -> None:
    """The same reason as everywhere, for people and for programs."""
    plain, data = durable("explain", turn), durable("explain", turn, "--json").data

    assert plain.out.splitlines()[0] == f"{turn} QUEUED: {data['cause']}"
    assert data["cause"] == "no-scan"
    texts = [action["text"] for action in data["nextActions"]]
    assert plain.out.rstrip().endswith("next: " + "; ".join(texts))
    assert f"queue 1: {turn} QUEUED" in plain.out


def test_watch_follows_to_the_end(shop: Store, turn: str) -> None:
    """Every event of the Turn once, then the Turn; a COMPLETED one ends with 0."""
    shop.finish(shop.claim())

    plain, data = durable("watch", turn), durable("watch", turn, "--json")

    lines = [json.loads(line) for line in data.out.splitlines()]
    events = list(Event.objects.filter(turn_id=turn).order_by("sequence"))
    assert [line["sequence"] for line in lines[:-1]] == [event.sequence for event in events]
    assert lines[-1]["status"] == "COMPLETED"
    assert (plain.code, data.code) == (0, 0)
    assert len(plain.out.splitlines()) == len(lines)


def test_watch_goes_on_behind_a_cursor(shop: Store, turn: str) -> None:
    """What was seen before is not printed again."""
    shop.finish(shop.claim())
    first = json.loads(durable("watch", turn, "--json").out.splitlines()[0])

    rest = durable("watch", turn, "--json", "--after", first["cursor"])

    assert json.loads(rest.out.splitlines()[0])["sequence"] == first["sequence"] + 1


def test_watch_tells_a_failed_turn(shop: Store, turn: str) -> None:
    """FAILED ends with 1 and says why."""
    shop.fail(shop.claim(), retryable=False)

    answer = durable("watch", turn)

    assert answer.code == exits.FOUND
    assert answer.out.splitlines()[-1] == f"{turn} FAILED HTTP_503: busy"
    assert exits.of_turn(TurnStatus.CANCELLED) == exits.CANCELLED


@covers("R023")
def test_watch_that_times_out_leaves_the_turn_alone(turn: str) -> None:
    """R023: who stops to watch stops nothing; exit code 4."""
    answer = durable("watch", turn, "--timeout", "0.05")

    assert answer.code == exits.TIMEOUT
    assert answer.err.startswith(f"TIMEOUT: turn {turn} of thread acme/s1/main")
    assert Turn.objects.get().status == "QUEUED"


def test_submit_and_watch_in_one(turn: str, shop: Store) -> None:
    """With --watch the exit code is the Turn's."""
    shop.finish(shop.claim())

    answer = durable("submit", "acme/s1", "hello", "--request-id", "r1", "--watch")

    assert answer.code == 0
    assert answer.out.splitlines()[-1].startswith(f"{turn} COMPLETED")


def test_scan_leaves_its_row(turn: str) -> None:
    """One scan now, recorded under one scanner however often it is asked for."""
    first, second = durable("scan", "--json"), durable("scan")

    assert first.data == {"found": 0, "repaired": {}, "lagSeconds": 0.0}
    assert second.out.startswith("found 0 late")
    assert ScanRun.objects.filter(scanner="manage.py").count() == 1


def test_drain_marks_hosts(shop: Store) -> None:
    """Named ones, or all that live; with --wait it ends when they own nothing."""
    other = shop.join(host())

    one = durable("drain", other.host_id, "--json")
    everyone = durable("drain", "--all", "--wait", "1", "--json")

    assert one.data == {"draining": [other.host_id]}
    assert sorted(everyone.data["draining"]) == sorted([shop.host.host_id, other.host_id])
    assert Host.objects.filter(draining_at=None).count() == 0


def test_drain_tells_who_is_still_at_work(shop: Store, turn: str) -> None:
    """A host that owns a Turn when the time is up goes on draining; exit code 4."""
    shop.claim()

    answer = durable("drain", "--all", "--wait", "0.05")

    assert answer.code == exits.TIMEOUT
    assert shop.host.host_id in answer.err


def test_check_of_a_sound_database_is_clean(turn: str) -> None:
    """Exit code 0, and the numbers that were looked at."""
    answer = durable("check")

    assert answer.code == 0
    assert answer.out.startswith("0 breaches; checked I1, ")


@pytest.mark.tampers
def test_check_names_each_breach(turn: str) -> None:
    """Exit code 1 and one precise line with number and place."""
    Turn.objects.update(revision=5)

    plain, data = durable("check"), durable("check", "--json").data

    assert plain.code == exits.FOUND
    assert any(line.startswith(f"I21 {turn}: ") for line in plain.out.splitlines())
    assert {breach["where"] for breach in data["breaches"] if breach["number"] == 21} == {turn}


def test_doctor_looks_at_everything(shop: Store) -> None:
    """A sound installation has no failure; each thing looked at is one line."""
    shop.backend.scan(shop.host, own=False)

    plain, data = durable("doctor"), durable("doctor", "--json").data

    levels = {finding["name"]: finding["level"] for finding in data["findings"]}
    assert plain.code == 0
    assert len(plain.out.splitlines()) == len(data["findings"])
    for name in ("database", "migrations", "clocks", "locks", "broker", "agents", "last scan"):
        assert levels[name] == "ok", data
    assert levels[f"host {shop.host.host_id}"] == "ok"


def test_doctor_warns_of_what_is_missing(shop: Store) -> None:
    """No scan, and an agent that nobody alive runs: warnings with advice, exit code 0."""
    shop.backend.leave(shop.host.host_id)

    answer = durable("doctor")

    assert answer.code == 0
    assert "WARN last scan: never: " in answer.out
    assert "WARN agents: 1 registered here, 1 of them run by nobody" in answer.out


@poses("C39")
def test_doctor_names_an_agent_that_changed_under_its_label(turn: str) -> None:
    """A Brain would be refused: what it would say, and what to do."""
    Host.objects.update(digests={str(AGENT): "sha256:other"})
    Thread.objects.update(definition_digest="sha256:other")

    answer = durable("doctor")

    assert answer.code == exits.FOUND
    assert "FAIL agent content: agent agent@1 has other content than 1 open threads" in answer.out
    assert "register it under a new version" in answer.out


@poses("S18")
def test_doctor_tells_when_the_clock_is_off(shop: Store) -> None:
    """S18: a machine whose clock is apart from the database's is named with the distance."""
    with clock.offset(timedelta(minutes=3)):
        answer = durable("doctor")

    assert "WARN clocks: 1" in answer.out


@pytest.mark.tampers
def test_text_of_others_cannot_drive_the_terminal(shop: Store) -> None:
    """An answer with escape sequences is printed without them, on one line."""
    durable("submit", "acme/s1", "hello", "--agent", "agent")
    claim = shop.claim()
    shop.fail(claim, retryable=False)
    Turn.objects.update(error_text="red \x1b[31m\nnext \x9b2J line")

    answer = durable("status", claim.turn_id)

    assert answer.out.count("\n") == 1
    assert "\x1b" not in answer.out
    assert "\x9b" not in answer.out


class _Terminal(StringIO):
    def isatty(self) -> bool:
        """Say yes."""
        return True


def test_progress_is_for_terminals_only() -> None:
    """A person sees one line written over and over; a file or a program sees none of it."""
    plain, screen, program = StringIO(), _Terminal(), _Terminal()
    for file, as_json in ((plain, False), (screen, False), (program, True)):
        Output(OutputWrapper(file), OutputWrapper(file), as_json=as_json).progress("working")

    assert (plain.getvalue(), program.getvalue()) == ("", "")
    assert screen.getvalue().startswith("\r")
    assert "\n" not in screen.getvalue()


def test_command_works_from_a_shell(fresh_site: Site) -> None:
    """The real command: a usage error is 2, an unmigrated database 5, help lists the codes."""
    usage = fresh_site.attempt("manage.py", "durable", "bogus")
    help_text = fresh_site.run("manage.py", "durable", "--help")
    fresh_site.manage("migrate", "sessions_app", "zero")

    stale = fresh_site.attempt("manage.py", "durable", "status", "turn_x")

    assert usage.returncode == exits.REJECTED
    assert "Exit codes:" in help_text
    assert stale.returncode == exits.STALE_SCHEMA
    assert stale.stderr.startswith("STALE_SCHEMA: the database lacks sessions_app.0001_initial")
