"""What a tool hands back arrives as produced, or with a marker that says what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hands_app.contract.ids import new_id
from hands_app.contract.messages import ExecutionResult, ExecutionState, ResultError, Update
from hands_app.contract.tools import ToolError
from hands_app.contract.wire import MAX_ENVELOPE_BYTES, encode
from hands_app.executors.content import completed, declared
from hands_app.worker.bodies import Bodies
from tests.covers import covers, poses

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue

ODD = "a\x00b\ud800c"
MENDED = "a\ufffdb\ufffdc"
DEEP: Any = "end"
for _ in range(96):
    DEEP = [DEEP]


def result(state: str = "COMPLETED", **parts: Any) -> ExecutionResult:
    """Make a result as a tool may return it."""
    if state != "COMPLETED":
        parts.setdefault("error", ResultError(code="SAID_SO", message="as the tool says"))
    return ExecutionResult(state=ExecutionState(state), **parts)


def travels(told: ExecutionResult) -> int:
    """Return the size of the envelope that carries a result; raise where none can."""
    update = Update.model_validate(
        {
            "event_id": new_id("evt_"),
            "namespace": "durable",
            "execution_id": new_id("exe_"),
            "request_digest": "sha256:" + "0" * 64,
            "route": "hands",
            "sequence": 3,
            "kind": "result",
            "payload": told.to_json(),
            "at": "2026-01-01T00:00:00Z",
        },
        strict=False,
    )
    return len(encode(update).encode())


@covers("R209")
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "CANCELLED", "UNKNOWN"])
def test_a_tools_own_result_keeps_its_state_content_and_metadata(state: str) -> None:
    """R209: all three as produced."""
    made = result(state, content={"rows": [1, 2.5, None]}, metadata={"unit": "m", "n": 3})

    assert completed(made) == made


@covers("R209")
@poses("C16")
@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_odd_text_in_a_tools_own_result_is_marked(state: str) -> None:
    """C16: in content, metadata and error; the state stays, and it says how much was replaced."""
    made = result(state, content={"text": ODD}, metadata={"note": ODD})
    if made.error is not None:
        made = made.model_copy(update={"error": ResultError(code="SAID_SO", message="a\x00b")})

    kept = completed(made)

    assert (kept.state, kept.content) == (made.state, {"text": MENDED})
    assert kept.metadata == {"note": MENDED, "replacedTexts": 1}
    assert kept.error is None or kept.error.message == "a\ufffdb"
    assert travels(kept) > 0


@covers("R192", "R209")
@pytest.mark.parametrize(
    "returned",
    [
        "x" * 50_000_000,
        {"rows": ["\u20ac" * 1000] * 2000},
        result(content="y" * 3_000_000, metadata={"unit": "m"}),
        result(content="small", metadata={"log": "z" * 5_000_000}),
        result("FAILED", content="y" * 3_000_000),
    ],
    ids=["50 MB of text", "many rows", "own result", "metadata", "own failure"],
)
def test_what_is_too_large_is_described_and_fits_an_envelope(returned: object) -> None:
    """A megabyte is what an envelope holds; the Turn goes on with a description."""
    kept = Bodies(None).fitted(completed(returned), None)

    assert travels(kept) <= MAX_ENVELOPE_BYTES
    assert kept.metadata.get("truncated")
    assert kept.metadata.get("unit") in {None, "m"}
    assert isinstance(kept.content, dict | str)


@covers("R209")
@pytest.mark.parametrize("returned", [object(), {1: object()}, DEEP, {"n": 2**60}, {"n": 1e400}])
def test_a_value_that_json_cannot_hold_is_told_as_such(returned: object) -> None:
    """The tool ran: FAILED with RESULT_INVALID, nothing is in doubt, nothing is raised."""
    kept = completed(returned)

    assert kept.error is not None
    assert (kept.state, kept.error.code) == (ExecutionState.FAILED, "RESULT_INVALID")
    assert travels(kept) > 0


@covers("R209")
def test_a_failure_with_content_that_cannot_be_kept_stays_that_failure() -> None:
    """R209: the result's state is intact; only the content is lost, and metadata says so."""
    made = ExecutionResult.model_construct(
        state=ExecutionState.CANCELLED,
        content=DEEP,
        metadata={"why": "asked"},
        error=ResultError(code="STOPPED", message="stopped"),
    )

    kept = completed(made)

    assert (kept.state, kept.error) == (ExecutionState.CANCELLED, made.error)
    assert kept.metadata == {"why": "asked", "contentLost": True}


@covers("R209")
@pytest.mark.parametrize(
    ("code", "expected"), [("NO_PLACE", "NO_PLACE"), ("bad code", "TOOL_ERROR"), ("", "TOOL_ERROR")]
)
def test_a_declared_failure_is_told_whatever_its_code(code: str, expected: str) -> None:
    """A code that breaks the contract costs the code, never the failure."""
    told = declared(ToolError(ODD, code=code, metadata={"note": ODD}))

    assert told.error is not None
    assert told.error.message == MENDED
    assert told.error.code == expected
    assert told.metadata == {"note": MENDED}


@pytest.mark.parametrize("metadata", [{"deep": DEEP}, {"n": 2**60}, ["no object"]])
def test_metadata_that_cannot_be_kept_costs_no_failure(metadata: JsonValue) -> None:
    """It is lost, and says so."""
    told = declared(ToolError("no", metadata=metadata))  # type: ignore[arg-type]

    assert told.metadata == {"metadataLost": True}
    assert travels(told) > 0
