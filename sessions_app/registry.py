"""Agents register here, in an `agents.py` module of any installed app.

As Django does for `admin.py`.

@agent("night-report", version="1", tools=[count_errors, write_report])
def build(binding: AgentBinding) -> pydantic_ai.Agent: ...

Several versions stand side by side. Where versions are made elsewhere (one for each tenant, rows of
a table), a resolver is asked for each one that a Thread is pinned to:

@resolver("tenant-bot")
def resolve(version: str) -> Definition | None: ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from sessions_app.contract.errors import Incompatible, Invalid
from sessions_app.contract.identity import DefinitionKey, checked_name
from sessions_app.definition import digest_of

if TYPE_CHECKING:
    from hands_app.contract.binding import ToolBinding
    from hands_app.contract.tools import Tool
    from sessions_app.ports import RunContext

DEFAULT_ROUND_LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class AgentBinding:
    """What a factory sees: definition, context of this one invocation, tools.

    Never journal storage (R254).
    """

    context: RunContext
    tools: tuple[Tool, ...]


Factory = Callable[[AgentBinding], Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of one agent. Registered once; unchanged while in use."""

    key: DefinitionKey
    harness: str
    build: Factory
    tools: tuple[Tool, ...] = ()
    round_limit: int = DEFAULT_ROUND_LIMIT
    token_limit: int | None = None
    is_retryable: Callable[[BaseException], bool | None] | None = None
    bindings: dict[str, ToolBinding] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of what it says; the same label with other content is refused (C39)."""
        return digest_of(self.harness, self.build, self.bindings)

    def tool(self, name: str) -> Tool | None:
        """The tool of exactly this name, or None (T19)."""
        return next((tool for tool in self.tools if tool.binding.name == name), None)


Resolver = Callable[[str], Definition | None]
"""Gives the definition of one version, the same whenever it is asked, or None for no such version.

May read a database; one that cannot be reached is told by raising, and the Turn is tried again.
"""


class Registry:
    """All definitions that this process can run.

    Looked up by the exact pin; there is no fallback (R251).
    """

    def __init__(self) -> None:
        """Begin empty; autodiscovery fills it."""
        self._definitions: dict[DefinitionKey, Definition] = {}
        self._resolvers: dict[str, Resolver] = {}
        self._resolved: dict[DefinitionKey, Definition] = {}
        self._lock = threading.Lock()

    def add(self, definition: Definition) -> None:
        """Register; raises Invalid when the same key is registered with something else."""
        known = self._definitions.get(definition.key)
        if known is not None and known.build is not definition.build:
            msg = (
                f"agent {definition.key} is registered twice, by "
                f"{known.build} and {definition.build}"
            )
            raise Invalid(msg)
        self._definitions[definition.key] = definition

    def resolve_with(self, name: str, resolver: Resolver) -> None:
        """Have `resolver` asked for versions of `name`; raises Invalid for a second one."""
        if self._resolvers.setdefault(name, resolver) is not resolver:
            msg = f"agent {name} has two resolvers, {self._resolvers[name]} and {resolver}"
            raise Invalid(msg)

    def get(self, key: DefinitionKey) -> Definition:
        """The definition; raises Incompatible when this process does not have it.

        What a resolver raises passes through.
        """
        found = self._definitions.get(key) or self._resolved.get(key)
        found = found or self.find(key.name, key.version, key.state_version)
        if found is None:
            have = ", ".join(str(known) for known in self.keys()) or "none"
            msg = f"agent {key} is not registered here; registered: {have}"
            raise Incompatible(msg)
        return found

    def find(self, name: str, version: str, state_version: int | None = None) -> Definition | None:
        """The version asked for, of whatever state version where none is named."""
        for known in (self._definitions, self._resolved):
            for key, definition in known.items():
                if (key.name, key.version) == (name, version) and _fits(key, state_version):
                    return definition
        found = self._resolve(name, version) if name in self._resolvers else None
        return found if found is not None and _fits(found.key, state_version) else None

    def _resolve(self, name: str, version: str) -> Definition | None:
        """Ask the resolver once; what it gave stays while this process lives."""
        found = self._resolvers[name](version)
        if found is None:
            return None
        if (found.key.name, found.key.version) != (name, version):
            msg = f"the resolver of agent {name} gave {found.key} for version {version}"
            raise Incompatible(msg)
        with self._lock:
            return self._resolved.setdefault(found.key, found)

    def newest(self, name: str) -> Definition:
        """The last registered version of `name`; raises Invalid for an unknown name."""
        found = [definition for key, definition in self._definitions.items() if key.name == name]
        if found:
            return found[-1]
        if name in self._resolvers:
            msg = f"agent {name!r} has a resolver and no newest version; name the version"
            raise Invalid(msg)
        have = ", ".join(sorted({*self._resolvers, *(key.name for key in self.keys())})) or "none"
        msg = f"no agent named {name!r} is registered; registered: {have}"
        raise Invalid(msg)

    def keys(self) -> tuple[DefinitionKey, ...]:
        """All registered keys, in order of registration."""
        return tuple(self._definitions)

    def resolvers(self) -> dict[str, Resolver]:
        """Who is asked for versions, by the names of the agents."""
        return dict(self._resolvers)

    def resolved(self) -> tuple[DefinitionKey, ...]:
        """What was resolved so far (R250)."""
        with self._lock:
            return tuple(self._resolved)


def _fits(key: DefinitionKey, state_version: int | None) -> bool:
    return state_version is None or key.state_version == state_version


registry: Final = Registry()


class Traits(TypedDict, total=False):
    """What may be said of a version of an agent beside its name.

    `round_limit` bounds model requests of one Turn over all its Runs (R062), `token_limit` its
    known tokens: once they are used up, nothing more is asked. `is_retryable` may answer True,
    False or None (no opinion) for an exception; it never makes an UNKNOWN effect repeat (R156).
    """

    harness: str
    state_version: int
    tools: Iterable[Tool]
    round_limit: int
    token_limit: int | None
    is_retryable: Callable[[BaseException], bool | None] | None


def define(name: str, version: str, build: Factory, **traits: Unpack[Traits]) -> Definition:
    """Describe one version of agent `name`; `build` makes a fresh agent for each invocation."""
    checked_name("agent name", name)
    checked_name("agent version", version)
    tools = tuple(traits.get("tools", ()))
    return Definition(
        key=DefinitionKey(name, version, traits.get("state_version", 1)),
        harness=traits.get("harness", "pydantic_ai"),
        build=build,
        tools=tools,
        round_limit=traits.get("round_limit", DEFAULT_ROUND_LIMIT),
        token_limit=traits.get("token_limit"),
        is_retryable=traits.get("is_retryable"),
        bindings={tool.binding.name: tool.binding for tool in tools},
    )


def agent(name: str, *, version: str, **traits: Unpack[Traits]) -> Callable[[Factory], Factory]:
    """Register the decorated factory as one version of agent `name`; see `Traits`."""

    def register(build: Factory) -> Factory:
        registry.add(define(name, version, build, **traits))
        return build

    return register


def resolver(name: str) -> Callable[[Resolver], Resolver]:
    """Have the decorated function asked for versions of agent `name` (R251)."""
    checked_name("agent name", name)

    def register(resolve: Resolver) -> Resolver:
        registry.resolve_with(name, resolve)
        return resolve

    return register
