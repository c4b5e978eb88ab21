"""Bodies that no envelope holds: put where the Brain finds them, got where it has put them (R192).

Where the houses have no common store a result is told by its beginning, and a call with too large
arguments ends as TOO_LARGE before it starts. A Hands process makes no store: one that nobody but it
sees would be of no use to anybody.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import (
    InvalidEnvelope,
    InvalidJson,
    ObjectForeign,
    TooLarge,
    Unavailable,
)
from hands_app.contract.sizes import truncated
from hands_app.contract.strict_json import OBJECT, JsonValue, canonical, loads
from hands_app.machine.execution import failed

if TYPE_CHECKING:
    from hands_app.contract.messages import Execute, ExecuteByReference, ExecutionResult
    from hands_app.objects.port import ObjectStore

MAX_CONTENT_BYTES: Final = 768 * 1024
"""Content of a result in an envelope; what is larger goes by reference."""
MAX_METADATA_BYTES: Final = 128 * 1024
"""The same of its metadata."""


class NoCommonStore(Exception):
    """The arguments are in a store that this process does not see."""


class Bodies:
    """The way of one process to the store; `store` is None where it was given none."""

    def __init__(self, store: ObjectStore | None) -> None:
        self._store = store
        self._was_seen = False

    def fitted(self, result: ExecutionResult, scope: str | None) -> ExecutionResult:
        """Return a result that an envelope holds, what is too large of it put into the store.

        Safe to repeat. Raises Unavailable when a store that was there is away.
        """
        try:
            content = canonical(result.content, limits=OBJECT)
            metadata = canonical(result.metadata, limits=OBJECT)
        except InvalidJson as error:
            text = f"the tool ran to its end, but its result cannot be kept: {error}"
            return failed("RESULT_INVALID", text)
        if len(content) <= MAX_CONTENT_BYTES and len(metadata) <= MAX_METADATA_BYTES:
            return result
        changes: dict[str, object] = {"metadata": {**result.metadata, "truncated": True}}
        if len(content) > MAX_CONTENT_BYTES:
            changes["content"] = truncated(result.content, content)
        if len(metadata) > MAX_METADATA_BYTES:
            changes["metadata"] = truncated(result.metadata, metadata)
        store = self._common()
        if store is not None and scope is not None:
            whole: JsonValue = {"content": result.content, "metadata": result.metadata}
            with suppress(InvalidJson, TooLarge):  # two that fit, and not together
                changes["body"] = store.put(scope, canonical(whole, limits=OBJECT))
        return result.model_copy(update=changes)

    def whole(self, command: ExecuteByReference) -> Execute:
        """Return the command with its arguments, held against every digest.

        Raises NoCommonStore; BadReference for arguments of another Session, or that are missing or
        damaged; InvalidEnvelope, Unavailable.
        """
        reference, scope = command.arguments, command.origin.scope
        store = self._common()
        if store is None or store.identity != reference.store:
            raise NoCommonStore
        if scope is None:
            message = f"object {reference.digest} is named by a call that has no scope"
            raise ObjectForeign(message)
        arguments = loads(store.get(reference, scope=scope), limits=OBJECT)
        if not isinstance(arguments, dict):
            message = f"object {reference.digest} holds no arguments"
            raise InvalidEnvelope(message)
        return command.whole(arguments)

    def _common(self) -> ObjectStore | None:
        """The store, if there is one; one that was seen before is only away."""
        if self._store is None:
            return None
        try:
            self._was_seen |= bool(self._store.identity)
        except Unavailable:
            if self._was_seen:
                raise
            return None
        return self._store
