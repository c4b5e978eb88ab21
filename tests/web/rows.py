"""Rows of every model: most by the real store, the rest as the store would write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.apps import apps

from hands_app.contract.ids import new_id
from sessions_app.models import (
    AuditEntry,
    Host,
    Interaction,
    OutputQuestion,
    PurgeMarker,
    Run,
    ScanRun,
    Signal,
    StandingRule,
    StoreState,
    Token,
    ToolCall,
    Wait,
    WorkspaceEntry,
)
from sessions_app.store import admission
from tests.integration.invariants.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.db.models import Model

    from sessions_app.models import Turn


def models() -> Sequence[type[Model]]:
    """Give every model of the Brain house."""
    return tuple(apps.get_app_config("sessions_app").get_models())


def fill() -> World:
    """Make one more Session: Turns finished, failed, queued, running, and rows of other kinds."""
    world = World()
    turn = world.finished()
    world.backing_off("request-2")
    world.submitted("request-3")
    side = world.key.thread("side")
    admission.create_thread(side, world.definition)
    world.submitted("request-4", side)
    world.claimed()
    _add_inputs(world, turn)
    _add_operations(world, turn)
    return world


def _add_inputs(world: World, turn: Turn) -> None:
    rule = StandingRule.objects.create(
        id=new_id("rule_"),
        namespace=world.session.namespace,
        session=world.session,
        tool="refund",
        allow=True,
        created_by="eve",
        created_at=turn.created_at,
    )
    Interaction.objects.create(
        id=new_id("int_"),
        session=world.session,
        turn=turn,
        call=ToolCall.objects.get(turn=turn),
        kind="APPROVAL",
        arguments_digest="sha256:0",
        request_id="answer-1",
        assignee="eve",
        answered_by="eve",
        rule=rule,
        opened_at=turn.created_at,
    )
    signal = Signal.objects.create(
        id=new_id("sig_"),
        session=world.session,
        turn=turn,
        ordinal=5,
        kind="STEER",
        name="x.acme.word",
        request_id="steer-1",
        content={"parts": [{"type": "text", "text": "to the left"}]},
        status="APPLIED",
        applied_position=1,
        applied_run=Run.objects.get(turn=turn).id,
        at=turn.created_at,
    )
    Wait.objects.create(
        id=new_id("wait_"),
        session=world.session,
        turn=turn,
        call=ToolCall.objects.get(turn=turn),
        key="x.acme.word",
        status="SIGNALLED",
        signal=signal,
        opened_at=turn.created_at,
        ended_at=turn.created_at,
    )


def _add_operations(world: World, turn: Turn) -> None:
    session, now = world.session, turn.created_at
    OutputQuestion.objects.create(
        id=new_id("cmd_"),
        session=session,
        call=ToolCall.objects.filter(turn=turn)[0],
        offset=0,
        limit=1,
        asked_at=now,
        answered_at=now,
        page={"data": "c2VjcmV0"},
    )
    Host.objects.filter(id=world.host.host_id).update(progressed_at=now)
    ScanRun.objects.create(
        id=new_id("scan_"), scanner=world.host.host_id, at=now, found=1, repaired={"lost hint": 1}
    )
    AuditEntry.objects.create(
        id=new_id("aud_"),
        session=session,
        actor="eve",
        action="release",
        target=turn.id,
        reason="seen",
        before={"suspect": True},
        at=now,
    )
    Token.objects.create(
        id=new_id("tok_"),
        name="nightly",
        digest=new_id("secret_"),
        roles="viewer",
        namespaces=["acme"],
        created_by="eve",
        created_at=now,
    )
    PurgeMarker.objects.create(
        id=new_id("prg_"),
        namespace="acme",
        session_id="gone",
        actor="eve",
        removed={"turn": 3},
        at=now,
    )
    WorkspaceEntry.objects.create(
        id=new_id("wsp_"), session=session, key="notes.md", value={"text": "a"}, at=now
    )
    StoreState.objects.get_or_create(defaults={"incarnation": new_id("inc_")})
