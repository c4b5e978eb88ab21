"""Names of the queues between the houses: derived here and nowhere else (R178, R179).

A deployment has one queue for what Hands report, and two for each pool of tools: controls never
wait behind commands. A pool is what serves a route.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from hands_app.contract.errors import Incompatible
from hands_app.contract.wire import ROUTE

Kind: TypeAlias = Literal["commands", "controls"]

DEFAULT_NAMESPACE: Final = "durable"
DEFAULT_ROUTE: Final = "hands"
NAMESPACE: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
"""Form of a deployment's name, the first part of all its queues."""

NO_ARGUMENTS: Final = "(...)"
"""What Celery's events and log lines show of a message's arguments, which are private (C82)."""

_ENDING: Final = re.compile(r"\.(?P<route>[^.]+)\.(?P<kind>commands|controls)")


class PoolQueue(NamedTuple):
    """What a pool's queue is for."""

    route: str
    kind: Kind


def updates(namespace: str) -> str:
    """Name the queue by which the Brain hears of executions."""
    return f"{namespace}.updates"


def commands(namespace: str, route: str) -> str:
    """Name the queue by which a pool gets work."""
    return f"{namespace}.{route}.commands"


def controls(namespace: str, route: str) -> str:
    """Name the queue by which a pool is asked and stopped."""
    return f"{namespace}.{route}.controls"


def pool_queue(namespace: str, queue: str) -> PoolQueue | None:
    """Read a queue's name back; None for one that no pool of this namespace has."""
    found = _ENDING.fullmatch(queue.removeprefix(namespace))
    if not queue.startswith(namespace) or found is None:
        return None
    route = found["route"]
    if re.fullmatch(ROUTE, route) is None:
        return None
    return PoolQueue(route, "controls" if found["kind"] == "controls" else "commands")


def namespace_name(text: str) -> str:
    """Return the text if it can be a namespace; raise Incompatible, saying why not."""
    if re.fullmatch(NAMESPACE, text) is None:
        message = (
            f"{text!r} is no namespace: give 1 to 64 letters, digits, '_', '-' and '.',"
            " with a letter or a digit first"
        )
        raise Incompatible(message)
    return text


def route_name(text: str) -> str:
    """Return the text if it can be a route; raise Incompatible, saying why not."""
    if re.fullmatch(ROUTE, text) is None:
        message = (
            f"{text!r} is no route: give 1 to 32 lower-case letters, digits, '_' and '-',"
            " with a letter first"
        )
        raise Incompatible(message)
    return text
