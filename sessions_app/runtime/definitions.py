"""Which definition a new Thread is pinned to: the version asked for, or the newest known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.errors import Conflict, Invalid
from sessions_app.machine.admission import Limits
from sessions_app.registry import registry
from sessions_app.store import reads

if TYPE_CHECKING:
    from collections.abc import Callable

    from sessions_app.contract.identity import DefinitionKey, ThreadKey


def create(
    key: ThreadKey, agent: str, version: str | None, make: Callable[[DefinitionKey], None]
) -> None:
    """Have `make` pin the Thread.

    Without a version the request is "this agent", so its repeat after a deploy of a newer version
    finds the Thread with the pin that it has. Raises Invalid for an agent that is not registered.
    """
    pin = resolve(agent, version)
    try:
        make(pin)
    except Conflict:
        if version is not None or reads.thread(key).definition.name != agent:
            raise


def resolve(agent: str, version: str | None) -> DefinitionKey:
    """Find the newest version of an agent, or the one asked for; raises Invalid for none."""
    if version is None:
        return registry.newest(agent).key
    found = registry.find(agent, version)
    if found is not None:
        return found.key
    if agent not in registry.resolvers():
        registry.newest(agent)  # refuses an unknown name
    known = registry.keys()
    have = ", ".join(key.version for key in known if key.name == agent)
    msg = f"agent {agent!r} has no version {version!r}; registered versions: {have}"
    raise Invalid(msg)


def limits() -> dict[DefinitionKey, Limits]:
    """What a Turn of each definition known here may cost (R062)."""
    known = map(registry.get, (*registry.keys(), *registry.resolved()))
    return {each.key: Limits(each.round_limit, each.token_limit) for each in known}
