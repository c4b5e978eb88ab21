"""Routing: which executor carries the commands of a route, and who closes it (R174, R198)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sessions_app.ports import Executor, OwnExecutor


class Routes:
    """The executors of one process, as one; a route that nobody named goes to `rest`.

    What was `made` here from configuration is started and closed here. What the host `lent` is
    told where its updates go and no more: it was started by somebody else, who closes it (R198).
    """

    def __init__(
        self,
        rest: Executor,
        made: Mapping[str, OwnExecutor] | None = None,
        lent: Mapping[str, OwnExecutor] | None = None,
    ) -> None:
        """Starts nothing."""
        self.capabilities = rest.capabilities
        self.rest = rest
        self.made = made or {}
        self.lent = lent or {}

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """See the port."""
        executor: Executor = self.made.get(route) or self.lent.get(route) or self.rest
        return executor.send(route, envelope, control=control)

    def bind(self, receive: Callable[[str], str]) -> None:
        """See the port."""
        for each in (*self.made.values(), *self.lent.values()):
            each.bind(receive)

    def start(self) -> None:
        """Start what was made here; when one cannot, those before it are closed again."""
        started: list[OwnExecutor] = []
        try:
            for each in self.made.values():
                each.start()
                started.append(each)
        except BaseException:
            for each in reversed(started):
                each.close()
            raise

    def drain(self) -> None:
        """See the port."""
        for each in self.made.values():
            each.drain()

    def close(self) -> None:
        """See the port."""
        for each in self.made.values():
            each.close()
