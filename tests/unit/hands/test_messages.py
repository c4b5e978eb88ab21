"""Envelopes between the houses."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.binding import ToolBinding
from hands_app.contract.errors import InvalidEnvelope, InvalidJson
from hands_app.contract.ids import new_id
from hands_app.contract.messages import (
    Cancel,
    Execute,
    ExecutionResult,
    ExecutionState,
    Origin,
    Query,
    ResultError,
    Update,
    UpdateKind,
    parse_control,
    parse_execute,
    parse_update,
)
from hands_app.contract.wire import MAX_ENVELOPE_BYTES, encode
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

LATER = datetime(2030, 1, 1, tzinfo=UTC)
BINDING = ToolBinding(name="send", parameters={"type": "object"}, route="hands", deadline=30)
ORIGIN = Origin(namespace="durable", session_id="s", thread_id="main", turn_id=new_id("turn_"))


def execute(arguments: dict[str, JsonValue] | None = None) -> Execute:
    """Make a command."""
    return Execute.of(
        execution_id=new_id("exe_"),
        binding=BINDING,
        arguments=arguments or {"to": "é", "n": 1.0},
        origin=ORIGIN,
        not_after=LATER,
    )


def changed(message: Execute | Update, **members: object) -> str:
    """Return the envelope's text with other members."""
    document: dict[str, Any] = json.loads(encode(message))
    return json.dumps(document | members)


def update(kind: UpdateKind = UpdateKind.ADMITTED, **members: Any) -> Update:
    """Make an update."""
    return Update(
        event_id=new_id("evt_"),
        namespace="durable",
        execution_id=new_id("exe_"),
        request_digest="sha256:" + "0" * 64,
        route="hands",
        kind=kind,
        at=LATER,
        **{"sequence": 1, **members},
    )


@covers("R188")
def test_commands_and_updates_read_back_as_written() -> None:
    """R188: what one house writes, the other reads."""
    command, event = execute(), update()
    common: dict[str, Any] = {
        "command_id": new_id("cmd_"),
        "namespace": "durable",
        "execution_id": command.execution_id,
        "request_digest": command.request_digest,
        "route": "hands",
    }
    cancel, query = Cancel(**common), Query(**common, after=3)

    assert parse_execute(encode(command)) == command
    assert parse_control(encode(cancel)) == cancel
    assert parse_control(encode(query).encode()) == query
    assert parse_update(encode(event)) == event


def test_wire_names_are_camel_case() -> None:
    """ARCHITECTURE: camelCase outside, snake_case inside."""
    assert {"commandId", "executionId", "requestDigest", "notAfter"} <= json.loads(
        encode(execute())
    ).keys()


@poses("S8")
def test_the_same_call_sent_again_has_the_same_digest() -> None:
    """S8: a fresh command differs in command id and not_after only."""
    first = execute()

    again = Execute.of(
        execution_id=first.execution_id,
        binding=BINDING,
        arguments={"n": 1, "to": "é"},
        origin=ORIGIN,
        not_after=datetime(2031, 1, 1, tzinfo=UTC),
    )

    assert again.request_digest == first.request_digest
    assert again.command_id != first.command_id


@poses("T21", "S8")
@pytest.mark.parametrize(
    "members",
    [
        {"arguments": {"to": "somebody else"}},
        {"route": "other"},
        {"executionId": new_id("exe_")},
        {"version": "2"},
        {"kind": "cancel"},
        {"surprise": 1},
        {"notAfter": "2030-01-01T00:00:00"},
        {"notAfter": "tomorrow"},
        {"executionId": "exe_1"},
        {"binding": None},
    ],
)
def test_a_command_that_was_changed_on_the_way_is_refused(members: dict[str, object]) -> None:
    """T21, S8: arguments, tool, route and version are held by digest and schema."""
    with pytest.raises(InvalidEnvelope):
        parse_execute(changed(execute(), **members))


@poses("T24")
def test_a_refusal_repeats_no_content() -> None:
    """T24: error texts name members, never values."""
    with pytest.raises(InvalidEnvelope) as refusal:
        parse_execute(changed(execute(), arguments={"key": "canary-secret"}))

    assert "canary-secret" not in str(refusal.value)


@covers("R192")
def test_envelopes_above_1_mib_are_refused_at_both_ends() -> None:
    """R192: the limit holds for the sender and the receiver."""
    large = execute({"text": "x" * MAX_ENVELOPE_BYTES})

    with pytest.raises(InvalidJson, match="SIZE"):
        encode(large)
    with pytest.raises(InvalidJson, match="SIZE"):
        parse_execute(" " * MAX_ENVELOPE_BYTES + "{}")


@poses("C16")
def test_strict_json_guards_the_entrances() -> None:
    """C16: a duplicate key reaches no schema."""
    text = encode(update()).replace("{", '{"kind":"admitted",', 1)

    with pytest.raises(InvalidJson, match="DUPLICATE_KEY"):
        parse_update(text)


def test_an_unknown_control_is_refused() -> None:
    """Only cancel, query and output are controls."""
    with pytest.raises(InvalidEnvelope, match="use cancel, query or output"):
        parse_control(encode(execute()))


@covers("R188")
def test_sequence_zero_belongs_to_unknown_executions() -> None:
    """R188: sequences of known executions count from 1."""
    assert update(UpdateKind.UNKNOWN_EXECUTION, sequence=0).sequence == 0
    with pytest.raises(ValueError, match="sequence 0"):
        update(sequence=0)


def test_a_result_has_an_error_unless_it_completed() -> None:
    """An outcome other than COMPLETED always says why."""
    with pytest.raises(ValueError, match="error"):
        ExecutionResult(state=ExecutionState.FAILED)
    with pytest.raises(ValueError, match="error"):
        ExecutionResult(
            state=ExecutionState.COMPLETED, error=ResultError(code="X", message="not so")
        )


@covers("R209")
def test_a_result_travels_with_content_and_metadata_intact() -> None:
    """R209: content, metadata and state arrive as produced."""
    result = ExecutionResult(
        state=ExecutionState.COMPLETED, content=[None, {"a": 0.1}], metadata={"unit": "m"}
    )

    event = parse_update(encode(update(UpdateKind.RESULT, payload=result.to_json())))

    assert event.result() == result
