"""`python -m sessions_app.client watch TURN --session NAMESPACE/SESSION`: follow a Turn from afar.

The site and the token are taken from the environment: a token in a command line is seen by all.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Final

from sessions_app.client.runtime import RemoteRuntime
from sessions_app.contract.errors import DurableError, Invalid
from sessions_app.contract.observing import Committed
from sessions_app.contract.status import TurnStatus

if TYPE_CHECKING:
    from sessions_app.client.turns import TurnHandle
    from sessions_app.contract.events import EventView
    from sessions_app.contract.views import TurnView

DONE: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
CANCELLED: Final = 7
INTERRUPTED: Final = 130
_SITE: Final = "DURABLE_SITE"
_TOKEN: Final = "DURABLE_TOKEN"  # noqa: S105 - the name of a variable
_SHOWN: Final = ("status", "from", "to", "reason", "name", "state", "ordinal", "phase", "errorCode")


def main(arguments: list[str] | None = None) -> int:
    """Watch until the Turn has ended; gives the exit code."""
    given = _parser().parse_args(arguments)
    try:
        namespace, _, session_id = given.session.partition("/")
        with RemoteRuntime.at(_set(_SITE), _set(_TOKEN)) as runtime:
            return watch(runtime.session(namespace, session_id).get_turn(given.turn))
    except DurableError as error:
        print(f"{error.code}: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def watch(turn: TurnHandle) -> int:
    """Print each event of a Turn as it comes, and how it ended."""
    view = turn.status()
    for item in turn.stream_events():
        if isinstance(item, Committed):
            print(_line(item.event), flush=True)  # noqa: T201 - a command's answer
        at_end = not isinstance(item, Committed) or item.event.type == "turn.status"
        if at_end and (view := turn.status()).is_terminal:
            break
    print(_end(view))  # noqa: T201 - a command's answer
    ends = {TurnStatus.COMPLETED: DONE, TurnStatus.CANCELLED: CANCELLED}
    return ends.get(TurnStatus(view.status), FAILED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sessions_app.client",
        description=f"Follow a Turn of the site {_SITE} with the token {_TOKEN}.",
        epilog="Exit codes: 0 completed; 1 failed; 2 refused; 7 cancelled; 130 interrupted.",
    )
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("watch", help="print a Turn's events until it has ended")
    verb.add_argument("turn", help="the Turn's id")
    verb.add_argument("--session", required=True, help="NAMESPACE/SESSION")
    return parser


def _set(name: str) -> str:
    if found := os.environ.get(name):
        return found
    msg = f"{name} is not set; see `python -m sessions_app.client --help`"
    raise Invalid(msg)


def _line(event: EventView) -> str:
    facts = " ".join(f"{name}={event.payload[name]}" for name in _SHOWN if event.payload.get(name))
    return f"{event.at:%H:%M:%S} {event.sequence:>5} {event.type} {facts}".rstrip()


def _end(view: TurnView) -> str:
    why = f" {view.error_code}: {view.error_text}" if view.error_code else ""
    result = f" {view.result}" if view.result is not None else ""
    return f"{view.turn_id} {view.status}{why}{result}"


if __name__ == "__main__":
    sys.exit(main())
