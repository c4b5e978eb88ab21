"""The wirings between a Brain and Hands, each with its real executor and a real host (R174)."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol

from celery import Celery
from kombu import Exchange, Queue

from durable_site.direct import DirectExecutor
from hands_app.contract import queues
from hands_app.contract.catalogue import Catalogue
from hands_app.contract.errors import HandsError
from hands_app.contract.messages import ExecutionResult, UpdateKind, parse_update
from hands_app.contract.tools import Tool, ToolCancelled, ToolContext, tool
from hands_app.contract.wire import encode
from hands_app.host import Host
from hands_app.transports.app import make_app
from hands_app.transports.broker import broker_configuration
from hands_app.transports.updates import CeleryUpdates
from hands_app.worker.ports import HostProfile
from sessions_app.transports.celery_delivery import CeleryDelivery
from sessions_app.transports.http_delivery import HttpExecutor
from tests.integration.hands.examples import ROUTES, execute, query, until
from tests.integration.sidecar.served import TOKEN, sidecar

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.messages import Cancel, Execute, Output, Query, Update
    from hands_app.worker.configuration import Configuration
    from sessions_app.ports import Executor

PROFILE = HostProfile("work", ROUTES, 2)


class Tools:
    """What the host runs: each run is noted, and waits while a test holds it."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.go = threading.Event()
        self.go.set()
        self.once, self.idempotent = self._make("once"), self._make("idempotent")

    def _make(self, effect: str) -> Tool:
        @tool(route="hands", effect=effect, name=f"send_{effect}")
        def send(text: str, context: ToolContext) -> str:
            self.ran.append(context.execution_key)
            while not self.go.wait(0.02):
                if context.cancelled.is_set():
                    raise ToolCancelled
            return f"sent {text}"

        return send


class Line(Protocol):
    """One wiring, from its start to its end."""

    @property
    def executor(self) -> Executor:
        """The Brain's end."""

    def __init__(
        self, configuration: Configuration, catalogue: Catalogue, receive: Callable[[str], str]
    ) -> None: ...

    def close(self) -> None:
        """End both ends."""


class Direct:
    """A host inside of the Brain's process."""

    def __init__(
        self, configuration: Configuration, catalogue: Catalogue, receive: Callable[[str], str]
    ) -> None:
        self.executor = DirectExecutor("hands", configuration, catalogue=catalogue, slots=2)
        self.executor.bind(receive)
        self.executor.start()

    def close(self) -> None:
        """End it."""
        self.executor.close()


class Http:
    """A sidecar behind a socket."""

    def __init__(
        self, configuration: Configuration, catalogue: Catalogue, receive: Callable[[str], str]
    ) -> None:
        self._stack = ExitStack()
        host = Host(configuration, PROFILE, None, catalogue=catalogue)
        host.start()
        self._stack.callback(host.close)
        self.executor = HttpExecutor(self._stack.enter_context(sidecar(host)), TOKEN)
        self.executor.bind(receive)
        self.executor.start()
        self._stack.callback(self.executor.close)

    def close(self) -> None:
        """End the fetching, the server and the host."""
        self._stack.close()


class Folder:
    """The queues of the folder broker: what Celery's workers do is done by a thread."""

    def __init__(
        self, configuration: Configuration, catalogue: Catalogue, receive: Callable[[str], str]
    ) -> None:
        self._app = make_app(configuration)
        self._host = Host(
            configuration, PROFILE, CeleryUpdates(self._app, "durable.updates"), catalogue=catalogue
        )
        self._host.start()
        brain = Celery("brain", set_as_current=False)
        brain.conf.update(broker_configuration("", configuration.state_dir), task_serializer="json")
        self.executor = CeleryDelivery(brain, "durable")
        self._takers: dict[str, Callable[[str], object]] = {
            queues.commands("durable", "hands"): self._host.execute,
            queues.controls("durable", "hands"): self._host.control,
            "durable.updates": receive,
        }
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def _carry(self) -> None:
        """Take one message after the other from each queue, as the tasks of both houses do."""
        with self._app.connection_for_read() as connection:
            open_queues: dict[str, Any] = {}
            for name in self._takers:
                open_queues[name] = Queue(name, Exchange(name), name)(connection.default_channel)
                open_queues[name].declare()
            while not self._closed.wait(0.01):
                for name, queue in open_queues.items():
                    while (message := queue.get(no_ack=True)) is not None:
                        with suppress(HandsError):
                            self._takers[name](message.payload[0][0])

    def close(self) -> None:
        """End the thread, the host and the sender."""
        self._host.close()
        self._closed.set()
        self._thread.join(10)
        self.executor.close()


LINES: tuple[type[Line], ...] = (Direct, Http, Folder)


class Bench:
    """A Brain's end of one line: what it sends, and all that it was told."""

    def __init__(self, line: type[Line], configuration: Configuration) -> None:
        self._make = line
        self._configuration = configuration
        self._line: Line | None = None
        self.tools = Tools()
        self.told: list[Update] = []

    def open(self) -> None:
        """Start both ends."""
        catalogue = Catalogue([self.tools.once, self.tools.idempotent])
        self._line = self._make(self._configuration, catalogue, self._receive)

    def close(self) -> None:
        """End both ends."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _receive(self, envelope: str) -> str:
        self.told.append(parse_update(envelope))
        return "applied"

    def send(self, command: Execute | Cancel | Query | Output) -> None:
        """Send one envelope as dispatch does: until it is confirmed."""
        line = self._line
        assert line is not None
        control = command.kind != "execute"
        until(lambda: line.executor.send("hands", encode(command), control=control), "confirmation")

    def asked_again(self, command: Execute, kind: str) -> bool:
        """Ask for what came behind the first update; whether this kind was told by now.

        As dispatch does, again and again: what a Brain is just about to acknowledge may be told
        once instead of twice.
        """
        self.send(query(command, after=1))
        return kind in self.kinds(command)

    def ran_besides(self, command: Execute) -> list[str]:
        """Send another command behind all that was sent, and say what else has run once it has."""
        other = execute(command.binding, {"text": "other"})
        self.send(other)
        self.result(other)
        return [each for each in self.tools.ran if each != other.execution_id]

    def of(self, command: Execute) -> list[Update]:
        """What was told of a command, each sequence once, in order."""
        mine = {u.sequence: u for u in list(self.told) if u.execution_id == command.execution_id}
        return [mine[number] for number in sorted(mine)]

    def kinds(self, command: Execute) -> list[str]:
        """Name what was told of a command."""
        return [update.kind.value for update in self.of(command)]

    def whole(self, command: Execute) -> bool:
        """Whether all up to the newest result has come."""
        numbers = [update.sequence for update in self.of(command) if update.sequence]
        has_result = UpdateKind.RESULT in {update.kind for update in self.of(command)}
        return has_result and numbers == list(range(1, len(numbers) + 1))

    def result(self, command: Execute) -> ExecutionResult:
        """Wait for everything up to the result, and return that."""
        until(lambda: self.whole(command), f"the result of {command.binding.name}")
        results = [u for u in self.of(command) if u.kind is UpdateKind.RESULT]
        return results[-1].result()
