"""Capabilities and versions: views that start nothing, and the deliberate re-pin (R249 to R252)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from django.conf import settings
from django.db import connection

from sessions_app import harnesses
from sessions_app.contract.errors import Conflict, Incompatible, Invalid
from sessions_app.contract.versions import (
    BackendView,
    Capabilities,
    DefinitionView,
    ExecutorView,
    HarnessView,
    Resolved,
    ToolSummary,
)
from sessions_app.machine.repinning import Target
from sessions_app.ports import ExecutorCapabilities
from sessions_app.registry import registry
from sessions_app.runtime import definitions, executors
from sessions_app.store import reads, repinning, versions
from sessions_app.transports.celery_delivery import CeleryDelivery

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.backend import Native
    from sessions_app.contract.identity import DefinitionKey, ThreadKey
    from sessions_app.contract.versions import RepinView, VersionView
    from sessions_app.machine.repinning import Operator
    from sessions_app.registry import Definition

IN_THE_BRAIN: Final = ExecutorCapabilities(query=False, cancel=False, output=False)
"""A local call's owner sees its end; nobody else can ask (its lookup, if any, is the tool's)."""


def capabilities() -> Capabilities:
    """What this assembly can do."""
    keys, resolved = registry.keys(), registry.resolved()
    found = {key: registry.get(key).harness for key in (*keys, *resolved)}
    routes = {
        "local": IN_THE_BRAIN,
        **dict.fromkeys(settings.DURABLE["HANDS_POOLS"], CeleryDelivery.capabilities),
        **executors.capabilities(),
    }
    return Capabilities(
        backend=_backend(),
        harnesses=tuple(_harness(name) for name in sorted(set(found.values()))),
        executors=tuple(
            ExecutorView(route, able.query, able.cancel, able.output)
            for route, able in routes.items()
        ),
        definitions=keys,
        resolvable=tuple(registry.resolvers()),
        resolved_harnesses=tuple(Resolved(key, found[key]) for key in resolved),
    )


def definition(agent: str, version: str) -> DefinitionView:
    """One frozen version."""
    key = definitions.resolve(agent, version)
    found = registry.get(key)
    tools = (tool.binding for tool in found.tools)
    return DefinitionView(
        definition=key,
        harness=_harness(found.harness),
        resolved=key in registry.resolved(),
        round_limit=found.round_limit,
        tools=tuple(
            ToolSummary(each.name, each.route, each.effect, each.approval, each.digest)
            for each in tools
        ),
        hosts=versions.hosts_of(key),
    )


def needed(agent: str | None = None) -> list[VersionView]:
    """Who still needs which version."""
    return versions.needed((*registry.keys(), *registry.resolved()), agent)


def repin(thread: ThreadKey, version: str, operator: Operator | None) -> RepinView:
    """Move a Thread, or as a dry run say what stands against it."""
    before = reads.thread(thread).definition
    key = definitions.resolve(before.name, version)
    found = registry.get(key)
    target = Target(key, {name: bound.digest for name, bound in found.bindings.items()})
    view = repinning.repin(thread, target, _judge(before, found), operator)
    if operator is not None and view.outcome == "refused":
        msg = f"thread {thread} stays at {view.before}: {'; '.join(view.objections)}"
        raise Conflict(msg)
    return view


def _judge(before: DefinitionKey, found: Definition) -> Callable[[Native], str | None]:
    """Make the question why the new version cannot go on from a stored state; None if it can."""
    known = registry.find(before.name, before.version, before.state_version)
    adapter = harnesses.adapter(found.harness)

    def against(native: Native) -> str | None:
        frame = native.frame
        harness = frame.harness if frame else known.harness if known else found.harness
        if harness != found.harness:
            return f"it belongs to harness {harness}; {found.key} is of {found.harness}"
        seen = replace(native, frame=replace(frame, definition=found.key) if frame else None)
        try:
            adapter.check(seen, found.key)
        except Incompatible as error:
            return str(error)
        except (ValueError, Invalid) as error:
            return f"its state cannot be read by {found.key}: {type(error).__name__}"
        return None

    return against


def _backend() -> BackendView:
    shared = connection.vendor == "postgresql"
    return BackendView(
        database=connection.vendor,
        shared=shared,
        authoritative_time=True,
        writers="many" if shared else "one at a time",
        atomic="one session",
        joins_transactions=True,
    )


def _harness(name: str) -> HarnessView:
    """What a framework can do; an absent one is no error, another host may have it."""
    try:
        adapter = harnesses.adapter(name)
    except Incompatible as error:
        return HarnessView(name, missing=str(error))
    able = adapter.capabilities
    recovers = ["model outcome"] if able.model_outcomes != "none" else []
    recovers += ["tool result"] if able.mid_round_checkpoint else []
    events = ["message", "tool call"] + (["argument delta"] if able.argument_deltas else [])
    return HarnessView(
        name=name,
        framework=adapter.framework(),
        format=adapter.format,
        recovers_at=(*recovers, "turn"),
        events_at=tuple(events),
        steer=able.steer,
        partial_results=able.partial_results,
    )
