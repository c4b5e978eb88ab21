"""Controls of a Turn and answers to what it asks; who did it goes on record."""

from functools import partial
from typing import Annotated

from ninja import Router
from pydantic import Field

from sessions_app.api.bodies import (
    IS_NUMBER,
    REQUEST_ID,
    FreeJson,
    Reasoned,
    Requested,
    WithContent,
)
from sessions_app.api.operations import TURN, route, runtime
from sessions_app.api.parameters import AtInteraction, AtTurn, Pages
from sessions_app.contract.grants import Identity, Operation
from sessions_app.contract.paging import Page
from sessions_app.contract.views import InteractionView, Receipt
from sessions_app.contract.wire import model, page_model

router = Router(tags=["controls"])
_INTERACTION = TURN + "/interactions/{interactionId}"
_control = partial(route, router, "POST", needs=Operation.CONTROL, gives=model(Receipt), status=202)
_decision = partial(
    route, router, "POST", needs=Operation.APPROVE, gives=model(Receipt), status=202
)


class Withdrawal(Requested):
    """Which input is taken back, by its signal id or request id."""

    target: str = Field(pattern=REQUEST_ID)


class Resumption(Requested):
    """Lifts the pause that was seen at a revision, and nothing else."""

    expected_revision: Annotated[int, Field(ge=1, le=2**53 - 1), IS_NUMBER]


class Signalling(Requested):
    """A signal `x.<ns>.<name>` with any JSON."""

    key: str = Field(pattern=r"^x(\.[A-Za-z0-9_-]+){2,}$", max_length=128)
    content: FreeJson = None


class Answer(Requested):
    """What a person says: of an approval true, false, or {decision: allow or deny, reason}."""

    response: FreeJson


@_control(TURN + "/steer")
def steer_turn(where: AtTurn, body: WithContent, identity: Identity) -> Receipt:
    """Add direction at the next safe boundary; a reasoning step follows."""
    turn = where.turn(runtime())
    return turn.steer(body.request_id, body.input, identity.subject)


@_control(TURN + "/inject")
def inject_into_turn(where: AtTurn, body: WithContent, identity: Identity) -> Receipt:
    """Add material, read at the next reasoning step; it causes none."""
    turn = where.turn(runtime())
    return turn.inject(body.request_id, body.input, identity.subject)


@_control(TURN + "/withdraw")
def withdraw_input(where: AtTurn, body: Withdrawal, identity: Identity) -> Receipt:
    """Take an input back before it was applied."""
    return where.turn(runtime()).withdraw(body.request_id, body.target, identity.subject)


@_control(TURN + "/pause")
def pause_turn(where: AtTurn, body: Requested, identity: Identity) -> Receipt:
    """Stop at the next safe boundary; only an observed PAUSED means that it has stopped."""
    return where.turn(runtime()).pause(body.request_id, identity.subject)


@_control(TURN + "/resume")
def resume_turn(where: AtTurn, body: Resumption, identity: Identity) -> Receipt:
    """Lift the pause that was seen at this revision."""
    turn = where.turn(runtime())
    return turn.resume(body.request_id, body.expected_revision, identity.subject)


@_control(TURN + "/cancel")
def cancel_turn(where: AtTurn, body: Requested, identity: Identity) -> Receipt:
    """End a Turn; what was begun settles first, and may have happened."""
    return where.turn(runtime()).cancel(body.request_id, identity.subject)


@_control(TURN + "/signals")
def signal_turn(where: AtTurn, body: Signalling, identity: Identity) -> Receipt:
    """Send a signal: it ends the oldest wait for it, or is kept for one."""
    turn = where.turn(runtime())
    return turn.signal(body.request_id, body.key, body.content, identity.subject)


@route(
    router, "GET", TURN + "/interactions", needs=Operation.READ, gives=page_model(InteractionView)
)
def list_interactions(where: AtTurn, page: Pages) -> Page[InteractionView]:
    """Everything that a Turn asked people, with what became of it."""
    return where.turn(runtime()).list_interactions(page.after, page.limit)


@route(
    router,
    "GET",
    TURN + "/interactions/pending",
    needs=Operation.READ,
    gives=page_model(InteractionView),
)
def list_pending_interactions(where: AtTurn, page: Pages) -> Page[InteractionView]:
    """What can be answered now, the oldest first."""
    return where.turn(runtime()).pending_interactions(page.after, page.limit)


@_decision(_INTERACTION + "/respond")
def respond(where: AtInteraction, body: Answer, identity: Identity) -> Receipt:
    """Answer an interaction, once, for exactly the arguments that it shows."""
    turn = where.turn(runtime())
    return turn.respond(body.request_id, where.interaction_id, body.response, identity.subject)


@_decision(_INTERACTION + "/set-aside")
def set_aside(where: AtInteraction, body: Reasoned, identity: Identity) -> Receipt:
    """Put an interaction off: it stays open and can still be answered."""
    turn = where.turn(runtime())
    return turn.set_aside(
        body.request_id, where.interaction_id, by=identity.subject, reason=body.reason
    )
