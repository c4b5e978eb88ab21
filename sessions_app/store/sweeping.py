"""Sweeping: objects that nothing refers to go once their grace is over (I38, C73).

One Session a transaction, under its lock: a commit that names an object either stands by then, or
comes later and takes only what was put lately (`bodies.Kept.refuse_old`). While a call of the
Session is at Hands nothing of it is swept, since Hands may have put a result that nobody names yet.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hands_app.contract import errors as objects
from hands_app.contract.references import digest_of
from sessions_app.contract.errors import Busy, NotFound, Unavailable
from sessions_app.models import StoreState, ToolCall
from sessions_app.store import bodies
from sessions_app.store.bodies import REFERRING
from sessions_app.store.looking import look
from sessions_app.store.transaction import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hands_app.objects.port import ObjectStore
    from sessions_app.store.unit import Unit

AT_ONCE: Final = 200
"""Objects that are deleted under one lock."""
PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Swept:
    """What went, or would go."""

    scopes: int = 0
    objects: int = 0


def some(scopes: int) -> Swept:
    """Sweep so many scopes, behind where the last such look ended; any number may do this at once.

    Raises Incompatible where this database's store is not here, Unavailable.
    """
    store = _store()
    if store is None:
        return Swept()
    found = _page(store, _swept_to(), scopes)
    _remember(found[-1] if len(found) == scopes else "")
    return Swept(len(found), sum(_sweep(store, scope) for scope in found))


def every(*, deletes: bool = True) -> Swept:
    """Sweep all scopes, or only count what would go; raises as `some`."""
    store = _store()
    if store is None:
        return Swept()
    found = list(_all(store))
    return Swept(len(found), sum(_sweep(store, scope, deletes=deletes) for scope in found))


def _store() -> ObjectStore | None:
    """The store that is known to be this database's: never one that somebody else may need."""
    store = bodies.ours(bodies.opened())
    return store if bodies.recorded() else None


def _all(store: ObjectStore) -> Iterator[str]:
    last = ""
    while found := _page(store, last, PAGE):
        yield from found
        last = found[-1]


def _page(store: ObjectStore, behind: str, limit: int) -> list[str]:
    try:
        if not behind:
            store.tidy(bodies.grace())
        return store.scopes(behind, limit)
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error


def _sweep(store: ObjectStore, scope: str, *, deletes: bool = True) -> int:
    """Look without a lock first; a Session that somebody holds is left for the next time."""
    try:
        old = store.digests(scope, age=bodies.grace())
        parts = [old[begin : begin + AT_ONCE] for begin in range(0, len(old), AT_ONCE)]
        return sum(_some_of(store, scope, part, deletes=deletes) for part in parts)
    except Busy:
        return 0
    except objects.Unavailable as error:
        raise Unavailable(str(error)) from error


def _some_of(store: ObjectStore, scope: str, old: Collection[str], *, deletes: bool) -> int:
    def body(unit: Unit) -> int:
        with suppress(NotFound):  # purged: no row can refer to it any more
            unit.lock_session(scope)
        if ToolCall.objects.filter(session=scope, deliver_at__isnull=False).exists():
            return 0
        unneeded = set(old) - _referred(scope)
        return store.remove(scope, unneeded, age=bodies.grace()) if deletes else len(unneeded)

    return run("objects.sweep", body)


def _referred(scope: str) -> set[str]:
    """Digests that committed rows of a Session name."""
    found: set[str] = set()
    for model, column in REFERRING.items():
        rows = model._base_manager.filter(session=scope, **{f"{column}__isnull": False})
        found |= {digest_of(stored) for stored in rows.values_list(column, flat=True)}
    return found


@look
def _swept_to() -> str:
    found: str = StoreState.objects.values_list("swept_to", flat=True).get()
    return found


def _remember(scope: str) -> None:
    def body(_unit: Unit) -> None:
        StoreState.objects.update(swept_to=scope)

    run("objects.sweep", body)
