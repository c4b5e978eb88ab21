"""Show what no model would take in a thread's history, as a diff, and mend it with --yes.

It finds calls without a result, results without a call, second results and results in the wrong
place. The repair is one audited transaction: a new journal entry and a baseline checkpoint; what
was there stays. A thread that is owned, or whose turn has begun and not ended, is refused. Exit
code 1 when something is wrong and was not mended.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Invalid
from sessions_app.contract.identity import SessionKey
from sessions_app.management import exits
from sessions_app.runtime import DurableRuntime, repair

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.identity import ThreadKey
    from sessions_app.management.output import Output

CHECKED: Final = True
_PARTS: Final = 3


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("thread", help="namespace/session/thread")
    parser.add_argument("--yes", action="store_true", help="mend it; without this nothing changes")
    parser.add_argument("--reason", default="", help="why, for the audit")
    parser.add_argument(
        "--by", default="", help="who, for the audit; default: the user of this shell"
    )


def run(options: dict[str, Any], out: Output) -> int:
    """Show, and mend if told to."""
    key = _key(options["thread"])
    with DurableRuntime():
        if options["yes"]:
            found = repair.repair(key, options["by"] or getpass.getuser(), options["reason"])
        else:
            found = repair.look(key)
    out.data(found)
    for line in (*found.diff, *found.faults):
        out.line(line)
    out.line(_summary(found))
    return exits.FOUND if found.faults and not found.repaired else exits.DONE


def _summary(found: repair.RepairView) -> str:
    if found.repaired:
        return f"{found.key}: mended"
    if found.faults:
        return f"{found.key}: {len(found.faults)} faults; mend them with --yes"
    return f"{found.key}: nothing is wrong"


def _key(text: str) -> ThreadKey:
    parts = text.split("/")
    if len(parts) != _PARTS:
        msg = f"thread {text!r} must be namespace/session/thread"
        raise Invalid(msg)
    namespace, session_id, thread_id = parts
    return SessionKey(namespace, session_id).thread(thread_id)
