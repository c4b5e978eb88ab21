"""Rows that a Session may have beside what its Turns leave: one of each kind, with a text in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hands_app.contract.ids import new_id
from sessions_app.models import (
    AuditEntry,
    Interaction,
    OutputQuestion,
    StandingRule,
    ToolCall,
    Wait,
    WorkspaceEntry,
)

if TYPE_CHECKING:
    from sessions_app.models import Turn


def everywhere(turn: Turn, text: str) -> None:
    """Leave the text in every table that the Turn itself did not fill."""
    session, at = turn.session, turn.created_at
    rule = StandingRule.objects.create(
        id=new_id("rul_"),
        namespace=session.namespace,
        session=session,
        tool="send",
        allow=True,
        reason=text,
        created_by="ann",
        created_at=at,
    )
    _about_its_call(turn, text, rule)
    Wait.objects.create(
        id=new_id("wai_"),
        session=session,
        turn=turn,
        key=f"x.acme.{text}",
        status="CLOSED",
        opened_at=at,
        ended_at=at,
    )
    WorkspaceEntry.objects.create(
        id=new_id("wsp_"), session=session, key="notes", value={"text": text}, at=at
    )
    AuditEntry.objects.create(
        id=new_id("aud_"),
        session=session,
        actor="ann",
        action="looked",
        target=turn.pk,
        reason=text,
        at=at,
    )


def _about_its_call(turn: Turn, text: str, rule: StandingRule) -> None:
    session, at = turn.session, turn.created_at
    Interaction.objects.create(
        id=new_id("int_"),
        session=session,
        turn=turn,
        call=ToolCall.objects.get(turn=turn),
        kind="APPROVAL",
        status="CLOSED",
        arguments_digest="sha256:0",
        reason=text,
        rule=rule,
        opened_at=at,
    )
    OutputQuestion.objects.create(
        id=new_id("cmd_"),
        session=session,
        call=ToolCall.objects.get(turn=turn),
        offset=0,
        limit=1,
        asked_at=at,
        answered_at=at,
        page={"data": text},
    )
