"""Verbs that control one turn: steer, inject, withdraw, pause, resume, cancel, release.

Each is put on record with who asked. The request id makes a repeat harmless; left out, one is made
up and printed. What is printed proves admission only: watch the turn to see it carried out.
"""

from __future__ import annotations

import getpass
import sys
import uuid
from typing import TYPE_CHECKING, Any, Final

from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable

    from sessions_app.contract.views import Receipt
    from sessions_app.management.output import Output
    from sessions_app.runtime import TurnHandle

    Ask = Callable[[TurnHandle, dict[str, Any], str, str], Receipt]
    """A turn, the options, a request id and who asks."""

CHECKED: Final = True


class ControlVerb:
    """One control as a verb."""

    CHECKED = CHECKED

    def __init__(self, doc: str, declare: Callable[[ArgumentParser], object], ask: Ask) -> None:
        """`doc` is its help, `declare` adds its own arguments, `ask` asks for it."""
        self.__doc__ = doc
        self._declare = declare
        self._ask = ask

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare arguments."""
        parser.add_argument("turn", help="turn id")
        self._declare(parser)
        parser.add_argument("--request-id", help="the same id and content are one request")
        parser.add_argument("--actor", help="who asks; default is the user of this shell")

    def run(self, options: dict[str, Any], out: Output) -> int:
        """Ask, and print the receipt and where the turn stands."""
        request_id = options["request_id"] or f"cli-{uuid.uuid4()}"
        actor = options["actor"] or getpass.getuser()
        with DurableRuntime() as runtime:
            turn = runtime.find_turn(options["turn"])
            receipt = self._ask(turn, options, request_id, actor)
            view = turn.status()
        out.data(receipt)
        named = f" {receipt.subject}" if receipt.subject else ""
        out.line(f"{turn.turn_id} {receipt.operation}: {receipt.outcome}{named}")
        out.line(f"  it is {view.status} at revision {view.revision}, request {request_id}")
        return 0


def _words(parser: ArgumentParser) -> None:
    parser.add_argument("input", help="what to say; - reads it from standard input")


def _target(parser: ArgumentParser) -> None:
    parser.add_argument("input", help="signal id of the input, or its request id")


def _revision(parser: ArgumentParser) -> None:
    parser.add_argument("--revision", type=int, required=True, help="of the PAUSED turn you saw")


def _nothing(_parser: ArgumentParser) -> None:
    return


def _content(options: dict[str, Any]) -> str:
    return sys.stdin.read() if options["input"] == "-" else str(options["input"])


steer: Final = ControlVerb(
    "Give a turn direction at its next safe boundary; a reasoning step follows.",
    _words,
    lambda turn, options, request, actor: turn.steer(request, _content(options), actor),
)
inject: Final = ControlVerb(
    "Give a turn material, which it reads at its next reasoning step.",
    _words,
    lambda turn, options, request, actor: turn.inject(request, _content(options), actor),
)
withdraw: Final = ControlVerb(
    "Take a steer or inject back before it was applied.",
    _target,
    lambda turn, options, request, actor: turn.withdraw(request, options["input"], actor),
)
pause: Final = ControlVerb(
    "Stop a turn at its next safe boundary; it has stopped once it is PAUSED.",
    _nothing,
    lambda turn, _options, request, actor: turn.pause(request, actor),
)
resume: Final = ControlVerb(
    "Lift a pause; what the turn waited for still holds.",
    _revision,
    lambda turn, options, request, actor: turn.resume(request, options["revision"], actor),
)
cancel: Final = ControlVerb(
    "End a turn; what it began settles first, and may have happened.",
    _nothing,
    lambda turn, _options, request, actor: turn.cancel(request, actor),
)
release: Final = ControlVerb(
    "Let a turn that took processes down be tried again; remove the cause first.",
    lambda parser: parser.add_argument("--reason", required=True, help="why, for the record"),
    lambda turn, options, request, actor: turn.release(request, actor, options["reason"]),
)
