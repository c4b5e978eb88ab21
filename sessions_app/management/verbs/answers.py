"""Verbs that answer a turn: respond, set-aside, signal.

Each is put on record with who did it. The request id makes a repeat harmless; left out, one is made
up and printed.
"""

from __future__ import annotations

import getpass
import sys
import uuid
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract.errors import InvalidJson
from hands_app.contract.strict_json import JsonValue, loads
from sessions_app.contract.errors import Invalid
from sessions_app.contract.status import InteractionKind
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    from sessions_app.contract.views import Receipt
    from sessions_app.management.output import Output

    Ask = Callable[[DurableRuntime, dict[str, Any], str, str], Receipt]
    """A runtime, the options, a request id and who does it."""


class AnswerVerb:
    """One way to answer, as a verb."""

    CHECKED = True

    def __init__(self, doc: str, declare: Callable[[ArgumentParser], object], ask: Ask) -> None:
        """`doc` is its help, `declare` adds its own arguments, `ask` does it."""
        self.__doc__ = doc
        self._declare = declare
        self._ask = ask

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare arguments."""
        self._declare(parser)
        parser.add_argument("--request-id", help="the same id and content are one request")
        parser.add_argument("--actor", help="who does it; default is the user of this shell")

    def run(self, options: dict[str, Any], out: Output) -> int:
        """Do it, and print the receipt."""
        request_id = options["request_id"] or f"cli-{uuid.uuid4()}"
        actor = options["actor"] or getpass.getuser()
        with DurableRuntime() as runtime:
            receipt = self._ask(runtime, options, request_id, actor)
        out.data(receipt)
        out.line(f"{receipt.subject}: {receipt.outcome}, in turn {receipt.turn_id}")
        out.line(f"  request {request_id}")
        return 0


def as_json(what: str, text: str) -> JsonValue:
    """JSON of the argument `what`, or with `-` of standard input; raises Invalid."""
    try:
        return loads(sys.stdin.read() if text == "-" else text)
    except InvalidJson as error:
        msg = f"{what} is no strict JSON: {error}; text stands in double quotes"
        raise Invalid(msg) from None


def _answers(parser: ArgumentParser) -> None:
    parser.add_argument("interaction", help="interaction id, as `interactions` lists it")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--allow", action="store_true", help="let the call begin, this once")
    which.add_argument("--deny", action="store_true", help="refuse the call")
    which.add_argument("--result", help="the JSON that a manual call gives; - reads it")
    parser.add_argument("--reason", default="", help="of the decision; the model reads it")


def _respond(runtime: DurableRuntime, options: dict[str, Any], request: str, actor: str) -> Receipt:
    view = runtime.find_interaction(options["interaction"])
    if view.kind == InteractionKind.MANUAL and options["result"] is None:
        msg = (
            f"{view.interaction_id} asks for the result of a manual call, not for a decision; "
            "give it by --result"
        )
        raise Invalid(msg)
    turn = runtime.find_turn(view.turn_id)
    return turn.respond(request, view.interaction_id, _response(options), actor)


def _response(options: dict[str, Any]) -> JsonValue:
    if options["result"] is not None:
        return as_json("--result", options["result"])
    decision = "allow" if options["allow"] else "deny"
    return {"decision": decision, "reason": options["reason"]}


def _put_off(parser: ArgumentParser) -> None:
    parser.add_argument("interaction", help="interaction id")
    parser.add_argument("--reason", default="", help="why, for the record")


def _set_aside(
    runtime: DurableRuntime, options: dict[str, Any], request: str, actor: str
) -> Receipt:
    view = runtime.find_interaction(options["interaction"])
    turn = runtime.find_turn(view.turn_id)
    return turn.set_aside(request, view.interaction_id, by=actor, reason=options["reason"])


def _named(parser: ArgumentParser) -> None:
    parser.add_argument("turn", help="turn id")
    parser.add_argument("key", help="x.<ns>.<name>, as the turn waits for it")
    parser.add_argument("content", nargs="?", default="null", help="JSON; - reads it")


respond: Final = AnswerVerb(
    "Allow or deny a call that a person is asked about, or give a manual call its result.",
    _answers,
    _respond,
)
set_aside: Final = AnswerVerb(
    "Put a question off: it stays open, is listed apart and can still be answered.",
    _put_off,
    _set_aside,
)
signal: Final = AnswerVerb(
    "Send a turn a signal: it ends the oldest wait for its key, or is kept for one.",
    _named,
    lambda runtime, options, request, actor: runtime.find_turn(options["turn"]).signal(
        request, options["key"], as_json("content", options["content"]), actor
    ),
)
