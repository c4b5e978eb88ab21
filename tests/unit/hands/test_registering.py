"""Frozen bindings: schemas in the Brain, all else in the worker (R206 to R208)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from hands_app.contract.binding import ToolBinding
from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import Incompatible, InvalidArguments, InvalidEnvelope
from hands_app.contract.ids import new_id
from hands_app.contract.messages import Execute, Origin, parse_execute
from hands_app.contract.strict_json import canonical
from hands_app.contract.wire import encode
from hands_app.executors.callable import CallableExecutor
from hands_app.tools import ToolContext, preset, schema_only, tool, with_context
from hands_app.worker.ports import Call, Confirmed
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from hands_app.contract.tools import Tool

CANARY = "canary-91c2"
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def origin() -> Origin:
    """Somebody who calls."""
    return Origin(namespace="n", session_id="s", thread_id="t", turn_id=new_id("turn_"))


@tool(route="mail", effect="once", target="vault:smtp", deadline=5, approval="always")
def send(to: str, region: str, context: ToolContext) -> dict[str, Any]:
    """Send a mail."""
    return {
        "to": to,
        "region": region,
        "target": context.target,
        "from": context.defaults.get("sender"),
    }


@tool(route="mail", effect="read")
async def ask(to: str, region: str = "eu") -> list[str]:
    """Ask somebody."""
    return [to, region]


def execute(tool_: Tool, arguments: dict[str, JsonValue]) -> Execute:
    """A command of a Brain."""
    return Execute.of(
        execution_id=new_id("exe_"),
        binding=tool_.binding,
        arguments=arguments,
        origin=origin(),
        not_after=LATER,
    )


def run(tool_: Tool, arguments: dict[str, JsonValue]) -> object:
    """Run a call as a worker does."""
    context = ToolContext(execution_key=new_id("exe_"), origin=origin())
    executor = CallableExecutor()
    try:
        given = tool_.call_arguments(arguments, context)
        outcome = executor.run(Call(tool_, given, context, arguments))
    finally:
        executor.close()
    assert isinstance(outcome, Confirmed)
    return outcome.result.content


@covers("R206")
def test_a_binding_fixes_everything_that_a_call_rests_on() -> None:
    """R206: name, version, schema, route, private target, effect, deadline and approval policy."""
    fixed = {"name", "version", "parameters", "route", "target", "effect", "deadline", "approval"}
    base = send.binding.to_json()

    assert fixed <= set(base)
    others: dict[str, JsonValue] = {
        "name": "other",
        "version": "2",
        "parameters": {},
        "route": "other",
        "target": "vault:other",
        "effect": "read",
        "deadline": 6.0,
        "approval": "never",
    }
    changed = [ToolBinding.model_validate_json(canonical({**base, n: others[n]})) for n in fixed]
    assert len({send.binding.digest, *(each.digest for each in changed)}) == len(fixed) + 1


@covers("R206")
@poses("T21")
@pytest.mark.parametrize("member", ["target", "route", "effect", "approval", "version"])
def test_a_call_whose_binding_was_changed_on_its_way_is_refused(member: str) -> None:
    """R206, T21: the digest goes with each call and holds every member of the binding."""
    text = encode(execute(send, {"to": "ann", "region": "eu"}))
    was = {
        "target": ('"vault:smtp"', '"vault:root"'),
        "route": ('"mail"', '"root"'),
        "effect": ('"once"', '"read"'),
        "approval": ('"always"', '"never"'),
        "version": ('"version":"1"}', '"version":"2"}'),
    }[member]
    assert was[0] in text

    with pytest.raises(InvalidEnvelope):
        parse_execute(text.replace(*was, 1 if member != "route" else -1))


@covers("R206")
def test_a_binding_that_was_changed_in_memory_leaves_no_process() -> None:
    """R206: frozen means that a schema changed under its digest makes no command that is taken."""
    mine = ToolBinding.model_validate(send.binding.model_dump())
    assert mine.digest == send.binding.digest
    with pytest.raises(ValidationError):
        mine.route = "other"  # type: ignore[misc] # frozen
    mine.parameters["properties"] = {}

    forged = Execute.of(
        execution_id=new_id("exe_"), binding=mine, arguments={}, origin=origin(), not_after=LATER
    )

    with pytest.raises(InvalidEnvelope):
        parse_execute(encode(forged))


@covers("R207")
@pytest.mark.parametrize(
    "target",
    [
        f"https://user:{CANARY}@mail.example/send",
        f"https://mail.example/send?key={CANARY}",
        f"smtp://mail.example;password={CANARY}",
        f"token={CANARY}",
        f"API_KEY = {CANARY}",
    ],
)
def test_a_target_with_a_credential_in_it_is_refused(target: str) -> None:
    """R207: and the refusal does not repeat it."""
    with pytest.raises(ValidationError) as refused:
        ToolBinding(name="send", parameters={}, target=target)

    told = refused.value.errors(include_input=False)
    assert CANARY not in str(told)


@covers("R207")
@poses("T24")
def test_a_tool_is_told_the_name_and_finds_the_secret_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R207: the name travels; what it stands for is in the worker's own hands alone."""
    ready = with_context(preset(send, region="eu"), sender=CANARY)
    command = execute(ready, {"to": "ann"})

    found = run(ready, {"to": "ann"})

    assert found == {"to": "ann", "region": "eu", "target": "vault:smtp", "from": CANARY}
    for told in (encode(command), repr(ready), repr(ready.binding), str(Catalogue([ready]))):
        assert CANARY not in told


@covers("R208")
def test_the_brain_registers_the_schema_and_the_worker_the_rest() -> None:
    """R208: one binding on both sides, so one digest; only the worker can run it."""
    worker = Catalogue([preset(send, region="eu"), ask])
    brain = schema_only(ToolBinding.model_validate_json(canonical(_of(worker, "send").to_json())))

    there = worker.find(execute(brain, {"to": "ann"}).binding.digest)

    assert there is not None
    assert list(brain.binding.parameters["properties"]) == ["to"]  # type: ignore[arg-type] # a JSON object
    with pytest.raises(Incompatible):
        brain(to="ann")
    with pytest.raises(ValueError, match="register its function"):
        schema_only(ToolBinding(name="here", parameters={}))


def _of(worker: Catalogue, name: str) -> ToolBinding:
    (found,) = worker.named(name)
    return found.binding


@covers("R208")
def test_the_worker_keeps_validation_and_presets() -> None:
    """R208: a model can neither see nor set what the worker presets; the rest is validated."""
    ready = preset(send, region="eu")
    context = ToolContext(execution_key=new_id("exe_"), origin=origin())
    wrongs: list[dict[str, JsonValue]] = [{"to": 1}, {}, {"to": "ann", "region": "us"}]
    for wrong in wrongs:
        with pytest.raises(InvalidArguments):
            ready.call_arguments(wrong, context)

    assert run(preset(ask, region="us"), {"to": "bob"}) == ["bob", "us"]
    assert run(ask, {"to": "bob"}) == ["bob", "eu"]
    with pytest.raises(TypeError, match="no parameter"):
        preset(send, colour="red")
    with pytest.raises(TypeError, match="not of the type") as refused:
        preset(send, region=[CANARY])
    assert CANARY not in str(refused.value)


@covers("R208")
def test_registrations_stay_while_they_are_in_use() -> None:
    """R208: nothing that is done to the list they came from changes a catalogue, nor a context."""
    tools = [ask]
    defaults = {"sender": "a"}
    ready = with_context(send, **defaults)
    catalogue = Catalogue(tools)

    tools.append(send)
    defaults["sender"] = "b"

    assert [each.name for each in catalogue] == ["ask"]
    assert ready.defaults == {"sender": "a"}
    with pytest.raises(TypeError):
        ready.defaults["sender"] = "c"  # type: ignore[index] # unchanging
    with pytest.raises(ValueError, match="two bindings"):
        Catalogue([send, preset(send, region="eu")])
