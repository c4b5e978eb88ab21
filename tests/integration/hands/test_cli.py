"""The operator's commands."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import column, table, update

from hands_app.cli import main
from hands_app.contract.errors import SchemaMismatch
from hands_app.ledger import schema
from hands_app.ledger.schema import VERSION_TABLE
from tests.covers import covers, poses
from tests.integration.hands import oracle_tools
from tests.integration.hands.examples import DONE, Ledger, binding, cancel, execute, until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, state_dir: Path, ledger_url: str) -> None:
    monkeypatch.setenv("DURABLE_STATE_DIR", str(state_dir))
    monkeypatch.setenv("HANDS_DATABASE_URL", ledger_url)
    monkeypatch.setenv("DURABLE_HANDS_TOOLS", oracle_tools.__name__)
    monkeypatch.delenv("REDIS_URL", raising=False)


@covers("R238")
def test_migrate_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """The explicit command of a deployment (R238)."""
    assert main(["migrate"]) == 0
    assert "current" in capsys.readouterr().out


def test_check_names_a_missing_schema(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state_dir: Path
) -> None:
    """Exit status 1 and one line that names the next step."""
    monkeypatch.setenv("HANDS_DATABASE_URL", f"sqlite:///{state_dir}/empty.sqlite3")

    assert main(["check"]) == 5
    assert "python -m hands_app migrate" in capsys.readouterr().err


def test_check_counts_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    """A module that cannot be loaded would show here, before a worker starts."""
    assert main(["check"]) == 0
    assert "7 tools" in capsys.readouterr().out


def test_status_counts_what_stands_in_the_ledger(
    capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> None:
    """Executions by state, living hosts, updates that wait."""
    ledger.started(execute())
    ledger.admit(execute())

    assert main(["status"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == []
    assert found["unclaimed"]["hands"]["count"] == 1
    assert found["executions"] == {"ADMITTED": 1, "STARTED": 1}
    assert found["unpublished"] == 3
    assert [host["id"] for host in found["hosts"]] == [ledger.host_id]


@poses("S20")
def test_scan_settles_orphans_and_publishes(
    capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> None:
    """S20: by hand what every host does by itself."""
    command = execute()
    ledger.started(command)
    ledger.hosts.mark_lost([ledger.host_id])

    assert main(["scan"]) == 0

    assert "settled 1" in capsys.readouterr().out
    assert ledger.state(command) == "UNKNOWN"


@poses("S8")
def test_prune_takes_what_has_had_its_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, ledger: Ledger
) -> None:
    """By hand; it says how much went, and at once nothing more."""
    monkeypatch.setenv("DURABLE_HANDS_DETAILS_SECONDS", "0.001")
    command = execute()
    ledger.work.finish(ledger.started(command), DONE)
    until(lambda: main(["prune"]) == 0 and "of 1 exec" in capsys.readouterr().out, "its details go")

    assert main(["prune"]) == 0
    assert "of 0 executions, 0 executions, 0 hosts" in capsys.readouterr().out


def test_status_names_what_needs_somebody(
    capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> None:
    """Exit status 1: work that nobody serves, updates that nobody takes, a doubt, a silent host."""
    ledger.started(doubtful := execute())
    ledger.admit(execute())
    ledger.clock.ahead = timedelta(hours=-1)  # what happens from here on happened an hour ago
    silent = ledger.enroll()
    ledger.admit(execute(binding(name="b").model_copy(update={"route": "gpu"}), minutes=120))
    ledger.clock.ahead = timedelta(0)
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()

    assert main(["status", "--late", "600"]) == 1

    problems = json.loads(capsys.readouterr().out)["problems"]
    assert len(problems) == 4
    assert problems[0].startswith("route gpu: 1 executions wait, the oldest for 36")
    assert problems[0].endswith("no worker serves it")
    assert "updates wait for the broker" in problems[1]
    assert silent in problems[2]
    assert problems[3].startswith("1 executions are UNKNOWN")
    assert ledger.state(doubtful) == "UNKNOWN"


@covers("R268")
def test_show_tells_of_the_original_and_runs_nothing(
    capsys: pytest.CaptureFixture[str], ledger: Ledger
) -> None:
    """R268: look at the execution itself, verify outside, never send the call again."""
    command = execute(arguments={"secret": "x"})
    ledger.started(command)
    ledger.commands.cancel(cancel(command))
    assert main(["show", command.execution_id]) == 0
    assert "a cancel was asked for" in json.loads(capsys.readouterr().out)["next"]
    ledger.hosts.mark_lost([ledger.host_id])
    ledger.settle_orphans()
    before = ledger.updates(command)

    assert main(["show", command.execution_id]) == 0

    text = capsys.readouterr().out
    found = json.loads(text)
    assert (found["state"], found["attempts"]) == ("UNKNOWN", 1)
    assert "reconcile" in found["next"]
    assert [each["kind"] for each in found["updates"]] == [each.kind for each in before]
    assert "secret" not in text
    assert ledger.updates(command) == before


def test_show_of_a_stranger_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, as everything that can never succeed."""
    assert main(["show", "exe_nobody"]) == 2
    assert capsys.readouterr().err.startswith("NOT_FOUND: ")


def test_tools_says_what_a_worker_would_have(capsys: pytest.CaptureFixture[str]) -> None:
    """With the digests by which commands name them."""
    assert main(["tools"]) == 0

    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert found["send"]["digest"] == oracle_tools.send.binding.digest
    assert found["send"]["effect"] == "once"


@covers("R238")
@pytest.mark.parametrize("command", ["migrate", "check", "status"])
def test_a_ledger_of_a_newer_release_is_left_alone(
    capsys: pytest.CaptureFixture[str], ledger: Ledger, command: str
) -> None:
    """R238: nothing is changed or begun, and the text names the step that helps."""
    with ledger.database.engine.begin() as connection:
        version = table(VERSION_TABLE, column("version_num"))
        connection.execute(update(version).values(version_num="9999_later"))

    assert main([command]) == 5

    told = capsys.readouterr().err
    assert "9999_later" in told
    assert "install that release" in told
    with pytest.raises(SchemaMismatch):
        schema.check(ledger.database)


def test_a_ledger_that_is_away_is_no_mistake(
    monkeypatch: pytest.MonkeyPatch, state_dir: Path
) -> None:
    """Exit status 3: the same command may work later."""
    monkeypatch.setenv("HANDS_DATABASE_URL", f"sqlite:///{state_dir}/missing/hands.sqlite3")

    assert main(["status"]) == 3


def test_a_module_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The most usual slip of a newcomer."""
    monkeypatch.setenv("DURABLE_HANDS_TOOLS", "nowhere.tools")

    assert main(["tools"]) == 6
    assert "module nowhere.tools of tools cannot be imported" in capsys.readouterr().err
