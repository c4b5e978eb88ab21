"""What a Turn may cost: the numbers that the ordinary suite compares with what it counts.

Equality, in both directions: what grows is noticed in the change that makes it grow, and what
shrinks cannot grow back unnoticed. Each line is (statements without BEGIN and COMMIT, commits).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.benchmarks.counting import Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

BUDGET: Final[dict[str, dict[str, Cost]]] = {
    "postgresql": {
        "submit": Cost(11, 1),
        "claim": Cost(13, 1),
        "load": Cost(6, 1),
        "model step": Cost(19, 1),
        "tool step": Cost(17, 1),
        "finish": Cost(20, 1),
        "look": Cost(1, 0),
        "hands: park": Cost(24, 1),
        "hands: send": Cost(10, 1),
        "hands: receive admitted": Cost(5, 1),
        "hands: receive started": Cost(7, 1),
        "hands: receive result": Cost(12, 1),
        "hands: claim again": Cost(18, 1),
        "hands: apply": Cost(17, 1),
        "ledger: admit": Cost(4, 1),
        "ledger: execute": Cost(15, 4),
    },
    "sqlite": {
        "submit": Cost(11, 1),
        "claim": Cost(12, 1),
        "load": Cost(6, 1),
        "model step": Cost(19, 1),
        "tool step": Cost(17, 1),
        "finish": Cost(20, 1),
        "look": Cost(1, 0),
        "hands: park": Cost(24, 1),
        "hands: send": Cost(8, 1),
        "hands: receive admitted": Cost(5, 1),
        "hands: receive started": Cost(7, 1),
        "hands: receive result": Cost(12, 1),
        "hands: claim again": Cost(17, 1),
        "hands: apply": Cost(17, 1),
        "ledger: admit": Cost(4, 1),
        "ledger: execute": Cost(15, 4),
    },
}


def hold(vendor: str, found: Mapping[str, Cost]) -> None:
    """Compare what was found with the budget of this database; every difference fails."""
    written = BUDGET[vendor]
    changed = {name: cost for name, cost in found.items() if written.get(name) != cost}
    if not changed:
        return
    said = "\n".join(f"  {name}: {written.get(name)} -> {cost}" for name, cost in changed.items())
    lines = "\n".join(f'        "{name}": Cost{cost},' for name, cost in changed.items())
    msg = (
        f"on {vendor} these cost something else now, as (statements, commits):\n{said}\n"
        "Where it fell, or where it had to grow and the commit says why, write under "
        f'"{vendor}" in tests/benchmarks/budget.py:\n{lines}\n'
        "`make bench PROFILE=1` names the statements; run the test on the other database too."
    )
    raise AssertionError(msg)
