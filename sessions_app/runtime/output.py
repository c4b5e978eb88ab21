"""Reading what a tool wrote: a question goes to Hands by its queues, its answer is awaited."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from celery import current_app
from django.conf import settings

from hands_app.contract.json_limits import SAFE_INTEGER
from hands_app.contract.output import MAX_PAGE_BYTES
from sessions_app.contract.errors import Invalid, WaitTimeout
from sessions_app.contract.views import OutputView
from sessions_app.runtime import waiting
from sessions_app.store import joining, output
from sessions_app.tooling.commands import Commands
from sessions_app.transports.celery_delivery import CeleryDelivery

if TYPE_CHECKING:
    from sessions_app.ports import Executor
    from sessions_app.runtime.turns import TurnHandle
    from sessions_app.tooling.boxes import Question

DEFAULT_LIMIT: Final = 64 * 1024
DEFAULT_TIMEOUT: Final = 5.0


def read(turn: TurnHandle, call: str, offset: int, limit: int, timeout: float) -> OutputView:
    """One page; see `TurnHandle.output`."""
    joining.refuse_waiting()
    _check(offset, limit)
    inside = settings.DURABLE["EXECUTORS"]
    asked = output.ask(turn.turn_id, call, offset, limit, inside=inside)
    if isinstance(asked, OutputView):
        return asked
    if asked.route not in inside:
        _send(asked, turn.runtime.executor or delivery())
    for pause in waiting.pauses(timeout):
        if turn.runtime.closed.wait(pause):
            raise waiting.closed_error(turn.turn_id, turn.key)
        if (page := output.take(asked)) is not None:
            return page
    msg = f"no process of the pool {asked.route} told of the output of {call} within {timeout} s"
    raise WaitTimeout(msg)


def _send(asked: Question, executor: Executor) -> None:
    text = Commands(settings.DURABLE["NAMESPACE"]).output(asked)
    executor.send(asked.route, text, control=True)


@cache
def delivery() -> Executor:
    """What carries questions to Hands unless the runtime was given something else."""
    return CeleryDelivery(current_app, settings.DURABLE["NAMESPACE"])


def _check(offset: int, limit: int) -> None:
    if not 0 <= offset <= SAFE_INTEGER or not 1 <= limit <= MAX_PAGE_BYTES:
        msg = f"a page has an offset from 0 on and a limit from 1 to {MAX_PAGE_BYTES} bytes"
        raise Invalid(msg)
