"""What stands in paths and queries, with the forms that the documents and the checks share."""

from typing import Annotated, Final

from ninja import Path, Query
from pydantic import Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from sessions_app.contract.content import Wire
from sessions_app.contract.events import EventFilter
from sessions_app.contract.identity import SessionKey
from sessions_app.contract.paging import MAX_PAGE
from sessions_app.runtime import DurableRuntime
from sessions_app.runtime.sessions import SessionHandle
from sessions_app.runtime.threads import ThreadHandle
from sessions_app.runtime.turns import TurnHandle
from sessions_app.store import timeline

NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._:@+~-]{0,127}$"
ID: Final = r"^[a-z]{2,8}_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$"


def known(kind: str) -> dict[str, JsonValue]:
    """Tell generators of test data what kind of id a text is."""
    return {"format": f"durable-{kind}"}


class NamespacePath(Wire):
    """A tenant."""

    namespace: str = Field(pattern=NAME, json_schema_extra=known("namespace"))


class SessionPath(NamespacePath):
    """A Session; whoever uses its handle learns whether there is one."""

    session_id: str = Field(pattern=NAME, json_schema_extra=known("session"))

    def session(self, runtime: DurableRuntime) -> SessionHandle:
        """The Session's handle."""
        return SessionHandle(SessionKey(self.namespace, self.session_id), runtime)


class ThreadPath(SessionPath):
    """A Thread."""

    thread_id: str = Field(pattern=NAME, json_schema_extra=known("thread"))

    def thread(self, runtime: DurableRuntime) -> ThreadHandle:
        """The Thread's handle."""
        return ThreadHandle(self.session(runtime).key.thread(self.thread_id), runtime)


class TurnPath(SessionPath):
    """A Turn of any Thread of the Session."""

    turn_id: str = Field(pattern=ID, json_schema_extra=known("turn"))

    def turn(self, runtime: DurableRuntime) -> TurnHandle:
        """The Turn's handle; raises NotFound for one that is not of this Session (C81)."""
        return self.session(runtime).get_turn(self.turn_id)


class RunPath(TurnPath):
    """A Run."""

    run_id: str = Field(pattern=ID, json_schema_extra=known("run"))


class StepPath(TurnPath):
    """A Step of any Run of the Turn."""

    step_id: str = Field(pattern=ID, json_schema_extra=known("step"))


class ModelCallPath(TurnPath):
    """A model request of any Run of the Turn."""

    model_call_id: str = Field(pattern=ID, json_schema_extra=known("call"))


class InteractionPath(TurnPath):
    """An interaction of the Turn."""

    interaction_id: str = Field(pattern=ID, json_schema_extra=known("interaction"))


class ExecutionPath(TurnPath):
    """A tool call by its execution id."""

    execution_id: str = Field(pattern=ID, json_schema_extra=known("execution"))


class RulePath(NamespacePath):
    """A standing rule of the namespace."""

    rule_id: str = Field(pattern=ID, json_schema_extra=known("rule"))


class DefinitionPath(Wire):
    """One version of an agent."""

    agent: str = Field(pattern=NAME, json_schema_extra=known("agent"))
    version: str = Field(pattern=NAME, json_schema_extra=known("version"))


Optional = str | SkipJsonSchema[None]
"""Left out, never null: a query has no null."""


Cursor = Annotated[
    str,
    Field(max_length=512, json_schema_extra=known("cursor")),
]


class Paging(Wire):
    """Which page of a list: behind `nextCursor` of the page before, and how long."""

    cursor: Cursor | SkipJsonSchema[None] = Field(
        default=None,
        description="opaque: `nextCursor` of the page before; empty or none: from the beginning",
    )
    limit: int = Field(default=100, ge=1, le=MAX_PAGE, description="entries at most")

    @property
    def after(self) -> str | None:
        """The cursor as the runtime takes it."""
        return self.cursor or None


class Scope(Wire):
    """A Thread, a Turn with its Thread, or a Run with its Turn; nothing: the whole Session."""

    thread_id: Optional = Field(default=None, pattern=NAME, json_schema_extra=known("thread"))
    turn_id: Optional = Field(
        default=None, pattern=ID, json_schema_extra=known("turn"), description="of its Thread"
    )
    run_id: Optional = Field(
        default=None, pattern=ID, json_schema_extra=known("run"), description="of its Turn"
    )

    def within(self, session: SessionHandle) -> EventFilter:
        """As the runtime takes it, the wholes of a part filled in; raises NotFound (R089)."""
        return timeline.scope(session.key, self.thread_id, self.turn_id, self.run_id)


class EventPaging(Scope, Paging):
    """A page of events of a scope."""


class ModelCallPaging(Paging):
    """A page of model requests, of one Step where it is named."""

    step_id: Optional = Field(default=None, pattern=ID, json_schema_extra=known("step"))


class InboxPaging(Paging):
    """A page of what can be answered, or of what was set aside."""

    set_aside: bool = False


class RulePaging(Paging):
    """A page of rules in force, or of those that were."""

    past: bool = False


class AgentScope(Wire):
    """One agent, or all."""

    agent: Optional = Field(default=None, pattern=NAME, json_schema_extra=known("agent"))


class OutputRange(Wire):
    """From which byte on, how many at most, and how long to wait for Hands to answer."""

    offset: int = Field(default=0, ge=0, le=2**53)
    limit: int = Field(default=65536, ge=1, le=256 * 1024)
    timeout: float = Field(default=5.0, gt=0, le=30, description="seconds")


InNamespace = Annotated[NamespacePath, Path()]
AtSession = Annotated[SessionPath, Path()]
AtThread = Annotated[ThreadPath, Path()]
AtTurn = Annotated[TurnPath, Path()]
AtRun = Annotated[RunPath, Path()]
AtStep = Annotated[StepPath, Path()]
AtModelCall = Annotated[ModelCallPath, Path()]
AtInteraction = Annotated[InteractionPath, Path()]
AtExecution = Annotated[ExecutionPath, Path()]
AtRule = Annotated[RulePath, Path()]
AtDefinition = Annotated[DefinitionPath, Path()]
Pages = Annotated[Paging, Query()]
Within = Annotated[Scope, Query()]
EventPages = Annotated[EventPaging, Query()]
ModelCallPages = Annotated[ModelCallPaging, Query()]
InboxPages = Annotated[InboxPaging, Query()]
RulePages = Annotated[RulePaging, Query()]
OfAgent = Annotated[AgentScope, Query()]
OutputPart = Annotated[OutputRange, Query()]
