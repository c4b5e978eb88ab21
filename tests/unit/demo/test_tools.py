"""The demo's tools and the oracle that counts their effects."""

from pathlib import Path

import pytest

from durable_site.demo import oracle
from durable_site.demo.tools import count_errors, tools, write_report
from hands_app.contract.messages import Origin
from hands_app.tools import ToolContext

ORIGIN = Origin(
    namespace="demo",
    session_id="ses_0",
    thread_id="main",
    turn_id="turn_00000000000000000000000000",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder with an oracle."""
    monkeypatch.setenv("DURABLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("DURABLE_DEMO_ORACLE", str(tmp_path / "oracle.jsonl"))
    return tmp_path


def context(key: str) -> ToolContext:
    """Return the context of one call."""
    return ToolContext(key, ORIGIN)


def test_one_tool_runs_here_and_one_in_hands() -> None:
    """The demo shows both houses."""
    assert {tool.name: tool.binding.route for tool in tools} == {
        "count_errors": "local",
        "write_report": "hands",
    }


def test_every_effect_is_one_line_of_the_oracle(folder: Path) -> None:
    """A repeat would be a second line with the same key."""
    count_errors("checkout", context("one"))
    write_report("checkout", "17 errors", context("two"))
    write_report("checkout", "17 errors", context("two"))

    assert oracle.effects(folder / "oracle.jsonl") == [
        ("count_errors", "one"),
        ("write_report", "two"),
        ("write_report", "two"),
    ]


def test_the_report_stays_in_its_folder(folder: Path) -> None:
    """Whatever name a model thinks of, nothing is written elsewhere."""
    written = write_report("../../etc/pass wd", "none", context("one"))

    assert written == "reports/etcpasswd.md"
    assert (folder / written).read_text() == "# Night report: ../../etc/pass wd\n\nnone\n"


def test_without_an_oracle_nothing_is_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside the demo the tools just work."""
    monkeypatch.delenv("DURABLE_DEMO_ORACLE")

    assert "no errors" in count_errors("unknown", context("one"))
    assert list(folder.iterdir()) == []
