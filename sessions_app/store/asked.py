"""Reads of what people are asked: pending in a Turn, and over a namespace (R145)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from sessions_app.contract.errors import NotFound
from sessions_app.contract.status import InteractionStatus
from sessions_app.models import Interaction, Turn
from sessions_app.store import clock, views
from sessions_app.store.looking import look, page

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from sessions_app.contract.paging import Page
    from sessions_app.contract.views import InteractionView


@look
def pending(turn_id: str, cursor: str | None = None, limit: int = 100) -> Page[InteractionView]:
    """Interactions of a Turn that can be answered now, the oldest first; set aside ones too."""
    rows = _open().filter(turn=turn_id)
    name = f"pending interactions of {turn_id}"
    return page(rows, name, "id", cursor, limit, views.interaction_view)


@look
def of_turn(turn_id: str, cursor: str | None = None, limit: int = 100) -> Page[InteractionView]:
    """All interactions of a Turn, whatever became of them, the oldest first."""
    if not Turn.objects.filter(pk=turn_id).exists():
        msg = f"turn {turn_id} was not found"
        raise NotFound(msg)
    rows = _whole().filter(turn=turn_id)
    return page(rows, f"interactions of {turn_id}", "id", cursor, limit, views.interaction_view)


@look
def interaction(interaction_id: str) -> InteractionView:
    """One interaction of any namespace, for operators; raises NotFound."""
    row = _whole().filter(pk=interaction_id).first()
    if row is None:
        msg = f"interaction {interaction_id} was not found"
        raise NotFound(msg)
    return views.interaction_view(row)


@look
def inbox(
    namespace: str, cursor: str | None = None, limit: int = 100, *, set_aside: bool = False
) -> Page[InteractionView]:
    """What a namespace's people can answer now; what was set aside is listed apart."""
    rows = _open().filter(session__namespace=namespace, set_aside_at__isnull=not set_aside)
    name = f"inbox of {namespace} {set_aside}"
    return page(rows, name, "id", cursor, limit, views.interaction_view)


def _whole() -> QuerySet[Interaction]:
    return Interaction.objects.select_related("call", "turn__thread__session")


def _open() -> QuerySet[Interaction]:
    in_time = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    return _whole().filter(in_time, status=InteractionStatus.OPEN)
