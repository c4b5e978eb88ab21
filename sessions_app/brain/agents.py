"""What the Brain has to know of a registered agent. The registry itself belongs to the assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sessions_app.contract.identity import DefinitionKey


class AgentDefinition(Protocol):
    """One version of one agent, unchanged while in use."""

    @property
    def key(self) -> DefinitionKey:
        """What Threads are pinned to."""

    @property
    def harness(self) -> str:
        """Name of the adapter that runs it."""

    @property
    def build(self) -> Callable[..., Any]:
        """The factory that makes a fresh agent for each invocation (R254)."""

    @property
    def digest(self) -> str:
        """Of its content, which its label stands for (C39)."""

    @property
    def round_limit(self) -> int:
        """How many times one Turn may ask its model (R062)."""

    @property
    def token_limit(self) -> int | None:
        """How many known tokens one Turn may use; None: no limit."""

    @property
    def is_retryable(self) -> Callable[[BaseException], bool | None] | None:
        """The definition's own opinion on failures (R156)."""


class Agents(Protocol):
    """All agents that this process has; there is no fallback from one version to another (R251)."""

    def keys(self) -> tuple[DefinitionKey, ...]:
        """Every registered key."""

    def get(self, key: DefinitionKey) -> AgentDefinition:
        """The definition; raises Incompatible when it is not registered here.

        May ask a resolver, which may read a database: not for the loop.
        """

    def resolvers(self) -> Mapping[str, Callable[..., Any]]:
        """Agents of which this process may have any version, and who gives them."""

    def resolved(self) -> tuple[DefinitionKey, ...]:
        """Every version that was resolved so far."""
