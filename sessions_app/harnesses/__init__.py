"""Agent frameworks as kernels of the Brain: one folder per framework, the same file names in each.

An adapter is imported when it is first asked for: a framework costs a process most of a second.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, cast

from django.conf import settings
from django.utils.module_loading import import_string

from sessions_app.contract.errors import Incompatible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sessions_app.ports import HarnessAdapter

BUILT_IN: Final[Mapping[str, str]] = {
    "pydantic_ai": "sessions_app.harnesses.pydantic_ai.adapter.PydanticAIAdapter",
    "scripted": "sessions_app.harnesses.scripted.adapter.ScriptedAdapter",
}


def adapters() -> Mapping[str, str]:
    """Names and dotted paths of all adapters; DURABLE["HARNESSES"] adds to those built in."""
    return {**BUILT_IN, **cast("Mapping[str, str]", settings.DURABLE.get("HARNESSES", {}))}


@cache
def adapter(name: str) -> HarnessAdapter:
    """The adapter of this name, one object per process; raises Incompatible when there is none."""
    known = adapters()
    if name not in known:
        msg = f"no harness named {name!r} here; known: {', '.join(sorted(known))}"
        raise Incompatible(msg)
    try:
        made: HarnessAdapter = import_string(known[name])()
    except ImportError as error:
        msg = f"harness {name!r} cannot be imported here: {error}"
        raise Incompatible(msg) from error
    return made
