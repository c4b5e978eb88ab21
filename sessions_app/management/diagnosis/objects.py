"""The object store as a doctor looks at it: whether it is there, and this database's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Incompatible, Unavailable
from sessions_app.management.diagnosis.findings import Finding, Level
from sessions_app.store import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = "objects"


def store() -> Iterator[Finding]:
    """Say whether large bodies can be read here. Makes nothing."""
    found = bodies.opened(makes=False)
    known = bodies.recorded()
    if found is None:
        level = Level.FAILURE if known else Level.OK
        yield Finding(_NAME, level, "this process has no object store")
        return
    try:
        bodies.ours(found)
    except Incompatible as error:
        yield Finding(_NAME, Level.FAILURE, str(error))
    except Unavailable as error:
        level = Level.FAILURE if known else Level.OK
        yield Finding(_NAME, level, str(error) if known else "nothing was put yet")
    else:
        yield Finding(_NAME, Level.OK, "the store of this database is here")
