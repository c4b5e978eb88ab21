"""Fault points: named places where a test can stop, kill or hold a process of either house.

A module declares its points once and calls `faultpoint` at them. Without a plan that costs one
dictionary look-up. A plan comes from `DURABLE_FAULTS` or, inside one process, from `plan`.

    DURABLE_FAULTS="hands.start.after_commit=kill@1;hands.finish.before_commit=hang:/tmp/go"
    DURABLE_FAULTS='{"trace": "/tmp/hits", "points": {"hands.start.after_commit": "kill"}}'
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from hands_app.contract.fault_plan import Rule, parse_plan, parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_points: dict[str, Rule | None] = {}
_environment: Final = parse_plan(os.environ.get("DURABLE_FAULTS", ""))


class UndeclaredFaultPoint(LookupError):
    """The name was never declared: a typing error, in the code or in a plan."""


def declare(*names: str) -> None:
    """Add points to the registry; a plan of the environment takes hold here."""
    for name in names:
        _points.setdefault(name, _environment.get(name))


def declared() -> frozenset[str]:
    """Return the names of every point declared by the modules imported so far."""
    return frozenset(_points)


def faultpoint(name: str) -> None:
    """Do what the plan says about this point; nothing without one."""
    try:
        rule = _points[name]
    except KeyError:
        raise UndeclaredFaultPoint(name) from None
    if rule is not None:
        rule.hit()


@contextmanager
def plan(actions: Mapping[str, str | Callable[[str], object]]) -> Iterator[Mapping[str, Rule]]:
    """Put a plan over the declared points of this process for the length of a `with` block.

    An action is written as in the environment, or is a callable that takes the point's name.
    Gives the rules, whose `hits` count.

    Raises:
        UndeclaredFaultPoint: a planned name is not declared.

    """
    if unknown := actions.keys() - _points.keys():
        raise UndeclaredFaultPoint(", ".join(sorted(unknown)))
    rules = {name: parse_rule(name, action) for name, action in actions.items()}
    before = {name: _points[name] for name in rules}
    _points.update(rules)
    try:
        yield rules
    finally:
        _points.update(before)
