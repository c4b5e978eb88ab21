"""The commands of the page "An outcome nobody knows" do what the page says."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command

from hands_app.cli import main
from sessions_app.contract.status import CallState
from tests.docs.pages import DOCS
from tests.integration.tooling.house import House, fresh

if TYPE_CHECKING:
    from sessions_app.models import ToolCall

PAGE = (DOCS / "howto" / "unknown-outcomes.md").read_text(encoding="utf-8")
_CONSOLE = re.compile(r"^```console\n\$ (.*?)^```", re.DOTALL | re.MULTILINE)
COMMANDS = [shlex.split(text.replace("\\\n", " ")) for text in _CONSOLE.findall(PAGE)]


def _in_doubt(house: House) -> ToolCall:
    call = house.ask()
    house.carry_commands()
    house.pool.die(house.pool.start())
    house.carry_updates()
    return call


@pytest.mark.parametrize(
    ("words", "state"),
    [*zip(COMMANDS, [CallState.COMPLETED, CallState.FAILED], strict=True)],
    ids=["manage.py", "hands_app"],
)
def test_every_command_of_the_page_ends_an_unknown(
    house: House, words: list[str], state: CallState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pasted with a real id, each records a verdict that reaches the Brain."""
    url = house.pool.database.url.render_as_string(hide_password=False)
    monkeypatch.setenv("HANDS_DATABASE_URL", url)
    call = _in_doubt(house)

    given = [call.pk if word == "exe_…" else word for word in words]
    if given[1] == "manage.py":
        call_command(*given[2:])
    else:
        assert main(given[3:]) == 0
    house.pool.publish()
    house.carry_updates()

    assert fresh(call).state == state
