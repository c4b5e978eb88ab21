"""End an UNKNOWN call as somebody verified it; nothing has a default. Tells what is recorded where.

Find out first what happened, at the place where it would have happened: a cancel, a retry or time
proves nothing. A call that ran here is recorded in this database, one of a pool in its ledger, from
where its result comes in like any other. The same request id and content are one request.
"""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from hands_app.contract import errors as hands
from hands_app.contract.evidence import add_evidence, read_evidence
from sessions_app.contract.errors import Invalid
from sessions_app.runtime import DurableRuntime

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hands_app.contract.reconciling import Reconciliation
    from sessions_app.management.output import Output

CHECKED: Final = True


def add_arguments(parser: ArgumentParser) -> None:
    """Declare arguments."""
    add_evidence(parser)
    parser.add_argument(
        "--ledger-lost",
        action="store_true",
        help="the pool's ledger does not know it any more: record it here alone",
    )


def run(options: dict[str, Any], out: Output) -> int:
    """Record it, and say where."""
    asked = _asked(options)
    with DurableRuntime() as runtime:
        found = runtime.reconcile(asked, ledger_lost=options["ledger_lost"])
    out.data(found)
    out.line(f"{found.execution_id} is {found.state}, request {found.request_id}")
    if found.place == "ledger":
        out.line(f"  recorded in the ledger; a host of the pool tells turn {found.turn_id}")
    else:
        out.line(f"  recorded here; turn {found.turn_id} goes on")
    return 0


def _asked(options: dict[str, Any]) -> Reconciliation:
    try:
        return read_evidence(Namespace(**options))
    except hands.Rejected as wrong:
        raise Invalid(str(wrong)) from wrong
