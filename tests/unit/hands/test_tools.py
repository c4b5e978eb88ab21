"""The tool decorator, bindings and catalogues."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from hands_app.contract.binding import ApprovalPolicy, EffectClass, ToolBinding
from hands_app.contract.catalogue import Catalogue, load_catalogue
from hands_app.contract.errors import Incompatible, InvalidArguments
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Origin
from hands_app.contract.strict_json import JsonValue, canonical, loads
from hands_app.contract.tools import NeverHappened, ToolContext, tool
from tests.covers import covers

CONTEXT = ToolContext(
    execution_key=new_id("exe_"),
    origin=Origin(namespace="n", session_id="s", thread_id="t", turn_id=new_id("turn_")),
)


class Address(BaseModel):
    """A place."""

    street: str


@tool(route="hands", effect="idempotent", deadline=5, approval="always", target="mail")
async def send(
    context: ToolContext,
    to: Address,
    subject: Annotated[str, Field(max_length=10)],
    mood: Literal["glad", "sad"] = "glad",
) -> str:
    """Send a letter."""
    return f"{context.execution_key} {to.street} {subject} {mood}"


@tool
def bare(x: int):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a tool without return hint
    """Do what nobody described further."""
    return x


tools = [send, bare]


def test_the_binding_says_what_the_function_is() -> None:
    """Schema from hints, description from docstring, the rest as chosen."""
    binding = send.binding

    assert (binding.name, binding.description, binding.route) == ("send", "Send a letter.", "hands")
    assert binding.effect is EffectClass.IDEMPOTENT
    assert binding.approval is ApprovalPolicy.ALWAYS
    assert binding.deadline == 5
    assert sorted(binding.parameters["required"]) == ["subject", "to"]  # type: ignore[arg-type,type-var] # a JSON array
    assert "context" not in binding.parameters["properties"]  # type: ignore[operator] # a JSON object


def test_a_tool_without_an_effect_class_is_once_and_remembered() -> None:
    """The default is the safe one, and `durable check --tools` can list it."""
    assert bare.binding.effect is EffectClass.ONCE
    assert not bare.effect_chosen
    assert send.effect_chosen
    assert Catalogue(tools).unchosen() == ["bare"]


def test_the_function_stays_callable() -> None:
    """A tool is tested like any function."""
    assert bare(3) == 3


def test_arguments_are_validated_into_the_function_s_types() -> None:
    """I34: what fails the schema is refused with words the model can use."""
    given = send.call_arguments({"to": {"street": "Hill"}, "subject": "hi"}, CONTEXT)

    assert given["to"] == Address(street="Hill")
    assert given["context"] is CONTEXT
    assert given["mood"] == "glad"
    wrongs: list[dict[str, JsonValue]] = [{}, {"to": {}, "subject": "x" * 11}, {"x": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidArguments):
            send.call_arguments(wrong, CONTEXT)


@covers("R206")
def test_digests_of_bindings_hold_every_field() -> None:
    """R206: another schema, version, route, target or effect is another digest."""
    base: dict[str, Any] = {"name": "a", "parameters": {"type": "object"}}
    others: list[dict[str, Any]] = [
        {},
        {"parameters": {}},
        {"version": "2"},
        {"route": "x"},
        {"target": "t"},
        {"effect": EffectClass.READ},
        {"deadline": 1.0},
        {"allows_none": False},
    ]

    assert len({ToolBinding(**{**base, **other}).digest for other in others}) == len(others)


def test_a_binding_keeps_its_digest_on_the_wire() -> None:
    """Both houses compute the same digest from the same document."""
    text = canonical(send.binding.to_json())

    assert ToolBinding.model_validate_json(text).digest == send.binding.digest
    assert loads(text) == send.binding.to_json()


def test_queryable_and_lookup_belong_together() -> None:
    """A queryable tool without a lookup could not be recovered."""
    with pytest.raises(TypeError, match="lookup"):
        tool(effect="queryable")(bare.function)
    with pytest.raises(TypeError, match="lookup"):
        tool(effect="read", lookup=NeverHappened)(bare.function)


def test_a_parameter_that_no_schema_can_name_is_refused() -> None:
    """Variadic and positional-only parameters have no name for the model."""

    def variadic(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(TypeError, match="numbers"):
        tool(variadic)


@covers("R209")
def test_whether_none_is_a_result_follows_the_return_hint() -> None:
    """R209: an empty return is no result where the hint promises something."""

    def maybe() -> int | None:
        return None

    def nothing() -> None:
        return None

    def number() -> int:
        return 1

    allowed = [tool(function).binding.allows_none for function in (maybe, nothing, number)]

    assert allowed == [True, True, False]
    assert bare.binding.allows_none


@covers("R206", "R208")
def test_a_catalogue_finds_tools_by_binding_and_name() -> None:
    """R206, R208: a name and version stands for one binding."""
    catalogue = load_catalogue(f" {__name__} ,")

    assert catalogue.find(send.binding.digest) is send
    assert catalogue.find("sha256:0") is None
    assert catalogue.named("bare") == [bare]
    assert [one.name for one in catalogue.on_route("hands")] == ["send"]
    with pytest.raises(ValueError, match="two bindings"):
        Catalogue([bare, tool(name="bare")(send.function)])


def test_a_module_without_tools_is_refused() -> None:
    """A misspelt module must not start a host that can do nothing."""
    with pytest.raises(Incompatible, match="tools"):
        load_catalogue("json")


def test_the_contract_is_light() -> None:
    """The contract brings neither Celery nor SQLAlchemy nor Django."""
    code = (
        "import sys, hands_app.contract.tools, hands_app.contract.messages,"
        "hands_app.contract.catalogue, hands_app.contract.faults;"
        "print([m for m in ('celery','kombu','sqlalchemy','django','redis') if m in sys.modules])"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert loaded.stdout.strip() == "[]"
