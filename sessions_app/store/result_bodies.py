"""The body of a result from Hands: found where the envelope says, or put where it belongs (R192).

An update whose body cannot be read is not taken in. The ledger keeps it and tells it again, the
call says since when, and only what stays lost is taken in without its body, and says so (C74).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from hands_app.contract import errors as objects
from hands_app.contract.messages import ExecutionResult, version_of
from hands_app.contract.references import described
from hands_app.contract.strict_json import OBJECT, JsonValue, loads
from sessions_app.contract.errors import Incompatible, Unavailable
from sessions_app.store import bodies

if TYPE_CHECKING:
    from hands_app.contract.messages import Update
    from hands_app.contract.references import ObjectReference
    from hands_app.objects.port import ObjectStore

LOST_AFTER: Final = timedelta(hours=1)
"""How long a body is looked for before the call goes on without it."""

_NO_RESULT: Final = "OBJECT_INVALID"


class Unread(Exception):
    """The body cannot be had now; `code` is the store's own word for why."""

    def __init__(self, code: str) -> None:
        """Say why."""
        super().__init__(code)
        self.code = code


class Foreign(Exception):
    """The body is of another Session (T36)."""


def with_body(update: Update, scope: str) -> Update:
    """The update as rows keep it: a large body named, as an object of this Session.

    Where the houses have no common store, content is what the envelope shows of it. Raises Unread,
    Foreign, Unavailable, and InvalidEnvelope for a result that cannot be read.
    """
    result = update.result()
    if result.body is None:
        large = bodies.is_large(result.content) or bodies.is_large(result.metadata)
        return _stored(update, result, scope) if large else update
    if result.body.scope != scope:
        raise Foreign
    store = _shared()
    if store is None or _identity(store) != result.body.store:
        return without_body(update)
    content, metadata = _whole(store, result.body, scope)
    return _named(update, result, result.body, content, metadata)


def without_body(update: Update, lost: str | None = None) -> Update:
    """The update with no more than its envelope shows; `lost` says why there is no more."""
    result = update.result()
    metadata = result.metadata if lost is None else {**result.metadata, "lost": lost}
    return _changed(update, result.model_copy(update={"body": None, "metadata": metadata}))


def _stored(update: Update, result: ExecutionResult, scope: str) -> Update:
    store = _shared()
    if store is None:
        return update
    whole = bodies.payload(result.content, result.metadata)
    reference = bodies.put(store, scope, whole)
    return _named(update, result, reference, result.content, result.metadata)


def _whole(
    store: ObjectStore, reference: ObjectReference, scope: str
) -> tuple[JsonValue, dict[str, JsonValue]]:
    try:
        whole = loads(store.get(reference, scope=scope), limits=OBJECT)
    except objects.BadReference as error:
        raise Unread(error.code) from error
    except objects.InvalidJson as error:
        raise Unread(_NO_RESULT) from error
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error
    match whole:
        case {"content": content, "metadata": dict() as metadata}:
            return content, metadata
        case _:
            raise Unread(_NO_RESULT)


def _named(
    update: Update,
    result: ExecutionResult,
    reference: ObjectReference,
    content: JsonValue,
    metadata: dict[str, JsonValue],
) -> Update:
    changes = {
        "content": described(reference) if bodies.is_large(content) else content,
        "metadata": described(reference) if bodies.is_large(metadata) else metadata,
        "body": reference,
    }
    return _changed(update, result.model_copy(update=changes))


def _changed(update: Update, result: ExecutionResult) -> Update:
    payload = result.to_json()
    return update.model_copy(
        update={"payload": payload, "version": version_of(update.kind, payload)}
    )


def _shared() -> ObjectStore | None:
    try:
        return bodies.shared()
    except Incompatible as error:
        raise Unavailable(str(error)) from error


def _identity(store: ObjectStore) -> str:
    try:
        return store.identity
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error
