"""Both houses with one object store between them, and calls that no envelope holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.tools import ToolContext, ToolError, tool
from hands_app.objects.files import FileStore
from hands_app.worker.bodies import Bodies
from sessions_app.store import bodies
from tests.integration.tooling import pool as pools
from tests.integration.tooling.house import House, intent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hands_app.contract.messages import Update
    from hands_app.ledger.engine import Database
    from sessions_app.contract.backend import CallFacts
    from sessions_app.models import ToolCall
    from tests.objects import Cellar
    from tests.stores import Store

HUGE = "huge " * 300_000
seen: list[str] = []


@tool(route=pools.ROUTE, effect="once")
def take(text: str, context: ToolContext) -> int:
    """Take a large text."""
    seen.append(text)
    pools.effects.append(context.execution_key)
    return len(text)


@tool(route=pools.ROUTE, effect="once")
def give(times: int) -> list[str]:
    """Give a large text."""
    return ["huge " * times]


@tool(route=pools.ROUTE, effect="once")
def refuse(times: int) -> str:
    """Fail with a lot to say."""
    message = "no paper"
    raise ToolError(message, code="NO_PAPER", metadata={"log": "huge " * times})


@pytest.fixture
def pool(ledger: Database, cellar: Cellar) -> Iterator[pools.Pool]:
    """Give a pool that sees the Brain's store."""
    seen.clear()
    pools.effects.clear()
    tools = Catalogue([take, give, refuse])
    made = pools.Pool(ledger, tools=tools, bodies=Bodies(FileStore(_root(cellar), makes=False)))
    yield made
    made.close()


def _root(cellar: Cellar) -> Path:
    return cellar.store._root


@pytest.fixture
def house(store: Store, pool: pools.Pool) -> House:
    """Give both houses with one store between them."""
    return House(store, pool, objects=bodies.shared)


def asked(house: House, text: str = HUGE) -> ToolCall:
    """A call with arguments beyond an envelope."""
    (call,) = house.asks(intent(take, {"text": text}))
    return call


def given(house: House, times: int = 300_000) -> tuple[ToolCall, list[Update]]:
    """A call whose result lies in the store; its updates wait to be carried."""
    (call,) = house.asks(intent(give, {"times": times}))
    house.carry_commands()
    house.pool.run()
    return call, house.take_updates()


def facts(house: House, call: ToolCall) -> CallFacts:
    """The call as the agent's next owner has it."""
    (found,) = house.store.backend.load(house.go_on(call)).calls
    return found
