"""From what a tool returned to what the ledger can keep."""

from __future__ import annotations

import re
from typing import Final

from pydantic_core import to_jsonable_python

from hands_app.contract.errors import InvalidJson
from hands_app.contract.messages import ExecutionResult, ExecutionState, ResultError
from hands_app.contract.strict_json import OBJECT, JsonValue, Limits, clean
from hands_app.contract.tools import ToolError

MAX_TEXT: Final = 16_000
"""Characters of an error's text."""

_READABLE: Final = Limits(bytes=OBJECT.bytes, depth=90, keys=OBJECT.keys)
"""What is looked at; fewer levels than an envelope has, which puts some around it."""
_UNREADABLE: Final = (ValueError, TypeError, RecursionError, InvalidJson)
_CODE: Final = re.compile("[A-Z][A-Z0-9_]{0,63}")


def completed(returned: object) -> ExecutionResult:
    """Return the result of a regular return, content, metadata and state as produced (R209).

    NUL and lone surrogates become the marker of the strict JSON, which metadata tells, and bytes
    become base 64; of a large result `worker.bodies` makes what an envelope holds. A value that
    JSON cannot hold, or no object, is FAILED with RESULT_INVALID: the tool ran, its value is lost,
    and the text says so. Where the tool itself said that the call did not complete, its state and
    error stay, and metadata says `contentLost`.
    """
    made = returned if isinstance(returned, ExecutionResult) else None
    metadata = {} if made is None else _metadata(made.metadata)
    try:
        content, replaced = _readable(returned if made is None else made.content)
    except _UNREADABLE as error:
        if made is not None and made.state is not ExecutionState.COMPLETED:
            return _told(made, None, {**metadata, "contentLost": True})
        why = error if isinstance(error, InvalidJson) else type(error).__name__
        text = f"the tool ran to its end, but its result cannot be kept: {why}"
        return failed("RESULT_INVALID", text)
    if replaced:
        metadata = {**metadata, "replacedTexts": replaced}
    if made is None:
        return ExecutionResult(state=ExecutionState.COMPLETED, content=content, metadata=metadata)
    return _told(made, content, metadata)


def declared(error: ToolError) -> ExecutionResult:
    """Return the result of a failure that the tool declared; a code that is none is TOOL_ERROR."""
    try:
        metadata = to_jsonable_python(error.metadata, fallback=str)
    except _UNREADABLE:
        metadata = None
    code = error.reason if _CODE.fullmatch(str(error.reason)) else ToolError.code
    return ExecutionResult(
        state=ExecutionState.FAILED,
        metadata=_metadata(metadata),
        error=ResultError(code=code, message=safe_text(str(error.message))),
    )


def failed(code: str, message: str) -> ExecutionResult:
    """Return a FAILED result with a text that is fit to be shown."""
    error = ResultError(code=code, message=safe_text(message))
    return ExecutionResult(state=ExecutionState.FAILED, error=error)


def safe_text(text: str) -> str:
    """Return a text that every store can keep, at most MAX_TEXT characters."""
    return str(clean(text[:MAX_TEXT]).value)


def _told(
    made: ExecutionResult, content: JsonValue, metadata: dict[str, JsonValue]
) -> ExecutionResult:
    """Return a tool's own result with the state and error that it chose."""
    error = made.error and ResultError(code=made.error.code, message=safe_text(made.error.message))
    return ExecutionResult(state=made.state, content=content, metadata=metadata, error=error)


def _readable(returned: object) -> tuple[JsonValue, int]:
    """Return the value as JSON, and in how many texts something was replaced."""
    try:
        cleaned = clean(returned, limits=_READABLE)
    except InvalidJson as error:
        if error.reason != "TYPE":
            raise
        cleaned = clean(_plain(returned), limits=_READABLE)
    return cleaned.value, cleaned.replaced


def _plain(returned: object) -> object:
    """Return models, dates, tuples, sets and bytes in the way of pydantic."""
    return to_jsonable_python(returned, bytes_mode="base64", inf_nan_mode="constants")


def _metadata(given: object) -> dict[str, JsonValue]:
    """Return metadata as given, or a note that JSON cannot hold it."""
    try:
        found, _ = _readable(given)
    except _UNREADABLE:
        return {"metadataLost": True}
    return found if isinstance(found, dict) else {"metadataLost": True}
