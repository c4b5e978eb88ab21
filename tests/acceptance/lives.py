"""Two lives of one deployment.

`before` leaves three Turns waiting and is killed, `after` runs another build a day later and ends
them. Each prints what it saw as one line of JSON. Django is set up by whoever imports this.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from django.core.management import call_command

from hands_app.contract.tools import tool
from hands_app.contract.waiting import wait_for
from sessions_app.contract.identity import DefinitionKey, SessionKey
from sessions_app.contract.status import TurnStatus
from sessions_app.harnesses.scripted.model import Call, Reply, Script, Transcript
from sessions_app.models import Run, Turn
from sessions_app.registry import Definition
from sessions_app.runtime import DurableRuntime, TurnHandle
from sessions_app.store import admission, clock
from tests.integration.brain.brains import Brains, until
from tests.stores import AGENT, Rings, Store

TASKS = ("approval", "pause", "signal")
FOLDER = Path(os.environ["DURABLE_STATE_DIR"])
PAID = "x.shop.paid"


@tool(approval="always")
def charge(amount: int) -> str:
    """Charge a card, and leave a line that says so."""
    with (FOLDER / "charged").open("a") as charged:
        charged.write(f"{amount}\n")
    return f"charged {amount}"


@dataclass(frozen=True)
class Seen:
    """A Turn at one moment."""

    status: str
    revision: int
    runs: int
    failures: int
    deaths: int
    result: object


def replies(transcript: Transcript) -> Reply:
    """Ask for a call as the task says, then repeat its result."""
    last = transcript[-1]
    if last["role"] == "tool":
        return Reply(f"it is {last['content']}")
    waiting = (
        Call("wait_for_shop_paid") if last["text"] == "signal" else Call("charge", {"amount": 5})
    )
    return Reply("", (waiting,)) if last["text"] in TASKS else Reply("here")


def brains(*versions: str) -> Brains:
    """Brains that know these versions of the agent; more versions are another build."""
    made = Brains(Store(Rings()), FOLDER)
    tools = (charge, wait_for(PAID))
    for version in versions:
        key = DefinitionKey(AGENT.name, version)
        bindings = {each.binding.name: each.binding for each in tools}
        made.registry.add(
            Definition(key, "scripted", lambda _: Script(replies), tools, bindings=bindings)
        )
    return made


def handle(task: str) -> TurnHandle:
    """The Turn of a task."""
    session = DurableRuntime().get_session("acme", task)
    return session.get_turn(session.list_turns().items[0].turn_id)


def seen(task: str) -> Seen:
    """Look at a Turn."""
    turn = Turn.objects.get(pk=handle(task).turn_id)
    runs = Run.objects.filter(turn=turn).count()
    return Seen(turn.status, turn.revision, runs, turn.failures, turn.deaths, turn.result)


def before() -> None:
    """Bring each Turn to its wait, then die with everything that runs."""
    call_command("migrate", verbosity=0)
    office = brains("1")
    office.start()
    for task in TASKS:
        admission.create_session(SessionKey("acme", task), AGENT)
        turn_id = office.store.submit(SessionKey("acme", task), text=task)
        office.reaches(turn_id, TurnStatus.WAITING)
    handle("pause").pause("hold")
    report({task: asdict(seen(task)) for task in TASKS})
    os.kill(os.getpid(), signal.SIGKILL)


def after() -> None:
    """A day later, in another build: see that nothing went on, then let each go on."""
    with clock.offset(timedelta(days=1)):
        office = brains("1", "2")
        office.start()
        turn_id = office.store.submit(office.store.session("canary"), text="are you there")
        office.ended(turn_id)
        waited = {task: asdict(seen(task)) for task in TASKS}
        approval, paused, signalled = map(handle, TASKS)
        (asked,) = approval.pending_interactions().items
        approval.respond("yes", asked.interaction_id, response=True)
        signalled.signal("paid", PAID, {"amount": 5})
        (held,) = paused.pending_interactions().items
        paused.respond("yes", held.interaction_id, response=True)
        answered = asdict(seen("pause"))
        paused.resume("go-on", paused.status().revision)
        until(lambda: all(handle(task).status().is_terminal for task in TASKS))
        ended = {task: asdict(seen(task)) for task in TASKS}
        office.close()
    charged = (FOLDER / "charged").read_text().split()
    report({"waited": waited, "answered": answered, "ended": ended, "charged": charged})


def report(facts: object) -> None:
    """Print one line."""
    sys.stdout.write(f"{json.dumps(facts)}\n")
    sys.stdout.flush()
