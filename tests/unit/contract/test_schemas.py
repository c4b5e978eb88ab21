"""A person's answer is held against the schema of its tool."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from sessions_app.contract.errors import Invalid
from sessions_app.contract.schemas import check

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue


class Colour(StrEnum):
    """One of two."""

    RED = "red"
    BLUE = "blue"


class Line(BaseModel, extra="forbid"):
    """A line of an invoice."""

    text: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")]
    amount: Annotated[int, Field(ge=0, lt=100)]
    colour: Colour | None = None


class Invoice(BaseModel):
    """An invoice."""

    lines: Annotated[list[Line], Field(min_length=1, max_length=2)]
    kind: Literal["bill", "credit"] = "bill"
    rate: float = 0.0
    tags: dict[str, int] = {}


LINE = {"text": "tea", "amount": 5}


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Invoice, {"lines": [LINE]}),
        (Invoice, {"lines": [{**LINE, "colour": "red"}], "kind": "credit", "rate": 1, "more": 1}),
        (Invoice, {"lines": [{**LINE, "colour": None}], "tags": {"a": 1}}),
        (int | str, "five"),
        (list[int], []),
        (bool, True),
        (int, 5.0),
        (Any, {"whatever": [None]}),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:30],
)
def test_what_a_type_hint_allows_is_taken(hint: Any, value: JsonValue) -> None:
    """Schemas are those that pydantic makes of type hints."""
    check(value, TypeAdapter(hint).json_schema())


@pytest.mark.parametrize(
    ("hint", "value", "why"),
    [
        (Invoice, [], "answer is not of type object"),
        (Invoice, {}, "answer.lines is missing"),
        (Invoice, {"lines": []}, "minItems"),
        (Invoice, {"lines": [LINE] * 3}, "maxItems"),
        (Invoice, {"lines": [{"text": "tea"}]}, r"answer.lines\[0\].amount is missing"),
        (Invoice, {"lines": [{**LINE, "amount": -1}]}, "minimum"),
        (Invoice, {"lines": [{**LINE, "amount": 100}]}, "exclusiveMaximum"),
        (Invoice, {"lines": [{**LINE, "amount": True}]}, "integer"),
        (Invoice, {"lines": [{**LINE, "text": ""}]}, "minLength"),
        (Invoice, {"lines": [{**LINE, "text": "coffee"}]}, "maxLength"),
        (Invoice, {"lines": [{**LINE, "text": "TEA"}]}, "pattern"),
        (Invoice, {"lines": [{**LINE, "colour": "green"}]}, "fits 0 of the 2"),
        (Invoice, {"lines": [{**LINE, "more": 1}]}, "more is not wanted"),
        (Invoice, {"lines": [LINE], "kind": "gift"}, "none of"),
        (Invoice, {"lines": [LINE], "tags": {"a": "b"}}, r"answer.tags.a"),
        (Literal["yes"], "no", "is not 'yes'"),
        (int | str, None, "fits 0 of the 2"),
        (bool, 1, "boolean"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:30],
)
def test_anything_else_is_refused_with_its_place(hint: Any, value: JsonValue, why: str) -> None:
    """Invalid names where and why, and repeats nothing of the value."""
    with pytest.raises(Invalid, match=why):
        check(value, TypeAdapter(hint).json_schema())
