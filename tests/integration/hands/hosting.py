"""A Hands host in the test's own process, and a mailbox that stands for the broker."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hands_app.contract.catalogue import Catalogue
from hands_app.contract.messages import UpdateKind
from hands_app.contract.tools import (
    Tool,
    tool,
)
from hands_app.contract.wire import encode
from hands_app.host import Host
from hands_app.worker.ports import HostProfile
from tests.integration.hands.examples import ROUTES, execute, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hands_app.contract.messages import Execute, ExecutionResult, Update
    from hands_app.worker.configuration import Configuration


class Mailbox:
    """Takes updates as a broker does; `is_down` makes it refuse."""

    def __init__(self) -> None:
        self.taken: list[Update] = []
        self.is_down = False

    def publish(self, updates: Sequence[Update]) -> int:
        """Take what is sent, unless it is down."""
        if self.is_down:
            return 0
        self.taken += updates
        return len(updates)

    def of(self, command: Execute) -> list[Update]:
        """Return what was told of a command, each sequence once, in order."""
        mine = {u.sequence: u for u in self.taken if u.execution_id == command.execution_id}
        return [mine[number] for number in sorted(mine)]

    def kinds(self, command: Execute) -> list[str]:
        """Name what was told of a command."""
        return [update.kind.value for update in self.of(command)]

    def result(self, command: Execute) -> ExecutionResult:
        """Wait for a command's last result and return it."""
        until(lambda: "result" in self.kinds(command), f"a result of {command.binding.name}")
        results = [u for u in self.of(command) if u.kind is UpdateKind.RESULT]
        return results[-1].result()


@contextmanager
def serving(
    configuration: Configuration, mailbox: Mailbox, *tools: Tool, role: str = "work", slots: int = 4
) -> Iterator[Host]:
    """Run a host for the length of a block."""
    profile = HostProfile(role, ROUTES, slots)
    host = Host(configuration, profile, mailbox, catalogue=Catalogue(tools))
    host.start()
    try:
        yield host
    finally:
        host.close()


def call(host: Host, described: Tool, **arguments: Any) -> Execute:
    """Send a command for a tool to a host."""
    command = execute(described.binding, arguments)
    host.execute(encode(command))
    return command


def remote(**choices: Any) -> Callable[[Callable[..., Any]], Tool]:
    """Make a tool on the route of the tests."""
    return tool(route="hands", **choices)
