"""What all handles share: how an answer becomes a view, and content a body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from sessions_app.contract import wire
from sessions_app.contract.content import user_input
from sessions_app.contract.errors import OutcomeUnknown

if TYPE_CHECKING:
    from hands_app.contract.strict_json import JsonValue
    from sessions_app.client.transport import Transport
    from sessions_app.contract.paging import Page

V = TypeVar("V")


def content_of(given: object) -> JsonValue:
    """Content as it travels; raises Invalid for what no server would take."""
    return given if isinstance(given, str) else user_input(given).wire()


@dataclass(frozen=True, slots=True)
class Handle:
    """Whatever asks a site."""

    transport: Transport = field(repr=False, compare=False)

    def view_of(self, view: type[V], said: object) -> V:
        """Read a success; one that is not what it should be is uncertain (R122)."""
        try:
            return wire.parse(view, said)
        except ValueError as error:
            msg = f"an answer is no {view.__name__}"
            raise OutcomeUnknown(msg) from error

    def page_of(self, view: type[V], path: str, cursor: str | None, limit: int) -> Page[V]:
        """Read a page of a list."""
        said = self.transport.get(path, cursor=cursor, limit=limit)
        try:
            return wire.parse_page(view, said)
        except ValueError as error:
            msg = f"an answer is no page of {view.__name__}"
            raise OutcomeUnknown(msg) from error
