"""Where commands come in: read, authorize, and only then touch the ledger (R181, R184)."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

from hands_app.contract.errors import ForeignNamespace, Rejected, WrongRoute
from hands_app.contract.messages import (
    Execute,
    ExecuteByReference,
    Output,
    Query,
    parse_control,
    parse_execute,
)
from hands_app.machine.admission import Admission, Cancellation
from hands_app.worker.batching import commands_of
from hands_app.worker.bodies import Bodies, NoCommonStore
from hands_app.worker.refusals import Reason, Refusals, Refused, of_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from hands_app.contract.catalogue import Catalogue
    from hands_app.contract.messages import Command, Update
    from hands_app.worker.ports import Commands, Policy, Told

AnyCommand = TypeVar("AnyCommand", bound="Command")

_log = logging.getLogger(__name__)


def _as_it_is(command: AnyCommand) -> AnyCommand:
    return command


class Gate:
    """Takes envelopes in; `tell` gets the updates of each change, `wake` hears of new work.

    `counts` has one entry for each outcome, refusals included.
    """

    def __init__(
        self,
        commands: Commands,
        policy: Policy,
        catalogue: Catalogue,
        *,
        tell: Callable[[Sequence[Update]], None],
        wake: Callable[[], None],
        bodies: Bodies | None = None,
    ) -> None:
        self._commands = commands
        self._policy = policy
        self._catalogue = catalogue
        self._tell = tell
        self._wake = wake
        self.refusals = Refusals()
        self._bodies = bodies or Bodies(None)
        self.counts: Counter[str] = Counter()

    def execute(self, text: bytes | str) -> Admission:
        """Admit one execute command; it is durable when this returns.

        Raises:
            Rejected: unreadable or forbidden; never run, nothing in the ledger.
            Unavailable: the ledger or the object store cannot be reached; send it again.
        """
        command = self._authorized(parse_execute, text, self._read)
        told = self._admit(command)
        self._note(command, told.outcome)
        self._tell(told.updates)
        if told.outcome is Admission.NEW:
            self._wake()
            if isinstance(command, Execute) and not self._knows(command):
                self._cannot_run(command)
        return told.outcome

    def control(self, text: bytes | str) -> Cancellation | None:
        """Obey one cancel, query or output; returns what a cancel found. Raises as `execute`."""
        command = self._authorized(parse_control, text)
        if isinstance(command, Output):
            self._tell((self._commands.output(command),))
            return None
        if isinstance(command, Query):
            self._tell(self._commands.query(command))
            return None
        told = self._commands.cancel(command)
        self._note(command, told.outcome)
        self._tell(told.updates)
        if told.outcome is Cancellation.REQUESTED:
            self._wake()
        return told.outcome

    def _admit(self, command: Execute | ExecuteByReference) -> Told[Admission]:
        if isinstance(command, ExecuteByReference):
            return self._commands.refuse(command)
        return self._commands.admit(command, runnable=self._knows(command))

    def _knows(self, command: Execute) -> bool:
        return self._catalogue.find(command.binding.digest) is not None

    def _read(self, command: Execute | ExecuteByReference) -> Execute | ExecuteByReference:
        """Get the arguments that a command names; it stays as it is where nobody here can."""
        if isinstance(command, Execute):
            return command
        try:
            return self._bodies.whole(command)
        except NoCommonStore:
            return command

    def _authorized(
        self,
        parse: Callable[[bytes | str], AnyCommand],
        text: bytes | str,
        read: Callable[[AnyCommand], AnyCommand] = _as_it_is,
    ) -> AnyCommand:
        try:
            command = parse(text)
            self._policy(command)
            command = read(command)
            if isinstance(command, Execute) and command.binding.batch is not None:
                for child in commands_of(command):
                    self._policy(child)
        except Rejected as refusal:
            self.counts[refusal.code] += 1
            self.refusals.note(of_error(refusal))
            _log.warning("refused a command: %s", refusal)
            raise
        return command

    def _note(self, command: Command, outcome: Admission | Cancellation) -> None:
        self.counts[outcome] += 1
        if reason := (_REASONS.get(outcome) if isinstance(outcome, Admission) else None):
            self.refusals.note(Refused(reason, command.execution_id, command.kind))
        if outcome is Cancellation.CONFLICT:
            self.refusals.note(Refused(Reason.CONFLICT, command.execution_id, command.kind))
        if outcome in _WORTH_A_LINE:
            _log.warning("%s %s: %s", command.kind, command.execution_id, outcome)

    def _cannot_run(self, command: Execute) -> None:
        """Note what this host admits for others; nobody's work is thrown away for it (C47)."""
        others = self._catalogue.named(command.binding.name)
        reason = Reason.OTHER_BINDING if others else Reason.UNKNOWN_TOOL
        tool = f"{command.binding.name} version {command.binding.version}"
        self.refusals.note(Refused(reason, command.execution_id, tool))
        _log.warning("%s waits for a host with %s", command.execution_id, tool)


_REASONS: Final = {
    Admission.SAME: Reason.REPEATED,
    Admission.CONFLICT: Reason.CONFLICT,
    Admission.TOMBSTONED: Reason.CANCELLED,
    Admission.TOO_LATE: Reason.TOO_LATE,
    Admission.TOO_LARGE: Reason.TOO_LARGE,
}
_WORTH_A_LINE = frozenset(
    {Admission.CONFLICT, Admission.TOO_LATE, Admission.TOO_LARGE, Cancellation.CONFLICT}
)


def same_house(namespace: str, routes: Collection[str]) -> Policy:
    """Return the policy of every pool: commands of its own namespace and routes only (T22)."""

    def policy(command: Command) -> None:
        if command.namespace != namespace:
            message = f"this pool serves {namespace} only, not {command.namespace}"
            raise ForeignNamespace(message)
        if command.route not in routes:
            message = f"this pool serves {'/'.join(sorted(routes))} only, not {command.route}"
            raise WrongRoute(message)

    return policy
