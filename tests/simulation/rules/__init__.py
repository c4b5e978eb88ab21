"""The rules of the simulation, each with its weight: how often it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from tests.simulation.rules import asking, controls, hands, observers, people, processes
from tests.simulation.world import World

Rule = Callable[[World, Random], str | None]
"""Does one thing, or gives None when it cannot be done now."""

RULES: Final[dict[str, tuple[Rule, int]]] = {
    rule.__name__: (rule, weight)
    for rule, weight in (
        (people.opening, 0),
        (people.create_session, 2),
        (people.create_thread, 2),
        (people.submit, 8),
        (people.submit_again, 3),
        (people.close_thread, 1),
        (people.close_session, 1),
        (people.unknown_thread, 1),
        (observers.read, 2),
        (observers.observe, 6),
        (observers.prune, 1),
        (controls.steer, 5),
        (controls.inject, 4),
        (controls.withdraw, 3),
        (controls.pause, 5),
        (controls.resume, 6),
        (controls.cancel, 4),
        (controls.no_such_turn, 1),
        (controls.control_again, 3),
        (asking.respond, 8),
        (asking.respond_elsewhere, 1),
        (asking.signal, 5),
        (asking.create_rule, 2),
        (asking.revoke_rule, 1),
        (processes.step, 40),
        (processes.run_on, 30),
        (processes.look, 10),
        (processes.hint, 10),
        (processes.duplicate_hint, 3),
        (processes.drop_hint, 3),
        (processes.renew, 4),
        (processes.scan, 4),
        (processes.sweep, 3),
        (processes.sweep_living, 1),
        (processes.kill, 2),
        (processes.stall, 2),
        (processes.wake, 3),
        (processes.drain, 1),
        (processes.advance, 6),
        (processes.next_deadline, 4),
        (processes.trouble, 4),
        (hands.dispatch, 6),
        (hands.carry, 6),
        (hands.carry_twice, 2),
        (hands.lose_command, 1),
        (hands.work, 8),
        (hands.tell_on, 3),
        (hands.deliver, 10),
        (hands.deliver_twice, 3),
        (hands.lose_update, 1),
        (hands.forge, 1),
        (hands.forget, 1),
        (hands.reconcile, 2),
    )
}
