"""What may be done next, each with the id that its verb takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sessions_app.contract.explanation import NextAction, Verb

if TYPE_CHECKING:
    from sessions_app.contract.identity import DefinitionKey
    from sessions_app.models import Interaction, Turn

WAIT = NextAction(Verb.WAIT, "", "wait")
SCAN = NextAction(Verb.SCAN, "", "run a scan")
DOCTOR = NextAction(Verb.DOCTOR, "", "see that beat and a brain are alive and reach the database")
CHECK = NextAction(Verb.CHECK, "", "hold the database against the invariants")


def cancel(turn: Turn) -> NextAction:
    """End the Turn."""
    return NextAction(Verb.CANCEL, turn.id, f"cancel {turn.id}")


def pause(turn: Turn) -> NextAction:
    """Stop it at the next safe boundary."""
    return NextAction(Verb.PAUSE, turn.id, f"pause {turn.id}")


def resume(turn: Turn) -> NextAction:
    """Lift the pause that was seen (R048)."""
    return NextAction(Verb.RESUME, turn.id, f"resume --revision {turn.revision}")


def respond(asked: Interaction) -> NextAction:
    """Answer what a person is asked."""
    return NextAction(Verb.RESPOND, asked.id, f"answer {asked.id}")


def signal(turn: Turn, key: str | None) -> NextAction:
    """Send the signal that is waited for; without a key any of the agent's own will do."""
    return NextAction(Verb.SIGNAL, turn.id, f"signal {key}" if key else "signal it")


def release(turn: Turn) -> NextAction:
    """Let a Turn that took processes down be tried again."""
    return NextAction(Verb.RELEASE, turn.id, f"release {turn.id} once its cause is removed")


def explain(turn: Turn) -> NextAction:
    """Ask the same about another Turn."""
    return NextAction(Verb.EXPLAIN, turn.id, f"explain {turn.id}")


def submit(text: str) -> NextAction:
    """Ask for another Turn."""
    return NextAction(Verb.SUBMIT, "", text)


def start(pin: DefinitionKey, text: str) -> NextAction:
    """Start a process."""
    return NextAction(Verb.START, str(pin), text)


def versions(pin: DefinitionKey) -> NextAction:
    """See who has which version."""
    return NextAction(Verb.VERSIONS, pin.name, f"see who has which version of {pin.name}")


def repin(pin: DefinitionKey, thread: str) -> NextAction:
    """Move the Thread to a version that somebody has."""
    return NextAction(Verb.REPIN, thread, f"move the thread to a version of {pin.name} that runs")


def reconcile(execution_id: str) -> NextAction:
    """Record what was verified of an effect that nobody could vouch for; nothing has a default."""
    text = (
        f"durable reconcile {execution_id} --request-id … --expect UNKNOWN "
        "--state COMPLETED --content … | --state FAILED --message … --evidence … --by …"
    )
    return NextAction(Verb.RECONCILE, execution_id, text)


def verify(execution_id: str, text: str) -> NextAction:
    """Find out what became of an effect."""
    return NextAction(Verb.VERIFY, execution_id, text)
