"""Submit a turn, and make its session first when an agent is named.

The request id makes a repeat harmless: sent again with the same input it finds the first turn. Left
out, one is made up and printed.
"""

from __future__ import annotations

import sys
import uuid
from typing import TYPE_CHECKING, Any, Final

from sessions_app.contract.identity import MAIN_THREAD
from sessions_app.contract.policy import SubmitPolicy
from sessions_app.management import scopes
from sessions_app.management.output import as_json
from sessions_app.management.verbs import watch
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from sessions_app.management.output import Output
    from sessions_app.runtime import SessionHandle

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    parser.add_argument("session", help="namespace/session")
    parser.add_argument("input", help="the task in words; - reads it from standard input")
    parser.add_argument("--agent", help="make the session, pinned to this agent, if it is new")
    parser.add_argument("--agent-version", help="with --agent: this version, not the newest")
    parser.add_argument("--thread", default=MAIN_THREAD, help="thread id, default main")
    parser.add_argument("--request-id", help="the same id and input find the same turn")
    policies = ", ".join(SubmitPolicy)
    parser.add_argument(
        "--policy", default=SubmitPolicy.QUEUE, help=f"while a turn is unfinished: {policies}"
    )
    parser.add_argument("--watch", action="store_true", help="follow it to its end")
    parser.add_argument("--timeout", type=float, help="with --watch: seconds to follow it")


def run(options: dict[str, Any], out: Output) -> int:
    """Submit, and follow if asked to."""
    with DurableRuntime() as runtime:
        thread = _session(runtime, options).get_thread(options["thread"])
        content = sys.stdin.read() if options["input"] == "-" else options["input"]
        request_id = options["request_id"] or f"cli-{uuid.uuid4()}"
        turn = thread.submit(request_id, content, options["policy"])
        view = turn.status()
        told = turn.receipt and f"{turn.receipt.outcome} {turn.receipt.subject or ''}".rstrip()
        out.line(f"{turn.turn_id} {view.status} in {turn.key}, request {request_id}, {told}")
        if options["watch"]:
            return watch.follow(turn, out, options["timeout"])
        shown: Any = as_json(view)
        out.data(shown | {"receipt": turn.receipt})
        return 0


def _session(runtime: DurableRuntime, options: dict[str, Any]) -> SessionHandle:
    key = scopes.session_key(options["session"])
    namespace, session_id = key.namespace, key.session_id
    if options["agent"] is None:
        return runtime.get_session(namespace, session_id)
    version = options["agent_version"]
    return runtime.create_session(namespace, session_id, agent=options["agent"], version=version)
