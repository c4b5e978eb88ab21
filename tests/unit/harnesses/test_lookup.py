"""Adapters are found by name and imported when they are first asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.conf import settings

from sessions_app.contract.errors import Incompatible
from sessions_app.harnesses import adapter, adapters
from tests.covers import covers


@pytest.mark.parametrize("name", sorted(adapters()))
def test_each_adapter_has_its_name_and_says_its_framework(name: str) -> None:
    """The name in a definition is the name in checkpoints."""
    found = adapter(name)

    assert found.name == name
    assert " " in found.framework()
    assert found is adapter(name)


@covers("R162")
def test_an_unknown_harness_is_for_another_host() -> None:
    """The Turn is given back, not failed (R162)."""
    with pytest.raises(Incompatible, match="known: pydantic_ai, scripted"):
        adapter("langgraph")


def test_a_harness_that_cannot_be_imported_is_for_another_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its framework may be installed there."""
    monkeypatch.setitem(settings.DURABLE, "HARNESSES", {"absent": "no_such_module.Adapter"})

    with pytest.raises(Incompatible, match="cannot be imported"):
        adapter("absent")


def test_looking_up_one_kernel_imports_no_other() -> None:
    """A process pays only for the framework that it runs."""
    code = (
        "import sys; from django.conf import settings; settings.configure(DURABLE={});"
        "from sessions_app.harnesses import adapter; adapter('scripted');"
        "sys.exit('pydantic_ai' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
