"""What an API process does with Turns that wait for a person. It needs no agent of its own (C37).

Run in the test's process, or by `main` in a process to itself. Django is set up by whoever imports
this.
"""

from __future__ import annotations

import json
import sys
from typing import Final

from sessions_app.contract.errors import Conflict
from sessions_app.registry import registry
from sessions_app.runtime import DurableRuntime, TurnHandle
from tests.integration.brain.brains import until

SCENES: Final = ("cancelled", "denied", "closed")
DEADLINE: Final = 30.0


def serve(namespace: str) -> dict[str, str]:
    """Ask in each Session, dismiss what is asked there, close; tell how each Turn ended."""
    with DurableRuntime() as runtime:
        known = registry.keys()
        told = {scene: _dismissed(runtime, namespace, scene) for scene in SCENES}
    return {**told, "agents": " ".join(key.name for key in known)}


def main(namespace: str) -> None:
    """Serve, and print what was told."""
    sys.stdout.write(json.dumps(serve(namespace)))


def _dismissed(runtime: DurableRuntime, namespace: str, scene: str) -> str:
    session = runtime.get_session(namespace, scene)
    turn = session.submit("r1", "write to them")
    until(lambda: turn.pending_interactions().items)
    refused = _dismiss(turn, scene)
    ended = turn.wait(DEADLINE)
    session.main.close()
    session.close()
    return f"{ended.status}{refused}"


def _dismiss(turn: TurnHandle, scene: str) -> str:
    """Cancel, deny, or try to close over the open question and then deny."""
    refused = ""
    if scene == "cancelled":
        turn.cancel("c1", "ann")
        return refused
    if scene == "closed":
        try:
            turn.runtime.get_session(turn.key.session.namespace, scene).main.close()
        except Conflict:
            refused = ", close refused"
    (asked,) = turn.pending_interactions().items
    turn.respond("a1", asked.interaction_id, response=False, actor="ann")
    return refused
