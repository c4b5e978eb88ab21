"""What can be asked about definitions and versions without starting anything (R249, R250)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from sessions_app.contract.identity import DefinitionKey, ThreadKey


@dataclass(frozen=True, slots=True)
class BackendView:
    """What the store guarantees."""

    database: str
    shared: bool  # several machines may use it at once
    authoritative_time: bool
    writers: str  # one at a time, or many
    atomic: str  # how much is one transaction
    joins_transactions: bool  # a submit inside a caller's transaction is part of it


@dataclass(frozen=True, slots=True)
class HarnessView:
    """Where a framework's Runs recover and what of them is seen; `missing` says why it is not."""

    name: str
    missing: str | None = None
    framework: str | None = None
    format: int | None = None
    recovers_at: tuple[str, ...] = ()
    events_at: tuple[str, ...] = ()
    steer: bool = False
    partial_results: bool = False


@dataclass(frozen=True, slots=True)
class ExecutorView:
    """What a route's executor can be asked beside running a call."""

    route: str
    query: bool
    cancel: bool
    output: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """A definition that a resolver gave."""

    definition: DefinitionKey
    harness: str


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this assembly can do (R249); asks nobody."""

    backend: BackendView
    harnesses: tuple[HarnessView, ...]
    executors: tuple[ExecutorView, ...]
    definitions: tuple[DefinitionKey, ...]
    resolvable: tuple[str, ...]  # agents whose versions are resolved
    resolved_harnesses: tuple[Resolved, ...]  # so far, in this process


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """One tool of a definition, by what binds it."""

    name: str
    route: str
    effect: str
    approval: str
    digest: str


@dataclass(frozen=True, slots=True)
class DefinitionView:
    """One frozen version of an agent: no work is claimed, no factory and no model is called."""

    definition: DefinitionKey
    harness: HarnessView
    resolved: bool
    round_limit: int
    tools: tuple[ToolSummary, ...]
    hosts: tuple[str, ...]  # living ones that have it


@dataclass(frozen=True, slots=True)
class VersionView:
    """Who still needs one version of an agent."""

    definition: DefinitionKey
    threads: int  # open ones that are pinned to it
    turns: int  # unfinished ones of them
    oldest: datetime | None  # admission of the oldest unfinished one
    refused: int  # Threads that hosts looked at and could not run
    hosts: tuple[str, ...]  # living ones that have it
    known: bool  # in this process


@dataclass(frozen=True, slots=True)
class RepinView:
    """What a re-pin did or, as a dry run, would do."""

    thread: ThreadKey
    before: DefinitionKey
    after: DefinitionKey
    outcome: str  # unchanged, possible, done, refused
    objections: tuple[str, ...] = ()
