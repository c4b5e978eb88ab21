"""Large bodies of a Session: put before the commit that names them, read after the rows (R245).

A put that its commit does not follow soon is no good any more: the sweep might have passed. So a
commit takes only objects that were put within half of the grace (`refuse_old`), and the sweep takes
only what is older than all of it, under the same Session's lock: one of the two sees the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

from django.conf import settings

from hands_app.contract import errors as objects
from hands_app.contract.references import ObjectReference, described, digest_of
from hands_app.contract.sizes import reaches
from hands_app.contract.strict_json import OBJECT, JsonValue, canonical, loads
from hands_app.objects.opening import open_store
from sessions_app.contract.backend import EntryDraft, Fail, FrameDraft
from sessions_app.contract.errors import Incompatible, Invalid, ObjectLost, Unavailable
from sessions_app.models import Checkpoint, JournalEntry, StoreState, ToolCall, WorkspaceEntry
from sessions_app.store import clock
from sessions_app.store.looking import look
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from django.db.models import Model

    from hands_app.objects.port import ObjectStore
    from sessions_app.contract.backend import Commit, ResultDraft
    from sessions_app.store.unit import Unit

AnyDraft = TypeVar("AnyDraft", EntryDraft, FrameDraft)
_PART_OF_GRACE: Final = 2
REFERRING: Final[Mapping[type[Model], str]] = {
    JournalEntry: "object_ref",
    Checkpoint: "object_ref",
    ToolCall: "result_ref",
    WorkspaceEntry: "object_ref",
}
"""Every table whose rows name objects, and the column."""


def opened(*, makes: bool = True) -> ObjectStore | None:
    """The store of this deployment, or None where this process was given none."""
    durable = settings.DURABLE
    return open_store(durable["OBJECTS_DIR"], durable["NAMESPACE"], makes=makes)


def shared() -> ObjectStore | None:
    """The store as Hands may see it too: it is made before anything is sent there.

    Raises Incompatible where this database's store is not here, Unavailable.
    """
    return ours(opened(), adopts=True)


def grace() -> timedelta:
    """How long an object that nothing refers to is kept."""
    return timedelta(seconds=settings.DURABLE["OBJECTS_GRACE_SECONDS"])


# --- writing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """A commit with its large bodies in the store, and when they were put at the earliest."""

    commit: Commit
    put_at: datetime | None = None

    def refuse_old(self, now: datetime) -> None:
        """Raise Unavailable for a put that a sweep may have passed since; it is to be repeated."""
        if self.put_at is not None and now - self.put_at > grace() / _PART_OF_GRACE:
            msg = "large bodies of this change were put too long ago; nothing was written"
            raise Unavailable(msg)


def put_large(session_pk: str, asked: Commit) -> Kept:
    """Put what is large; a rollback leaves objects that nothing refers to, and nothing else.

    Raises Invalid for a body beyond every limit, Incompatible where the store of this database is
    not here, Unavailable.
    """
    _refuse_named(asked)
    if not _any_large(asked):
        return Kept(asked)
    store = ours(opened(), adopts=True)
    if store is None:
        return Kept(asked)
    put_at = _now()
    putting = _Putting(store, session_pk)
    changes: dict[str, object] = {
        "entries": tuple(map(putting.entry, asked.entries)),
        "frame": asked.frame and putting.frame(asked.frame),
        "results": tuple(map(putting.result, asked.results)),
    }
    if isinstance(asked.end, Fail):
        settled = {
            "settled": asked.end.settled and putting.frame(asked.end.settled),
            "settled_entries": tuple(map(putting.entry, asked.end.settled_entries)),
        }
        changes["end"] = asked.end.model_copy(update=settled)
    return Kept(asked.model_copy(update=changes), put_at)


@dataclass(frozen=True, slots=True)
class _Putting:
    store: ObjectStore
    scope: str

    def entry(self, draft: EntryDraft) -> EntryDraft:
        return self._emptied(draft)

    def frame(self, draft: FrameDraft) -> FrameDraft:
        return self._emptied(draft)

    def result(self, draft: ResultDraft) -> ResultDraft:
        if not is_large(draft.content):
            return draft
        reference = put(self.store, self.scope, payload(draft.content))
        told = {"content": described(reference), "object_ref": reference.stored}
        return draft.model_copy(update=told)

    def _emptied(self, draft: AnyDraft) -> AnyDraft:
        if not is_large(draft.body):
            return draft
        reference = put(self.store, self.scope, draft.body)
        return draft.model_copy(update={"body": None, "object_ref": reference.stored})


def put(store: ObjectStore, scope: str, body: JsonValue) -> ObjectReference:
    """Put one body in its canonical form; raises Invalid and Unavailable."""
    try:
        return store.put(scope, canonical(body, limits=OBJECT))
    except objects.Rejected as error:
        msg = f"a body cannot be stored: {error}"
        raise Invalid(msg) from error
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error


def payload(content: JsonValue, metadata: JsonValue = None) -> JsonValue:
    """The object of a large result."""
    return {"content": content, "metadata": metadata or {}}


def is_large(body: JsonValue) -> bool:
    """Whether a body belongs into the store."""
    return reaches(body, settings.DURABLE["OBJECTS_FROM"])


def _any_large(asked: Commit) -> bool:
    bodies = [draft.body for draft in _drafts(asked)]
    return any(map(is_large, [*bodies, *(draft.content for draft in asked.results)]))


def _drafts(asked: Commit) -> list[EntryDraft | FrameDraft]:
    found: list[EntryDraft | FrameDraft | None] = [*asked.entries, asked.frame]
    if isinstance(asked.end, Fail):
        found += [*asked.end.settled_entries, asked.end.settled]
    return [draft for draft in found if draft is not None]


def _refuse_named(asked: Commit) -> None:
    """Nobody but this file says where a body is (T36)."""
    if any(draft.object_ref is not None for draft in (*_drafts(asked), *asked.results)):
        msg = "a change names an object; give the body itself"
        raise Invalid(msg)


# --- reading -------------------------------------------------------------------------------------


class HasBody(Protocol):
    """A row whose body is in it or in the store."""

    body: JsonValue
    object_ref: str | None


class Bodies:
    """Reads what rows of one Session say is in the store; the store is opened when it is needed."""

    def __init__(self, session_pk: str) -> None:
        """`session_pk` is the scope: no row leads into another one."""
        self._scope = session_pk

    def of(self, row: HasBody) -> JsonValue:
        """The body of a journal entry or checkpoint. Raises as `read`."""
        return row.body if row.object_ref is None else self.read(row.object_ref)

    def result(self, call: ToolCall) -> JsonValue:
        """A call's result with its whole content. Raises as `read`."""
        if call.result_ref is None:
            return cast("JsonValue", call.result)
        match self.read(call.result_ref):
            case {"content": None}:  # an error, whose code stands in the row
                return cast("JsonValue", call.result)
            case {"content": content}:
                return {**call.result, "content": content}
            case _:
                msg = f"object {digest_of(call.result_ref)} holds no result"
                raise ObjectLost(msg)

    def read(self, stored: str) -> JsonValue:
        """What an object holds.

        Raises ObjectLost for one that is missing or damaged, Incompatible where this database's
        store is not here, Unavailable.
        """
        return loads(self._bytes(stored), limits=OBJECT)

    def _bytes(self, stored: str) -> bytes:
        store = self._store
        try:
            reference = ObjectReference.of_row(stored, store=store.identity, scope=self._scope)
            return store.get(reference, scope=self._scope)
        except objects.BadReference as error:
            raise ObjectLost(str(error)) from error
        except objects.Unavailable as error:
            raise Unavailable(str(error)) from error

    @cached_property
    def _store(self) -> ObjectStore:
        found = ours(opened())
        if found is None:
            msg = "bodies of this session are in an object store, and this process has none"
            raise Incompatible(msg)
        return found


# --- whose store it is ---------------------------------------------------------------------------


def ours(store: ObjectStore | None, *, adopts: bool = False) -> ObjectStore | None:
    """The store, once it is seen to be the one that holds this database's objects.

    The first that anybody puts something into is. Raises Incompatible for another one: it would
    hold half of a history, and another host the other half.
    """
    if store is None:
        return None
    try:
        here = store.identity
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error
    known = recorded() or (_adopt(here) if adopts else here)
    if known != here:
        msg = "the object store here is another one than the one that holds this database's objects"
        raise Incompatible(msg)
    return store


@look
def recorded() -> str:
    """Identity of the store that holds this database's objects; empty while nothing was put."""
    found: str = StoreState.objects.values_list("object_store", flat=True).get()
    return found


def _adopt(identity: str) -> str:
    """Record the store, unless somebody just recorded one."""

    def body(_unit: Unit) -> str:
        StoreState.objects.filter(object_store="").update(object_store=identity)
        return recorded()

    return run("objects.adopt", body)


_now = look(clock.now)
