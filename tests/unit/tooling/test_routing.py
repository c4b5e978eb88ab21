"""Each route has its executor, and each executor somebody who closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hands_app.contract.errors import Incompatible
from sessions_app.ports import ExecutorCapabilities
from sessions_app.tooling.routing import Routes
from tests.covers import covers

if TYPE_CHECKING:
    from collections.abc import Callable


class Noted:
    """An executor that notes what is done to it."""

    capabilities = ExecutorCapabilities(query=True, cancel=True, output=False)

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.done: list[str] = []

    def send(self, route: str, envelope: str, *, control: bool = False) -> bool:
        """Note the envelope."""
        self.done.append(f"{route}:{envelope}:{control}")
        return True

    def bind(self, receive: Callable[[str], str]) -> None:
        """Note it."""
        self.done.append("bind")
        self.receive = receive

    def start(self) -> None:
        """Note it, or fail."""
        if self.broken:
            raise Incompatible
        self.done.append("start")

    def drain(self) -> None:
        """Note it."""
        self.done.append("drain")

    def close(self) -> None:
        """Note it."""
        self.done.append("close")


@covers("R174")
def test_a_command_leaves_by_the_executor_of_its_route() -> None:
    """A route that was given an executor has it; all others go to the queues of the pools."""
    rest, made, lent = Noted(), Noted(), Noted()
    routes = Routes(rest, {"direct": made}, {"sidecar": lent})

    sent = [
        routes.send("direct", "a"),
        routes.send("sidecar", "b", control=True),
        routes.send("hands", "c"),
    ]

    assert sent == [True] * 3
    assert (made.done, lent.done) == (["direct:a:False"], ["sidecar:b:True"])
    assert rest.done == ["hands:c:False"]


@covers("R193", "R198")
def test_what_was_made_here_is_closed_here_and_nothing_else() -> None:
    """Executors from configuration live with the process; one that was handed in goes on."""
    rest, made, lent = Noted(), Noted(), Noted()
    routes = Routes(rest, {"direct": made}, {"sidecar": lent})

    routes.bind(lambda _: "applied")
    routes.start()
    routes.drain()
    routes.close()

    assert made.done == ["bind", "start", "drain", "close"]
    assert lent.done == ["bind"]
    assert rest.done == []


def test_when_one_cannot_start_the_others_are_closed_again() -> None:
    """A process that refuses to start leaves nothing running."""
    first, second = Noted(), Noted(broken=True)

    with pytest.raises(Incompatible):
        Routes(Noted(), {"a": first, "b": second}).start()

    assert first.done == ["start", "close"]
