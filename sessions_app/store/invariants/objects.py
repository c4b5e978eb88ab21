"""Objects: every reference of a committed row resolves, in its Session, to its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Incompatible, ObjectLost
from sessions_app.store.bodies import REFERRING, Bodies
from sessions_app.store.invariants.look import BODIES
from sessions_app.store.invariants.report import Breach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sessions_app.store.invariants.look import Look


def resolve(look: Look) -> Iterator[Breach]:
    """I38: the object is there and has the digest that the row names. Raises Unavailable."""
    for batch in look.batches:
        for model, column in REFERRING.items():
            rows = model._base_manager.filter(batch.within(), **{f"{column}__isnull": False})
            named = rows.order_by("session_id", "pk").values_list("session_id", "pk", column)
            for session_pk, name, stored in named.iterator(chunk_size=BODIES):
                try:
                    Bodies(session_pk).read(stored)
                except (ObjectLost, Incompatible) as error:
                    yield Breach(38, name, str(error))
