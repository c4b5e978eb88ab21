"""What tests of the Python API share: a runtime that knows two versions of one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from sessions_app.contract.identity import DefinitionKey
from sessions_app.registry import Definition, registry
from sessions_app.runtime import DurableRuntime, SessionHandle
from tests.stores import AGENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores import Store

VERSIONS: Final = (DefinitionKey(AGENT.name, "0"), AGENT)


@pytest.fixture
def runtime(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[DurableRuntime]:
    """Give a runtime on a clean database; `store` drives what it submits and keeps its hints."""
    known = {key: Definition(key, "scripted", lambda binding: binding) for key in VERSIONS}
    monkeypatch.setattr(registry, "_definitions", known)
    monkeypatch.setattr(registry, "_resolvers", {})
    monkeypatch.setattr(registry, "_resolved", {})
    with DurableRuntime() as made:
        yield made


@pytest.fixture
def session(runtime: DurableRuntime) -> SessionHandle:
    """Give an open Session, pinned to the newest version."""
    return runtime.create_session("acme", "s1", agent=AGENT.name)
