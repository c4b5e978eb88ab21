"""Keeps batches going: any host of a pool takes the next step of any of them (R204)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from hands_app.contract.batch import child_id, children
from hands_app.contract.errors import InvalidArguments
from hands_app.contract.messages import Execute
from hands_app.worker.rhythm import Rhythm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import Update
    from hands_app.worker.ports import Batches

_AT_ONCE: Final = 100


class Divider:
    """`tell` gets the updates of each step, `wake` hears of children that may be claimed.

    It looks when woken and every `look_seconds`, so that the death of a host between the end of a
    child and the next step costs time only (S20).
    """

    def __init__(
        self,
        batches: Batches,
        *,
        tell: Callable[[Sequence[Update]], None],
        wake: Callable[[], None],
        look_seconds: float,
    ) -> None:
        self._batches = batches
        self._tell = tell
        self._wake = wake
        self._rhythm = Rhythm("hands-batches", self.look, look_seconds)

    def start(self) -> None:
        """Begin to look."""
        self._rhythm.start()

    def wake(self) -> None:
        """Look now."""
        self._rhythm.wake()

    def stop(self) -> None:
        """Take no further step."""
        self._rhythm.stop()

    def look(self) -> int:
        """Take the steps that are due; return how many changed something."""
        steps = 0
        for batch_id in self._batches.due(_AT_ONCE):
            told = self._batches.advance(batch_id)
            self._tell(told.updates)
            steps += told.outcome
        if steps:
            self._wake()
        return steps


def commands_of(batch: Execute) -> list[Execute]:
    """Return the commands of a batch's children, as hosts authorise them (R205).

    Of a manifest that cannot be read there are none: nothing of it will run.
    """
    try:
        calls = children(batch.binding, batch.arguments)
    except InvalidArguments:
        return []
    return [
        Execute.of(
            execution_id=child_id(batch.execution_id, call.ordinal),
            binding=call.binding,
            arguments=call.arguments,
            origin=batch.origin,
            not_after=batch.not_after,
            namespace=batch.namespace,
        )
        for call in calls
    ]
