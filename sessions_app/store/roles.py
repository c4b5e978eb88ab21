"""Rights of the runtime's database role, as a statement that an owner runs once (T39, T40)."""

from __future__ import annotations

import re
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from django.db import ProgrammingError

from sessions_app.contract.errors import Forbidden, Invalid
from sessions_app.store.transaction import sqlstate

if TYPE_CHECKING:
    from collections.abc import Iterator

_NO_RIGHT: Final = "42501"
_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def grants(role: str) -> str:
    """Give the statements for `role`; raises Invalid for a name that is no plain identifier."""
    if not _ROLE.fullmatch(role):
        msg = f"{role!r:.80} is no role name: lower-case letters, digits and underscores"
        raise Invalid(msg)
    text = files("sessions_app.store.sql").joinpath("roles.postgresql.sql").read_text()
    return text.replace("{role}", role)


@contextmanager
def deleting() -> Iterator[None]:
    """Do what needs the right to delete events; raises Forbidden where the role lacks it (T40)."""
    try:
        yield
    except ProgrammingError as error:
        if sqlstate(error) != _NO_RIGHT:
            raise
        msg = "this database role may not delete events; run it as their owner, see database-roles"
        raise Forbidden(msg) from error
