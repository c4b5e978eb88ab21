"""The executor `direct`: a Hands host inside of the Brain's own process (R174, R193).

Commands are admitted into the ledger and updates taken in by a call. All else is as in a pool:
claims and leases, start records, the outbox, presence and sweeps. After a crash the next process
finds the ledger and goes on. Threads give neither process nor sandbox isolation (R196).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Self

from django.conf import settings

from hands_app.host import Host
from hands_app.settings import read_environment
from hands_app.transports.local import LocalUpdates
from hands_app.worker.ports import HostProfile
from sessions_app.ports import ExecutorCapabilities

if TYPE_CHECKING:
    from collections.abc import Callable

    from hands_app.contract.catalogue import Catalogue
    from hands_app.worker.configuration import Configuration

SLOTS: Final = 4


class DirectExecutor:
    """Implements `sessions_app.ports.OwnExecutor`. Make it after any fork (S22).

    The ledger is that of the pools, by default a file in the Brain's own state folder; its tables
    are made by `python -m hands_app migrate`. `configuration` names the modules with its tools,
    unless a catalogue is given.
    """

    capabilities = ExecutorCapabilities(query=True, cancel=True, output=True)

    def __init__(
        self,
        route: str,
        configuration: Configuration,
        *,
        catalogue: Catalogue | None = None,
        slots: int = SLOTS,
    ) -> None:
        """Nothing runs before `start`. Raises Incompatible for modules without tools."""
        self._updates = LocalUpdates()
        profile = HostProfile("work", (route,), slots)
        self.host = Host(configuration, profile, self._updates, catalogue=catalogue)
        self._endpoint = self.host.endpoint()

    @classmethod
    def from_settings(cls, route: str) -> Self:
        """Make the one that the settings describe."""
        tools = ",".join(settings.DURABLE["DIRECT_TOOLS"])
        return cls(route, replace(read_environment(), tools=tools))

    def send(self, _route: str, envelope: str, *, control: bool = False) -> bool:
        """See the port; True once it stands in the ledger."""
        return self._endpoint.send(envelope, control=control)

    def bind(self, receive: Callable[[str], str]) -> None:
        """See the port."""
        self._updates.bind(receive)

    def start(self) -> None:
        """See the port. Raises Incompatible for a ledger with another schema."""
        self.host.start()

    def drain(self) -> None:
        """See the port."""
        self.host.drain()

    def close(self) -> None:
        """See the port; running tools get their grace, the rest is left to its leases."""
        self.host.close()
