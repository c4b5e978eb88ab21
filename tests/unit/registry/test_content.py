"""What a definition says, as one digest (C39)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.tools import tool
from sessions_app.registry import define
from tests.covers import poses

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import os

TEXT = "Be brief."
ADDRESS = os.environ.get("ADDRESS_OF_THE_TEST", "http://here")
UNUSED = 1


def instructions():
    return TEXT


def build(binding):
    # the agent
    return [instructions(), ADDRESS]
"""


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def content(path: Path, text: str, **traits: Any) -> str:
    """Digest of the agent in a module of this text."""
    path.write_text(text)
    module: dict[str, Any] = {"__name__": path.stem}
    exec(compile(text, path, "exec"), module)  # noqa: S102 - a module of the test's own
    return define("agent", "1", module["build"], **traits).digest


@poses("C39")
@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        pytest.param("Be brief.", "Be long.", False, id="text"),
        pytest.param("return [", "return [1, ", False, id="factory"),
        pytest.param("return TEXT", "return TEXT * 2", False, id="function-it-names"),
        pytest.param("# the agent", "# an agent", True, id="comment"),
        pytest.param("UNUSED = 1", "UNUSED = 2", True, id="what-it-does-not-name"),
        pytest.param("def build", "\n\ndef build", True, id="place"),
    ],
)
def test_content_is_what_the_factory_says(tmp_path: Path, old: str, new: str, same: bool) -> None:
    """Texts and functions that the factory names count; comments and the rest do not."""
    before = content(tmp_path / "a.py", MODULE)

    after = content(tmp_path / "b.py", MODULE.replace(old, new))

    assert (before == after) is same


@poses("C39")
def test_tools_are_content_and_limits_are_not(tmp_path: Path) -> None:
    """Limits are stored with each Turn, so changing them changes no Turn that is under way."""
    bare = content(tmp_path / "a.py", MODULE)

    assert content(tmp_path / "a.py", MODULE, tools=[add]) != bare
    assert content(tmp_path / "a.py", MODULE, round_limit=3, token_limit=100) == bare


@poses("C39")
def test_content_is_the_same_in_every_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that the environment names is no other agent."""
    before = content(tmp_path / "a.py", MODULE)
    monkeypatch.setenv("ADDRESS_OF_THE_TEST", "http://there")

    assert content(tmp_path / "a.py", MODULE) == before


def test_a_factory_without_source_is_known_by_its_name() -> None:
    """What is made at run time has no text to compare."""
    module: dict[str, Any] = {"__name__": "made"}
    exec("def build(binding): return 1", module)  # noqa: S102 - a module of the test's own

    assert define("agent", "1", module["build"]).digest == define("a", "2", module["build"]).digest
