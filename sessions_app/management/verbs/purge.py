"""Delete a closed session for good: every row, ledger entry and object of it. Shows them first.

Without --yes nothing is deleted. A marker and an audit entry stay; the name is free again. Backups,
logs and replicas keep what they have until they expire.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid
from sessions_app.management import scopes
from sessions_app.runtime import DurableRuntime
from sessions_app.store import purging

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("session", help="namespace/session")
    parser.add_argument("--yes", action="store_true", help="do it")
    parser.add_argument("--reason", default="", help="for the audit; needed with --yes")
    parser.add_argument("--actor", help="for the audit; by default the user of this process")


def run(options: dict[str, Any], out: Output) -> int:
    """Count, or delete."""
    key = scopes.session_key(options["session"])
    if options["yes"] and not options["reason"].strip():
        msg = "say why with --reason; the audit entry is all that stays of the session"
        raise Invalid(msg)
    with DurableRuntime():
        if options["yes"]:
            actor = options["actor"] or getpass.getuser()
            found = purging.purge(key, actor=actor, reason=options["reason"])
        else:
            found = purging.plan(key)
    out.data(found)
    for name, count in {**found.rows, **found.outside}.items():
        out.line(f"{count:>8} {name}")
    ending = "is gone" if options["yes"] else "is whole; --yes deletes all of it for good"
    out.line(f"session {key} {ending}")
    return 0
