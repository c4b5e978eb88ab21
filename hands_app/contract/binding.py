"""What a tool is, frozen: the binding that both houses read and whose digest each call carries.

A binding holds data only. The function stands in `tools`, secrets in neither (R207).
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Final, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from hands_app.contract.strict_json import JsonValue, digest
from hands_app.contract.wire import SIGNAL_KEY, Name, Route, Wire

BY_SIGNAL: Final = "signal"
"""Route of a call that waits for a signal: its key is the binding's target."""


_CREDENTIAL: Final = re.compile(r"//[^/]*@|[?&;#]|(?i:key|token|secret|password)\s*=")
"""Where an address or a list of settings would have one: userinfo, a query, `key=...`."""


class EffectClass(StrEnum):
    """What recovery may do after a lost outcome (design section 7)."""

    READ = "read"
    """No effect outside: run again."""
    IDEMPOTENT = "idempotent"
    """One effect per execution key: run again with the same key."""
    QUERYABLE = "queryable"
    """A lookup tells what happened: look up; UNKNOWN only if the lookup cannot say."""
    ONCE = "once"
    """Never again: UNKNOWN until there is evidence."""


class ApprovalPolicy(StrEnum):
    """Whether a person must allow each call."""

    NEVER = "never"
    """Runs when the agent asks for it."""
    ALWAYS = "always"
    """Waits for an approval of exactly these arguments."""


class ExceptionPolicy(StrEnum):
    """What an exception other than `ToolError` says about the effect (R209, R210)."""

    UNCONFIRMED = "unconfirmed"
    """It says nothing: the effect class decides as after a crash."""
    FAILED = "failed"
    """It says that the call failed and left no effect to look for."""


class BatchMode(StrEnum):
    """In which order the children of a batch run (R203)."""

    ORDERED = "ordered"
    """One after the other; none behind the first that is not COMPLETED."""
    PARALLEL = "parallel"
    """So many at once as the bound says."""


class BatchPolicy(Wire):
    """What makes a binding a batch: how its children run, and the tools that they may be of."""

    mode: BatchMode
    bound: Annotated[int, Field(ge=1, le=100)]
    tools: Annotated[tuple[ToolBinding, ...], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        routes = {each.route for each in self.tools}
        if len(routes) != 1 or any(each.batch is not None for each in self.tools):
            message = "the tools of a batch are on one route, and none is a batch"
            raise ValueError(message)
        if len({each.name for each in self.tools}) != len(self.tools):
            message = "the tools of a batch have different names"
            raise ValueError(message)
        return self


class ToolBinding(Wire):
    """One version of one tool (R206).

    `route` is `local`, `direct`, `manual`, `signal` or the name of a pool; `deadline` is in
    seconds; `parameters` is a JSON Schema of an object; `target` names credentials or a private
    place and contains neither, on the route `signal` it is the key that is waited for;
    `allows_none` says whether an empty return is a result.

    For what people are asked: `answer_within` is how many seconds they may take, `assignee` who is
    asked, `risk` a word for the list, `answer_schema` a JSON Schema of a manual call's result.
    """

    name: Name
    version: Annotated[str, StringConstraints(min_length=1, max_length=64)] = "1"
    description: Annotated[str, StringConstraints(max_length=16_384)] = ""
    parameters: dict[str, JsonValue]
    route: Route = "local"
    effect: EffectClass = EffectClass.ONCE
    deadline: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    approval: ApprovalPolicy = ApprovalPolicy.NEVER
    target: Annotated[str, StringConstraints(max_length=256)] | None = None
    exceptions: ExceptionPolicy = ExceptionPolicy.UNCONFIRMED
    allows_none: bool = True
    answer_within: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    assignee: Annotated[str, StringConstraints(max_length=128)] = ""
    risk: Annotated[str, StringConstraints(max_length=16)] = ""
    answer_schema: dict[str, JsonValue] | None = None
    batch: BatchPolicy | None = None

    @model_validator(mode="after")
    def _has_a_key(self) -> Self:
        if self.route == BY_SIGNAL and not re.match(SIGNAL_KEY, self.target or ""):
            message = f"tool {self.name} waits for a signal: its target has to be x.<ns>.<name>"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _speaks_for_its_children(self) -> Self:
        if self.batch is None:
            return self
        asks = any(each.approval is ApprovalPolicy.ALWAYS for each in self.batch.tools)
        if self.batch.tools[0].route != self.route or self.deadline is not None:
            message = f"batch {self.name} has the route of its tools, and leaves deadlines to them"
            raise ValueError(message)
        if asks and self.approval is not ApprovalPolicy.ALWAYS:
            message = f"batch {self.name} has a tool that a person must allow, so must itself"
            raise ValueError(message)
        return self

    @model_serializer(mode="wrap")
    def _without_nothing(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave the member out that only batches have."""
        written: dict[str, Any] = write(self)
        if self.batch is None:
            written.pop("batch", None)
        return written

    @model_validator(mode="after")
    def _holds_no_credential(self) -> Self:
        if _CREDENTIAL.search(self.target or ""):
            message = f"tool {self.name}: a target names a credential and does not contain one"
            raise ValueError(message)
        return self

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` over the canonical form; two bindings are equal when it is."""
        return digest(self.to_json())

    def __hash__(self) -> int:
        return hash(self.digest)
