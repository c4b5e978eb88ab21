"""Assembles a Hands process and starts and stops its threads; made after the fork (S22)."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from hands_app.contract.catalogue import load_catalogue
from hands_app.contract.errors import Incompatible, Unavailable
from hands_app.executors.callable import CallableExecutor
from hands_app.ledger import schema
from hands_app.ledger.batches import SqlBatches
from hands_app.ledger.commands import SqlCommands
from hands_app.ledger.engine import Database
from hands_app.ledger.hosts import SqlHosts
from hands_app.ledger.orphans import SqlOrphans
from hands_app.ledger.outbox import SqlOutbox
from hands_app.ledger.presence import presence_for
from hands_app.ledger.refusals import SqlRefusals
from hands_app.ledger.retention import SqlRetention
from hands_app.ledger.work import SqlWork
from hands_app.machine.execution import Refusal
from hands_app.objects.opening import open_store
from hands_app.transports.local import LocalEndpoint
from hands_app.worker.attempt import Attempts
from hands_app.worker.batching import Divider
from hands_app.worker.bodies import Bodies
from hands_app.worker.callbacks import Callbacks
from hands_app.worker.closing import FORCED_SECONDS, Closing, Door
from hands_app.worker.courier import Courier
from hands_app.worker.gate import Gate, same_house
from hands_app.worker.keeper import Keeper
from hands_app.worker.live import LiveClaims
from hands_app.worker.loop import WorkLoop
from hands_app.worker.pruner import Pruner
from hands_app.worker.refusals import Reason, Refused
from hands_app.worker.rhythm import Rhythm
from hands_app.worker.shelf import Shelf
from hands_app.worker.sweeper import Sweeper
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.catalogue import Catalogue
    from hands_app.contract.messages import Update
    from hands_app.worker.configuration import Configuration
    from hands_app.worker.ports import HostProfile, Policy, Presence, Publisher

_NOTED_SECONDS: Final = 1.0
_LAST_MOMENTS: Final = FORCED_SECONDS / 2
"""What tools get to stop by themselves when their process ends by force."""
_log = logging.getLogger(__name__)


class Host:
    """One process of a pool.

    With the role `work` it claims and runs tools in `slots` at once; with `control` it only
    obeys commands and sweeps, so that no backlog can delay a cancel or query (R178). Without a
    publisher updates lie on its `shelf` until they are fetched.
    """

    def __init__(
        self,
        configuration: Configuration,
        profile: HostProfile,
        publisher: Publisher | None,
        *,
        catalogue: Catalogue | None = None,
        policy: Policy | None = None,
    ) -> None:
        self._configuration = configuration
        self._profile = profile
        self._database = Database(configuration.ledger_url, pool=profile.slots + 4)
        self._own_database = Database(configuration.ledger_url, pool=2)
        self._executor = CallableExecutor()
        self._callbacks = Callbacks()
        self._door = Door()
        self._closing = Closing(self._end, self._end_late)
        self.live = LiveClaims()
        self._bodies = Bodies(
            open_store(configuration.objects_dir, configuration.namespace, makes=False)
        )
        tools = load_catalogue(configuration.tools) if catalogue is None else catalogue
        self.catalogue = tools.on_route(*profile.routes)
        outbox = SqlOutbox(self._database)
        self.shelf = Shelf(outbox)
        self.courier = (
            self.shelf if publisher is None else Courier(outbox, _Lent(publisher, self._callbacks))
        )
        hosts, presence = self._hosts(), presence_for(self._own_database)
        self.keeper = self._keeper(hosts, presence)
        self.loop = self._loop()
        self.divider = Divider(
            SqlBatches(self._database),
            tell=self.courier.tell,
            wake=self.loop.wake,
            look_seconds=configuration.sweep_seconds,
        )
        self.loop.after_child = self.divider.wake
        self.gate = self._gate(policy or same_house(configuration.namespace, profile.routes))
        self.sweeper = self._sweeper(hosts, presence)
        self._sweeping = Rhythm("hands-sweeper", self.sweeper.sweep, configuration.sweep_seconds)
        retention = SqlRetention(self._database, details=configuration.details)
        self._pruner = Pruner(retention, configuration.prune_seconds)
        self._book = SqlRefusals(self._own_database)
        self._writing = Rhythm("hands-refusals", self._write_refusals, _NOTED_SECONDS)
        self._is_open = threading.Event()

    def start(self) -> None:
        """Open the ledger and begin; while the ledger is away, go on trying in the background.

        Raises:
            SchemaMismatch: the ledger's schema is not the one of this code.
        """
        try:
            self._open()
        except Unavailable as error:
            _log.warning("the ledger is away, trying again: %s", error)
            threading.Thread(target=self._open_later, name="hands-opening", daemon=True).start()

    def execute(self, text: str) -> None:
        """Admit one execute command; raises Rejected, or Unavailable, as when it drains."""
        self._see_that_it_is_open()
        with self._door.admitting(), self._callbacks.calling():
            self.gate.execute(text)

    def control(self, text: str) -> None:
        """Obey one cancel or query, also when it drains; raises Rejected or Unavailable."""
        self._see_that_it_is_open()
        with self._door.obeying(), self._callbacks.calling():
            self.gate.control(text)

    def endpoint(self) -> LocalEndpoint:
        """Return what a Brain in the same process sends its commands to (R197)."""
        return LocalEndpoint(self)

    def drain(self) -> None:
        """Admit and claim nothing more; controls and running tools go on (S24, R258)."""
        self._door.drain()
        self.loop.drain()
        if self._is_open.is_set():
            with suppress(Unavailable):
                self.keeper.drain()

    def close(self, *, force: bool = False) -> None:
        """Drain, give running tools their grace, and stop; the rest is left to its leases.

        Closing again is harmless. A tool that ends after this still records its outcome. Whoever
        lent the publisher may close it now (R259).

        Args:
            force: wait for at most 5 s. Tools are told by `context.stopping`, claims that were not
                started go back to the pool, and no effect is cancelled (R260). It hurries a close
                that is under way.

        Called from a tool, a policy or the publisher it begins the end and returns at once, since
        the end waits for them (R261).
        """
        if force:
            self.loop.hurry()
        self._closing.begin()
        if not self._callbacks.are_calling():
            self._closing.wait(FORCED_SECONDS if force else None)

    def wait_closed(self, seconds: float) -> bool:
        """Wait until a close that began has ended; False when the time is up."""
        return self._closing.wait(seconds)

    def _end(self) -> None:
        """Take the steps of a close, each of which may fail without keeping the next from it."""
        grace = self._configuration.grace_seconds
        _each(
            self.drain,
            lambda: self._let_go(grace),
            lambda: self._door.close(FORCED_SECONDS),
            self._sweeping.stop,
            self._pruner.stop,
            self.divider.stop,
            self.courier.close,
            self._writing.stop,
            self._write_refusals,
            self._leave,
        )

    def _end_late(self) -> None:
        """Say goodbye once the last tool that was left running has recorded its outcome (S24)."""
        if self.loop.wait_until_idle(0):
            return
        self.loop.wait_until_idle(None, patiently=False)
        self._leave()

    def _leave(self) -> None:
        """Close what nothing that still runs needs: an async tool needs the executor's loop."""
        idle = self.loop.wait_until_idle(0)
        self._is_open.clear()  # or a late word would open connections that nobody closes
        executor = (self._executor.close,) if idle else ()
        _each(self.keeper.close, *executor, self._database.close, self._own_database.close)

    def _let_go(self, grace: float) -> None:
        """Wait for running tools; in a hurry tell them, and give back what was not started."""
        if self.loop.wait_until_idle(grace):
            return
        waiting = self.live.stop()
        work = SqlWork(self._database)
        given_back = sum(not isinstance(work.release(each).outcome, Refusal) for each in waiting)
        if self.loop.is_hurried:
            self.loop.wait_until_idle(_LAST_MOMENTS, patiently=False)
        _log.warning(
            "%d executions went back to the pool, %d are left to their leases",
            *(given_back, len(self.live)),
        )

    def _hosts(self) -> SqlHosts:
        lease, renewal = self._configuration.lease, self._configuration.renewal
        return SqlHosts(self._own_database, lease=lease, renewal=renewal)

    def _keeper(self, hosts: SqlHosts, presence: Presence) -> Keeper:
        seconds = self._configuration.renew_seconds
        work = SqlWork(self._own_database)
        return Keeper(hosts, presence, work, self.live, self._profile, renew_seconds=seconds)

    def _loop(self) -> WorkLoop:
        work = SqlWork(self._database, lease=self._configuration.lease)
        attempts = Attempts(
            work,
            self._executor,
            self.live,
            tell=self.courier.tell,
            bodies=self._bodies,
            output_bytes=self._configuration.output_bytes,
        )
        return WorkLoop(
            work,
            attempts,
            self.keeper,
            self.catalogue,
            self._profile,
            self._callbacks,
            poll_seconds=self._configuration.poll_seconds,
        )

    def _gate(self, policy: Policy) -> Gate:
        return Gate(
            SqlCommands(self._database),
            policy,
            self.catalogue,
            tell=self.courier.tell,
            wake=self._look,
            bodies=self._bodies,
        )

    def _look(self) -> None:
        """Look at once for work and for batches; which of both a command brought is not asked."""
        self.loop.wake()
        self.divider.wake()

    def _sweeper(self, hosts: SqlHosts, presence: Presence) -> Sweeper:
        return Sweeper(
            hosts,
            presence,
            SqlOrphans(self._database),
            self.keeper,
            self.live,
            tell=self.courier.tell,
            wake=self.loop.wake,
        )

    def _open(self) -> None:
        schema.check(self._database)
        self.keeper.start()
        self.courier.start()
        self._sweeping.start()
        self._pruner.start()
        self._writing.start()
        self.divider.start()
        if self._profile.role == "work":
            self.loop.start()
        self._is_open.set()
        _log.info("%s serves %s", self.keeper.host_id, ", ".join(self._profile.routes))

    def _write_refusals(self) -> None:
        """Write down what was refused lately; it may wait, and costs nothing if there is none."""
        self.gate.refusals.write_to(self._book, self.keeper.host_id)

    def _open_later(self) -> None:
        while not self._closing.wait_until_begun(1):
            try:
                self._open()
            except (Unavailable, Incompatible) as error:
                _log.warning("the ledger is not ready: %s", error)
            else:
                return

    def _see_that_it_is_open(self) -> None:
        if not self._is_open.is_set() and not self._closing.is_begun:
            message = "the ledger has not been reached yet"
            raise Unavailable(message)


class _Lent:
    """A publisher that the host has lent, marked as foreign code while it is used."""

    def __init__(self, publisher: Publisher, callbacks: Callbacks) -> None:
        self._publisher = publisher
        self._callbacks = callbacks

    def publish(self, updates: Sequence[Update]) -> int:
        with self._callbacks.calling():
            return self._publisher.publish(updates)


def _each(*steps: Callable[[], object]) -> None:
    """Take all the steps, whichever of them fail."""
    for step in steps:
        try:
            step()
        except Unavailable as error:
            _log.warning("closed without its ledger: %s", error)
        except Exception as error:  # noqa: BLE001 - the outermost frame of a closing thread
            _log.error("a step of the close failed: %s", trouble(error))


_served: list[Host] = []


def serve(made: Host) -> None:
    """Start the one host of this process; raises as `Host.start`."""
    made.start()
    _served[:] = [made]


def current() -> Host:
    """Return the host of this process; raise Unavailable when it has none yet or any more."""
    if not _served:
        message = "this process is not serving"
        raise Unavailable(message)
    return _served[0]


def refuse(detail: str) -> None:
    """Note something in the queue that is no task of ours, if this process has a host."""
    for made in _served:
        made.gate.refusals.note(Refused(Reason.NO_TASK, detail=detail))


def drain() -> None:
    """Drain the host of this process, if it has one."""
    for made in _served:
        made.drain()


def close(*, force: bool = False) -> None:
    """Close the host of this process, if it has one; what it was lent may be closed after it."""
    while _served:
        _served.pop().close(force=force)
