"""Who a Brain process is: a random name, what it can run, and the build of the code that it has."""

from __future__ import annotations

import inspect
import logging
import os
import socket
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.ids import new_id
from sessions_app.contract.backend import HostIdentity
from sessions_app.contract.errors import Incompatible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sessions_app.brain.agents import AgentDefinition
    from sessions_app.brain.process import Parts
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.ports import HarnessAdapter

log = logging.getLogger(__name__)

_BUILD_LENGTH: Final = 12


def identity(parts: Parts) -> HostIdentity:
    """A fresh identity for this process; its id is random (law 4)."""
    definitions = tuple(filter(partial(_runs_here, parts), parts.agents.keys()))
    return HostIdentity(
        host_id=new_id("host_"),
        role="brain",
        hostname=socket.gethostname(),
        pid=os.getpid(),
        build=build_of(
            {key: parts.agents.get(key) for key in definitions},
            parts.adapter,
            parts.agents.resolvers(),
        ),
        definitions=definitions,
        resolves=tuple(parts.agents.resolvers()),
        digests=_digests(parts, definitions),
        limits={str(key): _limits(parts.agents.get(key)) for key in definitions},
    )


def _digests(parts: Parts, definitions: Sequence[DefinitionKey]) -> dict[str, str]:
    """Content of each definition; none where changes are accepted, so that nothing is compared."""
    if parts.figures.accepts_changes:
        return {}
    return {str(key): parts.agents.get(key).digest for key in definitions}


def _limits(definition: AgentDefinition) -> tuple[int, int | None]:
    return definition.round_limit, definition.token_limit


def _runs_here(parts: Parts, key: DefinitionKey) -> bool:
    """Whether the definition's framework is installed; without it another host may run it."""
    try:
        parts.adapter(parts.agents.get(key).harness)
    except (Incompatible, ImportError) as error:
        log.warning("agent %s cannot run here: %s", key, error)
        return False
    return True


def build_of(
    definitions: Mapping[DefinitionKey, AgentDefinition],
    adapter: Callable[[str], HarnessAdapter],
    resolvers: Mapping[str, Callable[..., Any]],
) -> str:
    """A name for the code that drives Turns here; another deploy is another build (S17)."""
    code = sha256()
    for key, definition in sorted(definitions.items()):
        code.update(f"{key}#{key.state_version} {definition.harness}\n".encode())
        code.update(_source_of(definition.build))
    for name, resolver in sorted(resolvers.items()):
        code.update(f"{name}@*\n".encode())
        code.update(_source_of(resolver))
    for harness in sorted({definition.harness for definition in definitions.values()}):
        made = adapter(harness)
        code.update(f"{harness} {made.format} {made.framework()}\n".encode())
        code.update(_source_of(type(made)))
    return f"b{code.hexdigest()[:_BUILD_LENGTH]}"


def _source_of(thing: object) -> bytes:
    """The file that defines a function or class, or nothing when there is none to read."""
    try:
        return Path(inspect.getfile(thing)).read_bytes()  # type: ignore[arg-type]
    except (TypeError, OSError):
        return b""
