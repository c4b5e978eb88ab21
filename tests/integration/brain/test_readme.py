"""The code of the README does what the README says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sessions_app.contract.identity import DefinitionKey
from sessions_app.harnesses.scripted.model import Reply, Script
from sessions_app.registry import Definition, registry

if TYPE_CHECKING:
    import pytest

    from tests.integration.brain.brains import Brains

README = Path(__file__).resolve().parents[3] / "README.md"


def test_a_newcomers_agent_answers(brains: Brains, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent of the README registers, and its Turn is answered; only the model is scripted."""
    register, submit = re.findall(
        r"^```python\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE
    )
    weather = DefinitionKey("weather", "1")
    names: dict[str, object] = {}
    exec(compile(register, "README.md", "exec"), names)  # noqa: S102 - our own prose
    assert registry.get(weather).tool("temperature") is not None
    brains.registry.add(
        Definition(weather, "scripted", lambda _binding: Script((Reply("21 degrees in Rome"),)))
    )
    brains.start()

    exec(compile(submit, "README.md", "exec"), names)  # noqa: S102 - our own prose

    assert "21 degrees in Rome" in capsys.readouterr().out
