"""The decorator that makes a Python function a tool of either house (R206).

The schema comes from the type hints, the description from the docstring. A tool may take one
`ToolContext`, which is no argument of the model. The function itself stays callable as it was.
"""

from __future__ import annotations

import inspect
import io
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, TextIO, TypeAlias, cast, overload

from hands_app.contract.binding import ApprovalPolicy, EffectClass, ExceptionPolicy, ToolBinding
from hands_app.contract.strict_json import MARKER
from hands_app.contract.tool_schema import Signature, read_signature

if TYPE_CHECKING:
    from hands_app.contract.messages import ExecutionResult, Origin
    from hands_app.contract.strict_json import JsonValue

AnyFunction: TypeAlias = Callable[..., Any]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class ToolError(Exception):
    """A failure that the tool declares: the call is FAILED and nothing is in doubt.

    `message` is shown to the model and to people; `code` is a stable upper-case word.
    """

    code: ClassVar[str] = "TOOL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        metadata: dict[str, JsonValue] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = code or self.code
        self.metadata = metadata or {}


class ToolCancelled(Exception):
    """The tool confirms that it stopped on request and left no effect: the call is CANCELLED."""


@dataclass(frozen=True)
class Unsure:
    """What a lookup returns when it cannot say what happened."""


@dataclass(frozen=True)
class NeverHappened:
    """What a lookup returns when the effect surely did not happen; the tool may run again."""


Lookup: TypeAlias = "ExecutionResult | NeverHappened | Unsure"


@dataclass
class ToolContext:
    """What a tool may know about its call: the durable origin and the stable key (R177).

    `execution_key` is the same in every attempt, so it may serve as an idempotency key outside.
    `attempt` counts from 1. `cancelled` is set once a cancel was asked for, `stopping` once the
    process is to end within seconds, whatever becomes of the call: its effect class decides.
    `ends_at` is the moment of `time.monotonic` at which the deadline passes. `report` and `keep`
    take what `progress` and `output` are given; a tool that runs in the Brain has nobody who
    keeps it.
    `target` names the credential or place that the binding means (R207), `defaults` is what this
    process has for the tool (R208).
    """

    execution_key: str
    origin: Origin
    attempt: int = 1
    cancelled: threading.Event = field(default_factory=threading.Event)
    stopping: threading.Event = field(default_factory=threading.Event)
    report: Callable[[dict[str, JsonValue]], None] = field(default=lambda _: None, repr=False)
    keep: Callable[[bytes], None] = field(default=lambda _: None, repr=False)
    ends_at: float | None = None
    target: str | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def progress(
        self,
        message: str,
        *,
        fraction: float | None = None,
        data: dict[str, JsonValue] | None = None,
    ) -> None:
        """Publish a sign of life; `fraction` is between 0 and 1. Never fails the tool."""
        self.report({"message": message, "fraction": fraction, "data": data or {}})

    def output(self, data: bytes | str) -> None:
        """Add to what can be read of this execution while it runs and afterwards (R190).

        From any thread or coroutine. Bytes stay as they are; text becomes UTF-8, with U+FFFD for
        lone surrogates. Beyond the execution's bound it is counted and not kept. Never fails the
        tool.
        """
        self.keep(data if isinstance(data, bytes) else _utf8(data))

    @property
    def stream(self) -> TextIO:
        """A text file whose content is this output: for `print(..., file=context.stream)`."""
        return cast("TextIO", _OutputStream(self))

    def time_left(self) -> float | None:
        """Seconds until the deadline of this attempt, at least 0; None without one."""
        return None if self.ends_at is None else max(0.0, self.ends_at - time.monotonic())


class _OutputStream(io.TextIOBase):
    """What `ToolContext.stream` gives; it keeps nothing back, so flushing does nothing."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self._context.output(text)
        return len(text)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(MARKER, text).encode()


@dataclass(frozen=True)
class Tool:
    """A function with its frozen binding.

    `effect_chosen` is False where nobody chose an effect class, so that `once` was taken.
    `lookup` takes the execution key and the arguments and returns an `ExecutionResult`,
    `NeverHappened` or `Unsure`; only `queryable` tools have one. `children` are the tools of a
    batch, whose own function is never called.
    """

    function: AnyFunction = field(repr=False)  # it may hold presets
    binding: ToolBinding
    signature: Signature
    effect_chosen: bool
    lookup: AnyFunction | None = None
    children: tuple[Tool, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name that the model uses."""
        return self.binding.name

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    def call_arguments(
        self, arguments: dict[str, JsonValue], context: ToolContext
    ) -> dict[str, Any]:
        """Return the keyword arguments of one call, validated; raise InvalidArguments."""
        given = self.signature.validate(arguments)
        if self.signature.context is not None:
            given[self.signature.context] = self.equip(context)
        return given

    def equip(self, context: ToolContext) -> ToolContext:
        """Tell a context what this tool may know beside its call; returns the same one."""
        context.target, context.defaults = self.binding.target, self.defaults
        return context

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own types
        """Call the plain function."""
        return self.function(*args, **kwargs)


@overload
def tool(function: AnyFunction, /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    version: str = "1",
    description: str | None = None,
    route: str = "local",
    effect: EffectClass | str | None = None,
    deadline: float | None = None,
    approval: ApprovalPolicy | str = ApprovalPolicy.NEVER,
    target: str | None = None,
    exceptions: ExceptionPolicy | str = ExceptionPolicy.UNCONFIRMED,
    answer_within: float | None = None,
    assignee: str = "",
    risk: str = "",
    answer_schema: dict[str, JsonValue] | None = None,
    lookup: AnyFunction | None = None,
) -> Callable[[AnyFunction], Tool]: ...


def tool(
    function: AnyFunction | None = None, /, **choices: Any
) -> Tool | Callable[[AnyFunction], Tool]:
    """Make a function a tool.

    Args:
        function: the function, when the decorator stands without parentheses.
        **choices: `name` (the function's own), `version` ("1"), `description` (the docstring),
            `route` ("local", "direct", "manual" or a pool), `effect` (an EffectClass; without one
            `once`), `deadline` (seconds), `approval` ("never" or "always"), `target` (the name of
            a private place or credential), `exceptions` ("unconfirmed" or "failed"), `lookup`;
            for what people are asked: `answer_within` (seconds), `assignee`, `risk` and
            `answer_schema` (a JSON Schema of a manual call's result; without one that of the
            function's return type).

    Raises:
        TypeError: a parameter that no schema can name, or `lookup` and effect do not fit.
    """
    if function is not None:
        return _describe(function, **choices)
    return lambda described: _describe(described, **choices)


def _describe(
    function: AnyFunction,
    *,
    effect: EffectClass | str | None = None,
    lookup: AnyFunction | None = None,
    **choices: Any,  # noqa: ANN401 - the fields of ToolBinding
) -> Tool:
    signature = read_signature(function, ToolContext)
    chosen = EffectClass(effect) if effect is not None else EffectClass.ONCE
    if (chosen is EffectClass.QUERYABLE) != (lookup is not None):
        message = f"tool {function.__name__}: `queryable` and a lookup belong together"
        raise TypeError(message)
    given = {name: choice for name, choice in choices.items() if choice is not None}
    if given.get("route") == "manual":
        given.setdefault("answer_schema", signature.answer)
    binding = ToolBinding.model_validate(
        {
            "name": function.__name__,
            "description": inspect.getdoc(function) or "",
            "parameters": signature.schema(),
            "effect": chosen,
            "allows_none": signature.allows_none,
            **given,
        },
        strict=False,
    )
    return Tool(function, binding, signature, effect is not None, lookup)
