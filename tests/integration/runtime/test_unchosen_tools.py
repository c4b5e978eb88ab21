"""`durable check --tools`: the tools whose effect class nobody chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.tools import tool
from sessions_app.management import exits
from sessions_app.registry import define, registry
from tests.web.terminal import durable

if TYPE_CHECKING:
    import pytest

    from tests.stores import Store


@tool
def quiet(text: str) -> str:
    """Do something, nobody says how often it may be done."""
    return text


@tool(effect="once")
def loud(text: str) -> str:
    """Do something that must not be done twice, as somebody decided."""
    return text


@tool(route="hands")
def far(text: str) -> str:
    """Do something elsewhere, nobody says how often it may be done."""
    return text


def test_check_names_tools_whose_effect_class_nobody_chose(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its agent and route; one that was chosen to be `once` is not named."""
    made = define("clerk", "2", lambda binding: binding, tools=(quiet, loud, far))
    monkeypatch.setattr(registry, "_definitions", {made.key: made})

    found, data = durable("check", "--tools"), durable("check", "--tools", "--json").data

    assert found.code == exits.FOUND
    assert "nobody chose the effect class of quiet (local)" in found.out
    assert [each["tool"] for each in data["unchosen"]] == ["quiet", "far"]


def test_check_is_content_once_each_was_chosen(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0, so that a pipeline can hold it."""
    made = define("clerk", "2", lambda binding: binding, tools=(loud,))
    monkeypatch.setattr(registry, "_definitions", {made.key: made})

    assert durable("check", "--tools").code == exits.DONE
