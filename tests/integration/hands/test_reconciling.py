"""How an UNKNOWN ends: by evidence that an operator brings, once, in one commit (I28)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from hands_app.cli import main
from hands_app.contract.errors import Conflict, HandsError, NotFound, Rejected
from hands_app.contract.messages import ExecutionResult, ExecutionState, UpdateKind
from hands_app.contract.output import Gap
from hands_app.contract.reconciling import verified
from hands_app.ledger import purging, reconciling, tables
from hands_app.machine.execution import Refusal
from hands_app.machine.output import Written
from hands_app.worker.ports import Told
from tests.covers import covers, poses
from tests.integration.hands.examples import (
    DONE,
    SENT,
    Ledger,
    cancel,
    evidence,
    execute,
)
from tests.integration.hands.reading import pages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.contract.messages import Execute
    from hands_app.ledger.engine import Database
    from hands_app.worker.ports import Claim

NOBODY_KNOWS = verified("FAILED", message="Nobody could find out whether it was sent.")


def in_doubt(ledger: Ledger, command: Execute) -> Claim:
    """Let the worker of a `once` execution die after its start."""
    claim = ledger.started(command)
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()
    ledger.host_id = ledger.enroll()
    assert ledger.state(command) == "UNKNOWN"
    return claim


def rows_of(database: Database, table: Any = tables.reconciliation) -> int:
    """Count the rows of a table."""
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


@covers("R199", "R201")
def test_evidence_ends_an_unknown_with_its_audit_record(ledger: Ledger) -> None:
    """The result is in the outbox like any other, and who said so on what grounds beside it."""
    command = execute()
    in_doubt(ledger, command)

    told = reconciling.reconcile(ledger.database, evidence(command))

    assert ledger.state(command) == "COMPLETED"
    assert ledger.kinds(command) == ["admitted", "started", "result", "result"]
    assert ledger.updates(command)[-1].result() == SENT
    assert (told.outcome.operator, told.outcome.evidence) == ("ada", "provider log 4711")
    assert list(told.updates) == ledger.updates(command)[-1:]
    assert ledger.claim(command) == []


@covers("R201", "R190")
def test_output_that_is_missing_is_closed_with_a_gap(ledger: Ledger) -> None:
    """What was written stays, what the dead worker lost is a gap, and the verdict seals it."""
    command = execute()
    claim = ledger.started(command)
    ledger.work.output(claim, Written(0, b"so far"))
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()

    reconciling.reconcile(ledger.database, evidence(command))

    assert pages(ledger.commands, command) == [b"so far", Gap.DIED]
    seal, result = ledger.updates(command)[-2:]
    assert seal.payload == {"available": 7, "sealed": True}
    assert result.result() == SENT


@covers("R201")
def test_record_and_result_are_one_commit(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A death just before the commit leaves neither of the two."""
    command = execute()
    in_doubt(ledger, command)

    def died(name: str) -> None:
        if name == "hands.reconcile.before_commit":
            raise KeyboardInterrupt

    monkeypatch.setattr("hands_app.ledger.engine.faultpoint", died)
    with pytest.raises(KeyboardInterrupt):
        reconciling.reconcile(ledger.database, evidence(command))

    assert ledger.state(command) == "UNKNOWN"
    assert ledger.kinds(command) == ["admitted", "started", "result"]
    assert rows_of(ledger.database) == 0


@covers("R199")
def test_the_same_request_gives_the_same_receipt(ledger: Ledger) -> None:
    """An operator whose answer was lost asks again; who asks is no part of the request."""
    command = execute()
    in_doubt(ledger, command)
    first = reconciling.reconcile(ledger.database, evidence(command))

    again = reconciling.reconcile(ledger.database, evidence(command, operator="grace"))

    assert again == Told(first.outcome)
    assert ledger.kinds(command).count("result") == 2


@covers("R199")
@pytest.mark.parametrize("other", ["result", "evidence", "execution_id"])
def test_a_used_request_id_with_other_content_is_refused(ledger: Ledger, other: str) -> None:
    """The id stands for what was recorded under it."""
    command, second = execute(), execute()
    in_doubt(ledger, command)
    in_doubt(ledger, second)
    reconciling.reconcile(ledger.database, evidence(command))
    changed: dict[str, Any] = {
        "result": NOBODY_KNOWS,
        "evidence": "a rumour",
        "execution_id": second.execution_id,
    }

    with pytest.raises(Conflict, match="other content"):
        reconciling.reconcile(
            ledger.database, replace(evidence(command), **{other: changed[other]})
        )

    assert ledger.state(second) == "UNKNOWN"


@covers("R199")
def test_operators_that_reconcile_at_once_reconcile_once(ledger: Ledger) -> None:
    """Of eight different verdicts one counts; the others learn that it is UNKNOWN no more."""
    command = execute()
    in_doubt(ledger, command)
    start = threading.Barrier(8)

    def ask(number: int) -> bool:
        start.wait(10)
        try:
            reconciling.reconcile(ledger.database, evidence(command, request_id=f"ops-{number}"))
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(ask, range(8))) == [False] * 7 + [True]
    assert rows_of(ledger.database) == 1
    assert ledger.kinds(command).count("result") == 2


def _states(ledger: Ledger) -> Iterator[tuple[str, Execute]]:
    running = execute()
    ledger.started(running)
    yield "STARTED", running
    completed = execute()
    ledger.work.finish(ledger.started(completed), DONE)
    yield "COMPLETED", completed
    tombstone = execute()
    ledger.commands.cancel(cancel(tombstone))
    yield "CANCELLED", tombstone
    waiting = execute()
    ledger.admit(waiting)
    yield "ADMITTED", waiting


@covers("R200")
@poses("T43")
def test_only_an_unknown_is_reconciled(ledger: Ledger) -> None:
    """Running, ended, waiting, a tombstone, not there: refused, and nothing changes."""
    for state, command in _states(ledger):
        with pytest.raises(Conflict, match=f"is {state}"):
            reconciling.reconcile(ledger.database, evidence(command))
        assert ledger.state(command) == state
    with pytest.raises(NotFound):
        reconciling.reconcile(ledger.database, evidence(execute()))

    assert rows_of(ledger.database) == 0


@covers("R199", "R202")
@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("request_id", ""),
        ("evidence", " "),
        ("operator", ""),
        ("evidence", "x" * 2001),
        ("evidence", "a\0b"),
        ("expected", "STARTED"),
        ("result", ExecutionResult(state=ExecutionState.UNKNOWN, error=NOBODY_KNOWS.error)),
        ("result", ExecutionResult(state=ExecutionState.COMPLETED, content="x" * 800_000)),
    ],
)
@poses("T43")
def test_a_request_that_lacks_something_is_refused(what: str, value: Any) -> None:
    """Nothing has a default, and a cancel or another doubt is no verified end."""
    with pytest.raises(Rejected):
        evidence(execute(), **{what: value})


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("FAILED", {}),
        ("CANCELLED", {"content": 1, "message": "m"}),
        ("COMPLETED", {"message": "m"}),
        ("UNKNOWN", {"message": "m"}),
        ("COMPLETED", {"content": float("nan")}),
    ],
)
def test_a_verdict_says_what_the_model_is_told(state: str, told: dict[str, Any]) -> None:
    """Content for what was done, a message for what was not, and never both."""
    with pytest.raises(Rejected):
        verified(state, **told)


@covers("R202")
def test_a_cancel_of_an_unknown_proves_nothing(ledger: Ledger) -> None:
    """Asking for it changes neither the state nor what was told (I28)."""
    command = execute()
    in_doubt(ledger, command)

    ledger.commands.cancel(cancel(command))

    assert ledger.state(command) == "UNKNOWN"
    assert ledger.kinds(command) == ["admitted", "started", "result"]


@covers("R195")
def test_what_a_zombie_reports_later_is_kept_and_changes_nothing(
    ledger: Ledger, capsys: pytest.CaptureFixture[str], environment: None
) -> None:
    """Its true outcome stands beside the verdict, is told to the Brain, and `check` shows it."""
    command = execute()
    zombie = in_doubt(ledger, command)
    reconciling.reconcile(ledger.database, evidence(command, NOBODY_KNOWS))

    late = ledger.work.finish(zombie, DONE)
    again = ledger.work.finish(zombie, DONE)

    assert late.outcome is Refusal.LOST
    assert ledger.state(command) == "FAILED"
    told = ledger.updates(command)
    assert [update.kind for update in told[-2:]] == [UpdateKind.RESULT, UpdateKind.OBSERVED]
    assert told[-1].result() == DONE
    assert again.updates == ()
    assert rows_of(ledger.database, tables.observation) == 1
    assert main(["check"]) == 0
    said = capsys.readouterr().out
    assert f"{command.execution_id} was reconciled as FAILED by request ops-1" in said
    assert "reported COMPLETED" in said


def test_what_agrees_with_the_evidence_is_no_contradiction(ledger: Ledger) -> None:
    """The observation is kept all the same."""
    command = execute()
    zombie = in_doubt(ledger, command)
    reconciling.reconcile(ledger.database, evidence(command, verified("COMPLETED", content="done")))

    ledger.work.finish(zombie, DONE)

    assert rows_of(ledger.database, tables.observation) == 1
    assert reconciling.contradictions(ledger.database) == []


def test_a_purge_takes_record_and_observation(ledger: Ledger) -> None:
    """Nothing of a deleted Session stays in the ledger but the emptied identity."""
    command = execute()
    zombie = in_doubt(ledger, command)
    reconciling.reconcile(ledger.database, evidence(command, NOBODY_KNOWS))
    ledger.work.finish(zombie, DONE)

    gone = purging.purge(ledger.database, [command.execution_id])

    assert gone["hands_reconciliation"] == gone["hands_observation"] == 1
    assert rows_of(ledger.database) == rows_of(ledger.database, tables.observation) == 0


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, state_dir: Path, ledger_url: str) -> None:
    """Let the command line find this ledger."""
    monkeypatch.setenv("DURABLE_STATE_DIR", str(state_dir))
    monkeypatch.setenv("HANDS_DATABASE_URL", ledger_url)
    monkeypatch.setenv("DURABLE_HANDS_TOOLS", "tests.integration.hands.oracle_tools")
    monkeypatch.delenv("REDIS_URL", raising=False)


def _words(command: Execute, **others: str) -> list[str]:
    given = {
        "request-id": "ops-1",
        "expect": "UNKNOWN",
        "state": "FAILED",
        "message": "It was not sent.",
        "evidence": "provider log 4711",
        "by": "ada",
        **others,
    }
    options = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    return ["reconcile", command.execution_id, *options]


@covers("R199")
def test_the_command_line_brings_evidence(
    ledger: Ledger, environment: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints the receipt; repeated, the same one."""
    command = execute()
    in_doubt(ledger, command)

    codes = main(_words(command)), main(_words(command))

    said = capsys.readouterr().out.splitlines()
    assert codes == (0, 0)
    assert ledger.state(command) == "FAILED"
    assert said[0] == said[2] == f"{command.execution_id} is FAILED, request ops-1"
    assert "by ada: provider log 4711" in said[1]


@covers("R199", "R202")
@pytest.mark.parametrize("missing", ["request-id", "expect", "state", "message", "evidence", "by"])
def test_the_command_line_has_no_default(
    ledger: Ledger, environment: None, missing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is left out is asked for, and the execution stays UNKNOWN."""
    command = execute()
    in_doubt(ledger, command)

    with pytest.raises(SystemExit):
        main(_words(command, **{missing: ""}))

    assert "required" in capsys.readouterr().err
    assert ledger.state(command) == "UNKNOWN"


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "COMPLETED"},
        {"state": "COMPLETED", "message": "", "content": "{"},
        {"message": "", "content": "1"},
        {"expect": "STARTED"},
    ],
)
def test_the_command_line_says_what_is_wrong(
    ledger: Ledger, environment: None, wrong: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit status 2, nothing written."""
    command = execute()
    in_doubt(ledger, command)

    assert main(_words(command, **wrong)) == 2

    assert capsys.readouterr().err.startswith("INVALID: ")
    assert ledger.state(command) == "UNKNOWN"


def test_a_refusal_of_the_ledger_is_one_line(
    ledger: Ledger, environment: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """An execution that runs cannot be talked about."""
    command = execute()
    ledger.started(command)

    assert main(_words(command)) == 2

    assert capsys.readouterr().err.startswith(f"CONFLICT: {command.execution_id} is STARTED")
    assert issubclass(Conflict, HandsError)
