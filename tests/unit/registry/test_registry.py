"""Which definition a pin names: registered ones side by side, others by a resolver (R250, R251)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sessions_app.contract.errors import Incompatible, Invalid
from sessions_app.contract.identity import DefinitionKey
from sessions_app.registry import Definition, Registry, define
from tests.covers import covers

if TYPE_CHECKING:
    from sessions_app.registry import AgentBinding


def build(binding: AgentBinding) -> AgentBinding:
    """A factory that nothing here calls."""
    return binding


class Tenants:
    """Versions 1 to 3 of `bot`, made when they are asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, version: str) -> Definition | None:
        """Give the version, or None for one that never was."""
        self.asked.append(version)
        return define("bot", version, build, state_version=2) if version in "123" else None


@pytest.fixture
def tenants() -> Tenants:
    """Give the resolver."""
    return Tenants()


@pytest.fixture
def registry(tenants: Tenants) -> Registry:
    """Give a registry with one registered agent and one that is resolved."""
    made = Registry()
    for version in ("1", "2"):
        made.add(define("clerk", version, build))
    made.resolve_with("bot", tenants)
    return made


@covers("R251")
def test_versions_stand_side_by_side(registry: Registry) -> None:
    """Each is found by its exact pin; there is no fallback to a neighbour."""
    found = [registry.get(DefinitionKey("clerk", version)).key.version for version in ("1", "2")]

    assert found == ["1", "2"]
    with pytest.raises(Incompatible, match="clerk@3"):
        registry.get(DefinitionKey("clerk", "3"))
    with pytest.raises(Incompatible, match="clerk@1#2"):
        registry.get(DefinitionKey("clerk", "1", 2))


@covers("R251")
def test_a_resolver_is_asked_once_for_each_version(registry: Registry, tenants: Tenants) -> None:
    """What it gave stays, so that a definition in use does not change."""
    pin = DefinitionKey("bot", "3", 2)

    first, second = registry.get(pin), registry.get(pin)

    assert first is second
    assert tenants.asked == ["3"]


@covers("R250")
def test_what_was_resolved_is_listed_apart(registry: Registry) -> None:
    """Nothing is resolved before somebody asks; registered ones are no part of the list."""
    before = registry.resolved()

    registry.get(DefinitionKey("bot", "1", 2))

    assert before == ()
    assert registry.resolved() == (DefinitionKey("bot", "1", 2),)
    assert list(map(str, registry.keys())) == ["clerk@1", "clerk@2"]


@pytest.mark.parametrize("pin", [DefinitionKey("bot", "9", 2), DefinitionKey("bot", "1", 1)])
def test_what_a_resolver_does_not_have_is_for_another_host(
    registry: Registry, pin: DefinitionKey
) -> None:
    """No such version, or one with other native state."""
    with pytest.raises(Incompatible, match=str(pin)):
        registry.get(pin)


def test_a_resolver_answers_for_what_it_was_asked(registry: Registry) -> None:
    """A definition of another name or version is refused."""
    registry.resolve_with("liar", lambda _version: define("clerk", "1", build))

    with pytest.raises(Incompatible, match="gave clerk@1 for version 7"):
        registry.get(DefinitionKey("liar", "7"))


def test_an_agent_has_one_resolver(registry: Registry, tenants: Tenants) -> None:
    """The same one again is no second one."""
    registry.resolve_with("bot", tenants)

    with pytest.raises(Invalid, match="two resolvers"):
        registry.resolve_with("bot", Tenants())


def test_no_version_of_a_resolved_agent_is_the_newest(registry: Registry) -> None:
    """Whoever makes a Thread of it names the version."""
    with pytest.raises(Invalid, match="name the version"):
        registry.newest("bot")
    assert registry.newest("clerk").key.version == "2"
