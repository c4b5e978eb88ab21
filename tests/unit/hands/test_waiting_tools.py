"""Tools that wait for a signal, and what a binding says of people's answers."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from hands_app.contract.errors import InvalidArguments
from hands_app.contract.tools import tool
from hands_app.contract.waiting import wait_for


def test_a_tool_waits_for_its_key_until_its_timeout() -> None:
    """Route, key and time stand in the frozen binding."""
    made = wait_for("x.shop.paid", timeout=60)

    assert made.name == "wait_for_shop_paid"
    assert (made.binding.route, made.binding.target, made.binding.deadline) == (
        "signal",
        "x.shop.paid",
        60,
    )
    assert made.signature.validate({}) == {}


def test_an_argument_narrows_the_key() -> None:
    """One word, so that the key stays a key."""
    made = wait_for("x.shop.paid", by="order", name="payment")

    assert made.signature.validate({"order": "4711"}) == {"order": "4711"}
    with pytest.raises(InvalidArguments, match="order"):
        made.signature.validate({"order": "two words"})
    assert made.binding.parameters["required"] == ["order"]


@pytest.mark.parametrize("key", ["paid", "x.paid", "x.shop.", ""])
def test_a_key_of_another_form_is_refused_where_it_is_written(key: str) -> None:
    """At import, not when the first customer pays."""
    with pytest.raises(ValidationError, match="target has to be"):
        wait_for(key)


def test_it_runs_nowhere() -> None:
    """Calling it by mistake says so."""
    with pytest.raises(RuntimeError, match="runs nowhere"):
        wait_for("x.shop.paid")()


class Invoice(BaseModel):
    """What a person fills in."""

    total: int


def test_a_manual_tool_knows_the_schema_of_its_answer() -> None:
    """From the return type, or as it was given; other routes have none."""

    @tool(route="manual")
    def invoice(order: str) -> Invoice:
        raise AssertionError(order)  # its form is read, it never runs

    @tool(route="manual", answer_schema={"type": "integer"})
    def count(order: str) -> Invoice:
        raise AssertionError(order)  # its form is read, it never runs

    @tool(route="manual")
    def anything(order: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - that it has none is the point
        raise AssertionError(order)  # its form is read, it never runs

    @tool
    def local(order: str) -> Invoice:
        raise AssertionError(order)  # its form is read, it never runs

    assert invoice.binding.answer_schema is not None
    assert invoice.binding.answer_schema["required"] == ["total"]
    assert count.binding.answer_schema == {"type": "integer"}
    assert (anything.binding.answer_schema, local.binding.answer_schema) == (None, None)
