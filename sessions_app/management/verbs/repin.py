"""Move threads to another version of their agent; without --apply only say what would happen.

A thread keeps its version for good unless somebody moves it. It is moved if nobody owns it, the
harness is the same, its stored state can be taken up by the new version, and the tools of calls
that are open are bound in the new version as they were. What was moved is put on record.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.errors import Conflict, Invalid
from sessions_app.contract.identity import SessionKey
from sessions_app.management import exits
from sessions_app.runtime import DurableRuntime
from sessions_app.store import versions

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.contract.identity import ThreadKey
    from sessions_app.contract.versions import RepinView
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument(
        "what", help="namespace/session, namespace/session/thread, or agent@version for all"
    )
    parser.add_argument("--to", required=True, metavar="VERSION", help="a version known here")
    parser.add_argument("--apply", action="store_true", help="do it, if nothing stands against it")
    parser.add_argument("--reason", default="", help="why, for the record; needed with --apply")


def run(options: dict[str, Any], out: Output) -> int:
    """Look at each thread by itself; those that cannot be moved do not hold up the others."""
    if options["apply"] and not options["reason"]:
        msg = "say with --reason why they are moved; it is put on record"
        raise Invalid(msg)
    with DurableRuntime() as runtime:
        views = [_repin(runtime, key, options) for key in _threads(options["what"])]
    out.data(views)
    for view in views:
        out.line(f"{view.thread}: {view.before} to {view.after}: {view.outcome}")
        for objection in view.objections:
            out.line(f"  {objection}")
    if not views:
        out.line("no open thread is pinned to it")
    return exits.FOUND if any(view.outcome == "refused" for view in views) else exits.DONE


def _threads(what: str) -> list[ThreadKey]:
    match what.split("/"):
        case [namespace, session_id]:
            return [SessionKey(namespace, session_id).thread()]
        case [namespace, session_id, thread_id]:
            return [SessionKey(namespace, session_id).thread(thread_id)]
        case [pin] if "@" in pin:
            name, _, version = pin.rpartition("@")
            return versions.threads_of(name, version)
        case _:
            msg = f"{what!r:.80} names no thread and no agent@version"
            raise Invalid(msg)


def _repin(runtime: DurableRuntime, key: ThreadKey, options: dict[str, Any]) -> RepinView:
    looked = runtime.repin(key, options["to"])
    if not options["apply"] or looked.outcome != "possible":
        return looked
    try:
        return runtime.repin(
            key,
            options["to"],
            dry_run=False,
            actor=getpass.getuser(),
            reason=options["reason"],
        )
    except Conflict:  # it was claimed in between
        return runtime.repin(key, options["to"])
