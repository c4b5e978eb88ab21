"""Delete events that retention lets go, as beat has it done; history and snapshots lose nothing.

Bounds are the deployment's, or the session's own. Readers below the new floor take a snapshot.
Without a session it also deletes objects that nothing refers to and whose grace is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessions_app.management import scopes
from sessions_app.runtime import DurableRuntime
from sessions_app.store import retention, sweeping

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("session", nargs="?", help="namespace/session; without one, every session")
    parser.add_argument("--dry-run", action="store_true", help="say what would go; delete nothing")


def run(options: dict[str, Any], out: Output) -> int:
    """Prune, one session a transaction."""
    dry, named = options["dry_run"], options["session"]
    act, went = (retention.plan, "would go") if dry else (retention.prune, "deleted")
    total = 0
    with DurableRuntime():
        if not named:
            swept = sweeping.every(deletes=not dry)
            out.data(swept)
            out.line(f"{swept.objects} objects {went}")
        for key in [scopes.session_key(named)] if named else retention.due():
            done = act(key)
            total += done.events
            out.data(done)
            out.line(f"{key}: {done.events} events, now through {done.pruned_through}")
    out.line(f"{total} events {went}")
    return 0
