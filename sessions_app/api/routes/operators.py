"""What operators and approvers see across Sessions, and what they may do to a Turn or Thread."""

from datetime import timedelta
from typing import Annotated

from ninja import Router
from pydantic import Field, StrictBool

from sessions_app.api.bodies import IS_NUMBER, FreeJson, Reason, Reasoned
from sessions_app.api.operations import THREAD, TURN, route, runtime
from sessions_app.api.parameters import (
    NAME,
    AtDefinition,
    AtExecution,
    AtRule,
    AtThread,
    AtTurn,
    InboxPages,
    InNamespace,
    OfAgent,
    OutputPart,
    RulePages,
    known,
)
from sessions_app.contract.content import Wire
from sessions_app.contract.errors import Invalid, NotFound
from sessions_app.contract.grants import Identity, Operation
from sessions_app.contract.paging import Page
from sessions_app.contract.versions import Capabilities, DefinitionView, RepinView, VersionView
from sessions_app.contract.views import InteractionView, OutputView, Receipt, RuleView
from sessions_app.contract.wire import list_model, model, page_model
from sessions_app.store import clock

router = Router(tags=["operators"])
_TEN_YEARS = 10 * 366 * 24 * 3600
_NAMESPACE = "/namespaces/{namespace}"


class NewRule(Wire):
    """A standing rule: answers later approvals of a tool ahead; what is null narrows nothing."""

    tool: str = Field(pattern=NAME)
    allow: StrictBool
    agent: str | None = Field(default=None, pattern=NAME)
    session_id: str | None = Field(default=None, pattern=NAME, json_schema_extra=known("session"))
    arguments: FreeJson = Field(default=None, description="exactly these; null: any")
    reason: Reason = ""
    seconds: Annotated[int, Field(ge=1, le=_TEN_YEARS), IS_NUMBER] | None = Field(
        default=None, description="how long it holds; null: until revoked"
    )


class Revocation(Wire):
    """Why a rule answers nothing from now on."""

    reason: Reason = ""


class Repinning(Wire):
    """Another version of a Thread's agent; a dry run says what stands against it."""

    version: str = Field(pattern=NAME, json_schema_extra=known("version"))
    dry_run: StrictBool = True
    reason: Reason = ""


@route(
    router, "GET", _NAMESPACE + "/inbox", needs=Operation.READ, gives=page_model(InteractionView)
)
def list_inbox(where: InNamespace, page: InboxPages) -> Page[InteractionView]:
    """What people of a namespace can answer now, over all its Sessions."""
    return runtime().inbox(where.namespace, page.after, page.limit, set_aside=page.set_aside)


@route(router, "GET", _NAMESPACE + "/rules", needs=Operation.READ, gives=page_model(RuleView))
def list_rules(where: InNamespace, page: RulePages) -> Page[RuleView]:
    """Standing rules in force, or those that were."""
    return runtime().list_rules(where.namespace, page.after, page.limit, past=page.past)


@route(
    router,
    "POST",
    _NAMESPACE + "/rules",
    needs=Operation.OPERATE,
    gives=model(RuleView),
    status=201,
)
def create_rule(where: InNamespace, body: NewRule, identity: Identity) -> RuleView:
    """Answer later approvals of a tool ahead, from now on."""
    return runtime().create_rule(
        where.namespace,
        body.tool,
        allow=body.allow,
        by=identity.subject,
        arguments=body.arguments,
        agent=body.agent,
        session_id=body.session_id,
        reason=body.reason,
        expires_at=None if body.seconds is None else clock.now() + timedelta(seconds=body.seconds),
    )


@route(
    router,
    "POST",
    _NAMESPACE + "/rules/{ruleId}/revoke",
    needs=Operation.OPERATE,
    gives=model(RuleView),
)
def revoke_rule(where: AtRule, body: Revocation, identity: Identity) -> RuleView:
    """Let a rule answer nothing from now on; twice is once."""
    return runtime().revoke_rule(
        where.namespace, where.rule_id, by=identity.subject, reason=body.reason
    )


@route(router, "POST", TURN + "/release", needs=Operation.OPERATE, gives=model(Receipt), status=202)
def release_turn(where: AtTurn, body: Reasoned, identity: Identity) -> Receipt:
    """Let a Turn that took processes down be tried again."""
    turn = where.turn(runtime())
    return turn.release(body.request_id, identity.subject, body.reason)


@route(router, "POST", THREAD + "/repin", needs=Operation.OPERATE, gives=model(RepinView))
def repin_thread(where: AtThread, body: Repinning, identity: Identity) -> RepinView:
    """Move a Thread to another version of its agent, or say what stands against it."""
    return runtime().repin(
        where.thread(runtime()).key,
        body.version,
        dry_run=body.dry_run,
        actor=identity.subject,
        reason=body.reason,
    )


@route(
    router,
    "GET",
    TURN + "/executions/{executionId}/output",
    needs=Operation.READ,
    gives=model(OutputView),
    refuses=(409, 504),
)
def read_output(where: AtExecution, part: OutputPart) -> OutputView:
    """A page of what a call in Hands wrote, from a byte on, while it runs and after."""
    turn = where.turn(runtime())
    return turn.output(where.execution_id, part.offset, part.limit, part.timeout)


@route(router, "GET", "/capabilities", needs=Operation.READ, gives=model(Capabilities))
def get_capabilities() -> Capabilities:
    """What this deployment can do; asks nobody."""
    return runtime().capabilities()


@route(
    router,
    "GET",
    "/agents/{agent}/versions/{version}",
    needs=Operation.READ,
    gives=model(DefinitionView),
)
def get_definition(where: AtDefinition) -> DefinitionView:
    """One frozen version of an agent, and the living hosts that have it."""
    try:
        return runtime().definition(where.agent, where.version)
    except Invalid as error:  # of a request that names one; here it is the address
        raise NotFound(str(error)) from None


@route(router, "GET", "/versions", needs=Operation.OPERATE, gives=list_model(VersionView))
def list_versions(scope: OfAgent) -> list[VersionView]:
    """Who still needs which version, and who could run it; over all namespaces."""
    return runtime().versions(scope.agent)
