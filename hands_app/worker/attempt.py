"""One claim, from its lookup or start record to the record of its end. Read downward."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from hands_app.contract.errors import InvalidArguments, Unavailable
from hands_app.contract.faults import declare, faultpoint
from hands_app.contract.messages import ExecutionState
from hands_app.contract.strict_json import clean
from hands_app.contract.tools import NeverHappened, ToolContext, Unsure
from hands_app.machine.execution import Refusal, failed
from hands_app.machine.output import MAX_OUTPUT_BYTES
from hands_app.worker.bodies import Bodies
from hands_app.worker.live import LiveClaim
from hands_app.worker.ports import Call, Confirmed, Unconfirmed
from hands_app.worker.reports import Reports
from hands_app.worker.trouble import trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hands_app.contract.messages import ExecutionResult, Update
    from hands_app.contract.tools import Tool
    from hands_app.machine.execution import Execution
    from hands_app.worker.live import LiveClaims
    from hands_app.worker.ports import Answer, Claim, Executor, Outcome, Work

declare("hands.effect.before_call", "hands.effect.after_done")

_AGAIN_SECONDS: Final = 1.0
_MAX_TEXT: Final = 4000
_log = logging.getLogger(__name__)


class Attempts:
    """Carries claims through; `tell` gets the updates of each commit."""

    def __init__(
        self,
        work: Work,
        executor: Executor,
        live: LiveClaims,
        *,
        tell: Callable[[Sequence[Update]], None],
        bodies: Bodies | None = None,
        output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        """`output_bytes`: what is kept of the output of one execution."""
        self._bodies = bodies or Bodies(None)
        self._work = work
        self._executor = executor
        self._live = live
        self._tell = tell
        self._output_bytes = output_bytes

    def perform(self, claim: Claim, tool: Tool) -> None:
        """Carry one claim to its end; whoever owns it later finds what was committed."""
        live = LiveClaim(claim, ToolContext(execution_key=claim.execution_id, origin=claim.origin))
        reports = Reports(self._work, claim, tell=self._tell, most=self._output_bytes)
        live.context.report, live.context.keep = reports.progress, reports.write
        self._live.add(live)
        try:
            self._perform(live, tool, reports)
        finally:
            self._live.remove(claim.token)

    def _perform(self, live: LiveClaim, tool: Tool, reports: Reports) -> None:
        call = self._prepare(live, tool)
        if call is None or not self._is_clear_to_start(live, call):
            return
        started = self._record(live, lambda: self._work.start(live.claim))
        if isinstance(started, Refusal):
            return
        live.context.attempt = started.attempt
        if tool.binding.deadline is not None:
            live.context.ends_at = time.monotonic() + tool.binding.deadline
        faultpoint("hands.effect.before_call")
        outcome = self._executor.run(call)
        faultpoint("hands.effect.after_done")
        runs_on = isinstance(outcome, Unconfirmed) and outcome.late is not None
        reports.finish(partial(self._record, live), runs_on=runs_on)
        self._settle(live, outcome)

    def _prepare(self, live: LiveClaim, tool: Tool) -> Call | None:
        """Validate the arguments against the frozen schema; what fails it is never started."""
        claim = live.claim
        try:
            arguments = tool.call_arguments(claim.arguments, live.context)
        except InvalidArguments as error:
            wrong = failed("INVALID_ARGUMENTS", str(clean(str(error)[:_MAX_TEXT]).value))
            self._record(live, lambda: self._work.finish(claim, wrong))
            return None
        return Call(tool, arguments, live.context, claim.arguments)

    def _is_clear_to_start(self, live: LiveClaim, call: Call) -> bool:
        """Ask first what became of an earlier attempt, where the tool can tell."""
        claim = live.claim
        if not claim.needs_lookup:
            return True
        try:
            found = self._executor.look_up(call)
        except Exception as error:  # noqa: BLE001 - the outermost frame of foreign code
            text = "the lookup of %s broke: %s"
            _log.error(text, claim.execution_id, trouble(error))
            self._record(live, lambda: self._work.lookup_failed(claim))
            return False
        if isinstance(found, NeverHappened):
            known = self._record(live, lambda: self._work.never_happened(claim))
            return not isinstance(known, Refusal) and not known.is_terminal
        self._record(live, lambda: self._settle_lookup(claim, found))
        return False

    def _settle_lookup(self, claim: Claim, found: ExecutionResult | Unsure) -> Answer:
        if isinstance(found, Unsure) or found.state is ExecutionState.UNKNOWN:
            return self._work.unsure(claim)
        return self._finish(claim, found)

    def _settle(self, live: LiveClaim, outcome: Outcome) -> None:
        """Record a certain result, or let the effect class decide about an unconfirmed end."""
        claim = live.claim
        if isinstance(outcome, Confirmed):
            self._record(live, lambda: self._finish(claim, outcome.result))
            return
        self._record(live, lambda: self._work.unconfirmed(claim, outcome.failure))
        if outcome.late is None:
            return
        self._live.remove(claim.token)
        evidence = outcome.late()
        if isinstance(evidence, Confirmed):
            self._record(live, lambda: self._finish(claim, evidence.result))

    def _finish(self, claim: Claim, result: ExecutionResult) -> Answer:
        if result.state is ExecutionState.UNKNOWN:
            doubt = failed("UNCERTAIN", "the tool says that its outcome is unknown")
            return self._work.unconfirmed(claim, doubt)
        return self._work.finish(claim, self._bodies.fitted(result, claim.origin.scope))

    def _record(self, live: LiveClaim, write: Callable[[], Answer]) -> Execution | Refusal:
        """Write to store and ledger until they answer, or until another owner has the execution.

        Every such write is safe to repeat: the token was made before it (S7).
        """
        while True:
            try:
                told = write()
            except Unavailable as error:
                if live.is_lost:
                    return Refusal.LOST
                _log.warning("%s waits for its ledger or store: %s", live.claim.execution_id, error)
                time.sleep(_AGAIN_SECONDS)
                continue
            self._tell(told.updates)
            if isinstance(told.outcome, Refusal):
                _log.info("%s: %s", live.claim.execution_id, told.outcome)
            return told.outcome
