"""What each control does to a Turn of each status: the one list, beside that of legal moves.

Decisions ask it before anything else, the reference page is generated from it, and the tests pose
every cell on the real store.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from sessions_app.contract.errors import Closed, Conflict
from sessions_app.contract.status import TERMINAL, TurnStatus

if TYPE_CHECKING:
    from sessions_app.models import Turn

QUEUED, RUNNING, WAITING = TurnStatus.QUEUED, TurnStatus.RUNNING, TurnStatus.WAITING
PAUSING, PAUSED, CANCELLING = TurnStatus.PAUSING, TurnStatus.PAUSED, TurnStatus.CANCELLING
CANCELLED = TurnStatus.CANCELLED


class Operation(StrEnum):
    """What may be asked of one Turn; the name under which its request id is taken."""

    STEER = "steer"
    INJECT = "inject"
    WITHDRAW = "withdraw"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    SIGNAL = "signal"
    RESPOND = "respond"


class Answer(StrEnum):
    """What the caller is told at once."""

    ADMITTED = "admitted"
    UNCHANGED = "unchanged"  # admitted too: it is so already
    CONFLICT = "CONFLICT"
    CLOSED = "CLOSED"
    NOT_FOUND = "NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Cell:
    """The answer, where it may lead, and a sentence: what happens, or what to do instead."""

    answer: Answer
    text: str
    leads_to: tuple[TurnStatus, ...] = ()


def _admitted(text: str, *leads_to: TurnStatus) -> Cell:
    return Cell(Answer.ADMITTED, text, leads_to)


def _unchanged(text: str) -> Cell:
    return Cell(Answer.UNCHANGED, text)


def _refused(text: str) -> Cell:
    return Cell(Answer.CONFLICT, text)


_ENDED: Final = Cell(Answer.CLOSED, "it has ended and never starts again; submit a new turn")
_WHEN_IT_STARTS: Final = _admitted("kept; applied when it starts", QUEUED)
_WHEN_RESUMED: Final = _admitted("kept; applied after it was resumed", PAUSED)
_TOO_LATE: Final = _refused("it is being cancelled and reasons no more; submit a new turn")
_KEPT_FOR_A_WAIT: Final = _admitted("kept for a wait of its key", QUEUED)
_TAKEN_BACK: Final = "taken back, if it was not applied yet"
_NOT_PAUSED: Final = _refused("only a PAUSED turn is resumed; look at it again")
_PAUSED_AT_ONCE: Final = _admitted("at once, no call of it is active", PAUSED)
_SETTLES: Final = _admitted(
    "at once when nothing is left to settle, else its effects settle first", CANCELLED, CANCELLING
)

_OPEN: Final[dict[Operation, dict[TurnStatus, Cell]]] = {
    Operation.STEER: {
        QUEUED: _WHEN_IT_STARTS,
        RUNNING: _admitted("applied at the next safe boundary; a step follows", RUNNING),
        WAITING: _admitted(
            "applied once all calls of the round are settled; a backoff still holds", WAITING
        ),
        PAUSING: _admitted("kept; applied after it was resumed", PAUSING),
        PAUSED: _WHEN_RESUMED,
        CANCELLING: _TOO_LATE,
    },
    Operation.INJECT: {
        QUEUED: _WHEN_IT_STARTS,
        RUNNING: _admitted("read at the next reasoning step, if there is one", RUNNING),
        WAITING: _admitted("read at the next reasoning step; causes none", WAITING),
        PAUSING: _admitted("kept; read after it was resumed", PAUSING),
        PAUSED: _WHEN_RESUMED,
        CANCELLING: _TOO_LATE,
    },
    Operation.WITHDRAW: {
        status: _admitted(_TAKEN_BACK, status) for status in TurnStatus if status not in TERMINAL
    },
    Operation.PAUSE: {
        QUEUED: _PAUSED_AT_ONCE,
        RUNNING: _admitted("stops at its next safe boundary", PAUSING, PAUSED),
        WAITING: _PAUSED_AT_ONCE,
        PAUSING: _unchanged("a pause was asked for before"),
        PAUSED: _unchanged("it is paused already"),
        CANCELLING: _refused("it is being cancelled and cannot be paused; wait for its end"),
    },
    Operation.RESUME: {
        QUEUED: _NOT_PAUSED,
        RUNNING: _NOT_PAUSED,
        WAITING: _NOT_PAUSED,
        PAUSING: _refused("it has not stopped yet; wait until it is PAUSED"),
        PAUSED: _admitted("lifts the pause only; what it waited for still holds", QUEUED, WAITING),
        CANCELLING: _refused("it is being cancelled and cannot be resumed; wait for its end"),
    },
    Operation.CANCEL: {
        QUEUED: _admitted("at once, nothing was begun", CANCELLED),
        RUNNING: _admitted("its owner stops at the next safe boundary and settles", CANCELLING),
        WAITING: _SETTLES,
        PAUSING: _admitted("its owner stops at the next safe boundary and settles", CANCELLING),
        PAUSED: _SETTLES,
        CANCELLING: _unchanged("a cancel was recorded before"),
    },
    Operation.SIGNAL: {
        QUEUED: _KEPT_FOR_A_WAIT,
        RUNNING: _admitted("ends the oldest wait for its key, else kept for one", RUNNING),
        WAITING: _admitted("ends the oldest wait for its key, else kept for one", WAITING),
        PAUSING: _admitted("ends the oldest wait for its key, else kept for one", PAUSING),
        PAUSED: _admitted("ends the oldest wait for its key; nothing advances", PAUSED),
        CANCELLING: _TOO_LATE,
    },
    Operation.RESPOND: {
        QUEUED: Cell(Answer.NOT_FOUND, "nobody is asked before it begins"),
        RUNNING: _admitted("recorded; what it allows may begin", RUNNING),
        WAITING: _admitted("recorded; it goes on when nothing else is missing", WAITING),
        PAUSING: _admitted("recorded; what it allows begins after the resume", PAUSING),
        PAUSED: _admitted("recorded; what it allows begins after the resume", PAUSED),
        CANCELLING: _refused("it is being cancelled and begins nothing more; wait for its end"),
    },
}

TABLE: Final[dict[tuple[Operation, TurnStatus], Cell]] = {
    (operation, status): _ENDED if status in TERMINAL else cells[status]
    for operation, cells in _OPEN.items()
    for status in TurnStatus
}


def permit(operation: Operation, turn: Turn) -> Cell:
    """The cell of this Turn; raises Conflict or Closed where the table refuses."""
    cell = TABLE[operation, TurnStatus(turn.status)]
    if cell.answer in {Answer.ADMITTED, Answer.UNCHANGED}:
        return cell
    msg = f"cannot {operation} turn {turn.id}, which is {turn.status}: {cell.text}"
    raise Closed(msg) if cell.answer == Answer.CLOSED else Conflict(msg)


def as_markdown() -> str:
    """The table as the reference page shows it."""
    rows = [
        f"| {operation} | {status} | {_shown(cell)} | {cell.text} |"
        for (operation, status), cell in TABLE.items()
    ]
    return "\n".join(["| Control | Turn is | Answer | In words |", "| - | - | - | - |", *rows])


def _shown(cell: Cell) -> str:
    moves = " or ".join(cell.leads_to)
    return f"{cell.answer}, {moves}" if moves else cell.answer
